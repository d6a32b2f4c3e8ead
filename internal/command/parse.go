package command

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Limits of what a command may say, in bytes.
const (
	maxText     = 2000
	maxRevision = 250
	maxWord     = 60 // of a quoted word in a problem
)

// verbs is the table of what may follow "/debug".
var verbs = []struct {
	verb Verb
	// rest says what the words after the verb are: nothing, a hypothesis, or
	// free text.
	rest  rest
	usage string
	help  string
}{
	{Run, restText, "/debug [run] [flags] [remark]", "investigate; after `run`, a remark is read as part of the symptom"},
	{Retry, restText, "/debug retry [flags] [remark]", "investigate again, from the present state of the branch"},
	{Stop, restNone, "/debug stop", "stop what runs or waits for this issue or pull request"},
	{Explain, restHypothesis, "/debug explain H2", "show all evidence about a hypothesis of the last session"},
	{Answer, restAnswer, "/debug answer TEXT", "answer the question of the session, which goes on with it"},
	{Help, restNone, "/debug help", "show this list"},
}

type rest int

const (
	restNone rest = iota
	restText
	restAnswer
	restHypothesis
)

// flags is the table of what run and retry take.
var flags = []struct {
	names []string
	value string // placeholder; empty: the flag takes none
	help  string
	set   func(c *Command, v string) (problem string)
}{
	{[]string{"--mode"}, "quick|full|deep", "how much is tried", func(c *Command, v string) string {
		if v != "quick" && v != "full" && v != "deep" {
			return "takes quick, full or deep"
		}
		c.Mode = v
		return ""
	}},
	{[]string{"--test"}, "'COMMAND'", "the command that fails, run by a shell in the repository's root", func(c *Command, v string) string {
		c.Test = v
		return ""
	}},
	{[]string{"--good"}, "REVISION", "a revision that is known to pass", func(c *Command, v string) string {
		if len(v) > maxRevision || v[0] == '-' || strings.ContainsFunc(v, unicode.IsSpace) {
			return "takes a branch, a tag or a commit"
		}
		c.Good = v
		return ""
	}},
	{[]string{"--symptom"}, "'TEXT'", "what is wrong, like the remark", func(c *Command, v string) string {
		c.Text = v
		return ""
	}},
	{[]string{"-c", "--concurrency"}, "N", "hypotheses tested at a time, at most what the operator allows", func(c *Command, v string) string {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 || n > 64 {
			return "takes a number from 1 to 64"
		}
		c.Concurrency = n
		return ""
	}},
	{[]string{"--skip-fix"}, "", "find the root cause and propose no fix", func(c *Command, _ string) string { c.SkipFix = true; return "" }},
	{[]string{"-y", "--yes"}, "", "ask nothing (a session from a comment never waits for a yes)", func(c *Command, _ string) string { c.Yes = true; return "" }},
}

// elsewhere are flags of the product that a comment cannot have, with the
// reason.
var elsewhere = map[string]string{
	"--auto":            "is not available in this release; a session from a comment asks nothing before it begins",
	"--bad":             "is for the command line: in a comment the failing commit is the head of the pull request or of the default branch",
	"--continue":        "is for the command line: use `/debug retry`",
	"--dry-run":         "belongs to auto-test, which is not available in this release",
	"--from-auto-test":  "is not available in this release",
	"--from-uat":        "is not available in this release",
	"--max-runs":        "is for the operator of this installation",
	"--overlay":         "is for the command line",
	"--parallel":        "is not available in this release",
	"--setup":           "is for the command line",
	"--skip-generalize": "is not available in this release; nothing is generalized yet",
	"--template":        "is not available in this release",
	"--timeout":         "is for the operator of this installation",
}

// Usage lists verbs and flags, for the answer to a command that is not
// understood.
func Usage() string {
	var b strings.Builder
	line := func(what, help string) { fmt.Fprintf(&b, "%-31s %s\n", what, strings.ReplaceAll(help, "`", "")) }
	for _, v := range verbs {
		line(v.usage, v.help)
	}
	b.WriteByte('\n')
	for _, f := range flags {
		line("  "+strings.TrimSpace(strings.Join(f.names, ", ")+" "+f.value), f.help)
	}
	return b.String()
}

// parse reads one line that begins with a name.
func parse(line string) Command {
	name := nameOf(line)
	if name == "/autotest" {
		return Command{Verb: Autotest}
	}
	words, problem := split(line[len(name):])
	c := Command{Verb: Run}
	explicit := false
	rest := restNone
	if len(words) > 0 && !words[0].flag() {
		v, ok := verbOf(words[0].text)
		if !ok {
			return Command{Problem: fmt.Sprintf("there is no command %q%s", short(words[0].text), suggest(words[0].text))}
		}
		c.Verb, rest, explicit = verbs[v].verb, verbs[v].rest, true
		words = words[1:]
	}
	if c.Starts() {
		words, problem = c.takeFlags(words, problem)
	}
	c.take(words, rest, explicit, &problem)
	if problem != "" {
		return Command{Verb: c.Verb, Problem: problem}
	}
	return c
}

func verbOf(word string) (int, bool) {
	for i, v := range verbs {
		if strings.EqualFold(word, string(v.verb)) {
			return i, true
		}
	}
	return 0, false
}

// takeFlags sets the flags and returns the words that are none. The first
// problem stays.
func (c *Command) takeFlags(words []word, problem string) ([]word, string) {
	var left []word
	report := func(format string, args ...any) {
		if problem == "" {
			problem = fmt.Sprintf(format, args...)
		}
	}
	for i := 0; i < len(words); i++ {
		w := words[i]
		if !w.flag() {
			left = append(left, w)
			continue
		}
		name, value, given := strings.Cut(w.text, "=")
		f := flagOf(name)
		switch why, known := elsewhere[name]; {
		case known:
			report("the flag %s %s", name, why)
			continue
		case f < 0:
			report("there is no flag %q", short(name))
			continue
		case flags[f].value == "" && given:
			report("the flag %s takes no value", name)
			continue
		case flags[f].value != "" && !given:
			if i++; i >= len(words) || words[i].flag() {
				report("the flag %s needs a value: %s %s", name, name, flags[f].value)
				continue
			}
			value = words[i].text
		}
		if flags[f].value != "" && (value == "" || len(value) > maxText) {
			report("the flag %s needs a value of 1 to %d bytes", name, maxText)
			continue
		}
		if p := flags[f].set(c, value); p != "" {
			report("the flag %s %s", name, p)
		}
	}
	return left, problem
}

func flagOf(name string) int {
	for i, f := range flags {
		for _, n := range f.names {
			if n == name {
				return i
			}
		}
	}
	return -1
}

// take reads the words after the verb and its flags.
func (c *Command) take(words []word, kind rest, explicit bool, problem *string) {
	report := func(format string, args ...any) {
		if *problem == "" {
			*problem = fmt.Sprintf(format, args...)
		}
	}
	var texts []string
	for _, w := range words {
		texts = append(texts, w.text)
	}
	text := strings.Join(texts, " ")
	switch {
	case len(c.Text)+len(text) > maxText:
		report("the text after %s is longer than %d bytes", c.Verb, maxText)
	case kind == restText:
		c.Text = strings.TrimSpace(c.Text + " " + text)
	case kind == restAnswer && text == "":
		report("answer needs the answer: /debug answer TEXT")
	case kind == restAnswer:
		c.Text = text
	case kind == restHypothesis && !hypothesis(text):
		report("explain needs the number of one hypothesis: /debug explain H2")
	case kind == restHypothesis:
		c.Hypothesis = strings.ToUpper(text)
	case text != "" && !explicit:
		report("write a remark after a verb: /debug run %s", short(text))
	case text != "":
		report("nothing may follow %s, found %q", c.Verb, short(text))
	}
}

// hypothesis accepts "H1" to "H99".
func hypothesis(s string) bool {
	if len(s) < 2 || len(s) > 3 || (s[0] != 'H' && s[0] != 'h') || s[1] == '0' {
		return false
	}
	_, err := strconv.ParseUint(s[1:], 10, 8)
	return err == nil
}

// short is a foreign word as a problem may quote it.
func short(s string) string {
	r := []rune(s)
	if len(r) > maxWord {
		return string(r[:maxWord]) + "…"
	}
	return s
}

// suggest names the verb that differs in one or two letters.
func suggest(word string) string {
	for _, v := range verbs {
		if d := distance(strings.ToLower(short(word)), string(v.verb)); d <= 2 && d < len(v.verb)-1 {
			return fmt.Sprintf("; did you mean %q?", v.verb)
		}
	}
	return ""
}

// distance is the number of letters to change, add or remove.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
