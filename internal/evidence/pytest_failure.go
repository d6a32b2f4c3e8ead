package evidence

import (
	"strings"

	"culprit/internal/session"
)

// flush joins blocks and names, and hands them over in the blocks' order.
func (p *pytest) flush() {
	for _, b := range p.blocks {
		f := session.Failure{Framework: frameworkPytest, Kind: session.KindTest, From: b.from, To: b.to, Message: b.msg.String()}
		if n := len(b.frames); n > 0 {
			for i := n - 1; i >= 0; i-- {
				f.Stack = append(f.Stack, b.frames[i])
			}
		}
		for i := range p.nodes {
			n := &p.nodes[i]
			same := pyTitle(n.id) == strings.TrimPrefix(b.title, "[doctest] ")
			if b.collecting {
				same = n.id == b.title
			}
			if n.used || !same {
				continue
			}
			n.used, f.Test = true, n.id
			if f.Message == "" {
				f.Message = n.message
			}
			break
		}
		f.Kind = pyKind(f.Message)
		if b.collecting {
			f.Test, f.File, f.Package = "", b.title, b.title
			if f.Kind != session.KindDependency {
				f.Kind = session.KindBuild
			}
			for _, fr := range f.Stack {
				if fr.File == b.title {
					f.Line = fr.Line
				}
			}
			p.out.fail(f, primary)
			continue
		}
		if f.Test == "" {
			f.Test = b.title
			if file := pyTestFile(b.frames); file != "" && !strings.HasPrefix(b.title, "[doctest]") {
				f.Test = file + "::" + strings.ReplaceAll(b.title, ".", "::")
			}
		}
		f.File, f.Line = pyTestPlace(f.Test, f.Stack)
		p.out.fail(f, primary)
	}
	for _, n := range p.nodes {
		if n.used {
			continue
		}
		f := session.Failure{Framework: frameworkPytest, Test: n.id, Message: n.message, Kind: pyKind(n.message), From: n.from, To: n.to}
		file, _, isTest := strings.Cut(n.id, "::")
		f.File = file
		if !isTest {
			f.Test, f.Package = "", file
			if f.Kind != session.KindDependency {
				f.Kind = session.KindBuild
			}
		}
		p.out.fail(f, primary)
	}
	p.blocks, p.nodes = nil, nil
}

// pyTestFile is the file of a test, by its stack: the first whose name is a
// test's, or the outermost.
func pyTestFile(outermostFirst []session.Frame) string {
	for _, fr := range outermostFirst {
		base := fr.File[strings.LastIndexAny(fr.File, `/\`)+1:]
		if strings.HasPrefix(base, "test") || strings.HasSuffix(base, "_test.py") || strings.HasSuffix(base, "_tests.py") {
			return fr.File
		}
	}
	if len(outermostFirst) > 0 {
		return outermostFirst[0].File
	}
	return ""
}

// pyTitle is the title of a test's block.
func pyTitle(id string) string {
	_, name, _ := strings.Cut(id, "::")
	params := ""
	if i := strings.IndexByte(name, '['); i > 0 {
		name, params = name[:i], name[i:]
	}
	return strings.ReplaceAll(name, "::", ".") + params
}

// pyTestPlace is the place in the test's own file where it failed.
func pyTestPlace(id string, stack []session.Frame) (string, int) {
	file, _, _ := strings.Cut(id, "::")
	for _, fr := range stack {
		if pathSuffix(fr.File, file) {
			return file, fr.Line
		}
	}
	if strings.HasSuffix(file, ".py") {
		return file, 0
	}
	return "", 0
}

// pyKind tells an assertion from a crash by the exception.
func pyKind(msg string) session.Kind {
	first, _, _ := strings.Cut(msg, "\n")
	switch {
	case strings.HasPrefix(first, "ModuleNotFoundError: "), strings.Contains(msg, "\nModuleNotFoundError: "):
		return session.KindDependency
	case strings.HasPrefix(first, "Failed: Timeout"), strings.HasPrefix(first, "TimeoutError"):
		return session.KindTimeout
	case first == "", strings.HasPrefix(first, "assert "), strings.HasPrefix(first, "AssertionError"), strings.HasPrefix(first, "Failed: "):
		return session.KindTest
	case strings.HasPrefix(first, "SyntaxError"), strings.HasPrefix(first, "IndentationError"):
		return session.KindBuild
	case pyException(first):
		return session.KindPanic
	}
	return session.KindTest
}
