package evidence

import (
	"strings"

	"culprit/internal/session"
)

// goBuild reads the go command's own errors: compiler and vet errors under
// "# package", and modules that cannot be resolved.
type goBuild struct {
	header string // package under "# …"
	vet    bool
	open   bool // the last line was an error that a tab continues
	last   session.Failure
	seen   []string // packages that had an error
}

func (b *goBuild) line(g *goTest, l line) bool {
	s := l.text
	switch s[0] {
	case '#':
		return b.start(s)
	case '\t', ' ':
		if b.open && s[0] == '\t' {
			b.last.Message = cut(b.last.Message+"\n"+s, maxMessage)
			b.last.To = l.to
			return true
		}
		b.flush(g)
		return false
	case 'g':
		if strings.HasPrefix(s, "go: ") {
			return b.module(g, l)
		}
	case 'n':
		if strings.HasPrefix(s, "no packages to test") || strings.HasPrefix(s, "no required module provides package ") {
			g.use()
			g.out.none()
			return true
		}
	case 'p':
		if strings.HasPrefix(s, "package ") && (strings.Contains(s, ": build constraints exclude all Go files") || strings.Contains(s, ": no Go files in ") ||
			strings.Contains(s, "is not in std") || strings.Contains(s, "cannot find package")) {
			b.add(g, session.Failure{Kind: session.KindDependency, Message: s, From: l.from, To: l.to})
			return true
		}
	}
	text := strings.TrimPrefix(s, "vet: ")
	file, n, msg, ok := goPlace(text)
	if !ok || msg == "" || n == 0 {
		if b.header != "" && !strings.HasPrefix(s, "too many errors") {
			b.flush(g)
			if b.header != "" && (strings.HasPrefix(s, "stat ") || strings.Contains(s, "cannot find package") || strings.Contains(s, " is not in ") ||
				strings.Contains(s, "no required module provides package") || strings.Contains(s, "no Go files in") || strings.Contains(s, "does not contain package")) {
				b.add(g, session.Failure{Package: b.header, Kind: session.KindDependency, Message: s, From: l.from, To: l.to})
				return true
			}
			b.header = ""
		}
		return false
	}
	kind := session.KindBuild
	if b.vet && len(text) == len(s) {
		kind = session.KindLint
	}
	if missingPackage(msg) {
		kind = session.KindDependency
	} else if b.header == "" {
		return false
	}
	b.add(g, session.Failure{Package: b.header, File: file, Line: n, Kind: kind, Message: msg, From: l.from, To: l.to})
	b.open = true
	return true
}

// start takes "# example.com/p [example.com/p.test]" and vet's "# [example.com/p]".
func (b *goBuild) start(s string) bool {
	name, isHeader := strings.CutPrefix(s, "# ")
	if !isHeader || name == "" {
		return false
	}
	vet := name[0] == '[' && name[len(name)-1] == ']'
	if vet {
		name = name[1 : len(name)-1]
	} else if i := strings.Index(name, " ["); i > 0 && strings.HasSuffix(name, ".test]") {
		name = name[:i]
	}
	if name == "" || strings.ContainsAny(name, " \t[]") {
		return false
	}
	b.header, b.vet, b.open = strings.Clone(cut(strings.TrimSuffix(name, "_test"), maxName)), vet, false
	return true
}

func missingPackage(msg string) bool {
	for _, p := range [...]string{
		"no required module provides package ", "cannot find package ", "cannot find module providing package ",
		"missing go.sum entry for ", "could not import ", "package ",
	} {
		if strings.HasPrefix(msg, p) {
			return p != "package " || strings.Contains(msg, " is not in std") || strings.Contains(msg, " is not in GOROOT")
		}
	}
	return false
}

// module takes the go command's complaints about modules, not its news.
func (b *goBuild) module(g *goTest, l line) bool {
	s := l.text
	for _, news := range [...]string{
		"downloading ", "finding ", "extracting ", "added ", "upgraded ", "downgraded ", "removed ", "creating new go.mod", "copying ",
		"to add ", "found ", "adding ", "writing ", "converting ", "using ", "trying ", "upgrading ",
	} {
		if strings.HasPrefix(s[len("go: "):], news) {
			return true
		}
	}
	if strings.HasPrefix(s, "go: warning: ") {
		if strings.HasSuffix(s, "matched no packages") {
			g.use()
			g.out.none()
		}
		return true
	}
	b.add(g, session.Failure{Kind: session.KindDependency, Message: strings.TrimPrefix(s, "go: "), From: l.from, To: l.to})
	b.open = true
	return true
}

// add hands the previous error over and holds this one, which may go on.
func (b *goBuild) add(g *goTest, f session.Failure) {
	b.flush(g)
	f.Framework = frameworkGo
	b.last = f
	if n := len(b.seen); f.Package != "" && n < maxFailures && (n == 0 || b.seen[n-1] != f.Package) {
		b.seen = append(b.seen, f.Package)
	}
	g.active = true
}

func (b *goBuild) flush(g *goTest) {
	b.open = false
	if b.last.Kind == "" {
		return
	}
	g.use()
	g.out.fail(b.last, primary)
	b.last = session.Failure{}
}

// failed reports whether an error of the package was seen.
func (b *goBuild) failed(pkg string) bool {
	for _, p := range b.seen {
		if p == strings.TrimSuffix(pkg, "_test") {
			return true
		}
	}
	return false
}
