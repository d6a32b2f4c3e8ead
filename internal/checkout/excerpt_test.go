package checkout

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

func TestAnExcerptHoldsOneRevisionAndItsHistoryOnly(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	r.write("a.txt", "one\n")
	first := r.commit("first")
	r.git("checkout", "-q", "-b", "side")
	r.write("side.txt", "side\n")
	side := r.commit("side")
	r.git("checkout", "-q", "main")
	r.write("a.txt", "bad\n")
	bad := r.commit("bad")
	r.write("a.txt", "the fix\n")
	fix := r.commit("fix")
	r.git("tag", "v1")
	blob := r.git("rev-parse", "HEAD:a.txt")
	full := r.mirror()

	dir := filepath.Join(t.TempDir(), "excerpt")
	for range 2 { // it may be made again
		if err := full.Excerpt(t.Context(), bad, dir); err != nil {
			t.Fatal(err)
		}
	}
	m := openLocal(t, newCache(t), dir)
	log, err := m.Log(t.Context(), "HEAD", LogOptions{})
	if err != nil || len(log) != 2 || log[0].SHA != bad || log[1].SHA != first {
		t.Errorf("its history is %v, %v", log, err)
	}
	for _, gone := range []string{fix, side, "v1", "side"} {
		if _, err := m.Resolve(t.Context(), gone); !errors.Is(err, ErrUnknownRevision) {
			t.Errorf("%.8s is there: %v", gone, err)
		}
	}
	out, err := m.git(t.Context(), "cat-file", "--batch-all-objects", "--batch-check")
	if err != nil || strings.Contains(string(out), blob) || strings.Contains(string(out), fix) || strings.Count(string(out), "\n") != 6 {
		t.Errorf("it holds objects beside two commits, two trees and two files: %v\n%s", err, out)
	}
	if text, err := m.Show(t.Context(), bad, "a.txt"); err != nil || string(text) != "bad\n" {
		t.Errorf("the failing file is %q, %v", text, err)
	}
}

func TestAnExcerptOfWhatIsNotThereIsAnError(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	r.write("a.txt", "one\n")
	r.commit("first")
	if err := r.mirror().Excerpt(t.Context(), "v9", filepath.Join(t.TempDir(), "x")); !errors.Is(err, ErrUnknownRevision) {
		t.Errorf("got %v", err)
	}
}
