package evidence

import (
	"path"
	"strings"

	"culprit/internal/session"
)

// checks takes what keeps a build from passing though its tests pass: files
// that are not formatted, generated files that are out of date, coverage
// under its threshold. Some tools print nothing but names (gofmt -l) or a
// plain difference (git diff --exit-code); they count only when the log shows
// that the step's script runs such a tool.
type checks struct {
	out  *collector
	list bool // mix format lists files
}

// unformatted are the phrases with which formatters name a file.
var unformatted = []struct{ tool, before, after string }{
	{"black", "would reformat ", ""},
	{"ruff format", "Would reformat: ", ""},
	{"isort", "ERROR: ", " Imports are incorrectly sorted and/or formatted."},
	{"prettier", "[warn] ", ""},
	{"rustfmt", "Diff in ", ":"},
	{"gofmt", "diff -u ", ""}, {"gofmt", "diff ", ""},
}

// uncovered are the phrases with which a threshold is said to be missed.
var uncovered = []struct{ tool, has, also string }{
	{"jest", "coverage threshold for ", " not met"},
	{"c8", "does not meet ", "threshold ("},
	{"pytest-cov", "Required test coverage of ", " not reached"},
	{"coverage.py", "Coverage failure: total of ", "fail-under="},
	{"simplecov", "coverage (", "is below the expected minimum coverage"},
	{"jacoco", "ratio is ", "but expected minimum is "},
	{"node:test", "coverage does not meet threshold of ", ""},
	{"mix test", "Coverage test failed, threshold not met", ""},
}

func checkCues() cues {
	c := cues{starts: []string{"diff --git a/", "* ", "** (Mix) mix format failed due to --check-formatted"}, has: []string{".go"}}
	for _, u := range unformatted {
		c.starts = append(c.starts, u.before)
	}
	for _, u := range uncovered {
		c.has = append(c.has, u.has)
	}
	return c
}

func (c *checks) line(l line) bool {
	s := l.text
	if c.list {
		if file, ok := strings.CutPrefix(strings.TrimLeft(s, " "), "* "); ok {
			c.fail("mix format", file, "not formatted", l)
			return true
		}
		c.list = s == "" || strings.HasPrefix(s, "The following files are not formatted")
		return c.list
	}
	if strings.HasPrefix(s, "** (Mix) mix format failed due to --check-formatted") {
		c.list = true
		return true
	}
	for _, u := range uncovered {
		if strings.Contains(s, u.has) && strings.Contains(s, u.also) && !strings.Contains(s, "not met: 0/0") {
			c.fail("coverage", "", s, l)
			return true
		}
	}
	for _, u := range unformatted {
		if name, ok := strings.CutPrefix(s, u.before); ok && c.unformatted(u.tool, name, u.after, l) {
			return true
		}
	}
	if rest, ok := strings.CutPrefix(s, "diff --git a/"); ok {
		return c.diff(rest, l)
	}
	if strings.HasSuffix(s, ".go") && !strings.ContainsAny(s, " \t:\"'*") && c.runs("gofmt -l", "gofmt -s -l", "goimports -l", "gofumpt -l") {
		c.fail("gofmt", s, "not formatted", l)
		return true
	}
	return false
}

// runs reports whether the step's script has one of these commands.
func (c *checks) runs(commands ...string) bool {
	for _, cmd := range commands {
		if strings.Contains(c.out.text, cmd) || strings.Contains(c.out.opts.Command, cmd) {
			return true
		}
	}
	return false
}

func (c *checks) unformatted(tool, name, after string, l line) bool {
	if after != "" {
		i := strings.Index(name, after)
		if i <= 0 {
			return false
		}
		name = name[:i]
	}
	switch tool {
	case "black":
		if !strings.HasSuffix(name, ".py") && !strings.HasSuffix(name, ".pyi") && !strings.HasSuffix(name, ".ipynb") {
			return false
		}
	case "prettier":
		if strings.HasPrefix(name, "Code style issues") {
			return true
		}
		if strings.ContainsAny(name, " :") || path.Ext(name) == "" || !c.runs("prettier", "npm", "yarn", "pnpm", "format", "lint") && c.out.text != "" {
			return false
		}
	case "rustfmt":
		name, _, _ = strings.Cut(name, " at line")
		if !strings.HasSuffix(name, ".rs") {
			return false
		}
	case "gofmt":
		old, _, ok := strings.Cut(name, " ")
		if !ok || !strings.HasSuffix(old, ".go.orig") {
			return false
		}
		name = strings.TrimSuffix(old, ".orig")
	}
	if name == "" || strings.Contains(name, "  ") {
		return false
	}
	c.fail(tool, name, "not formatted", l)
	return true
}

// diff takes "name b/name" of a difference that a check of generated files
// prints.
func (c *checks) diff(rest string, l line) bool {
	name, _, ok := strings.Cut(rest, " b/")
	if !ok || !c.runs("git diff", "git status --porcelain", "git add --intent-to-add", "git add -N") {
		return false
	}
	c.fail("git diff", name, "out of date: the step's command changed it", l)
	return true
}

func (c *checks) fail(tool, file, msg string, l line) {
	c.out.fail(session.Failure{Framework: tool, Kind: session.KindLint, File: file, Message: msg, From: l.from, To: l.to}, secondary)
}

func (c *checks) busy() bool { return c.list }

func (c *checks) end() { c.list = false }
