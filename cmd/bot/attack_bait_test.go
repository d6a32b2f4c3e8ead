package main

import (
	"bufio"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"golang.org/x/sys/unix"
)

// A bait is everything that an attempt may read, reach or change if the bot's
// walls have a hole. What happened is seen here, not believed of the attempt.
type bait struct {
	t       *testing.T
	token   string            // in the names of all that attempts make
	secrets map[string]string // secret → where it lies
	places  map[string]any    // what the attacker knows: everything but the secrets
	victim  string
	redis   *miniredis.Miniredis
	decoy   *exec.Cmd

	mu      sync.Mutex
	reached map[string]bool // first line that a listener got
}

// secret makes one that no shape of package redact knows.
func (b *bait) secret(where string) string {
	s := "canary" + strings.ToLower(rand.Text())
	b.mu.Lock()
	defer b.mu.Unlock()
	b.secrets[s] = where
	return s
}

func (b *bait) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bait) file(path string) {
	b.t.Helper()
	b.must(os.MkdirAll(filepath.Dir(path), 0o755))
	b.must(os.WriteFile(path, []byte(b.secret(path)+"\n"), 0o600))
}

// lay lays baits around a world, before its bot is started.
func lay(t *testing.T, w *world) *bait {
	t.Helper()
	b := &bait{t: t, token: "attack-" + strings.ToLower(rand.Text()[:8]), secrets: map[string]string{}, reached: map[string]bool{}}
	tmp, err := os.MkdirTemp("", "bait") // short: paths of sockets are limited
	b.must(err)
	t.Cleanup(func() { _ = os.RemoveAll(tmp) })
	other := filepath.Join(w.data, "sessions", "other")
	b.victim = filepath.Join(other, "victim")
	for _, path := range []string{
		filepath.Join(other, "session.json"), b.victim, filepath.Join(w.data, "repositories", "mirrors", "other.git", "config"),
		filepath.Join(w.data, "builds", "other", "pip", "x"), filepath.Join(tmp, "key.pem"), filepath.Join(w.home, ".gitconfig"),
	} {
		b.file(path)
	}
	for _, name := range secretFiles {
		b.file(filepath.Join(w.home, name))
	}
	for _, name := range []string{"OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "SOMETHING_ELSE"} {
		w.env = append(w.env, name+"="+b.secret("environment of the bot"))
	}
	shm := "/dev/shm/" + b.token + "-shm"
	b.file(shm)
	t.Cleanup(func() { _ = os.Remove(shm) })
	agent := filepath.Join(tmp, "agent")
	w.env = append(w.env, "SSH_AUTH_SOCK="+agent, "DOCKER_HOST=unix://"+agent)

	tcp, tcp6 := b.listen("tcp4", "127.0.0.1:0"), b.listen("tcp6", "[::1]:0")
	b.listen("unix", "@"+b.token)
	b.listen("unix", agent)
	b.listen("unix", filepath.Join(tmp, "sock"))
	host, anyPort, anyUDP := hostAddress(), 0, 0
	if host == "" {
		host = "127.0.0.1"
	}
	anyPort, anyUDP = b.listen("tcp4", host+":0"), b.datagrams("udp4", host+":0")
	b.datagrams("unixgram", "@"+b.token+"-d")
	b.datagrams("unixgram", filepath.Join(tmp, "log"))
	udp := b.datagrams("udp4", "127.0.0.1:0")
	b.redis, err = miniredis.Run()
	b.must(err)
	t.Cleanup(b.redis.Close)
	b.must(b.redis.Set("secret", b.secret("Redis on loopback")))
	_, redisPort, _ := net.SplitHostPort(b.redis.Addr())
	_, rest, _ := strings.Cut(w.redisURL, "@")

	b.places = map[string]any{
		"token": b.token, "home": w.home, "home files": secretFiles, "data": w.data, "shm": b.token + "-shm", "sysv": b.segment(), "key": b.keyring(),
		"key file": filepath.Join(tmp, "key.pem"), "tcp": tcp, "tcp6": tcp6, "udp": udp, "udp any": anyUDP, "any": anyPort, "host": host,
		"redis": portNumber(redisPort), "redis socket": rest, "unix": filepath.Join(tmp, "sock"), "agent": agent, "abstract": b.token,
		"abstract datagram": b.token + "-d", "datagram file": filepath.Join(tmp, "log"), "temporary": tmp, "hook": filepath.Join(tmp, b.token+"-hook"), "door": b.freePort(), "decoy": b.startDecoy(tmp),
		"only": []string{}, "confined": true,
	}
	return b
}

func portNumber(s string) (n int) { _, _ = fmt.Sscan(s, &n); return n }

// hostAddress is an address of this machine that is not loopback, or empty.
func hostAddress() string {
	all, _ := net.InterfaceAddrs()
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			return n.IP.String()
		}
	}
	return ""
}

// listen notes the first line of each connection and answers with a secret. It
// returns the port, 0 where there is no such network.
func (b *bait) listen(network, address string) int {
	l, err := net.Listen(network, address)
	if network == "tcp6" && err != nil {
		return 0
	}
	b.must(err)
	b.t.Cleanup(func() { _ = l.Close() })
	secret := b.secret("listener at " + address)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				line, _ := bufio.NewReader(c).ReadString('\n')
				b.note(line)
				_, _ = c.Write([]byte(secret + "\n"))
			}()
		}
	}()
	if a, ok := l.Addr().(*net.TCPAddr); ok {
		return a.Port
	}
	return 0
}

// datagrams is listen for networks without connections.
func (b *bait) datagrams(network, address string) int {
	c, err := net.ListenPacket(network, address)
	b.must(err)
	b.t.Cleanup(func() { _ = c.Close() })
	secret := b.secret("listener at " + address)
	go func() {
		buf := make([]byte, 4096)
		for {
			n, from, err := c.ReadFrom(buf)
			if err != nil {
				return
			}
			line := string(buf[:n])
			if strings.Contains(line, "exfil12") {
				line = "name-query"
			}
			b.note(line)
			if from != nil && network != "unixgram" {
				_, _ = c.WriteTo([]byte(secret), from)
			}
		}
	}()
	if a, ok := c.LocalAddr().(*net.UDPAddr); ok {
		return a.Port
	}
	return 0
}

func (b *bait) note(line string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reached[strings.TrimSpace(line)] = true
}

func (b *bait) freePort() int {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	b.must(err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// segment is a System V shared memory segment with a secret.
func (b *bait) segment() int {
	key := unix.Getpid()<<8 | int(b.token[7])
	id, err := unix.SysvShmGet(key, 4096, unix.IPC_CREAT|0o600)
	b.must(err)
	b.t.Cleanup(func() { _, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) })
	mem, err := unix.SysvShmAttach(id, 0, 0)
	b.must(err)
	copy(mem, b.secret("shared memory segment"))
	b.must(unix.SysvShmDetach(mem))
	return key
}

// keyring is the name of a key in the kernel's ring of this user.
func (b *bait) keyring() string {
	id, err := unix.AddKey("user", b.token, []byte(b.secret("kernel keyring")), unix.KEY_SPEC_USER_KEYRING)
	if err == nil {
		b.t.Cleanup(func() { _, _ = unix.KeyctlInt(unix.KEYCTL_UNLINK, id, unix.KEY_SPEC_USER_KEYRING, 0, 0) })
	}
	return b.token
}

// startDecoy starts a process of the bot's user that stands for the bot, whose
// number the attacker knows: it can be killed without ending the test.
func (b *bait) startDecoy(dir string) int {
	open := filepath.Join(dir, "open")
	b.file(open)
	f, err := os.Open(open)
	b.must(err)
	defer f.Close()
	b.decoy = exec.Command("python3", "-c", "import time; time.sleep(3600)", b.secret("arguments of a process"))
	b.decoy.Env = []string{"PATH=" + os.Getenv("PATH"), "SECRET=" + b.secret("environment of a process")}
	b.decoy.ExtraFiles = []*os.File{f}
	b.must(b.decoy.Start())
	b.t.Cleanup(func() { _ = b.decoy.Process.Kill(); _ = b.decoy.Wait() })
	return b.decoy.Process.Pid
}

// stolen tells where the secrets lie that stand in a text, in any form.
func (b *bait) stolen(text string) (out []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for secret, where := range b.secrets {
		for _, f := range forms(secret) {
			if strings.Contains(text, f) {
				out = append(out, where)
				break
			}
		}
	}
	slices.Sort(out)
	return out
}

// happened tells what can be seen of an attempt from outside; empty: nothing.
func (b *bait) happened(name, place string) string {
	b.mu.Lock()
	reached := b.reached[name]
	b.mu.Unlock()
	if reached {
		return "a listener was reached"
	}
	if place != "" {
		if _, err := os.Lstat(place); err == nil {
			return place + " was written"
		}
	}
	switch name {
	case "redis-written":
		if b.redis.Exists("redis-written") {
			return "Redis was written to"
		}
	case "git-hook-for-the-bot":
		if _, err := os.Lstat(b.places["hook"].(string)); err == nil {
			return "git ran a planted program"
		}
	case "kill-the-bot", "kill-everything", "stop-the-bot":
		if state := processState(b.decoy.Process.Pid); state != "S" && state != "R" {
			return "the decoy is in state " + state
		}
	case "remove-session", "rename-session", "truncate-session", "permissions-of-others", "owner-of-others", "times-of-others":
		info, err := os.Stat(b.victim)
		if err != nil {
			return err.Error()
		}
		owner := info.Sys().(*syscall.Stat_t).Uid
		if int(owner) != os.Getuid() || info.Size() == 0 || info.Mode().Perm() != 0o600 || info.ModTime().Year() < 2000 {
			return fmt.Sprintf("the victim is now %d bytes, %s, of user %d and %s", info.Size(), info.Mode(), owner, info.ModTime())
		}
	}
	if strings.HasPrefix(name, "stay-") {
		if left := withArgument(b.token + "-" + name); left != "" {
			return "a process is left: " + left
		}
	}
	return ""
}

// processState is the letter of /proc/PID/stat, or empty.
func processState(pid int) string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	return rest[:1]
}

// withArgument finds a process by a word in its arguments.
func withArgument(word string) string {
	names, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range names {
		if data, err := os.ReadFile(name); err == nil && strings.Contains(string(data), word) {
			return strings.ReplaceAll(string(data), "\x00", " ")
		}
	}
	return ""
}
