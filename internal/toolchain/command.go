package toolchain

import (
	"io/fs"
	"path"
	"strings"

	"culprit/internal/session"
)

// invocation is a command that somebody gave, taken apart.
type invocation struct {
	command string   // as given
	dir     string   // "cd dir &&" before it
	env     []string // "K=V" before the program
	words   []string // program and arguments
}

// FromCommand recognises the test command that a user or a CI step gives and
// makes a kit of it: Suite is the command as it is, and One keeps its flags
// and environment while it narrows the command to one test. ok is false for
// a command that is not one known runner in one folder.
func FromCommand(cmd string, fsys fs.FS) (Kit, bool) {
	if _, ok := parseInvocation(cmd); !ok {
		return Kit{}, false
	}
	return survey(fsys).command(cmd)
}

// parseInvocation takes "cd x && K=V program args"; anything more is refused.
func parseInvocation(cmd string) (invocation, bool) {
	ws, ok := words(strings.TrimSpace(cmd))
	if !ok {
		return invocation{}, false
	}
	in := invocation{command: cmd, dir: "."}
	for len(ws) > 3 && ws[0].text == "cd" && !ws[0].op && !ws[1].op && ws[2].op && (ws[2].text == "&&" || ws[2].text == ";") {
		in.dir = path.Join(in.dir, ws[1].text)
		if path.IsAbs(ws[1].text) || !fs.ValidPath(in.dir) {
			return invocation{}, false
		}
		ws = ws[3:]
	}
	// "2>&1" and a redirection at the end don't change what is run.
	if n := len(ws); n > 0 && ws[n-1].op && (ws[n-1].text == "\n" || ws[n-1].text == ";") {
		ws = ws[:n-1]
	}
	for _, w := range ws {
		if w.op {
			return invocation{}, false
		}
	}
	if len(ws) > 0 && ws[0].text == "env" {
		ws = ws[1:]
	}
	for len(ws) > 0 && isAssignment(ws[0].text) {
		in.env = append(in.env, ws[0].text)
		ws = ws[1:]
	}
	for _, w := range ws {
		in.words = append(in.words, w.text)
	}
	return in, len(in.words) > 0
}

func isAssignment(s string) bool {
	name, _, ok := strings.Cut(s, "=")
	if !ok || name == "" || name[0] >= '0' && name[0] <= '9' {
		return false
	}
	for i := 0; i < len(name); i++ {
		if c := name[i]; c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// Adapt finds what an older commit's tree needs before the kit can test it:
// files to be made there, and a note that says so. ok is false when nothing
// is to be done, or nothing can be. newer is the tree that the kit was
// detected in. Where the older tree has a lock file of its own, nothing is
// edited: Kit.At gives the set-up that uses it.
func Adapt(old, newer fs.FS, k Kit) (edits []session.Edit, note string, ok bool) {
	t := find(k.Name)
	if t == nil || t.adapt == nil {
		return nil, "", false
	}
	return t.adapt(survey(old), survey(newer), k)
}
