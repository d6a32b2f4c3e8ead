package evidence

import (
	"encoding/json"
	"strings"

	"culprit/internal/session"
)

// goJSON reads `go test -json`: one event per line, packages interleaved. The
// results are the events; the text inside them is read by one goTest per
// package, which takes no result line from it.
type goJSON struct {
	out      *collector
	packages map[string]*goTest
	partial  map[string]string // output without a line end yet
	build    *goTest
}

type goEvent struct {
	Action, Package, Test, Output, ImportPath, FailedBuild string
}

func (j *goJSON) busy() bool { return false }

func (j *goJSON) end() {
	for pkg, g := range j.packages {
		if rest := j.partial[pkg]; rest != "" {
			g.line(line{text: rest})
		}
		g.end()
	}
	if j.build != nil {
		j.build.end()
	}
	j.packages, j.partial, j.build = nil, nil, nil
}

func (j *goJSON) line(l line) bool {
	s := l.text
	if len(s) < 20 || s[0] != '{' || s[len(s)-1] != '}' || !strings.Contains(s[:min(len(s), 80)], `"Action":"`) && !strings.Contains(s, `"Action":"build-`) {
		return false
	}
	var e goEvent
	if json.Unmarshal([]byte(s), &e) != nil || e.Action == "" {
		return false
	}
	j.out.use(frameworkGo)
	if e.Package == "" {
		j.buildEvent(e, l)
		return true
	}
	g := j.packages[e.Package]
	if g == nil {
		if len(j.packages) >= maxRunning {
			return true
		}
		if j.packages == nil {
			j.packages, j.partial = map[string]*goTest{}, map[string]string{}
		}
		g = &goTest{out: j.out, pkg: e.Package, strict: true, active: true, verbose: true, runs: map[string]*goRun{}}
		j.packages[e.Package] = g
	}
	j.event(g, e, l)
	return true
}

func (j *goJSON) event(g *goTest, e goEvent, l line) {
	switch e.Action {
	case "run":
		if g.runs == nil {
			g.runs = map[string]*goRun{}
		}
		if len(g.runs) < maxRunning && e.Test != "" {
			g.runs[e.Test] = &goRun{name: e.Test, from: l.from, to: l.to}
		}
	case "output":
		g.cur = g.runs[e.Test]
		text := j.partial[e.Package] + e.Output
		delete(j.partial, e.Package)
		for text != "" {
			one, rest, whole := strings.Cut(text, "\n")
			if !whole {
				j.partial[e.Package] = cut(one, maxLine)
				break
			}
			if goResultLine(one) {
				text = rest
				continue
			}
			if strings.HasPrefix(e.Test, "Example") && g.cur != nil {
				g.cur.add(clean(one), l.to)
			} else {
				g.line(line{text: clean(one), from: l.from, to: l.to})
			}
			text = rest
		}
	case "pass", "fail", "skip":
		if e.Test == "" {
			g.endCrash()
			if e.Action == "fail" {
				note := ""
				if e.FailedBuild != "" {
					note = "[build failed]"
				}
				g.packageFailed(e.Package, note, l)
			} else {
				if e.Action == "skip" {
					j.out.none()
				}
				g.endPackage(e.Package, "ok")
			}
			delete(j.packages, e.Package)
			return
		}
		crash := g.crash
		g.crash = nil
		g.verdict(strings.ToUpper(e.Action), e.Test, 0, l)
		if crash != nil && crash.stacks > 0 && e.Action == "fail" {
			g.crash, g.block = crash, nil
			g.endCrash()
		}
		g.block = nil
	}
}

// goResultLine reports text that says what an event says too, or that closes
// the package.
func goResultLine(s string) bool {
	s = strings.TrimLeft(s, " ")
	return strings.HasPrefix(s, "--- ") || strings.HasPrefix(s, "=== ") && s != "==================" ||
		strings.HasPrefix(s, "FAIL\t") && !strings.HasSuffix(s, " failed]") || s == "FAIL" || s == "PASS"
}

// buildEvent takes the compiler's output, which names the package only by
// "ImportPath".
func (j *goJSON) buildEvent(e goEvent, l line) {
	if e.Action != "build-output" {
		return
	}
	if j.build == nil {
		j.build = &goTest{out: j.out, active: true}
	}
	for _, one := range strings.Split(strings.TrimSuffix(e.Output, "\n"), "\n") {
		if one == "" {
			continue
		}
		j.build.line(line{text: clean(one), from: l.from, to: l.to})
	}
	if j.build.build.last.Kind == session.KindBuild {
		j.build.build.last.To = l.to
	}
}
