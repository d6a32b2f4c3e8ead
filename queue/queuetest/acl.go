package queuetest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var documented = regexp.MustCompile("(?m)^user culprit on >PASSWORD (.+)$")

// Rights are those of the ACL user that docs/configuration.md gives the bot, so
// that tests hold what it says.
func Rights(tb testing.TB) []string {
	tb.Helper()
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			tb.Fatal("no go.mod above the test: where is docs/configuration.md?")
		}
		dir = filepath.Dir(dir)
	}
	doc, err := os.ReadFile(filepath.Join(dir, "docs", "configuration.md"))
	if err != nil {
		tb.Fatal(err)
	}
	m := documented.FindStringSubmatch(string(doc))
	if m == nil {
		tb.Fatal("docs/configuration.md has no line that gives a user's rights")
	}
	return strings.Fields(m[1])
}
