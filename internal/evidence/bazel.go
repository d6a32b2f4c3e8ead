package evidence

import (
	"strings"

	"culprit/internal/session"
)

const frameworkBazel = "bazel"

// bazel reads Bazel's summary of test targets, and its own errors. The tests
// inside a target are named by the target's own output (--test_output=errors).
type bazel struct{ out *collector }

func (b *bazel) line(l line) bool {
	s := l.text
	switch {
	case strings.HasPrefix(s, "//"):
		target, rest, ok := strings.Cut(s, " ")
		rest = strings.TrimLeft(strings.TrimPrefix(strings.TrimLeft(rest, " "), "(cached) "), " ")
		if !ok || !strings.Contains(target, ":") {
			return false
		}
		return b.result(target, rest, l)
	case strings.HasPrefix(s, "FAIL: //"), strings.HasPrefix(s, "TIMEOUT: //"):
		word, rest, _ := strings.Cut(s, ": ")
		target, _, ok := strings.Cut(rest, " (")
		return ok && b.result(target, map[string]string{"FAIL": "FAILED in ", "TIMEOUT": "TIMEOUT in "}[word], l)
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
	case strings.HasPrefix(verdict, "FAILED in "):
	case strings.HasPrefix(verdict, "TIMEOUT in "):
		f.Kind = session.KindTimeout
	case strings.HasPrefix(verdict, "FAILED TO BUILD"):
		f.Kind, f.Message = session.KindBuild, "FAILED TO BUILD"
	default:
		return strings.HasPrefix(verdict, "NO STATUS") || strings.HasPrefix(verdict, "FLAKY, ")
	}
	b.out.use(frameworkBazel)
	rank := primary
	if b.out.namesTests() && f.Kind != session.KindTimeout {
		rank = secondary
	}
	b.out.fail(f, rank)
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

func (b *bazel) end() {}
