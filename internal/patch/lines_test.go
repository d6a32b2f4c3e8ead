package patch_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"culprit/internal/patch"
	"culprit/internal/session"
)

func hunkOf(t *testing.T, old, new string) session.Hunk {
	t.Helper()
	hunks := patch.Hunks(patch.File{Path: "f", Old: []byte(old), New: []byte(new)})
	if len(hunks) != 1 {
		t.Fatalf("%d hunks", len(hunks))
	}
	return hunks[0]
}

func TestAHunkIsCutIntoItsChangedLines(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		old, new string
		want     []string
	}{
		"one replaced line stays whole": {"a = 1\n", "a = 2\n", []string{"-a = 1\n+a = 2\n"}},
		"lines are paired by their text": {"total := 1\nreturn total\n", "total := 2\nlog(total)\nreturn total + 1\n",
			[]string{"-total := 1\n+total := 2\n", "+log(total)\n", "-return total\n+return total + 1\n"}},
		"as many in as out go one for one": {"red\nblue\n", "1\n2\n", []string{"-red\n+1\n", "-blue\n+2\n"}},
		"what is only moved in is a pair":  {"work()\nrest()\n", "if x {\n\twork()\n\trest()\n}\n", []string{"+if x {\n", "-work()\n+\twork()\n", "-rest()\n+\trest()\n", "+}\n"}},
		"added lines":                      {"", "a\nb\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prefix := "begin\n"
			h := hunkOf(t, prefix+c.old, prefix+c.new)
			if c.want == nil {
				c.want = []string{"+a\n", "+b\n"}
			}
			var got []string
			for _, l := range patch.Lines(h) {
				got = append(got, l.Text)
			}
			if strings.Join(got, "|") != strings.Join(c.want, "|") {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// Any subset applied is the complement taken off, and all of them are the hunk.
func TestLinesOfAHunkAddUpToIt(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		text := func() string {
			var b strings.Builder
			for range r.IntN(8) {
				fmt.Fprintf(&b, "%*sword %d\n", r.IntN(3), "", r.IntN(6))
			}
			return b.String()
		}
		// What stands at both ends keeps it one hunk of a changed file.
		old, new := "head\n"+text()+"tail\n", "head\n"+text()+"tail\n"
		var lines, some, rest []session.Hunk
		for _, h := range patch.Hunks(patch.File{Path: "f", Old: []byte(old), New: []byte(new)}) {
			lines = append(lines, patch.Lines(h)...)
		}
		for _, l := range lines {
			if r.IntN(2) == 0 {
				some = append(some, l)
			} else {
				rest = append(rest, l)
			}
		}
		if summed, err := patch.Apply([]byte(old), lines); err != nil || len(lines) > 0 && string(summed) != new {
			t.Fatalf("seed %d: %q becomes %q, not %q: %v", seed, old, summed, new, err)
		}
		if len(some) == 0 || len(rest) == 0 {
			continue
		}
		applied, err1 := patch.Apply([]byte(old), some)
		reversed, err2 := patch.Reverse([]byte(new), rest)
		if err1 != nil || err2 != nil || !bytes.Equal(applied, reversed) {
			t.Fatalf("seed %d: applied %q, reversed %q: %v, %v", seed, applied, reversed, err1, err2)
		}
	}
}

func TestAHunkThatCannotBeCutIsLeftWhole(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]session.Hunk{
		"a created file": patch.Hunks(patch.File{Path: "f", New: []byte("a\nb\n")})[0],
		"a broken hunk":  {ID: "x#1", File: "x", OldLines: 3, Text: "+a\n"},
		"a large one":    {ID: "x#1", File: "x", OldStart: 1, OldLines: 201, NewStart: 1, NewLines: 201, Text: strings.Repeat("-a\n", 201) + strings.Repeat("+b\n", 201)},
	} {
		if got := patch.Lines(h); len(got) != 1 || got[0].ID != h.ID {
			t.Errorf("%s: %d parts", name, len(got))
		}
	}
}
