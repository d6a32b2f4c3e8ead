package eval

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// manifest writes a manifest beside files, "name", "content" in turn.
func manifest(t *testing.T, text string, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for i := 0; i+1 < len(files); i += 2 {
		write(files[i], files[i+1])
	}
	write("eval.yml", text)
	return filepath.Join(dir, "eval.yml")
}

func load(t *testing.T, file string) *Manifest {
	t.Helper()
	m, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestAllProblemsOfAManifestComeAtOnceWithTheirLines(t *testing.T) {
	t.Parallel()
	file := manifest(t, `cases:
  - id: Big
    repository: not a repository
    bad: v1
    test: make
    truth: {culprit: v1}
  - id: two
    path: .
    script: there-is-none.sh
    symptom: it fails
    log: log.txt
    overlay: ["no-colon", "v1:../up"]
    truth:
      fix: v2
      patch: fix.patch
      cause: ["a.go:9-3"]
  - id: two
    history: log.txt
    bad: v1
    truth: {}
    held_out:
      files: nowhere
  - id: five
    path: .
    bad: v1
    test: make
    truth: {result: perhaps}
    colour: red
`, "log.txt", "x", "fix.patch", "y")
	_, err := Load(file)
	var bad *ManifestError
	if !errors.As(err, &bad) {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{
		`:2: id: want lower case letters, digits, dots and dashes, got "Big"`,
		`:2: repository: want OWNER/NAME or an https address, got "not a repository"`,
		`:7: want one of repository, path, history and script, got 2 of them`,
		`:7: bad: name the revision that fails`,
		`:7: want symptom or log, got both`,
		`:7: overlay: want REV:PATH with a path below the repository's root, got "no-colon"`,
		`:7: overlay: want REV:PATH with a path below the repository's root, got "v1:../up"`,
		`:7: script: there is no there-is-none.sh`,
		`:14: truth: want fix or patch, got both`,
		`:14: truth.cause: want PATH, PATH:LINE or PATH:FROM-TO, got "a.go:9-3"`,
		`:17: id "two" is that of line 7 too`,
		`:17: want at least one of test, symptom and log`,
		`:17: history: log.txt is no folder`,
		`:20: truth: nothing is known: want at least one of result, culprit, cause, fix and patch`,
		`:22: held_out: files without a test: name the command`,
		`:22: held_out.files: there is no nowhere`,
		`:27: cases[3].truth.result: want one of fixed, root_cause, flaky, not_reproduced, inconclusive`,
		`:28: cases[3]."colour": is not a setting; there are id, repository, `,
	} {
		if !strings.Contains(err.Error(), file+want) {
			t.Errorf("it does not say %s", want)
		}
	}
	for i := 1; i < len(bad.Problems); i++ {
		if bad.Problems[i].Line < bad.Problems[i-1].Line {
			t.Errorf("the problems are not in the order of the lines:\n%v", err)
			break
		}
	}
	if t.Failed() {
		t.Log(err)
	}
}

func TestAManifestWithoutCasesIsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "cases: []\n"} {
		if _, err := Load(manifest(t, text)); err == nil || !strings.Contains(err.Error(), "there are no cases") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

const oneCase = "cases:\n  - id: a\n    script: make.sh\n    bad: HEAD\n    test: make\n    truth: {culprit: bad}\n"

func TestTheDigestOfACaseFollowsItsTextAndItsFilesAndNotTheManifestsPlace(t *testing.T) {
	t.Parallel()
	digest := func(text string, files ...string) string {
		return load(t, manifest(t, text, files...)).Cases[0].Digest()
	}
	first := digest(oneCase, "make.sh", "git init")
	for _, tt := range []struct {
		name, text, script string
		same               bool
	}{
		{"elsewhere", oneCase, "git init", true},
		{"a remark above", "# remark\n" + oneCase, "git init", true},
		{"another case below", oneCase + "  - {id: b, path: ., bad: x, test: y, truth: {culprit: z}}\n", "git init", true},
		{"another truth", strings.Replace(oneCase, "culprit: bad", "culprit: good", 1), "git init", false},
		{"another script", oneCase, "git init -q", false},
	} {
		if got := digest(tt.text, "make.sh", tt.script); (got == first) != tt.same {
			t.Errorf("%s: digests %s and %s", tt.name, first, got)
		}
	}
}

func FuzzManifest(f *testing.F) {
	f.Add([]byte(oneCase))
	f.Add([]byte("cases: [{id: a, overlay: [':'], truth: {cause: ['a:1-']}}]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file := filepath.Join(t.TempDir(), "m.yml")
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := Load(file)
		if (m == nil) == (err == nil) {
			t.Errorf("manifest %v, error %v", m, err)
		}
	})
}

func TestTheManifestsThatAreShippedCanBeUsed(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("..", "..", "testdata", "eval", "*.yml"))
	if err != nil || len(files) < 2 {
		t.Fatalf("found %q, %v", files, err)
	}
	for _, f := range files {
		if _, err := Load(f); err != nil {
			t.Error(err)
		}
	}
}

func TestHeldOutFilesAreThoseOfTheArchive(t *testing.T) {
	t.Parallel()
	text := oneCase + "    held_out: {test: make, files: more.txtar}\n"
	text = strings.Replace(text, "culprit: bad", "fix: good", 1)
	for _, tt := range []struct{ archive, want string }{
		{"a remark\n-- a/b.sh --\necho\n-- c --\n", "a/b.sh c"},
		{"-- ../up --\nx\n", ""},
	} {
		m := load(t, manifest(t, text, "make.sh", "x", "more.txtar", tt.archive))
		files, err := m.Cases[0].HeldOutFiles()
		var names []string
		for _, f := range files {
			names = append(names, f.Path)
		}
		if got := strings.Join(names, " "); got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%q holds %q, %v", tt.archive, got, err)
		}
	}
}
