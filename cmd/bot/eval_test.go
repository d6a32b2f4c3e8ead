package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"culprit/internal/checkout"
	"culprit/internal/eval"
	"culprit/internal/requiretest"
	"culprit/internal/sandbox"
	"culprit/internal/session"
)

// evalWorld is a replay with a repository of three commits: good, bad, fix.
type evalWorld struct {
	*replay
	full  *checkout.Mirror
	known known
}

func newEvalWorld(t *testing.T) evalWorld {
	t.Helper()
	requiretest.Program(t, "git")
	dir := t.TempDir()
	box, err := sandbox.Open(sandbox.Off, sandbox.Options{AllowOff: true})
	if err != nil {
		t.Fatal(err)
	}
	cache, err := checkout.OpenCache(filepath.Join(dir, "repositories"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cache.Close() })
	var commits []demoCommit
	for i, value := range []string{"2", "9", "3"} {
		commits = append(commits, demoCommit{
			subject: "value " + value, author: "Ada <ada@a.example>", branch: "main", when: demoStart.Add(time.Duration(i) * time.Hour),
			files: []txtar.File{{Name: "value", Data: []byte("1\n" + value + "\n5\n")}},
		})
	}
	commits[2].files = append(commits[2].files, txtar.File{Name: "check.sh", Data: []byte("grep -q 3 value && ! grep -q 9 value\n")})
	if err := checkout.Import(t.Context(), filepath.Join(dir, "made"), historyStream(commits)); err != nil {
		t.Fatal(err)
	}
	full, err := cache.OpenLocal(t.Context(), filepath.Join(dir, "made"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { full.Close() })
	w := evalWorld{replay: &replay{dir: dir, cache: cache, box: box, flags: evalFlags{mode: "full", timeout: time.Hour, runTimeout: time.Minute}, app: &App{}}, full: full}
	w.known, err = knownOf(t.Context(), full, eval.Case{Bad: "HEAD^", Truth: eval.Truth{Culprit: "HEAD^{/value 9}", Fix: "HEAD"}})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestAHeldOutTestJudgesAFixOnlyIfItCanTell(t *testing.T) {
	t.Parallel()
	w := newEvalWorld(t)
	if got := w.known.Places; len(got) != 1 || got[0].String() != "value:2" {
		t.Errorf("the true fix changes %v, want value:2", got)
	}
	patchTo := func(value string) *session.Session {
		text := "diff --git a/value b/value\n--- a/value\n+++ b/value\n@@ -1,3 +1,3 @@\n 1\n-9\n+" + value + "\n 5\n"
		return &session.Session{Result: session.ResultFixed, Fix: &session.Fix{Patch: text}}
	}
	for _, tt := range []struct {
		name, test string
		s          *session.Session
		want       eval.Answer
		why        string
	}{
		{"a right fix", "sh check.sh", patchTo("3"), eval.Yes, ""},
		{"a fix of the symptom", "sh check.sh", patchTo("4"), eval.No, "exit code 1"},
		{"no fix", "sh check.sh", &session.Session{Result: session.ResultRootCause}, eval.None, ""},
		{"no test", "", patchTo("3"), eval.Unknown, ""},
		{"a test that passes without a fix", "true", patchTo("3"), eval.Unknown, "says nothing, because it passes without a fix"},
		{"a test that fails with the true fix", "false", patchTo("3"), eval.Unknown, "says nothing, because it fails with the true fix"},
	} {
		c := eval.Case{HeldOut: eval.HeldOut{Test: tt.test, Overlay: []string{"HEAD:check.sh"}}}
		got, why, err := w.heldOut(t.Context(), w.full, c, w.known, tt.s, filepath.Join(w.dir, "builds"))
		if err != nil || got != tt.want || !strings.Contains(why, tt.why) || (why == "") != (tt.why == "") {
			t.Errorf("%s: got %s, %q, %v; want %s, %q", tt.name, got, why, err, tt.want, tt.why)
		}
	}
}

func TestASessionOfAReplayKnowsNothingOfTheTruth(t *testing.T) {
	t.Parallel()
	w := newEvalWorld(t)
	c := eval.Case{
		ID: "value-nine-is-wrong", Bad: "HEAD^", Overlay: []string{"HEAD:check.sh"}, Test: "sh check.sh", Symptom: "The value is wrong.",
		Truth: eval.Truth{Culprit: "HEAD^", Fix: "HEAD"}, HeldOut: eval.HeldOut{Test: "sh held-out.sh"},
	}
	mirror, s, err := w.hide(t.Context(), w.full, c, w.known)
	if err != nil {
		t.Fatal(err)
	}
	defer mirror.Close()
	if _, err := mirror.Resolve(t.Context(), w.known.fix.SHA); err == nil {
		t.Error("the true fix is in the session's repository")
	}
	log, err := mirror.Log(t.Context(), "HEAD", checkout.LogOptions{})
	if err != nil || len(log) != 2 || log[0].SHA != w.known.bad.SHA {
		t.Errorf("its history is %v, %v", log, err)
	}
	if len(s.Flags.Overlay) != 1 {
		t.Fatalf("overlay %v", s.Flags.Overlay)
	}
	over := s.Flags.Overlay[0]
	text, err := mirror.Show(t.Context(), over.Rev, over.Path)
	if err != nil || !strings.Contains(string(text), "grep") {
		t.Errorf("the file that it may see is %q, %v", text, err)
	}
	changed, err := mirror.Changed(t.Context(), w.known.bad.SHA, over.Rev)
	if err != nil || len(changed) != 1 || changed[0].Path != "check.sh" {
		t.Errorf("with it comes %v, %v", changed, err)
	}
	if s.Flags.Bad != w.known.bad.SHA || s.Flags.Good != "" || s.Symptom.Text != c.Symptom || strings.Contains(s.Symptom.Title+s.Source.Repository, "nine") {
		t.Errorf("it is told %+v, %+v", s.Flags, s.Symptom)
	}
}

func TestLinesOfACulpritAreFoundAtTheFailingRevision(t *testing.T) {
	t.Parallel()
	w := newEvalWorld(t)
	s := &session.Session{Bad: &w.known.fix, RootCause: &session.RootCause{Culprit: &w.known.bad}}
	for from, want := range map[string]string{"value:2": "value:2", "value:3": "value:3", "gone:7": "gone:7"} {
		p, err := eval.ParsePlace(from)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := carried(t.Context(), w.full, p, s); err != nil || got.String() != want {
			t.Errorf("%s becomes %s, %v", from, got, err)
		}
	}
}

func TestACloneIsFoundByTheRulesOfItsFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"acme/one/.git", "acme+two/repo/objects", "three/.git", "four"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for repository, want := range map[string]string{
		"acme/one": "acme/one", "acme/two": "acme+two/repo", "acme/three": "three", "https://github.com/acme/two.git": "acme+two/repo", "acme/four": "", "acme/five": "",
	} {
		got, ok := cloneOf(dir, repository)
		if rel, err := filepath.Rel(dir, got); ok != (want != "") || ok && (err != nil || rel != filepath.FromSlash(want)) {
			t.Errorf("%s is at %q", repository, got)
		}
	}
}
