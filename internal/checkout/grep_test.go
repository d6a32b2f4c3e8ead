package checkout

import (
	"strings"
	"testing"
)

func TestGrepFindsTextOfACommitAndNothingElse(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	r.write("a/one.go", "package a\n\nfunc Total() int { return 1 }\n")
	r.write("b.txt", "Total: 7\nnothing\nTotal: 8\n")
	r.write("bin", "Total\x00\n")
	old := r.commit("first")
	r.write("b.txt", "none\n")
	r.commit("second")
	m, ctx := r.mirror(), t.Context()
	for name, c := range map[string]struct {
		pattern string
		o       GrepOptions
		want    string
	}{
		"pattern":      {"^func (Total|Sum)", GrepOptions{}, "a/one.go:3:func Total() int { return 1 }\n"},
		"text":         {"Total()", GrepOptions{Fixed: true}, "a/one.go:3:func Total() int { return 1 }\n"},
		"paths":        {"Total", GrepOptions{Paths: []string{"a"}}, "a/one.go:3:func Total() int { return 1 }\n"},
		"nothing":      {"absent", GrepOptions{}, ""},
		"like a flag":  {"--help", GrepOptions{}, ""},
		"out of it":    {"root:", GrepOptions{Paths: []string{"../etc/passwd"}}, ""},
		"path is flag": {"Total", GrepOptions{Paths: []string{"--no-index"}}, ""},
	} {
		got, cut, err := m.Grep(ctx, old, c.pattern, c.o)
		if name == "out of it" {
			if err == nil && got != "" {
				t.Errorf("%s: %q", name, got)
			}
			continue
		}
		if err != nil || cut || got != c.want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if _, _, err := m.Grep(ctx, old, "(", GrepOptions{}); err == nil {
		t.Error("a pattern that is none was taken")
	}
	r.write("big.txt", strings.Repeat("line of it\n", 150_000))
	r.commit("big")
	m = r.mirror()
	if got, cut, err := m.Grep(ctx, "HEAD", "line", GrepOptions{}); err != nil || !cut || len(got) > maxGrep || len(got) < maxGrep/4 {
		t.Errorf("%d bytes, cut %v, %v", len(got), cut, err)
	}
}
