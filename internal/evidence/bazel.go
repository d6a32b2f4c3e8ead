package evidence

import (
	"strings"

	"culprit/internal/session"
)

const frameworkBazel = "bazel"

// bazel reads Bazel's summary of test targets, and its own errors. The tests
// inside a target are named by the target's own output (--test_output=errors);
// a target of which that names a failed test is a consequence of it.
type bazel struct {
	out     *collector
	targets []session.Failure // failed
	outputs []bazelOutput
}

// bazelOutput is where a target's own output stands.
type bazelOutput struct {
	target   string
	from, to int64
}

const (
	bazelOutputBegins = "==================== Test output for "
	bazelOutputEnds   = "================================================================================"
)

func (b *bazel) line(l line) bool {
	s := l.text
	switch {
	case s == "":
		return false
	case strings.HasPrefix(s, bazelOutputBegins):
		target, _, _ := strings.Cut(strings.TrimSuffix(s[len(bazelOutputBegins):], ":"), " ") // "(shard 1 of 16)"
		if len(b.outputs) < maxFailures {
			b.outputs = append(b.outputs, bazelOutput{strings.Clone(target), l.from, l.to})
		}
		return true
	case s == bazelOutputEnds:
		if n := len(b.outputs); n > 0 && b.outputs[n-1].to < l.from {
			b.outputs[n-1].to = l.from
		}
		return false
	case s[0] == '/', s[0] == '@':
		target, rest, ok := strings.Cut(s, " ")
		rest = strings.TrimLeft(strings.TrimPrefix(strings.TrimLeft(rest, " "), "(cached) "), " ")
		if !ok || !strings.Contains(target, "//") || !strings.Contains(target, ":") {
			return false
		}
		return b.result(target, rest, l)
	case strings.HasPrefix(s, "FAIL: "), strings.HasPrefix(s, "TIMEOUT: "):
		word, rest, _ := strings.Cut(s, ": ")
		target, _, ok := strings.Cut(rest, " (")
		return ok && strings.Contains(target, "//") && b.result(target, map[string]string{"FAIL": "FAILED in ", "TIMEOUT": "TIMEOUT in "}[word], l)
	case strings.HasPrefix(s, "ERROR: "):
		return b.error(s[len("ERROR: "):], l)
	}
	return false
}

func (b *bazel) result(target, verdict string, l line) bool {
	f := session.Failure{Framework: frameworkBazel, Test: target, Kind: session.KindTest, From: l.from, To: l.to}
	switch {
	case strings.HasPrefix(verdict, "PASSED in "):
		b.out.use(frameworkBazel)
		b.out.pass(frameworkBazel, "", target)
		return true
	case strings.HasPrefix(verdict, "FAILED in "), verdict == "FAILED":
	case strings.HasPrefix(verdict, "TIMEOUT in "):
		f.Kind = session.KindTimeout
	case strings.HasPrefix(verdict, "FAILED TO BUILD"):
		f.Kind, f.Message = session.KindBuild, "FAILED TO BUILD"
	default:
		return strings.HasPrefix(verdict, "NO STATUS") || strings.HasPrefix(verdict, "FLAKY, ")
	}
	b.out.use(frameworkBazel)
	f.Test = strings.Clone(cut(target, maxName))
	if len(b.targets) < maxFailures {
		b.targets = append(b.targets, f)
	}
	return true
}

// error takes "/path/BUILD:12:5: Compiling x.cc failed: (Exit 1): …".
func (b *bazel) error(s string, l line) bool {
	place, msg, ok := strings.Cut(s, ": ")
	file, n, isPlace := lineColumn(place)
	base := file[strings.LastIndexByte(file, '/')+1:]
	if !ok || !isPlace || base != "BUILD" && base != "BUILD.bazel" && base != "WORKSPACE" && !strings.HasSuffix(base, ".bzl") {
		return false
	}
	b.out.fail(session.Failure{Framework: frameworkBazel, Kind: session.KindBuild, File: file, Line: n, Message: msg, From: l.from, To: l.to}, secondary)
	return true
}

func (b *bazel) busy() bool { return false }

func (b *bazel) end() {
	ranks := make([]tier, len(b.targets))
	for i, f := range b.targets {
		if f.Kind == session.KindBuild || b.explained(f.Test) {
			ranks[i] = secondary
		}
	}
	for i, f := range b.targets {
		b.out.fail(f, ranks[i])
	}
	b.targets, b.outputs = nil, nil
}

// explained reports whether a failed test is named in the target's output.
func (b *bazel) explained(target string) bool {
	for _, o := range b.outputs {
		if o.target == target && b.out.namesTest(o.from, o.to) {
			return true
		}
	}
	return false
}
