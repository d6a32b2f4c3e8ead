package evidence

import (
	"strings"

	"culprit/internal/session"
)

const frameworkGo = "go test"

// goTest reads what `go test` prints for people, with and without -v: results
// of tests and subtests, logs, panics, races, time-outs, build and vet errors.
//
// Without -v it prints "--- FAIL" and the log under it, and only at the end the
// package ("FAIL<TAB>path"), so a package's failures wait for that line. With
// -v logs come before the result, under "=== RUN" and "=== NAME".
type goTest struct {
	out     *collector
	pkg     string // known from the event, with -json
	strict  bool   // results come as events, result lines in the text are text
	active  bool
	verbose bool

	runs    map[string]*goRun // announced, without result yet
	done    map[string]bool   // had a result
	cur     *goRun            // whose log comes, with -v
	block   *goRun            // whose result was printed last; its log may follow
	depth   int
	parents []string // names of the result lines that enclose the present one
	failed  []*goRun
	passed  []string

	crash *goCrash
	race  *goRace
	exit  string // "exit status 1"
	build goBuild
}

// goRun is one test under way, or failed.
type goRun struct {
	name     string
	from, to int64
	log      []goLog
	bytes    int
	kind     session.Kind
	message  string
	stack    []session.Frame
	example  bool
}

type goLog struct{ text string }

func (r *goRun) add(s string, to int64) {
	if r.bytes < 2*maxMessage {
		s = cut(s, maxMessage)
		r.bytes += len(s) + 1
		r.log = append(r.log, goLog{strings.Clone(s)})
	}
	r.to = to
}

func (g *goTest) busy() bool {
	return g.active || g.crash != nil || g.race != nil || g.block != nil || g.cur != nil || g.build.header != "" || g.build.open
}

func (g *goTest) end() {
	g.endCrash()
	g.build.flush(g)
	g.endPackage("", "")
	g.build = goBuild{}
	g.active, g.verbose = false, false
}

func (g *goTest) line(l line) bool {
	s := l.text
	if s == "" {
		if g.race != nil {
			g.race.line(l)
		}
		return g.crash != nil
	}
	if g.crash != nil && g.crash.line(l) {
		return true
	}
	if g.race != nil && !g.race.done && g.race.line(l) {
		return true
	}
	switch s[0] {
	case '=':
		if g.control(l) {
			return true
		}
	case '-', ' ', '\t':
		if g.result(l) || g.log(l) {
			return true
		}
	case 'F', 'o', '?', 'P':
		if g.packageLine(l) {
			return true
		}
	case 'p':
		if strings.HasPrefix(s, "panic: ") {
			g.startCrash(l)
			return true
		}
	case 'f':
		if strings.HasPrefix(s, "fatal error: ") && !strings.HasSuffix(s, " file not found") {
			g.startCrash(l)
			return true
		}
	case 'S':
		if strings.HasPrefix(s, "SIGSEGV: ") || strings.HasPrefix(s, "SIGQUIT: ") || strings.HasPrefix(s, "SIGABRT: ") {
			g.startCrash(l)
			return true
		}
	case 'W':
		if s == "WARNING: DATA RACE" {
			g.use()
			g.race = &goRace{from: l.from, to: l.to}
			return true
		}
	case 'e', 's', '*':
		if g.active && (strings.HasPrefix(s, "exit status ") || strings.HasPrefix(s, "signal: ") || strings.HasPrefix(s, "*** Test killed")) {
			g.endCrash()
			if g.exit == "" {
				g.exit = strings.Clone(cut(s, 200))
			}
			return true
		}
	case 't':
		if s == "testing: warning: no tests to run" {
			g.use()
			g.out.none()
			return true
		}
	}
	if g.build.line(g, l) {
		return true
	}
	if g.block != nil && g.block.example {
		g.block.add(s, l.to)
		return true
	}
	if g.verbose && !g.strict {
		// Output without a line end before the result: "done--- PASS: TestX (0.00s)".
		if i := strings.Index(s, "--- "); i > 0 && g.result(line{text: s[i:], from: l.from, to: l.to}) {
			return true
		}
		if i := strings.Index(s, "=== RUN   "); i > 0 && g.control(line{text: s[i:], from: l.from, to: l.to}) {
			return true
		}
	}
	return false
}

func (g *goTest) use() {
	g.active = true
	g.out.use(frameworkGo)
}

// control takes the "=== RUN   TestX" family.
func (g *goTest) control(l line) bool {
	s := l.text
	var name string
	switch {
	case strings.HasPrefix(s, "=== RUN   "):
		name = s[len("=== RUN   "):]
		g.start(name, l)
	case strings.HasPrefix(s, "=== CONT  "):
		name = s[len("=== CONT  "):]
	case strings.HasPrefix(s, "=== NAME  "):
		name = s[len("=== NAME  "):]
	case strings.HasPrefix(s, "=== PAUSE "):
		g.block = nil
		return g.verbose
	case s == "==================":
		return g.active
	default:
		return false
	}
	if !g.verbose {
		return false
	}
	g.block = nil
	g.cur = g.runs[name]
	return true
}

func (g *goTest) start(name string, l line) {
	if name == "" || strings.ContainsAny(name, " \t") || g.strict {
		return
	}
	g.use()
	g.verbose = true
	g.endCrash()
	if g.runs == nil {
		g.runs = map[string]*goRun{}
	}
	if len(g.runs) < maxRunning && g.runs[name] == nil {
		name = strings.Clone(cut(name, maxName))
		g.runs[name] = &goRun{name: name, from: l.from, to: l.to}
	}
}

// result takes "--- FAIL: TestX/sub (0.00s)", indented by its depth.
func (g *goTest) result(l line) bool {
	s := strings.TrimLeft(l.text, " ")
	indent := len(l.text) - len(s)
	if !strings.HasPrefix(s, "--- ") || indent%4 != 0 || len(s) < len("--- FAIL: ") || g.strict {
		return false
	}
	verdict, rest := s[4:8], s[8:]
	if !strings.HasPrefix(rest, ": ") || verdict != "FAIL" && verdict != "PASS" && verdict != "SKIP" {
		return false
	}
	name := rest[2:]
	if i := strings.LastIndex(name, " ("); i > 0 && strings.HasSuffix(name, "s)") {
		name = name[:i]
	} else if !strings.HasPrefix(name, "Benchmark") {
		return false
	}
	if name == "" || strings.ContainsAny(name, " \t") {
		return false
	}
	depth := indent / 4
	if g.verbose {
		if g.runs[name] == nil && !strings.HasPrefix(name, "Benchmark") && (verdict != "FAIL" || !g.done[name]) {
			return false // never announced: a test printed it
		}
	} else if verdict != "FAIL" || depth > 0 && !g.nested(name, depth) {
		return false // not printed by go test without -v
	}
	g.use()
	g.verdict(verdict, name, depth, l)
	return true
}

// nested reports whether name may stand at that depth: under the result line
// of its parent. A fuzz test stands under itself.
func (g *goTest) nested(name string, depth int) bool {
	if depth > len(g.parents) {
		return false
	}
	parent := g.parents[depth-1]
	return name == parent || strings.HasPrefix(name, parent) && name[len(parent)] == '/'
}

func (g *goTest) verdict(verdict, name string, depth int, l line) {
	g.endCrash()
	r := g.runs[name]
	delete(g.runs, name)
	if r == nil {
		r = &goRun{name: strings.Clone(cut(name, maxName)), from: l.from}
	}
	if g.done == nil {
		g.done = map[string]bool{}
	}
	if len(g.done) < maxRunning {
		g.done[r.name] = true
	}
	r.to = l.to
	g.block, g.cur = nil, nil
	if depth <= len(g.parents) {
		g.parents = append(g.parents[:depth], r.name)
	}
	switch verdict {
	case "PASS":
		if len(g.passed) < maxPassed {
			g.passed = append(g.passed, r.name)
		}
	case "SKIP":
		g.out.skip(frameworkGo)
	case "FAIL":
		r.kind = session.KindTest
		r.example = strings.HasPrefix(r.name, "Example")
		if last := len(g.failed) - 1; last >= 0 && g.failed[last].name == r.name {
			r = g.failed[last] // a fuzz test's own second line
		} else if len(g.failed) < maxFailures {
			g.failed = append(g.failed, r)
		}
		g.block, g.depth = r, depth
		if g.race != nil {
			r.kind, r.stack, r.message = session.KindRace, g.race.frames, g.race.String()
			r.from = min(r.from, g.race.from)
			g.race = nil
		}
	}
}

// log takes an indented line of a failed test's log.
func (g *goTest) log(l line) bool {
	s := l.text
	if g.block != nil {
		indent := 4 * (g.depth + 1)
		if !blank(s, indent) {
			if s[0] != '\t' {
				g.block = nil
				return false
			}
			indent = 0
		}
		g.block.add(s[min(indent, len(s)):], l.to)
		return true
	}
	if g.cur != nil && blank(s, 4) {
		g.cur.add(s[4:], l.to)
		return true
	}
	return g.build.line(g, l)
}

// blank reports whether s begins with n blanks.
func blank(s string, n int) bool {
	return len(s) >= n && strings.TrimLeft(s[:n], " ") == ""
}

// packageLine takes "ok  <TAB>path<TAB>0.1s" and its like.
func (g *goTest) packageLine(l line) bool {
	s := l.text
	switch {
	case s == "FAIL" || s == "PASS":
		if g.active {
			g.endCrash()
			g.block = nil
		}
		return g.active
	case strings.HasPrefix(s, "FAIL\t"):
		pkg, note, _ := strings.Cut(s[5:], "\t")
		if p, n, ok := strings.Cut(pkg, " ["); ok {
			pkg, note = p, "["+n
		}
		if pkg == "" || strings.Contains(pkg, " ") {
			return false
		}
		g.use()
		g.endCrash()
		g.packageFailed(pkg, note, l)
		return true
	case strings.HasPrefix(s, "ok  \t"), strings.HasPrefix(s, "?   \t"), strings.HasPrefix(s, "---\t"):
		pkg, note, _ := strings.Cut(s[5:], "\t")
		g.use()
		switch {
		case strings.Contains(note, "[no tests to run]"), strings.Contains(note, "[no test files]"):
			g.out.none()
		case s[0] == 'o':
			g.out.ran++
		}
		g.endCrash()
		g.endPackage(pkg, "ok")
		return true
	}
	return false
}

// packageFailed adds what the package line alone knows: that it did not build,
// or that its binary died without naming a test.
func (g *goTest) packageFailed(pkg, note string, l line) {
	g.build.flush(g)
	pkg = strings.Clone(cut(pkg, maxName))
	f := session.Failure{Framework: frameworkGo, Package: pkg, From: l.from, To: l.to}
	switch {
	case strings.HasPrefix(note, "[build failed]"), strings.HasPrefix(note, "[setup failed]"):
		if !g.build.failed(pkg) {
			f.Kind, f.Message = session.KindBuild, strings.Trim(note, "[]")
			g.out.fail(f, secondary)
		}
	case len(g.failed) == 0 && g.race == nil:
		f.Kind, f.Message = session.KindCommand, "test binary failed"
		if g.exit != "" {
			f.Message = g.exit
		}
		if strings.HasPrefix(g.exit, "signal: ") {
			f.Kind = session.KindPanic
		}
		if g.exit == "signal: killed" {
			f.Kind = session.KindEnvironment
		}
		if strings.HasPrefix(g.exit, "*** Test killed") {
			f.Kind = session.KindTimeout
		}
		if len(g.runs) > 0 {
			// Only the innermost is named: its parents wait for it.
			for name, r := range g.runs {
				if len(g.runs) == 1 || r == g.cur {
					f.Test, f.From, f.Kind = name, r.from, session.KindPanic
					f.Message = strings.TrimSuffix("the test binary ended while it ran: "+g.exit, ": ")
				}
			}
		}
		g.out.fail(f, primary)
	}
	g.endPackage(pkg, "FAIL")
}

// endPackage hands over what the package's tests showed.
func (g *goTest) endPackage(pkg, verdict string) {
	if g.pkg != "" {
		pkg = g.pkg
	}
	pkg = strings.Clone(cut(pkg, maxName))
	if g.race != nil && verdict != "ok" {
		f := g.race.failure()
		f.Package = pkg
		g.out.fail(f, primary)
	}
	failed := map[string]bool{}
	for _, r := range g.failed {
		if verdict == "ok" {
			break // printed by a test that tests tests
		}
		failed[r.name] = true
		f, t := r.failure(), primary
		f.Package = pkg
		if len(r.log) == 0 && r.message == "" && g.hasChild(r.name) {
			t = secondary
		}
		g.out.fail(f, t)
	}
	for _, name := range g.passed {
		if failed[name] { // it printed its own pass before
			continue
		}
		g.out.pass(frameworkGo, pkg, name)
	}
	g.runs, g.done, g.cur, g.block, g.parents, g.failed, g.passed = nil, nil, nil, nil, nil, nil, nil
	g.crash, g.race, g.exit, g.verbose = nil, nil, "", false
}

func (g *goTest) hasChild(name string) bool {
	for _, r := range g.failed {
		if len(r.name) > len(name) && r.name[len(name)] == '/' && strings.HasPrefix(r.name, name) {
			return true
		}
	}
	return false
}
