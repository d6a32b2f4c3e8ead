package experiment

import (
	"slices"
	"strings"
	"testing"

	"culprit/internal/session"
)

func TestWhatTheCompilerMissesIsAdded(t *testing.T) {
	t.Parallel()
	all := []session.Hunk{
		{ID: "a", File: "use.go", Text: "+\tx := deref.TypeKind(y)\n"},
		{ID: "b", File: "deref.go", Text: "+func TypeKind(t int) int {\n"},
		{ID: "c", File: "nature.go", Text: "+\tFields []int\n"},
		{ID: "d", File: "old.go", Text: "-func Gone() {}\n"},
		{ID: "e", File: "user.go", Text: "-\tGone()\n+\tHere()\n"},
		{ID: "f", File: "named.go", Text: "+\tz()\n"},
	}
	tests := []struct{ name, output, have, want string }{
		{"a function", "./use.go:3:8: undefined: deref.TypeKind\n", "a", "b"},
		{"a field", "types.go:105:3: unknown field Fields in struct literal\n", "a", "c"},
		{"a use of what is removed", "other.go:9:2: undefined: Gone\n", "d", "e"},
		{"the file itself", "named.go:9:2: syntax error\n", "a", "f"},
		{"python", "NameError: name 'TypeKind' is not defined\n", "a", "b"},
		{"nothing", "FAIL\n", "a", ""},
		{"all there", "./use.go:3:8: undefined: deref.TypeKind\n", "abcdef", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var have []session.Hunk
			for _, h := range all {
				if strings.Contains(tt.have, h.ID) {
					have = append(have, h)
				}
			}
			var got []string
			for _, h := range needed(tt.output, have, all, false) {
				got = append(got, h.ID)
			}
			if slices.Sort(got); strings.Join(got, "") != tt.want {
				t.Errorf("got %v, want %s", got, tt.want)
			}
		})
	}
}

func FuzzNeeded(f *testing.F) {
	f.Add("a.go:1:1: undefined: X\n", "+X := 1\n-Y\n")
	f.Fuzz(func(t *testing.T, output, text string) {
		all := []session.Hunk{{ID: "1", File: "a.go", Text: text}, {ID: "2", File: "b.go", Text: text}}
		for _, h := range needed(output, all[:1], all, len(output)%2 == 0) {
			if h.ID != "2" {
				t.Errorf("picked %q, which is there already", h.ID)
			}
		}
	})
}

// TestHunksThatNeedOneAnotherAreMinimisedTogether has a change of many hunks of
// which two make the failure, and a third is needed for them to build.
func TestHunksThatNeedOneAnotherAreMinimisedTogether(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.commit(map[string]string{"a.go": lines(60, nil), "b.go": lines(60, nil), "c.go": lines(60, nil), "a_test": "BUG"})
	change := func(words map[int]string) string {
		all := map[int]string{5: "noise1", 12: "noise2", 33: "noise3", 50: "noise4"}
		for n, w := range words {
			all[n] = w
		}
		return lines(60, all)
	}
	w.commit(map[string]string{
		"a.go": change(map[int]string{20: "BUG helper()"}), "b.go": change(map[int]string{25: "func helper() {"}), "c.go": change(nil),
	})
	w.program = func(files map[string]string, script string, n int) session.Outcome {
		all := files["a.go"] + files["b.go"]
		if strings.Contains(all, "BUG helper") && !strings.Contains(all, "func helper") {
			return session.Untestable
		}
		return lookAtCode(files, script, n)
	}
	w.says = map[session.Outcome]string{session.Untestable: "a.go:20:5: undefined: helper\n"}
	f := investigate(t, w.lab(t, Options{}), w.session(session.Regression))
	var got []string
	for _, h := range f.Cause.Minimal {
		got = append(got, h.Location())
	}
	if strings.Join(got, " ") != "a.go:20 b.go:25" || f.Cause.MinimalNote != "" {
		t.Errorf("minimal %v (%s) in %d runs", got, f.Cause.MinimalNote, w.executed)
	}
}
