package evidence

import (
	"strconv"
	"strings"

	"culprit/internal/session"
)

const frameworkCTest = "ctest"

// cTest reads CMake's ctest: a line for each test, and the list of failed
// ones at the end. What the tests themselves print (--output-on-failure)
// belongs to other formats, which know more.
type cTest struct {
	out   *collector
	list  bool
	found []session.Failure
}

func (c *cTest) line(l line) bool {
	s := l.text
	t := strings.TrimLeft(s, " \t")
	switch {
	case strings.HasPrefix(s, "The following tests FAILED:"):
		c.list = true
		return true
	case strings.HasPrefix(s, "No tests were found!!!"):
		c.out.use(frameworkCTest)
		c.out.none()
		return true
	case strings.Contains(s, "% tests passed, "):
		return c.totals(s)
	case c.list && t != "" && t != s && t[0] >= '0' && t[0] <= '9':
		return c.failed(t, l)
	case strings.Contains(t, " Test ") && strings.Contains(t, "#"):
		return c.result(t, l)
	}
	c.list = c.list && s == ""
	return false
}

// failed takes "3 - name (Failed)" of the list.
func (c *cTest) failed(t string, l line) bool {
	_, rest, ok := strings.Cut(t, " - ")
	i := strings.LastIndex(rest, " (")
	if !ok || i <= 0 {
		return false
	}
	why, _, _ := strings.Cut(rest[i+2:], ")")
	c.fail(strings.TrimSpace(rest[:i]), why, l)
	return true
}

func (c *cTest) fail(name, why string, l line) {
	f := session.Failure{Framework: frameworkCTest, Test: strings.Clone(name), Kind: session.KindTest, Message: strings.Clone(why), From: l.from, To: l.to}
	switch {
	case why == "Timeout":
		f.Kind = session.KindTimeout
	case why == "Not Run" || strings.HasPrefix(why, "BAD_COMMAND"):
		f.Kind = session.KindBuild
	case why != "Failed":
		f.Kind = session.KindPanic // SEGFAULT, Subprocess aborted, ILLEGAL, …
	}
	if len(c.found) < maxFailures {
		c.found = append(c.found, f)
	}
}

// result takes "1/3 Test #1: name .......   Passed    0.01 sec" and
// "2/3 Test #2: name .......***Failed    0.01 sec".
func (c *cTest) result(t string, l line) bool {
	_, rest, ok := strings.Cut(t, "#")
	_, rest, isResult := strings.Cut(rest, ": ")
	if !ok || !isResult || !strings.HasSuffix(t, " sec") {
		return false
	}
	i := strings.Index(rest, " ..")
	if i <= 0 {
		return false
	}
	name, verdict := rest[:i], strings.TrimLeft(rest[i:], " .")
	switch {
	case strings.HasPrefix(verdict, "Passed"):
		c.out.use(frameworkCTest)
		c.out.pass(frameworkCTest, "", name)
	case strings.HasPrefix(verdict, "***Skipped"), strings.HasPrefix(verdict, "***Not Run (Disabled)"):
		c.out.skip(frameworkCTest)
	case strings.Contains(verdict, "***"):
		before, why, _ := strings.Cut(verdict, "***")
		why = strings.TrimRight(strings.TrimSuffix(why, " sec"), " .0123456789")
		if why = strings.TrimPrefix(why, "Exception:"); before != "" {
			why = before // "Subprocess aborted***Exception:"
		}
		c.fail(name, strings.TrimSpace(why), l)
	default:
		return false
	}
	return true
}

// totals takes "67% tests passed, 1 tests failed out of 3".
func (c *cTest) totals(s string) bool {
	_, rest, _ := strings.Cut(s, "% tests passed, ")
	words := strings.Fields(rest)
	if len(words) < 6 {
		return false
	}
	failed, err := strconv.Atoi(words[0])
	total, err2 := strconv.Atoi(words[len(words)-1])
	if err != nil || err2 != nil {
		return false
	}
	c.out.use(frameworkCTest)
	c.out.total(frameworkCTest, max(total-failed, 0), failed, 0)
	return true
}

func (c *cTest) busy() bool { return c.list }

// end ranks the programs that failed behind the tests in them, when their
// output names those.
func (c *cTest) end() {
	rank := primary
	if len(c.found) > 0 && c.out.namesTests() {
		rank = secondary
	}
	for _, f := range c.found {
		c.out.use(frameworkCTest)
		c.out.fail(f, rank)
	}
	c.list, c.found = false, nil
}
