package evidence

import (
	"strings"

	"culprit/internal/session"
)

const frameworkRSpec = "rspec"

// rspec reads RSpec's progress and documentation formatters: the numbered
// blocks under "Failures:", and "Failed examples:", which knows each test's
// file. A test's ID is its full description, as --example takes it.
type rspec struct {
	out      *collector
	section  string // "failures", "pending", "examples"
	block    *block
	found    []session.Failure
	loading  *block // a file that could not be loaded
	source   bool   // the quoted code after "Failure/Error:" goes on
	bodyFrom int    // indentation of a block's body
}

func (r *rspec) line(l line) bool {
	s := l.text
	switch {
	case s == "":
		if r.block != nil {
			r.block.msg.add("")
		}
		return r.section != ""
	case s == "Failures:":
		r.close()
		r.section = "failures"
		return true
	case s == "Pending:", strings.HasPrefix(s, "Pending: (Failures listed here are expected"):
		r.close()
		r.section = "pending"
		return true
	case s == "Failed examples:":
		r.close()
		r.section = "examples"
		return true
	case strings.HasPrefix(s, "An error occurred while loading "):
		r.close()
		file := strings.TrimPrefix(strings.TrimPrefix(s, "An error occurred while loading "), "./")
		file, _, _ = strings.Cut(file, ". - ") // "Did you mean?"
		file = strings.TrimSuffix(file, ".")
		r.loading = newBlock(frameworkRSpec, file, "", l)
		r.loading.Kind, r.loading.File = session.KindBuild, strings.Clone(file)
		r.block, r.bodyFrom, r.source = r.loading, 0, false
		r.section = "failures"
		r.out.use(frameworkRSpec)
		return true
	case strings.HasPrefix(s, "rspec ") && r.section == "examples":
		return r.example(s[len("rspec "):])
	case s[0] >= '0' && s[0] <= '9' && strings.Contains(s, " example"):
		return r.totals(s)
	case strings.HasPrefix(s, "Finished in "), strings.HasPrefix(s, "Top "):
		if r.section != "" {
			r.close()
			r.section = ""
			return true
		}
		return false
	}
	if r.section == "failures" {
		if title, ok := numberedTitle(s, 2); ok {
			r.close()
			r.block, r.bodyFrom, r.source = newBlock(frameworkRSpec, "", title, l), 5, false
			return true
		}
		if r.block != nil {
			if r.bodyFrom > 0 && indent(s) < 5 {
				r.close()
				return false
			}
			r.detail(strings.TrimPrefix(s, "     "), l)
			return true
		}
	}
	return r.section == "pending" && s[0] == ' '
}

// detail takes a line of a block's body.
func (r *rspec) detail(s string, l line) {
	b := r.block
	b.To = l.to
	if at, ok := strings.CutPrefix(s, "# "); ok {
		if file, n, fn, ok := rubyFrame(at); ok {
			b.frame(fn, file, n)
		}
		return
	}
	if code, ok := strings.CutPrefix(s, "Failure/Error: "); ok {
		if b.msg.lines > 0 && b != r.loading {
			return // of an error that the first one caused
		}
		b.msg = message{}
		r.source = true
		if strings.HasPrefix(code, "Unable to find ") { // the message stands on the same line
			b.msg.add(code)
		}
		return
	}
	if r.source { // the quoted code ends with an empty line, or where the message begins
		if strings.TrimSpace(s) == "" {
			r.source = false
			return
		}
		if !strings.HasPrefix(s, "  ") || strings.HasPrefix(s, "  expected") || strings.HasPrefix(s, "  Expected") {
			r.source = false
		} else {
			return
		}
	}
	if len(b.frames) == 0 {
		b.msg.add(strings.TrimPrefix(s, "  "))
	}
}

// example takes "./spec/cart_spec.rb:13 # Cart adds", which gives the next
// failure of that name its place.
func (r *rspec) example(s string) bool {
	place, name, ok := strings.Cut(s, " # ")
	if !ok {
		return false
	}
	file, n, isPlace := lineColumn(place)
	if !isPlace { // "./spec/x_spec.rb[1:2:3]"
		file, _, _ = strings.Cut(strings.Trim(place, "'"), "[")
	}
	file = strings.TrimPrefix(file, "./")
	for i := range r.found {
		f := &r.found[i]
		if f.Package != "" || f.Test != name {
			continue
		}
		f.Package = strings.Clone(file)
		for _, fr := range f.Stack {
			if fr.File == file {
				f.File, f.Line = fr.File, fr.Line
				return true
			}
		}
		f.File, f.Line = f.Package, n
		return true
	}
	return true
}

func (r *rspec) totals(s string) bool {
	n, ok := tally(s)
	if !ok || n["example"]+n["examples"] == 0 && n["examples"] == 0 && !strings.Contains(s, "0 examples") {
		return false
	}
	r.close()
	r.section = ""
	r.out.use(frameworkRSpec)
	total, failed, skipped := n["example"]+n["examples"], n["failure"]+n["failures"], n["pending"]
	r.out.total(frameworkRSpec, max(total-failed-skipped, 0), failed, skipped)
	if total == 0 {
		r.out.none()
	}
	return true
}

func (r *rspec) close() {
	b := r.block
	r.block = nil
	if b == nil {
		return
	}
	r.out.use(frameworkRSpec)
	f := b.failure()
	f.Message = strings.TrimSpace(f.Message)
	if b == r.loading {
		r.loading = nil
		f.Kind = rubyKind(f.Message)
		if f.Kind != session.KindDependency {
			f.Kind = session.KindBuild
		}
	} else {
		f.Kind = rubyKind(f.Message)
	}
	if len(r.found) < maxFailures {
		r.found = append(r.found, f)
	}
}

func (r *rspec) busy() bool { return r.section != "" }

func (r *rspec) end() {
	r.close()
	for _, f := range r.found {
		r.out.fail(f, primary)
	}
	r.found, r.section = nil, ""
}
