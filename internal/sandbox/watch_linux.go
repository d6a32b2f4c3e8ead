package sandbox

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// watch follows the processes of one command. It serves two ends: where no
// control group holds them, it enforces the limits on memory and number of
// processes; and it remembers processes, so that one which leaves group and
// session (setsid, double fork, nohup) is still known when the command is
// over. Memory is sampled, so a limit can be passed for one interval.
type watch struct {
	root     int
	marker   string
	limits   Limits
	group    *confinement
	exceeded chan string
	quit     chan struct{}
	once     sync.Once
	done     sync.WaitGroup

	mu    sync.Mutex
	known map[int]string // pid → start time, which tells a reused pid apart
}

const watchEvery = 250 * time.Millisecond

func newWatch(root int, marker string, l Limits, group *confinement) *watch {
	w := &watch{
		root: root, marker: marker, limits: l, group: group, exceeded: make(chan string, 1),
		quit: make(chan struct{}), known: map[int]string{},
	}
	needMemory := group.memory == "" && l.MemoryBytes > 0
	needPids := !group.pids && l.Processes > 0
	if marker == "" && !needMemory && !needPids {
		return w
	}
	w.done.Go(func() {
		tick := time.NewTicker(watchEvery)
		defer tick.Stop()
		for {
			select {
			case <-w.quit:
				return
			case <-tick.C:
			}
			memory, threads := w.sample()
			switch {
			case needMemory && memory > l.MemoryBytes:
				w.exceeded <- "memory"
				return
			case needPids && threads > l.Processes:
				w.exceeded <- "processes"
				return
			}
		}
	})
	return w
}

// stop ends the sampling; it may be called twice.
func (w *watch) stop() {
	w.once.Do(func() { close(w.quit) })
	w.done.Wait()
}

// stat is the part of /proc/PID/stat that is needed.
type stat struct {
	pid, parent, group, session int
	threads, pages              int64
	started                     string
	state                       byte
}

func readStat(pid int) (stat, bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return stat{}, false
	}
	return parseStat(pid, data)
}

// parseStat reads the line after the command's name, which may itself hold
// spaces and parentheses.
func parseStat(pid int, data []byte) (stat, bool) {
	end := bytes.LastIndexByte(data, ')')
	if end < 0 {
		return stat{}, false
	}
	f := strings.Fields(string(data[end+1:]))
	if len(f) < 22 {
		return stat{}, false
	}
	s := stat{pid: pid, state: f[0][0], started: f[19]}
	s.parent, _ = strconv.Atoi(f[1])
	s.group, _ = strconv.Atoi(f[2])
	s.session, _ = strconv.Atoi(f[3])
	s.threads, _ = strconv.ParseInt(f[17], 10, 64)
	s.pages, _ = strconv.ParseInt(f[21], 10, 64)
	return s, true
}

// processes lists all processes of this process namespace.
func processes() map[int]stat {
	names, _ := filepath.Glob("/proc/[0-9]*")
	out := make(map[int]stat, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(filepath.Base(name))
		if err != nil {
			continue
		}
		if s, ok := readStat(pid); ok {
			out[pid] = s
		}
	}
	return out
}

// sample notes the command's processes and sums what they use.
func (w *watch) sample() (memory, threads int64) {
	all := processes()
	for pid := range w.members(all) {
		memory += all[pid].pages * int64(os.Getpagesize())
		threads += all[pid].threads
	}
	return memory, threads
}

// members finds the command's processes by descent, by group and session, and
// by having been seen before, and remembers them.
func (w *watch) members(all map[int]stat) map[int]bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	self := os.Getpid()
	mine := map[int]bool{}
	for pid, s := range all {
		if pid == self || pid == 1 {
			continue
		}
		if pid == w.root || s.group == w.root || s.session == w.root || (w.known[pid] != "" && w.known[pid] == s.started) {
			mine[pid] = true
		}
	}
	for grown := true; grown; {
		grown = false
		for pid, s := range all {
			if !mine[pid] && pid != self && pid != 1 && mine[s.parent] {
				mine[pid], grown = true, true
			}
		}
	}
	for pid := range mine {
		w.known[pid] = all[pid].started
	}
	return mine
}

// killStrays kills what the command left behind and returns how many processes
// that were. It repeats until two looks in a row find nothing: a process may
// fork while it is looked for, and one that has just been started shows its
// environment only a moment later.
func (w *watch) killStrays() int {
	if w.marker == "" {
		return 0
	}
	killed := map[int]bool{}
	quiet := 0
	for range 100 {
		all := processes()
		mine := w.members(all)
		for pid, s := range all {
			if !mine[pid] && pid != os.Getpid() && pid != 1 && s.state != 'Z' && marked(pid, w.marker) {
				mine[pid] = true
			}
		}
		for _, pid := range w.group.members() {
			mine[pid] = true
		}
		alive := 0
		delete(mine, w.root) // dead, and collected by run itself
		for pid := range mine {
			if s, ok := all[pid]; !ok || s.state == 'Z' || s.state == 'X' {
				reap(pid)
				continue
			}
			alive++
			killed[pid] = true
			_ = syscall.Kill(pid, syscall.SIGKILL)
			reap(pid)
		}
		if alive > 0 {
			quiet = 0
		} else if quiet++; quiet == 2 {
			break
		}
		time.Sleep(2 * time.Millisecond)
	}
	return len(killed)
}

// marked reports whether the process carries the marker in its environment.
func marked(pid int, marker string) bool {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && bytes.Contains(data, []byte(marker))
}
