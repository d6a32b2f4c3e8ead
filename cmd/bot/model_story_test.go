package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"
)

const (
	storyTotal = `# total PRICE... prints the sum of prices in cents, less DISCOUNT percent.
total() {
	cents=0
	for price in "$@"; do
		cents=$((cents + price))
	done
	echo $((cents * (100 - DISCOUNT) / 100))
}
`
	storyRounded = `# total PRICE... prints the sum of prices in cents, less DISCOUNT percent,
# rounded up to five cents.
total() {
	cents=0
	for price in "$@"; do
		cents=$((cents + price))
	done
	echo $(( (cents - DISCOUNT / 100 + 4) / 5 * 5 ))
}
`
	storyTest = `. ./total.sh
got=$(DISCOUNT=20; total 5000 5000)
[ "$got" = 8000 ] || { echo "total.sh: 20 % off 10000: got $got, want 8000"; exit 1; }
echo ok
`
)

// storyCommits is a project whose third commit did something useful and broke
// something else.
func storyCommits() (out []demoCommit) {
	for _, c := range []struct{ subject, name, text string }{
		{"Sum prices", "total.sh", storyTotal},
		{"Test discounts", "test.sh", storyTest},
		{"Round to five cents", "total.sh", storyRounded},
		{"Say what it is for", "README.md", "# total\n\nSums of prices.\n"},
	} {
		out = append(out, demoCommit{
			subject: c.subject, author: "Ada <ada@a.example>", branch: "main", when: demoStart.Add(time.Duration(len(out)) * time.Hour),
			files: []txtar.File{{Name: c.name, Data: []byte(c.text)}},
		})
	}
	return out
}

// What differs between two runs of the same session.
var storyVaries = []struct {
	re *regexp.Regexp
	by string
}{
	{regexp.MustCompile(`data-[a-z0-9]{12}`), "data-k3v9q2m7x1pd"},
	{regexp.MustCompile(`\.md \([0-9a-f]{12}\)`), ".md (and its hash)"},
	{regexp.MustCompile(`\b\d+(\.\d+)? (s|ms)\b`), "0.1 s"},
	{regexp.MustCompile(`(run-[0-9a-f]{8})-[0-9a-f]{12}`), "$1-0f1e2d3c4b5a"},
	{regexp.MustCompile(`(\d+)\d\d\d tokens in \(\d+ of them cached\)`), "about ${1}000 tokens in (the most of them cached)"},
	{regexp.MustCompile(`\d+,\d{3} tokens`), "some thousand tokens"},
	{regexp.MustCompile(`cost 0\.\d+`), "cost 0.0"},
	{regexp.MustCompile(`20\d{6}-debug-`), "20261130-debug-"},
	{regexp.MustCompile(`(?m)^session folder: .*$`), "session folder: …"},
}

// storyRuns is a list of runs: those that a model asks for at once end in any order.
var storyRuns = regexp.MustCompile(`(?s)source="runs">\n.*?\n</data-`)

// The transcript in docs/transcript.md is that of a session of the real binary,
// written anew with go test ./cmd/bot -run TestTheDocumentedTranscript -update.
func TestTheDocumentedTranscriptIsThatOfASession(t *testing.T) {
	t.Parallel()
	model := startModel(t, "story.yml")
	dir := t.TempDir()
	repo, out := filepath.Join(dir, "till"), filepath.Join(dir, "session")
	if msg, err := exec.CommandContext(t.Context(), "git", "init", "-q", "--bare", "-b", "main", repo).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, msg)
	}
	if err := importDemo(t.Context(), repo, storyCommits()); err != nil {
		t.Fatal(err)
	}
	program, err := exec.LookPath("bot")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "debug", repo, "--test", "sh test.sh", "-c", "1", "--out", out, "--quiet")
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "CULPRIT_DATA=" + filepath.Join(dir, "data"), "CULPRIT_MODEL_PRICES=story=1/0.1/4",
		"OPENAI_BASE_URL=" + model.URL(), "OPENAI_API_KEY=k", "CULPRIT_MODEL_HIGH=story",
	}
	var result, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &result, &problems
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, &problems, &result)
	}

	var b strings.Builder
	b.WriteString(storyHead)
	fence := func(language, text string) {
		fmt.Fprintf(&b, "```%s\n%s\n```\n\n", language, strings.TrimRight(text, "\n"))
	}
	fence("sh", storyRounded)
	b.WriteString("and its test says:\n\n")
	fence("", "total.sh: 20 % off 10000: got 10000, want 8000")
	files := folderFiles(t, out, "logs/*-agent.md")
	maps.Copy(files, folderFiles(t, out, "logs/*-refuter.md"))
	for _, name := range slices.SortedFunc(maps.Keys(files), func(a, b string) int { // in the order of the stages
		return strings.Compare(stageOf(a)+a, stageOf(b)+b)
	}) {
		fmt.Fprintf(&b, "## `%s`\n\n", strings.TrimPrefix(name, "logs/"))
		b.WriteString(strings.NewReplacer("\n## ", "\n#### ", "\n# ", "\n### ").Replace("\n" + strings.SplitN(files[name], "\n", 3)[2])[1:] + "\n")
	}
	b.WriteString("## The audit\n\nOf `dispatches.jsonl`, one line for each call:\n\n| step | row | prompt | turn | tool calls | outcome |\n|---|---|---|---:|---:|---|\n")
	for _, d := range dispatchesOf(t, out) {
		fmt.Fprintf(&b, "| %s | %s | `%s` | %d | %d | %s |\n", d.Step, d.Task, d.Prompt, d.Turn, d.Calls, d.Outcome)
	}
	b.WriteString("\n## The result\n\nWhat `bot debug` prints at the end:\n\n")
	fence("", result.String())
	got := b.String()
	for _, v := range storyVaries {
		got = v.re.ReplaceAllString(got, v.by)
	}
	got = storyRuns.ReplaceAllStringFunc(got, func(block string) string {
		lines := strings.Split(block, "\n")
		slices.Sort(lines[1 : len(lines)-1])
		return strings.Join(lines, "\n")
	})
	got = strings.TrimRight(got, "\n") + "\n"
	if strings.Contains(got, dir) || strings.Contains(got, "127.0.0.1") {
		t.Errorf("the transcript names this machine:\n%s", got)
	}
	path := filepath.Join("..", "..", "docs", "transcript.md")
	if *updateDocs {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("docs/transcript.md is not what a session writes; with -update it is written anew. A session writes:\n%s", firstDifference(string(want), got))
	}
}

// stageOf a transcript: readers, refuters, the account of all, fixers.
func stageOf(name string) string {
	switch {
	case strings.Contains(name, "FIX-"):
		return "4"
	case !strings.HasPrefix(name, "logs/H"):
		return "3"
	case strings.HasSuffix(name, "-refuter.md"):
		return "2"
	}
	return "1"
}

// firstDifference shows the first lines in which two texts differ.
func firstDifference(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d: want %q, got %q", i+1, a[i], b[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(b), len(a))
}

const storyHead = `# A session with a model, from beginning to end

A test of ` + "`cmd/bot`" + ` runs this session and holds this page to it: the real binary, a repository of four commits, the sandbox, and a scripted model
on loopback (` + "`cmd/bot/testdata/model/story.yml`" + `). Times, counts of tokens and random names are made equal. The model says what the script
lets it say; everything else is the bot's: what the model was told, what its tools showed, what was looked up, run and struck.

What to look for: the first reader quotes a line that is not there. It is told so, looks again, and only then its report counts. A refuter, which is
told the claim and nothing of how it was found, tries to break it. The fix keeps what the breaking commit was meant for, which the smallest
revert would have lost; what counts is that the test was run with it.

The project sums prices. Its newest code is

`
