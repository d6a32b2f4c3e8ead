package evidence

import (
	"strconv"
	"strings"

	"culprit/internal/session"
)

const frameworkDotnet = "dotnet test"

// dotnet reads VSTest's console logger, which `dotnet test` prints for xUnit,
// NUnit and MSTest, and xUnit's own console runner. MSBuild's errors are a
// compiler's.
type dotnet struct {
	out   *collector
	block *block
	part  string // "message", "stack", "output"
	depth int    // of the block's title
	list  bool   // "Total tests: 3" was seen, its parts follow
	count [4]int
}

func (d *dotnet) line(l line) bool {
	s := l.text
	t := strings.TrimLeft(s, " ")
	n := len(s) - len(t)
	if d.list && d.sum(t) {
		return true
	}
	if d.block != nil {
		if t == "" {
			return true
		}
		if n > d.depth || d.part == "message" && !d.result(t, n, l) || strings.HasPrefix(t, "at ") || t == "Error Message:" || t == "Stack Trace:" {
			if d.block != nil && d.detail(t, l) {
				return true
			}
		}
		if d.block == nil {
			return true
		}
		d.close()
	}
	return d.result(t, n, l)
}

// result takes the title of a test's result.
func (d *dotnet) result(t string, n int, l line) bool {
	switch {
	case strings.HasPrefix(t, "Failed "), strings.HasPrefix(t, "Passed "), strings.HasPrefix(t, "Skipped "):
		word, rest, _ := strings.Cut(t, " ")
		name, timed := dotnetName(rest)
		if n > 2 || !timed && !strings.HasPrefix(rest, "  ") || name == "" {
			return false
		}
		d.open(word, name, n, l)
		return true
	case strings.HasSuffix(t, " [FAIL]"):
		name := strings.TrimSuffix(t, " [FAIL]")
		if i := strings.Index(name, "]"); strings.HasPrefix(name, "[xUnit.net ") && i > 0 {
			name = strings.TrimSpace(name[i+1:])
			if !strings.Contains(name, ".") {
				return false
			}
			d.close()
			d.out.use(frameworkDotnet)
			d.out.fail(newBlock(frameworkDotnet, "", name, l).failure(), primary)
			return true
		}
		if n == 0 || !strings.Contains(name, ".") {
			return false
		}
		d.open("Failed", name, n, l)
		d.part = "message"
		return true
	case strings.HasPrefix(t, "Failed!  - Failed: "), strings.HasPrefix(t, "Passed!  - Failed: "):
		return d.totals(t)
	case strings.Contains(t, "  Total: "):
		return d.console(t)
	case strings.HasPrefix(t, "Total tests: "):
		return d.total(t)
	case strings.HasPrefix(t, "No test matches the given testcase filter"), strings.HasPrefix(t, "No test is available in "):
		d.out.use(frameworkDotnet)
		d.out.none()
		return true
	}
	return false
}

// dotnetName drops " [12 ms]" or " [< 1 ms]".
func dotnetName(s string) (string, bool) {
	i := strings.LastIndex(s, " [")
	if i <= 0 || !strings.HasSuffix(s, "s]") && !strings.HasSuffix(s, "m]") {
		return strings.TrimSpace(s), false
	}
	return s[:i], true
}

func (d *dotnet) open(word, name string, n int, l line) {
	d.close()
	d.out.use(frameworkDotnet)
	switch word {
	case "Passed":
		d.out.pass(frameworkDotnet, "", name)
	case "Skipped":
		d.out.skip(frameworkDotnet)
	default:
		d.block, d.part, d.depth = newBlock(frameworkDotnet, "", name, l), "", n
	}
}

// detail takes a line under a failed test.
func (d *dotnet) detail(t string, l line) bool {
	b := d.block
	switch {
	case t == "Error Message:":
		d.part = "message"
	case t == "Stack Trace:":
		d.part = "stack"
	case t == "Standard Output Messages:", t == "Standard Error Messages:":
		d.part = "output"
	case d.part == "message":
		b.msg.add(t)
	case d.part == "stack":
		if !d.frame(t) {
			return strings.HasPrefix(t, "---") || strings.HasPrefix(t, "at ")
		}
	case d.part == "":
		return false
	}
	b.To = l.to
	return true
}

// frame takes "at Ns.Class.Test() in /path/File.cs:line 12" and xUnit's
// "/path/File.cs(12,0): at Ns.Class.Test()".
func (d *dotnet) frame(t string) bool {
	if fn, place, ok := strings.Cut(t, " in "); ok && strings.HasPrefix(fn, "at ") {
		if i := strings.LastIndex(place, ":line "); i > 0 {
			n, _ := strconv.Atoi(place[i+len(":line "):])
			d.block.frame(fn[3:], place[:i], n)
			return true
		}
	}
	if place, fn, ok := strings.Cut(t, ": at "); ok {
		if file, n, ok := sourcePlace(place); ok {
			d.block.frame(fn, file, n)
			return true
		}
	}
	return false
}

func (d *dotnet) close() {
	b := d.block
	d.block, d.part = nil, ""
	if b == nil {
		return
	}
	method, _, _ := strings.Cut(b.Test, "(")
	for _, fr := range b.frames {
		if strings.HasPrefix(fr.Function, method+"(") {
			b.place(fr.File, fr.Line)
		}
	}
	f := b.failure()
	first := firstLine(f.Message)
	name, _, _ := strings.Cut(first, " :")
	if strings.HasSuffix(name, "Exception") && !strings.Contains(name, "Assert") && !strings.HasPrefix(name, "Xunit.") {
		f.Kind = session.KindPanic
	}
	d.out.fail(f, primary)
}

// totals takes "Failed!  - Failed:     1, Passed:     2, Skipped:     0, Total:     3, Duration: …".
func (d *dotnet) totals(t string) bool {
	_, rest, _ := strings.Cut(t, " - ")
	if i := strings.Index(rest, ", Duration"); i > 0 {
		rest = rest[:i]
	}
	n, ok := named(rest)
	if !ok {
		return false
	}
	d.out.use(frameworkDotnet)
	d.out.total(frameworkDotnet, n["Passed"], n["Failed"], n["Skipped"])
	return true
}

// console takes "Shop.Tests  Total: 3, Errors: 0, Failed: 2, Skipped: 0,
// Time: 0.341s" of xUnit's own runner.
func (d *dotnet) console(t string) bool {
	_, rest, _ := strings.Cut(t, "  Total: ")
	rest, _, timed := strings.Cut(rest, ", Time: ")
	n, ok := named("Total: " + rest)
	if !ok || !timed {
		return false
	}
	d.out.use(frameworkDotnet)
	failed := n["Errors"] + n["Failed"]
	d.out.total(frameworkDotnet, max(n["Total"]-failed-n["Skipped"], 0), failed, n["Skipped"])
	return true
}

// total takes "Total tests: 3" and the older
// "Total tests: 3. Passed: 1. Failed: 2. Skipped: 0.".
func (d *dotnet) total(t string) bool {
	n, ok := named(strings.ReplaceAll(strings.TrimSuffix(t, "."), ". ", ", "))
	if !ok {
		return false
	}
	d.out.use(frameworkDotnet)
	if len(n) > 1 {
		d.out.total(frameworkDotnet, n["Passed"], n["Failed"], n["Skipped"])
	} else {
		d.list, d.count = true, [4]int{}
	}
	return true
}

// sum takes the lines "Passed: 1", "Failed: 1" after the total.
func (d *dotnet) sum(t string) bool {
	n, ok := named(t)
	if !ok || len(n) != 1 {
		d.endSum()
		return false
	}
	d.count[0] += n["Passed"]
	d.count[1] += n["Failed"]
	d.count[2] += n["Skipped"]
	return true
}

func (d *dotnet) endSum() {
	if d.list {
		d.list = false
		d.out.total(frameworkDotnet, d.count[0], d.count[1], d.count[2])
	}
}

func (d *dotnet) busy() bool { return d.block != nil || d.list }

func (d *dotnet) end() {
	d.close()
	d.endSum()
}
