package toolchain

import (
	"io/fs"
	"path"
	"strings"
)

// Script is a script of CI, taken apart at the command that runs the tests.
type Script struct {
	Before []string // commands before it, each for the repository's root
	Test   Kit      // of the test command; its Suite is that command
}

// Scripts reads scripts of a tree's CI. The answer is to be kept: it looks at
// the tree once, whatever the number of scripts. dir is the folder that the
// script starts in and env what is set for it ("K=V"). ok is false for a script
// without a test command, or one that only a shell understands: branches,
// loops, substitutions before the test command.
func Scripts(fsys fs.FS) func(script, dir string, env []string) (s Script, ok bool) {
	var t *tree
	return func(script, dir string, env []string) (Script, bool) {
		if !runsTests(script) {
			return Script{}, false
		}
		if t == nil {
			t = survey(fsys)
		}
		return t.script(script, dir, env)
	}
}

// runsTests is the cheap look before the tree is needed.
func runsTests(script string) bool {
	for _, w := range [...]string{"test", "jest", "mocha", "tox", "nox", "gradle", "mvn", "verify", "unittest", "ava", "tap"} {
		if strings.Contains(script, w) {
			return true
		}
	}
	return false
}

func (t *tree) script(script, dir string, env []string) (Script, bool) {
	ws, ok := words(strings.TrimSpace(script))
	if !ok {
		return t.line(script, dir, env)
	}
	var out Script
	exported := env
	for _, r := range commands(ws) {
		cmd := r.words
		switch first := cmd[0].text; {
		case first == "cd" && len(cmd) == 2:
			dir = path.Join(dir, cmd[1].text)
			if path.IsAbs(cmd[1].text) || !fs.ValidPath(dir) {
				return Script{}, false
			}
			continue
		case first == "set" || first == "echo":
			continue
		case first == "export" && len(cmd) == 2 && isAssignment(cmd[1].text):
			exported = append(exported[:len(exported):len(exported)], cmd[1].text)
			continue
		}
		command := Kit{Root: dir, Env: exported}.in(asWritten(cmd))
		if k, ok := t.command(command); ok {
			out.Test = k
			return out, true
		}
		if r.cut || shellControl[cmd[0].text] {
			return Script{}, false
		}
		out.Before = append(out.Before, command)
	}
	return Script{}, false
}

// line takes a script whose other lines only a shell understands by its last
// line, when that alone is a test command.
func (t *tree) line(script, dir string, env []string) (Script, bool) {
	lines := strings.Split(strings.TrimSpace(script), "\n")
	if len(lines) != 1 {
		return Script{}, false
	}
	k, ok := t.command(Kit{Root: dir, Env: env}.in(strings.TrimSpace(lines[0])))
	return Script{Test: k}, ok
}

func (t *tree) command(command string) (Kit, bool) {
	in, ok := parseInvocation(command)
	if !ok {
		return Kit{}, false
	}
	for _, tool := range toolchains {
		if tool.command == nil {
			continue
		}
		if k, ok := tool.command(t, in); ok {
			return k, true
		}
	}
	return Kit{}, false
}

var shellControl = map[string]bool{
	"if": true, "then": true, "else": true, "elif": true, "fi": true, "for": true, "while": true, "until": true, "do": true, "done": true,
	"case": true, "esac": true, "function": true, "trap": true, "exec": true, "source": true, ".": true, "eval": true, "{": true, "}": true,
	"pushd": true, "popd": true, "return": true, "exit": true, "!": true,
}

// row is one command of a script. cut tells that a pipe or a redirection
// followed, which is left out.
type row struct {
	words []word
	cut   bool
}

// commands splits words at the operators that only put commands in a row.
func commands(ws []word) (out []row) {
	var cur row
	for _, w := range ws {
		switch {
		case w.op && (w.text == "&&" || w.text == ";" || w.text == "\n"):
			if len(cur.words) > 0 {
				out = append(out, cur)
			}
			cur = row{}
		case cur.cut:
		case w.op:
			cur.cut = true
			if n := len(cur.words); w.text == ">" && n > 1 && (cur.words[n-1].raw == "1" || cur.words[n-1].raw == "2") {
				cur.words = cur.words[:n-1] // the number of what is redirected
			}
		default:
			cur.words = append(cur.words, w)
		}
	}
	if len(cur.words) > 0 {
		out = append(out, cur)
	}
	return out
}

func asWritten(cmd []word) string {
	out := make([]string, len(cmd))
	for i, w := range cmd {
		out[i] = strings.ReplaceAll(w.raw, "\\\n", "") // a continued line
	}
	return strings.Join(out, " ")
}

// With is the kit with more variables for its commands. What is set already
// stays.
func (k Kit) With(env []string) Kit {
	prefix := k.in("")
	have := map[string]bool{}
	for _, e := range k.Env {
		name, _, _ := strings.Cut(e, "=")
		have[name] = true
	}
	var all []string
	for _, e := range env {
		if name, _, _ := strings.Cut(e, "="); !have[name] {
			all = append(all, e)
		}
	}
	body, ok := strings.CutPrefix(k.Suite, prefix)
	if !ok || len(all) == 0 {
		return k
	}
	k.Env = append(all, k.Env...)
	k.Suite = k.in(body)
	return k
}
