package evidence

import (
	"strconv"
	"strings"

	"culprit/internal/session"
)

// failure reads a failed test's log: the first entry that sounds like a
// failure, or the first of all, gives place and message.
func (r *goRun) failure() session.Failure {
	f := session.Failure{Framework: frameworkGo, Test: r.name, Kind: r.kind, Stack: r.stack, From: r.from, To: r.to}
	best, score := -1, -1
	for i, e := range r.log {
		if _, _, _, ok := goPlace(e.text); !ok {
			continue
		}
		text := e.text
		for _, more := range r.log[i+1:] {
			if _, _, _, ok := goPlace(more.text); ok {
				break
			}
			text += "\n" + more.text
		}
		if s := soundsLikeFailure(text); s > score {
			best, score = i, s
		}
	}
	var m message
	for i := max(best, 0); i < len(r.log); i++ {
		text := r.log[i].text
		if file, n, rest, ok := goPlace(text); ok {
			if i == best {
				f.File, f.Line = file, n
			}
			if strings.HasPrefix(rest, "race detected during execution of test") {
				f.Kind = session.KindRace
			}
			text = rest
		}
		m.add(strings.TrimPrefix(text, "    "))
	}
	f.Message = m.String()
	if r.message != "" {
		f.Message, f.File, f.Line = r.message, "", 0 // the stack knows the place
	}
	if file, n, ok := errorTrace(f.Message); ok {
		f.File, f.Line = file, n
	}
	return f
}

// soundsLikeFailure ranks log entries: t.Log and t.Error look the same.
func soundsLikeFailure(s string) int {
	s = strings.ToLower(s)
	for _, word := range [...]string{"want", "expect", "error trace", "mismatch", "not equal", "race detected"} {
		if strings.Contains(s, word) {
			return 2
		}
	}
	for _, word := range [...]string{"got", "fail", "error", "unexpected", "!=", "should", "invalid"} {
		if strings.Contains(s, word) {
			return 1
		}
	}
	return 0
}

// goPlace takes the place off "x_test.go:12: message".
func goPlace(s string) (file string, n int, rest string, ok bool) {
	i := strings.Index(s, ".go:")
	if i <= 0 || strings.ContainsAny(s[:i], " \t\"'(") {
		return "", 0, "", false
	}
	file, rest = s[:i+3], s[i+4:]
	j := 0
	for j < len(rest) && j < 8 && rest[j] >= '0' && rest[j] <= '9' {
		j++
	}
	if j == 0 {
		return "", 0, "", false
	}
	n, _ = strconv.Atoi(rest[:j])
	rest = rest[j:]
	if strings.HasPrefix(rest, ":") {
		rest = rest[1:]
		// A compiler's column.
		k := 0
		for k < len(rest) && k < 6 && rest[k] >= '0' && rest[k] <= '9' {
			k++
		}
		if k > 0 && k < len(rest) && rest[k] == ':' {
			rest = rest[k+1:]
		}
	} else if rest != "" {
		return "", 0, "", false
	}
	return file, n, strings.TrimPrefix(rest, " "), true
}

// errorTrace reads testify's "Error Trace:<TAB>/path/x_test.go:10".
func errorTrace(msg string) (file string, n int, ok bool) {
	_, rest, found := strings.Cut(msg, "Error Trace:")
	if !found {
		return "", 0, false
	}
	rest, _, _ = strings.Cut(strings.TrimSpace(rest), "\n")
	i := strings.LastIndexByte(rest, ':')
	if i <= 0 {
		return "", 0, false
	}
	n, err := strconv.Atoi(strings.TrimSpace(rest[i+1:]))
	return rest[:i], n, err == nil
}
