package evidence

import "strings"

// envelope undoes what GitHub Actions puts around each line: a timestamp
// ("2024-05-01T12:34:56.1234567Z "), with `gh run view --log` the job's and
// the step's name before it, and the runner's own markers. From
// "##[group]Run …" it learns which command printed what follows.
type envelope struct {
	group   bool
	command bool   // the group shows a command
	step    string // names before the timestamp, "job<TAB>step"
}

// open returns the line's own text, and the formats that its cues call. skip
// is true for a line that is the runner's and holds no evidence.
func (e *envelope) open(s string, p *parser) (text string, called set, skip bool) {
	s, names := stamp(s)
	if names != "" && names != e.step {
		e.enter(names, p)
	}
	if strings.HasPrefix(s, "\xef\xbb\xbf") {
		s, _ = stamp(s[3:])
	}
	for len(s) > 0 && s[len(s)-1] == '\r' {
		s = s[:len(s)-1]
	}
	called, unclean := p.scanner.scan(s)
	if unclean {
		was := len(s)
		if s = clean(s); len(s) != was {
			called, _ = p.scanner.scan(s)
		}
	}
	if len(s) < 3 || s[:3] != "##[" {
		if e.group && e.command {
			p.out.script(s)
			return s, 0, true
		}
		return s, called, false
	}
	switch {
	case strings.HasPrefix(s, "##[group]"):
		e.group = true
		cmd, isRun := strings.CutPrefix(s, "##[group]Run ")
		if e.command = isRun; isRun {
			p.flush()
			p.out.command(cmd)
		}
		return s, 0, true
	case strings.HasPrefix(s, "##[endgroup]"):
		e.group, e.command = false, false
		return s, 0, true
	case strings.HasPrefix(s, "##[debug]"), strings.HasPrefix(s, "##[section]"), strings.HasPrefix(s, "##[command]"):
		return s, 0, true
	}
	return s, called, false
}

// enter begins another step of a log that names job and step on every line.
func (e *envelope) enter(names string, p *parser) {
	e.step = strings.Clone(names)
	job, step, _ := strings.Cut(e.step, "\t")
	p.flush()
	p.out.enter(clean(job) + " / " + clean(step))
	e.group, e.command = false, false
}

// stamp cuts a timestamp, and the names before it, off the line.
func stamp(s string) (text, names string) {
	if n := stampLen(s); n > 0 {
		return s[n:], ""
	}
	// "job<TAB>step<TAB>2024-…": only within the first names' length.
	if i := strings.IndexByte(s[:min(len(s), 200)], '\t'); i > 0 {
		rest := s[i+1:]
		if j := strings.IndexByte(rest[:min(len(rest), 200)], '\t'); j >= 0 {
			after := strings.TrimPrefix(rest[j+1:], "\xef\xbb\xbf")
			if n := stampLen(after); n > 0 {
				return after[n:], s[:i+1+j]
			}
		}
	}
	return s, ""
}

// stampLen is the length of the timestamp that s begins with, and the blank
// after it; 0 when there is none.
func stampLen(s string) int {
	const form = "0000-00-00T00:00:00."
	if len(s) < len(form)+2 || s[4] != '-' || s[10] != 'T' || s[19] != '.' {
		return 0
	}
	for i := 0; i < len(form); i++ {
		if form[i] == '0' {
			if s[i] < '0' || s[i] > '9' {
				return 0
			}
		} else if s[i] != form[i] {
			return 0
		}
	}
	i := len(form)
	for i < len(s) && s[i] >= '0' && s[i] <= '9' && i < 32 {
		i++
	}
	if i == len(s) || s[i] != 'Z' {
		return 0
	}
	if i++; i < len(s) && s[i] == ' ' {
		i++
	}
	return i
}
