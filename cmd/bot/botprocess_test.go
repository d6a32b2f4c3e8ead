package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A botProcess is `bot serve --work` as a process of its own.
type botProcess struct {
	cmd  *exec.Cmd
	log  *botLog
	from int // number of the log's first line of this process
	addr string
	done chan struct{} // closed when the process has ended and its log is read
	err  error         // of Wait; read after done
}

// botLog collects what bots write, and wakes whoever waits for a line.
type botLog struct {
	mu    sync.Mutex
	text  bytes.Buffer
	lines []string
	more  chan struct{} // closed and replaced at each line
}

func newBotLog() *botLog { return &botLog{more: make(chan struct{})} }

func (l *botLog) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line)
	l.text.WriteString(line + "\n")
	close(l.more)
	l.more = make(chan struct{})
}

// since returns the lines from number n on, and a channel that is closed when
// there are more.
func (l *botLog) since(n int) ([]string, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.lines[min(n, len(l.lines)):]...), l.more
}

func (l *botLog) len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.lines)
}

// String is the whole log.
func (l *botLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// await returns the first line from number n on that contains the text; an
// empty one when the process ended or the time was over before.
func (l *botLog) await(ctx context.Context, n int, text string, ended <-chan struct{}) string {
	for {
		lines, more := l.since(n)
		for _, line := range lines {
			if strings.Contains(line, text) {
				return line
			}
		}
		n += len(lines)
		select {
		case <-more:
		case <-ended:
			if lines, _ := l.since(n); len(lines) == 0 {
				return ""
			}
		case <-ctx.Done():
			return ""
		}
	}
}

// spawn starts the bot with just these variables, and does not wait.
func spawn(t *testing.T, log *botLog, env []string, args ...string) *botProcess {
	t.Helper()
	return spawnProgram(t, "bot", log, env, args...)
}

// spawnProgram does it with one of the programs of TestMain.
func spawnProgram(t *testing.T, name string, log *botLog, env []string, args ...string) *botProcess {
	t.Helper()
	program, err := exec.LookPath(name) // TestMain put it there
	if err != nil {
		t.Fatal(err)
	}
	p := &botProcess{cmd: exec.Command(program, args...), log: log, from: log.len(), done: make(chan struct{})}
	p.cmd.Env = env
	// A group of its own: a test that ends early takes all of it along.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	r, w := io.Pipe()
	p.cmd.Stdout, p.cmd.Stderr = w, w
	p.cmd.WaitDelay = 5 * time.Second // for a child that inherited the pipe
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		lines := bufio.NewReader(r)
		for {
			line, err := lines.ReadString('\n')
			if line != "" {
				log.add(strings.TrimSuffix(line, "\n"))
			}
			if err != nil {
				return
			}
		}
	}()
	go func() {
		p.err = p.cmd.Wait()
		w.Close()
		<-read
		close(p.done)
	}()
	t.Cleanup(func() { p.kill() })
	return p
}

// kill ends the process as `kill -9` does, and waits for its end.
func (p *botProcess) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// dump lets a process that hangs write the stacks of its goroutines to the log.
func (p *botProcess) dump() {
	_ = p.cmd.Process.Signal(syscall.SIGQUIT)
	limit := time.NewTimer(5 * time.Second)
	defer limit.Stop()
	select {
	case <-p.done:
	case <-limit.C:
	}
}

// terminate asks the process to stop and returns its exit code; -1 when it had
// to be killed.
func (p *botProcess) terminate(t *testing.T, within time.Duration) int {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Error(err)
	}
	limit := time.NewTimer(within)
	defer limit.Stop()
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode()
	case <-limit.C:
		t.Errorf("the bot did not stop within %s of SIGTERM", within)
		p.kill()
		return -1
	}
}

// processesOf lists the processes, this one apart, that have anything to do
// with a folder: it stands in their command line, their environment, their
// working directory or one of their mounts.
func processesOf(t *testing.T, dir string) []string {
	t.Helper()
	procs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil || len(procs) == 0 {
		return nil // no /proc: not Linux
	}
	var out []string
	for _, p := range procs {
		if filepath.Base(p) == filepath.Base(selfProc()) {
			continue
		}
		for _, name := range []string{"cmdline", "environ", "mountinfo"} {
			// A process that ends meanwhile cannot be read, and is none.
			data, err := os.ReadFile(filepath.Join(p, name))
			if err == nil && bytes.Contains(data, []byte(dir)) {
				cmdline, _ := os.ReadFile(filepath.Join(p, "cmdline"))
				out = append(out, filepath.Base(p)+" "+strings.ReplaceAll(string(cmdline), "\x00", " ")+"("+name+")")
				break
			}
		}
		if cwd, err := os.Readlink(filepath.Join(p, "cwd")); err == nil && strings.HasPrefix(cwd, dir) {
			out = append(out, filepath.Base(p)+" (cwd "+cwd+")")
		}
	}
	return out
}

func selfProc() string {
	self, err := os.Readlink("/proc/self")
	if err != nil {
		return "/proc/self"
	}
	return self
}

// eventually polls until the condition holds or the time is over.
func eventually(t *testing.T, within time.Duration, what string, holds func() bool) bool {
	t.Helper()
	limit := time.NewTimer(within)
	defer limit.Stop()
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-limit.C:
			t.Errorf("not within %s: %s", within, what)
			return false
		}
	}
	return true
}
