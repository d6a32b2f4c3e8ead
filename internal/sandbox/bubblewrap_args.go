package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// system are the parts of /etc that programs need and that hold no secret.
// Password, key and machine files are not among them.
var system = []string{
	"ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "ssl/certs", "ssl/openssl.cnf", "ca-certificates", "ca-certificates.conf",
	"pki/tls/certs", "pki/ca-trust", "crypto-policies", "java", "maven", "gradle", "python3", "perl", "fonts", "mime.types", "magic", "protocols",
	"services", "localtime", "terminfo", "host.conf", "gai.conf", "php", "ruby", "node",
}

// tmpfs sizes: generous, they count as memory of the command.
const (
	tmpSize  = 8 << 30
	homeSize = 4 << 30
)

// arguments builds the command line of bwrap. files[0] (descriptor 4)
// is where it writes its information; files grows by what it reads from
// descriptors. out is the folder with the socket of a set-up step's way out.
func (b *bubblewrap) arguments(cmd Command, out string, files []*os.File) ([]string, []*os.File, error) {
	args := []string{
		"--unshare-all", "--unshare-user", "--uid", "1000", "--gid", "1000",
		"--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "culprit",
		"--info-fd", "4",
	}
	if b.noUserns {
		args = append(args, "--disable-userns")
	}
	if program := filterBytes(socketsUsual); len(program) > 0 {
		var err error
		if files, err = piped(files, program); err != nil {
			return nil, files, err
		}
		args = append(args, "--seccomp", strconv.Itoa(firstFile+len(files)-1))
	}
	args = append(args, "--ro-bind", "/usr", "/usr")
	for _, dir := range []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"} {
		info, err := os.Lstat(dir)
		switch {
		case err != nil:
		case info.Mode()&os.ModeSymlink != 0:
			if target, err := os.Readlink(dir); err == nil {
				args = append(args, "--symlink", target, dir)
			}
		default:
			args = append(args, "--ro-bind", dir, dir)
		}
	}
	args = append(args, "--proc", "/proc", "--dev", "/dev",
		"--perms", "1777", "--size", strconv.Itoa(tmpSize), "--tmpfs", "/tmp",
		"--size", strconv.Itoa(homeSize), "--tmpfs", home,
		"--dir", "/run", "--dir", "/var", "--symlink", "../tmp", "/var/tmp", "--dir", "/etc")
	args, files, err := etc(args, files)
	if err != nil {
		return nil, files, err
	}
	for _, dir := range b.tools.roots {
		args = append(args, "--ro-bind-try", dir, dir)
	}
	if cmd.Network {
		for _, path := range settingPaths(b.host) {
			args = append(args, "--ro-bind-try", path, path)
		}
		args = append(args, "--ro-bind", out, egressFolder, "--ro-bind", b.self, egressProgram)
	}
	mode := "--bind"
	if cmd.ReadOnlyDir {
		mode = "--ro-bind"
	}
	args = append(args, mode, cmd.Dir, Source)
	for _, bind := range cmd.Binds {
		mode := "--ro-bind"
		if bind.Writable {
			mode = "--bind"
		}
		args = append(args, mode, bind.Host, bind.Inside)
	}
	// Last, so that the mount points above could still be made. The files of
	// /proc/sys belong to the host's root: where that is who runs the bot, only
	// this keeps the command from writing to them.
	args = append(args, "--remount-ro", "/proc", "--remount-ro", "/", "--chdir", Source)
	return args, files, nil
}

// etc adds the minimal /etc: made-up users, and what the system needs.
func etc(args []string, files []*os.File) ([]string, []*os.File, error) {
	stubs := []struct{ name, text string }{
		{"passwd", "root:x:0:0:root:/root:/bin/sh\nculprit:x:1000:1000:culprit:" + home + ":/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n"},
		{"group", "root:x:0:\nculprit:x:1000:\nnogroup:x:65534:\n"},
		{"nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n"},
		{"hostname", "culprit\n"},
		{"hosts", "127.0.0.1 localhost culprit\n::1 localhost\n"},
	}
	for _, stub := range stubs {
		var err error
		if files, err = piped(files, []byte(stub.text)); err != nil {
			return nil, files, err
		}
		args = append(args, "--perms", "0444", "--ro-bind-data", strconv.Itoa(firstFile+len(files)-1), "/etc/"+stub.name)
	}
	for _, name := range system {
		path := filepath.Join("/etc", name)
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			continue
		}
		args = append(args, "--ro-bind-try", real, path)
	}
	versioned, _ := filepath.Glob("/etc/java-*")
	python, _ := filepath.Glob("/etc/python3.*")
	for _, path := range append(versioned, python...) {
		if !strings.Contains(path, "..") {
			args = append(args, "--ro-bind-try", path, path)
		}
	}
	return args, files, nil
}

// piped adds a descriptor from which data can be read; it is far smaller than a
// pipe's buffer.
func piped(files []*os.File, data []byte) ([]*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return files, fmt.Errorf("run command: %w", err)
	}
	_, err = w.Write(data)
	w.Close()
	files = append(files, r)
	if err != nil {
		return files, fmt.Errorf("run command: %w", err)
	}
	return files, nil
}
