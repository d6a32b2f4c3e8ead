package sandbox

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// What lay in a folder before is not the command's, even if its own times say
// something else; a file with two names counts once.
func TestOnlyWhatACommandWroteCounts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name string, size int) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	old := write("old", 1<<20)
	info, err := os.Stat(old)
	if err != nil {
		t.Fatal(err)
	}
	before := info.ModTime()
	for before.Equal(info.ModTime()) { // the kernel's clock for files ticks in steps
		if info, err = os.Stat(write("clock", 0)); err != nil {
			t.Fatal(err)
		}
	}
	d := &disk{folders: []string{dir}, since: info.ModTime(), quit: make(chan struct{})}
	// The folder itself and the clock changed too.
	base := d.written()
	fresh := write("new", 1<<20)
	if err := os.Link(fresh, filepath.Join(dir, "again")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(fresh, time.Unix(0, 0), time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	got := d.written()
	if got.files-base.files != 1 || got.bytes-base.bytes < 1<<20 || got.bytes-base.bytes > 3<<19 || base.bytes >= 1<<20 {
		t.Errorf("before %+v, after %+v", base, got)
	}
}
