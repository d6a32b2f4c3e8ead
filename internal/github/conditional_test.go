package github_test

import (
	"bytes"
	"fmt"
	"testing"

	"culprit/internal/githubtest"
)

// statuses are those of the calls of one route since a moment.
func (w *world) statuses(route string, from int) string {
	out := ""
	for _, c := range w.gh.Calls()[from:] {
		if c.Route == route {
			out += fmt.Sprintf("%d ", c.Status)
		}
	}
	return out
}

func TestWhatIsKnownIsAskedForAgainAtNoCost(t *testing.T) {
	t.Parallel()
	const route = "/repos/{owner}/{repo}/contents/{path}"
	w := newWorld(t)
	must(w.gh.CommitFile(full, "ann", "main", "settings.yml", []byte("a: 1\n"), "Set"))(t)
	must(w.gh.CommitFile(full, "ann", "main", "large.txt", bytes.Repeat([]byte("0123456789abcdef"), 12<<10), "Large"))(t)
	r := w.repo()
	read := func(path, want string) {
		t.Helper()
		got, err := r.File(t.Context(), "main", path, 1<<20)
		if err != nil || want != "" && string(got) != want {
			t.Errorf("%s is %.40q, %v; want %q", path, got, err, want)
		}
	}
	for name, tt := range map[string]struct {
		act  func()
		want string
	}{
		"again":        {func() { read("settings.yml", "a: 1\n"); read("settings.yml", "a: 1\n") }, "200 304 "},
		"too large":    {func() { read("large.txt", ""); read("large.txt", "") }, "200 200 "},
		"missing":      {func() { read("none.yml", ""); read("none.yml", "") }, "404 404 "},
		"other client": {func() { r = w.repo(); read("README.md", ""); r = w.repo(); read("README.md", "") }, "404 404 "},
	} {
		from := len(w.gh.Calls())
		tt.act()
		if got := w.statuses(route, from); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
	// A repository object of another job has the same memory.
	from := len(w.gh.Calls())
	w.repo()
	r = w.repo()
	read("settings.yml", "a: 1\n")
	if got := w.statuses("/repos/{owner}/{repo}", from) + w.statuses(route, from); got != "304 304 304 " {
		t.Errorf("another job's calls: %s", got)
	}
	// What changed is seen at once; what was cut off is not kept.
	must(w.gh.CommitFile(full, "ann", "main", "settings.yml", []byte("a: 2\n"), "Set"))(t)
	in := w.gh.Inject(githubtest.Fault{Truncate: true, Times: 1}.On("GET", route))
	if got, err := r.File(t.Context(), "main", "settings.yml", 1<<20); err == nil || in.Hits() != 1 {
		t.Errorf("half an answer was taken for all: %q, %v, %d hits", got, err, in.Hits())
	}
	read("settings.yml", "a: 2\n")
	// Another token is another reader.
	check(t, w.gh.RevokeTokens(w.inst))
	from = len(w.gh.Calls())
	read("settings.yml", "a: 2\n")
	if got := w.statuses(route, from); got != "401 200 " {
		t.Errorf("after the token was revoked: %s", got)
	}
}
