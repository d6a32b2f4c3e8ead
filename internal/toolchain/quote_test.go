package toolchain

import (
	"io/fs"
	"os/exec"
	"strings"
	"testing"

	"culprit/internal/requiretest"
	"culprit/internal/session"
)

var hostileNames = []string{
	"", "plain", "it's", `"quoted"`, "$(id)", "`id`", "a;b", "a && b", "a|b", "*", "~", "-rf", "a\tb", "ünïcode ✅", `\`, `\'`, "'", "''", "!x", "#x", "a=b", "{a,b}", "<x>", "%s",
}

func TestQuoteIsOneWordOfTheShell(t *testing.T) {
	t.Parallel()
	sh := requiretest.Program(t, "sh")
	for _, name := range hostileNames {
		out, err := exec.Command(sh, "-c", "printf %s "+Quote(name)).Output()
		if err != nil || string(out) != name {
			t.Errorf("%q became %q (%v)", name, out, err)
		}
	}
}

// Whatever a test is called, the shell must see one command with plain words.
func TestOneNeverLetsANameEscape(t *testing.T) {
	t.Parallel()
	sh := requiretest.Program(t, "sh")
	for _, tool := range toolchains {
		for _, kit := range tool.names {
			k := Kit{Name: kit, Root: "a b", Module: "m", Runner: "true", Patterns: []string{"x"}}
			for _, name := range hostileNames {
				cmd, ok := k.One(session.Failure{Test: name, Package: "m/" + name, File: "a b/t/" + name + ".test.js"})
				if !ok {
					continue
				}
				// Each program is replaced by one that shows that nothing else ran.
				script := "cd() { :; }; true() { :; }; go() { :; }; cargo() { :; }; id() { echo ESCAPED; }; rf() { echo ESCAPED; }; b() { echo ESCAPED; }\n" + cmd + " && echo END"
				out, err := exec.Command(sh, "-c", script).CombinedOutput()
				if err != nil || strings.TrimSpace(string(out)) != "END" {
					t.Errorf("%s, test %q: %s\n%s %v", kit, name, cmd, out, err)
				}
			}
		}
	}
}

func FuzzFromCommand(f *testing.F) {
	for _, s := range []string{"go test ./...", "cd a && X=1 npm test -- -t 'b'", "pytest -k \"a b\" x", "mvn test", "a 'b", "cd .. && go test", "env A=b go test -C d"} {
		f.Add(s)
	}
	tree := repo("package.json", `{"scripts":{"test":"jest"}}`, "go.mod", "module m")
	f.Fuzz(func(t *testing.T, cmd string) {
		k, ok := FromCommand(cmd, tree)
		if !ok {
			return
		}
		if !fs.ValidPath(k.Root) {
			t.Errorf("%q: folder %q is outside of the repository", cmd, k.Root)
		}
		k.One(session.Failure{Test: "T", Package: "m/p"})
		k.Group(session.Failure{Test: "T", File: "a.test.js"})
	})
}
