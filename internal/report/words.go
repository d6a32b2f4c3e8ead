package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"culprit/internal/session"
)

// count writes a number with its noun: "1 run", "2 runs", "3 hypotheses".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	switch {
	case strings.HasSuffix(noun, "hypothesis"):
		noun = strings.TrimSuffix(noun, "is") + "es"
	case strings.HasSuffix(noun, "y"):
		noun = strings.TrimSuffix(noun, "y") + "ies"
	default:
		noun += "s"
	}
	return thousands(n) + " " + noun
}

func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// duration is how long something took, as people say it.
func duration(d time.Duration) string {
	d = d.Round(time.Second)
	h, m, s := int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60
	switch {
	case h > 0:
		return fmt.Sprintf("%d h %02d m", h, m)
	case m > 0:
		return fmt.Sprintf("%d m %02d s", m, s)
	}
	return fmt.Sprintf("%d s", s)
}

func percent(share float64) string {
	switch p := 100 * share; {
	case math.IsNaN(p) || p < 0:
		return "0 %"
	case p > 0 && p < 1, p >= 99 && p < 99.9:
		return fmt.Sprintf("%.1f %%", p)
	case p >= 99.9 && p < 100:
		return "over 99.9 %" // what is not certain is not called so
	default:
		return fmt.Sprintf("%.0f %%", min(p, 100))
	}
}

// tally says what repeated runs of one trial showed.
func tally(c session.Count) string {
	switch {
	case c.Runs == 0 && c.Skipped > 0:
		return "cannot be tested"
	case c.Runs == 0:
		return "was not run to an end"
	case c.Failures == 0:
		return fmt.Sprintf("passes %d/%d", c.Runs, c.Runs)
	}
	return fmt.Sprintf("fails %d/%d", c.Failures, c.Runs)
}

// rate is a failure rate with its interval.
func rate(c session.Count, i session.Interval) string {
	if c.Runs == 0 {
		return "never run to an end"
	}
	s := fmt.Sprintf("%d of %s (%s", c.Failures, count(c.Runs, "run"), percent(float64(c.Failures)/float64(c.Runs)))
	if i.High > 0 {
		s += fmt.Sprintf(", 95 %% interval %.0f–%.0f %%", 100*i.Low, 100*i.High)
	}
	return s + ")"
}

// sentence ends a text with a full stop and begins it with a capital.
func sentence(s string) string {
	s = strings.TrimSpace(s)
	if s == "" {
		return ""
	}
	if strings.ContainsRune(".?!:…", rune(s[len(s)-1])) || strings.HasSuffix(s, "…") {
		return s
	}
	return s + "."
}

// lower begins a sentence that goes on another one, unless it begins with a
// name.
func lower(s string) string {
	if len(s) > 1 && s[0] >= 'A' && s[0] <= 'Z' && s[1] >= 'a' && s[1] <= 'z' {
		return strings.ToLower(s[:1]) + s[1:]
	}
	return s
}

// outcomes in the words of the report.
func outcome(o session.Outcome) string {
	switch o {
	case session.Passed:
		return "passes"
	case session.FailedSame:
		return "fails"
	case session.FailedElse:
		return "fails otherwise"
	}
	return "untestable"
}
