package experiment_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"culprit/internal/experiment"
	"culprit/internal/session"
)

// goProxy is a registry of modules in a folder, as GOPROXY reads it:
// module → version → source of its one package.
func goProxy(t *testing.T, modules map[string][]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, versions := range modules {
		at := filepath.Join(dir, filepath.FromSlash(name), "@v")
		if err := os.MkdirAll(at, 0o755); err != nil {
			t.Fatal(err)
		}
		put := func(file string, content []byte) {
			if err := os.WriteFile(filepath.Join(at, file), content, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		list := ""
		for minor, source := range versions {
			v := fmt.Sprintf("v1.%d.0", minor)
			list += v + "\n"
			mod := "module " + name + "\n\ngo 1.21\n"
			var packed bytes.Buffer
			z := zip.NewWriter(&packed)
			for file, text := range map[string]string{"go.mod": mod, "p.go": source} {
				w, err := z.Create(name + "@" + v + "/" + file)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := w.Write([]byte(text)); err != nil {
					t.Fatal(err)
				}
			}
			if err := z.Close(); err != nil {
				t.Fatal(err)
			}
			put(v+".info", []byte(`{"Version":"`+v+`","Time":"2024-01-01T00:00:00Z"}`))
			put(v+".mod", []byte(mod))
			put(v+".zip", packed.Bytes())
		}
		put("list", []byte(list))
	}
	return dir
}

func TestTheDependencyAndItsReleaseAreNamed(t *testing.T) {
	t.Parallel()
	source := func(value int) string { return fmt.Sprintf("package p\n\nfunc F() int { return %d }\n", value) }
	proxy := goProxy(t, map[string][]string{
		"example.com/a": {source(1), source(1), source(1)},
		"example.com/b": {source(1), "package p\n\nfunc F( int { return 1 }\n", source(1), source(2), source(2)},
		"example.com/c": {source(1), source(1)},
	})
	mod := func(a, b, c int) string {
		return fmt.Sprintf("module example.com/app\n\ngo 1.21\n\nrequire (\n\texample.com/a v1.%d.0\n\texample.com/b v1.%d.0\n\texample.com/c v1.%d.0\n)\n", a, b, c)
	}
	prepare := goCaches(t) + "\nexport GOPROXY=file://" + proxy + " GONOSUMDB='*' GOSUMDB=off GOTOOLCHAIN=local GOMODCACHE=" + t.TempDir() + `
export GOFLAGS="-modcacherw -vet=off"`
	r := newRepository(t)
	commit := func(files map[string]string) string {
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		sums := exec.Command("sh", "-c", prepare+"\ngo list -mod=mod -deps ./... && go mod download all")
		sums.Dir = r.dir
		if out, err := sums.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return r.commit(nil)
	}
	good := commit(map[string]string{
		"go.mod":      mod(0, 0, 0),
		"app.go":      "package app\n\nimport (\n\ta \"example.com/a\"\n\tb \"example.com/b\"\n\tc \"example.com/c\"\n)\n\nfunc Sum() int { return a.F() + b.F() + c.F() }\n",
		"app_test.go": "package app\n\nimport \"testing\"\n\nfunc TestSum(t *testing.T) {\n\tif got := Sum(); got != 3 {\n\t\tt.Fatal(got)\n\t}\n}\n",
	})
	commit(map[string]string{"go.mod": mod(2, 4, 1)})
	failure := session.Failure{Framework: "go test", Package: "example.com/app", File: "app_test.go", Test: "TestSum", Line: 7, Kind: session.KindTest}
	l, s, p := openKit(t, r, failure, prepare)
	s.Hypotheses[0].Kind = session.DependencyMove
	below, err := l.History.Resolve(t.Context(), good)
	if err != nil {
		t.Fatal(err)
	}
	s.Archaeology = &session.Archaeology{Good: &below}
	f := experiment.NewInvestigator(l).Investigate(t.Context(), s, session.Task{ID: "H1"})
	if f.Verdict != session.Confirmed || len(f.Cause.Moved) != 1 {
		t.Fatalf("%s: %s%s\n%+v", f.Verdict, f.Findings, f.Error, f.Cause)
	}
	got := f.Cause.Moved[0]
	if got.Name != "example.com/b" || got.Passes != "v1.2.0" || got.Fails != "v1.3.0" || got.Releases != 4 || f.Cause.MovedOf != 3 {
		t.Errorf("%+v of %d", got, f.Cause.MovedOf)
	}
	if want := "Of 3 moves it is example.com/b between v1.2.0 (passes) and v1.3.0 (fails)."; !strings.Contains(f.Findings, want) {
		t.Errorf("%s", f.Findings)
	}
	runs := 0
	for _, n := range p.count {
		runs += n
	}
	t.Logf("%d processes, set-ups among them: %s", runs, f.Findings)
}
