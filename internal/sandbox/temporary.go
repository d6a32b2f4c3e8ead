package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// A temporary is a private folder that goes with its use. While it is in use a
// lock is held in it, which the kernel drops with the process: so whoever comes
// next can tell what a killed process left (sweepTemporary).
type temporary struct {
	dir  string
	lock *os.File
}

// temporaryPattern names the folders, below that for temporary files.
const temporaryPattern = "culprit-run-*"

// temporaryLock is the lock's name in its folder.
const temporaryLock = ".lock"

func newTemporary() (*temporary, error) {
	dir, err := os.MkdirTemp("", temporaryPattern)
	if err != nil {
		return nil, fmt.Errorf("make the command's own folder: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, temporaryLock), os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err != nil {
		removeAll(dir)
		return nil, fmt.Errorf("lock the command's own folder: %w", err)
	}
	return &temporary{dir, lock}, nil
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

// young is how long a folder may be without its lock: it is being made.
const young = time.Minute

// sweepTemporary removes folders whose process is dead.
func sweepTemporary() {
	all, _ := filepath.Glob(filepath.Join(os.TempDir(), temporaryPattern))
	for _, dir := range all {
		lock, err := os.OpenFile(filepath.Join(dir, temporaryLock), os.O_RDWR, 0)
		if err != nil {
			if info, err := os.Lstat(dir); err == nil && info.IsDir() && time.Since(info.ModTime()) > young {
				removeAll(dir)
			}
			continue
		}
		if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			removeAll(dir)
		}
		lock.Close()
	}
}
