package checkout

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// lock is an advisory lock on a file. The kernel drops it with the process.
type lock struct {
	file *os.File
}

// errBusy says that somebody else holds the lock.
var errBusy = errors.New("locked by another process")

// tryLock takes the lock or fails with errBusy at once.
func tryLock(path string, exclusive bool) (*lock, error) {
	how := unix.LOCK_NB | unix.LOCK_SH
	if exclusive {
		how = unix.LOCK_NB | unix.LOCK_EX
	}
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, fmt.Errorf("lock %s: %w", filepath.Base(path), err)
		}
		if err := unix.Flock(int(f.Fd()), how); err != nil {
			f.Close()
			if errors.Is(err, unix.EINTR) {
				continue
			}
			if errors.Is(err, unix.EWOULDBLOCK) {
				return nil, errBusy
			}
			return nil, fmt.Errorf("lock %s: %w", filepath.Base(path), err)
		}
		// The file may have been removed between opening and locking.
		mine, err1 := f.Stat()
		there, err2 := os.Stat(path)
		if err1 == nil && err2 == nil && os.SameFile(mine, there) {
			return &lock{f}, nil
		}
		f.Close()
	}
}

// waitLock takes the lock exclusively, waiting until ctx is over.
func waitLock(ctx context.Context, path string) (*lock, error) {
	pause := time.NewTicker(20 * time.Millisecond)
	defer pause.Stop()
	for {
		l, err := tryLock(path, true)
		if !errors.Is(err, errBusy) {
			return l, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for %s, which another process uses: %w", filepath.Base(path), context.Cause(ctx))
		case <-pause.C:
		}
	}
}

// share turns an exclusive lock into a shared one.
func (l *lock) share() error { return unix.Flock(int(l.file.Fd()), unix.LOCK_SH) }

func (l *lock) release() {
	if l != nil && l.file != nil {
		l.file.Close()
		l.file = nil
	}
}
