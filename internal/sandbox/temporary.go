package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// A temporary is a private folder that goes with its use. While it is in use a
// lock on it is held, which the kernel drops with the process: so whoever comes
// next can tell what a killed process left (sweepTemporary), also one that was
// killed while it removed the folder. Nothing is in it before it is locked.
type temporary struct {
	dir  string
	lock *os.File
}

// temporaryPattern names the folders, below that for temporary files.
const temporaryPattern = "culprit-run-*"

func newTemporary() (*temporary, error) {
	dir, err := os.MkdirTemp("", temporaryPattern)
	if err != nil {
		return nil, fmt.Errorf("make the command's own folder: %w", err)
	}
	lock, err := lockFolder(dir)
	if err != nil {
		removeAll(dir)
		return nil, fmt.Errorf("lock the command's own folder: %w", err)
	}
	return &temporary{dir, lock}, nil
}

// lockFolder locks a folder itself, until the file that it returns is closed.
func lockFolder(dir string) (*os.File, error) {
	lock, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		lock.Close()
		return nil, err
	}
	return lock, nil
}

// newHome is a temporary folder with a home and a folder for temporary files in
// it, for a command that sees the host's tree.
func newHome() (private *temporary, home, tmp string, err error) {
	if private, err = newTemporary(); err != nil {
		return nil, "", "", err
	}
	home, tmp = filepath.Join(private.dir, "home"), filepath.Join(private.dir, "tmp")
	for _, dir := range []string{home, tmp} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			private.remove()
			return nil, "", "", fmt.Errorf("make the command's own folder: %w", err)
		}
	}
	return private, home, tmp, nil
}

// remove deletes the folder with all that was left in it.
func (t *temporary) remove() {
	removeAll(t.dir)
	t.lock.Close()
}

// young is how long a folder may be empty and without its lock: it is being made.
const young = time.Minute

// sweepTemporary removes folders whose process is dead.
func sweepTemporary() {
	all, _ := filepath.Glob(filepath.Join(os.TempDir(), temporaryPattern))
	for _, dir := range all {
		lock, err := lockFolder(dir)
		if err != nil {
			continue // in use, or gone
		}
		content, err := lock.Readdirnames(1)
		info, errStat := lock.Stat()
		if len(content) > 0 || errors.Is(err, io.EOF) && errStat == nil && time.Since(info.ModTime()) > young {
			removeAll(dir)
		}
		lock.Close()
	}
}
