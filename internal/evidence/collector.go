package evidence

import (
	"path"
	"sort"
	"strings"

	"culprit/internal/session"
)

// tier orders failures: the cause before its consequences.
type tier int

const (
	primary   tier = iota // named by the runner or the tool itself
	secondary             // a parent of a failed test, or a generic error beside named ones
	tertiary              // "the command failed"
)

// collector gathers what the formats find.
type collector struct {
	opts      Options
	base      string // Options.Step
	text      string // of the step's script, when the log shows it
	framework string
	failures  []ranked
	index     map[string]int // key of a failure → its place
	passed    []string
	seen      map[string]struct{} // passed
	counts    map[string]*counts  // by framework
	ran       int                 // tests that were seen to run, by name or by count
	noTests   bool
}

// counts of one framework's tests: as seen by name, unless it printed totals.
type counts struct {
	passed, failed, skipped int
	printed                 bool
}

type ranked struct {
	session.Failure
	tier tier
	bare bool // says only that the package failed
}

func newCollector(opts Options) *collector {
	return &collector{opts: opts, base: opts.Step, index: map[string]int{}, seen: map[string]struct{}{}, counts: map[string]*counts{}}
}

// enter begins a step.
func (c *collector) enter(step string) {
	c.opts.Step = cut(step, 2*maxName)
	if c.base != "" {
		c.opts.Step = c.base + " / " + c.opts.Step
	}
	c.opts.Command, c.text = "", ""
}

// command begins a step of which the log names the command's first line.
func (c *collector) command(first string) {
	c.opts.Command = strings.Clone(cut(strings.TrimSpace(first), maxValue))
	c.text = c.opts.Command
}

// script takes a line of the step's script.
func (c *collector) script(l string) {
	if len(c.text) < maxMessage {
		c.text += "\n" + cut(l, maxMessage)
	}
}

// use names the framework: the first that is recognised.
func (c *collector) use(framework string) {
	if c.framework == "" {
		c.framework = framework
	}
}

// fail records a failure. One that is known already only gains what it lacked.
func (c *collector) fail(f session.Failure, t tier) {
	f.Test, f.Package = strings.Clone(cut(f.Test, maxName)), strings.Clone(cut(f.Package, maxName))
	f.File = strings.Clone(cut(f.File, maxName))
	f.Message = strings.Clone(cut(f.Message, maxMessage))
	if f.Expected == "" && f.Actual == "" && f.Test != "" {
		f.Expected, f.Actual = expectation(f.Message)
	}
	f.Expected, f.Actual = strings.Clone(cut(f.Expected, maxValue)), strings.Clone(cut(f.Actual, maxValue))
	if f.Step == "" {
		f.Step = c.opts.Step
	}
	if f.Command == "" {
		f.Command = c.opts.Command
	}
	for i := range f.Stack {
		f.Stack[i].File, f.Stack[i].Function = strings.Clone(f.Stack[i].File), strings.Clone(f.Stack[i].Function)
	}
	key := f.Step + "\x00" + f.Package + "\x00" + f.Test
	if f.Test == "" {
		key += "\x00" + string(f.Kind) + "\x00" + session.Location(f.File, f.Line) + "\x00" + f.Message
	}
	if i, ok := c.index[key]; ok {
		c.failures[i].merge(f, t)
		return
	}
	if f.Test != "" {
		c.ran++
		if n := c.count(f.Framework); !n.printed {
			n.failed++
		}
	}
	if len(c.failures) >= maxFailures {
		return
	}
	c.index[key] = len(c.failures)
	c.failures = append(c.failures, ranked{f, t, t == secondary && f.Package != "" && f.Test == "" && f.File == ""})
}

// namesTests reports whether a failed test of the present step is known.
func (c *collector) namesTests() bool {
	for _, f := range c.failures {
		if f.Test != "" && f.Step == c.opts.Step {
			return true
		}
	}
	return false
}

// namesTest reports whether a failed test is known whose report begins in
// these bytes.
func (c *collector) namesTest(from, to int64) bool {
	for _, f := range c.failures {
		if f.Test != "" && from <= f.From && f.From < to {
			return true
		}
	}
	return false
}

// merge adds to a known failure what a second mention of it tells.
func (r *ranked) merge(f session.Failure, t tier) {
	if r.Message == "" {
		r.Message, r.Expected, r.Actual = f.Message, f.Expected, f.Actual
	}
	if r.File == "" || r.Line == 0 && f.Line != 0 && (r.File == f.File || f.File == "") {
		r.Line = f.Line
		if f.File != "" {
			r.File = f.File
		}
	}
	if r.Expected == "" && r.Actual == "" {
		r.Expected, r.Actual = f.Expected, f.Actual
	}
	if len(r.Stack) == 0 {
		r.Stack = f.Stack
	}
	if r.Kind == session.KindTest && f.Kind != "" {
		r.Kind = f.Kind
	}
	r.tier = min(r.tier, t)
}

// count is the framework's counts.
func (c *collector) count(framework string) *counts {
	n := c.counts[framework]
	if n == nil {
		n = &counts{}
		c.counts[framework] = n
	}
	return n
}

// pass records that a test passed.
func (c *collector) pass(framework, pkg, test string) {
	c.ran++
	if n := c.count(framework); !n.printed {
		n.passed++
	}
	id := session.Failure{Package: pkg, Test: test}.ID()
	if _, ok := c.seen[id]; ok || len(c.passed) >= maxPassed {
		return
	}
	id = strings.Clone(cut(id, maxName))
	c.seen[id] = struct{}{}
	c.passed = append(c.passed, id)
}

func (c *collector) skip(framework string) {
	if n := c.count(framework); !n.printed {
		n.skipped++
	}
}

// total takes the counts that a runner prints at its end; those of several
// runs add up.
func (c *collector) total(framework string, passed, failed, skipped int) {
	n := c.count(framework)
	if !n.printed {
		*n = counts{printed: true}
	}
	n.passed += passed
	n.failed += failed
	n.skipped += skipped
	c.ran += passed + failed
}

// none records that a runner said that nothing matched or ran.
func (c *collector) none() { c.noTests = true }

func (c *collector) report() session.TestReport {
	rep := session.TestReport{
		Framework: c.framework, Passed: c.passed,
		NoTests: c.noTests && c.ran == 0,
	}
	for _, n := range c.counts {
		rep.NPassed += n.passed
		rep.NFailed += n.failed
		rep.NSkip += n.skipped
	}
	sort.SliceStable(c.failures, func(i, j int) bool {
		a, b := c.failures[i], c.failures[j]
		if a.tier != b.tier {
			return a.tier < b.tier
		}
		return a.From < b.From
	})
	explained := map[string]bool{}
	causes := map[string]bool{} // steps in which more is known than that the command failed
	for _, r := range c.failures {
		causes[r.Step] = causes[r.Step] || r.tier < tertiary
	}
	for _, r := range c.failures {
		f := r.Failure
		if r.tier == primary {
			explained[f.Package] = true
		} else if r.bare && explained[f.Package] {
			continue
		}
		f.Consequence = r.tier == tertiary && causes[r.Step] || r.tier == secondary && f.Test != ""
		c.locate(&f)
		f.Signature = Signature(f)
		rep.Failures = append(rep.Failures, f)
	}
	return rep
}

// locate maps the failure's paths to the repository. A frame outside of it is
// dropped; a failure without a place gets that of its first frame.
func (c *collector) locate(f *session.Failure) {
	if f.File != "" {
		if p, ok := c.file(f, f.File); ok {
			f.File = p
		} else {
			f.File, f.Line = "", 0
		}
	}
	kept := f.Stack[:0]
	for _, fr := range f.Stack {
		if p, ok := c.file(f, fr.File); ok {
			fr.File = p
			kept = append(kept, fr)
		}
	}
	if f.Stack = kept; len(kept) == 0 {
		f.Stack = nil
	}
	if f.File == "" && len(f.Stack) > 0 {
		f.File, f.Line = f.Stack[0].File, f.Stack[0].Line
	}
}

// file maps one path. Without a map only what plainly is a library's is
// refused.
func (c *collector) file(f *session.Failure, name string) (string, bool) {
	name = strings.ReplaceAll(name, `\`, "/")
	name = strings.TrimPrefix(name, "file://")
	if c.opts.Files != nil {
		if f.Framework == frameworkGo && f.Package != "" && !path.IsAbs(name) {
			pkg := strings.TrimSuffix(f.Package, "_test")
			if p, ok := c.opts.Files(path.Join(pkg, name)); ok {
				return p, true
			}
		}
		return c.opts.Files(name)
	}
	return strings.TrimPrefix(name, "./"), !foreign(name)
}

// foreign reports paths of standard libraries and installed dependencies.
func foreign(name string) bool {
	for _, part := range [...]string{
		"/node_modules/", "/site-packages/", "/dist-packages/", "/usr/lib/", "/usr/local/go/", "/go/pkg/mod/",
		"/lib/python", "/rustc/", "/.cargo/registry/", "/hostedtoolcache/", "/libexec/go/", "node:internal",
	} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return strings.HasPrefix(name, "node_modules/") || strings.HasPrefix(name, "node:") || strings.HasPrefix(name, "<")
}
