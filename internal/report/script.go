package report

import (
	"fmt"
	"math"
	"regexp"
	"strings"

	"culprit/internal/session"
)

// Exit codes of repro.sh and verify.sh.
const (
	ExitGone   = 0 // the failure was not seen
	ExitSeen   = 1 // the failure was seen, for the same reason
	ExitCannot = 2 // there is no clone, no commit, or the patch does not apply
	ExitElse   = 3 // the set-up or the command failed for another reason
)

// quote makes one word of a POSIX shell.
func quote(s string) string {
	return "'" + strings.ReplaceAll(strings.ReplaceAll(s, "\x00", ""), "'", `'\''`) + "'"
}

// script is what the templates of both scripts need.
type script struct {
	*view
	Verify  bool
	Commit  string // checked out first
	Command string
	Setup   string
	Overlay []session.Overlay
	Fixed   string // commit that holds the fix, when there is no patch
	Patch   string
	End     string // word that ends the patch, and occurs in no line of it
	Runs    int    // repetitions that show a flaky failure
	// Marks are texts of which one stands in the output when the command
	// fails for the same reason; with Strong set on a line that tells of a
	// failure. None: every failure counts.
	Marks  []string
	Strong bool
}

// ReproScript is repro.sh (DB3): it exits with ExitSeen when the failure shows
// at the bad commit. It is POSIX sh, needs git and what the project's tests
// need, works in a worktree of its own and removes it.
//
// With CULPRIT_IN_PLACE=1 in its environment it takes the current folder for a
// tree that is prepared already (set-up and overlay done), and needs no git.
func ReproScript(s *session.Session) []byte {
	return []byte(execute("script", newScript(s)))
}

// VerifyScript is verify.sh (DB6): it exits with ExitGone when the failing
// test passes with the fix, and with ExitSeen when the failure is still there,
// as it must be with --without-fix. Everything else is as in ReproScript.
func VerifyScript(s *session.Session) []byte {
	d := newScript(s)
	d.Verify = true
	if f := s.Fix; f != nil {
		if f.Base != "" {
			d.Commit = f.Base
		}
		d.Patch = f.Patch
		if d.Patch != "" && !strings.HasSuffix(d.Patch, "\n") {
			d.Patch += "\n"
		}
	}
	if d.Patch == "" {
		d.Fixed = s.Published.FixCommit
	}
	for d.End = "CULPRIT_PATCH"; strings.Contains(d.Patch, d.End); {
		d.End += "_"
	}
	return []byte(execute("script", d))
}

func newScript(s *session.Session) script {
	d := script{view: show(s), Runs: 1}
	if s.Bad != nil {
		d.Commit = s.Bad.SHA
	}
	r := s.Reproduction
	if r == nil {
		return d
	}
	d.Command, d.Setup, d.Overlay = r.Command, r.Setup, r.Overlay
	d.Marks, d.Strong = marks(r)
	if c := r.Count; c.Runs > 0 && c.Failures < c.Runs {
		d.Runs = runsFor(float64(c.Failures) / float64(c.Runs))
	}
	return d
}

// runsFor is the number of runs in which a failure of this rate shows with a
// probability of 99 %.
func runsFor(rate float64) int {
	if rate <= 0.01 {
		return 500
	}
	return max(1, int(math.Ceil(math.Log(0.01)/math.Log(1-min(rate, 0.999)))))
}

// variable are the parts of a message that differ from run to run.
var variable = regexp.MustCompile(`0x[0-9a-fA-F]+|[0-9]+|[^\s"'()]*/[^\s"'():]*|["'` + "`" + `\\]`)

// marks are what the output must hold for the same failure: the failing test
// on a line that tells of a failure, or the constant part of the message.
func marks(r *session.Reproduction) (list []string, strong bool) {
	for _, t := range r.Target.Tests {
		if name := leaf(t); name != "" {
			list = append(list, name)
		}
	}
	if len(list) > 0 {
		return list, true
	}
	if r.Failure == nil {
		return nil, false
	}
	longest := ""
	for part := range strings.SplitSeq(variable.ReplaceAllString(firstLine(r.Failure.Message), "\n"), "\n") {
		if part = strings.TrimSpace(part); len(part) > len(longest) {
			longest = part
		}
	}
	if len(longest) < 6 {
		return nil, false
	}
	return []string{longest}, false
}

// leaf is the part of a test's name that every runner prints on the line that
// says it failed.
func leaf(test string) string {
	test = firstLine(strings.TrimSpace(test))
	for _, sep := range []string{" > ", " › ", "::"} {
		if i := strings.LastIndex(test, sep); i >= 0 {
			test = test[i+len(sep):]
		}
	}
	// pytest's parameters and class names are printed in other forms too.
	if i := strings.IndexByte(test, '['); i > 0 && !strings.Contains(test, " ") {
		test = test[:i]
	}
	if i := strings.LastIndexByte(test, '.'); i >= 0 && i+1 < len(test) && !strings.ContainsAny(test, " /") {
		test = test[i+1:]
	}
	return strings.TrimSpace(test)
}

// About is the comment at the head of a script, one line.
func (d script) About() string {
	what := line(d.testText())
	if what == "" {
		what = "the failure"
	}
	if d.Verify {
		return cut("Verifies that the fix of session "+line(d.ID)+" makes this pass: "+what, 160)
	}
	return cut("Reproduces the failure of session "+line(d.ID)+": "+what, 160)
}

// Name is the script's own.
func (d script) Name() string {
	if d.Verify {
		return "verify.sh"
	}
	return "repro.sh"
}

// Revs are the commits that the script needs, each once.
func (d script) Revs() []string {
	var out []string
	seen := map[string]bool{"": true}
	add := func(rev string) {
		if !seen[rev] {
			seen[rev] = true
			out = append(out, rev)
		}
	}
	add(d.Commit)
	for _, o := range d.Overlay {
		add(o.Rev)
	}
	add(d.Fixed)
	return out
}

// MarkArgs are the marks as arguments of grep.
func (d script) MarkArgs() string {
	var b strings.Builder
	for _, m := range d.Marks {
		fmt.Fprintf(&b, " -e %s", quote(m))
	}
	return b.String()
}
