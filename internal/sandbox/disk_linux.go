package sandbox

import (
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// disk ends a command that fills the host's disk. A limit on the size of one
// file (RLIMIT_FSIZE) does not stop many small ones, and a worktree cannot be a
// file system of its own with a size.
//
// Looking through the folders that a command writes to is dear, so it is done
// only when their file systems have lost as much room as the command may take.
// What the command wrote is told by the time of change, which it cannot set.
// It is sampled: the limit can be passed by what is written in one interval. What
// it wrote and removed at once, and what it has open without a name, is seen by
// nobody but the file system, and goes when the command ends.
type disk struct {
	folders  []string
	since    time.Time
	limits   Limits
	exceeded chan string
	quit     chan struct{}
	once     sync.Once
	done     sync.WaitGroup
}

// room is what is left in the file systems, in bytes and in files.
type room struct{ bytes, files int64 }

func newDisk(folders []string, l Limits) *disk {
	d := &disk{folders: folders, limits: l, exceeded: make(chan string, 1), quit: make(chan struct{})}
	if len(folders) == 0 || l.DiskBytes < 0 && l.DiskFiles < 0 {
		return d
	}
	// The kernel's clock for files ticks in steps.
	d.since = time.Now().Add(-20 * time.Millisecond)
	left, allowed := d.left(), room{l.DiskBytes, l.DiskFiles}
	over := func(now room) bool {
		return l.DiskBytes >= 0 && left.bytes-now.bytes > allowed.bytes || l.DiskFiles >= 0 && left.files-now.files > allowed.files
	}
	d.done.Go(func() {
		tick := time.NewTicker(watchEvery)
		defer tick.Stop()
		for {
			select {
			case <-d.quit:
				return
			case <-tick.C:
			}
			now := d.left()
			if !over(now) {
				continue
			}
			own := d.written()
			if l.DiskBytes >= 0 && own.bytes > l.DiskBytes || l.DiskFiles >= 0 && own.files > l.DiskFiles {
				d.exceeded <- "disk"
				return
			}
			// Somebody else took the room: the rest of this command's share counts
			// from here.
			left, allowed = now, room{max(l.DiskBytes-own.bytes, 1), max(l.DiskFiles-own.files, 1)}
		}
	})
	return d
}

// stop ends the sampling; it may be called twice.
func (d *disk) stop() {
	d.once.Do(func() { close(d.quit) })
	d.done.Wait()
}

// left adds up the file systems of the folders, each once.
func (d *disk) left() (sum room) {
	seen := map[unix.Fsid]bool{}
	for _, dir := range d.folders {
		var s unix.Statfs_t
		if unix.Statfs(dir, &s) == nil && !seen[s.Fsid] {
			seen[s.Fsid] = true
			sum.bytes += int64(s.Bfree) * int64(s.Bsize) //nolint:unconvert // its type differs by architecture
			sum.files += int64(s.Ffree)
		}
	}
	return sum
}

// written is what changed in the folders since the command began.
func (d *disk) written() (sum room) {
	type file struct{ dev, ino uint64 }
	linked := map[file]bool{}
	for _, dir := range d.folders {
		_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			select {
			case <-d.quit:
				return filepath.SkipAll
			default:
			}
			var s unix.Stat_t
			if err != nil || unix.Lstat(path, &s) != nil || time.Unix(s.Ctim.Unix()).Before(d.since) {
				return nil //nolint:nilerr // what is gone meanwhile takes no room
			}
			if s.Nlink > 1 && !e.IsDir() {
				f := file{uint64(s.Dev), s.Ino} //nolint:unconvert // its type differs by architecture
				if linked[f] {
					return nil
				}
				linked[f] = true
			}
			sum.bytes += s.Blocks * 512
			sum.files++
			return nil
		})
	}
	return sum
}
