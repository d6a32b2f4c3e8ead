package sandbox

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// What a killed process left goes, what a living one uses stays.
func TestSweepRemovesFoldersOfTheDeadOnly(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	used, err := newTemporary()
	if err != nil {
		t.Fatal(err)
	}
	dead, err := newTemporary()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dead.dir, "home", "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	dead.lock.Close()           // as the kernel does
	half, err := newTemporary() // its process was killed while it removed it
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(half.dir, "tmp"), 0o755); err != nil {
		t.Fatal(err)
	}
	half.lock.Close()
	torn, making := filepath.Join(os.TempDir(), "culprit-run-1"), filepath.Join(os.TempDir(), "culprit-run-2")
	for _, dir := range []string{torn, making} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(torn, old, old); err != nil {
		t.Fatal(err)
	}
	sweepTemporary()
	for dir, want := range map[string]bool{used.dir: true, dead.dir: false, half.dir: false, torn: false, making: true} {
		if _, err := os.Stat(dir); (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", filepath.Base(dir), err == nil, want)
		}
	}
	used.remove()
	if _, err := os.Stat(used.dir); err == nil {
		t.Error("a folder stays after its use")
	}
}
