package evidence

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"culprit/internal/session"
)

// Quote is a line of the repository that somebody quotes as evidence.
type Quote struct {
	Path  string `json:"path"`
	Line  int    `json:"line"`
	Text  string `json:"quote"`
	Shows string `json:"shows"` // what it is said to show
}

// String is the form in which evidence stands in tasks.csv.
func (q Quote) String() string {
	return session.Location(q.Path, q.Line) + " — " + strings.Join(strings.Fields(q.Shows), " ")
}

// Struck is a piece of evidence that does not hold, and why.
type Struck struct {
	What string
	Why  string
}

func (s Struck) String() string { return s.What + ": " + s.Why }

// nearLines is how far from the named line a quote may stand: whoever counts by
// hand is off by a few. It is then kept with the right line.
const nearLines = 5

// leastQuote is the least that a quote must hold, in bytes without spaces: a
// brace alone is found anywhere.
const leastQuote = 4

// CheckQuotes looks every quote up in the tree and keeps those that are there.
// read returns a file; a missing one matches fs.ErrNotExist. Spaces do not
// count. A path that is not written as git has it is no file's. The error is one
// of reading, never about a quote.
func CheckQuotes(quotes []Quote, read func(path string) ([]byte, error)) (kept []Quote, struck []Struck, err error) {
	for _, q := range quotes {
		want := squeeze(q.Text)
		if len(want) < leastQuote {
			struck = append(struck, Struck{session.Location(q.Path, q.Line), "it quotes nothing that could be looked up"})
			continue
		}
		q.Path = strings.TrimPrefix(strings.TrimSpace(q.Path), "./")
		if !fs.ValidPath(q.Path) {
			struck = append(struck, Struck{fmt.Sprintf("%.100q", q.Path), "it is no path of the repository"})
			continue
		}
		data, err := read(q.Path)
		if errors.Is(err, fs.ErrNotExist) {
			struck = append(struck, Struck{session.Location(q.Path, q.Line), "there is no such file"})
			continue
		}
		if err != nil {
			return kept, struck, fmt.Errorf("check quote of %s: %w", q.Path, err)
		}
		lines := strings.Split(string(data), "\n")
		at := lineOf(lines, q.Line, want)
		if at == 0 {
			struck = append(struck, Struck{session.Location(q.Path, q.Line), reads(lines, q.Line)})
			continue
		}
		q.Line = at
		kept = append(kept, q)
	}
	return kept, struck, nil
}

// lineOf is the line nearest to the named one at which the quote begins, or 0.
func lineOf(lines []string, line int, want string) int {
	for d := range nearLines + 1 {
		for _, n := range []int{line - d, line + d} {
			if n >= 1 && n <= len(lines) && beginsAt(lines[n-1:], want) {
				return n
			}
		}
	}
	return 0
}

// beginsAt reports whether the quote begins in the first of the lines; it may
// go on over the next ones.
func beginsAt(lines []string, want string) bool {
	first := squeeze(lines[0])
	if strings.Contains(first, want) {
		return true
	}
	have := first
	for i := 1; i < len(lines) && len(have) < len(first)+len(want); i++ {
		have += squeeze(lines[i])
	}
	i := strings.Index(have, want)
	return i >= 0 && i < len(first)
}

// reads says what stands in the place of a quote.
func reads(lines []string, n int) string {
	if n < 1 || n > len(lines) {
		return fmt.Sprintf("the file has %d lines", len(lines))
	}
	line := strings.TrimSpace(lines[n-1])
	if len(line) > 160 {
		line = strings.ToValidUTF8(line[:160], "") + "…"
	}
	return fmt.Sprintf("the line reads %q", line)
}

func squeeze(s string) string { return strings.Join(strings.Fields(s), "") }

// Claim is a run that somebody says has shown something.
type Claim struct {
	Log      string          `json:"log"`
	Outcome  session.Outcome `json:"outcome"`
	Supports bool            `json:"supports"` // the hypothesis, or speaks against it
	Shows    string          `json:"shows"`
}

// String is the form in which a run stands in tasks.csv.
func (c Claim) String() string {
	return c.Log + " — " + strings.Join(strings.Fields(c.Shows), " ")
}

// CheckClaims looks claimed runs up in the session's record and keeps those
// that were made and had that outcome.
func CheckClaims(claims []Claim, record []session.Entry) (kept []Claim, struck []Struck) {
	for _, c := range claims {
		why := "no such run was made"
		for _, e := range record {
			if e.Phase != "experiment" || e.Source != c.Log || c.Log == "" {
				continue
			}
			if why = ""; e.Outcome != c.Outcome {
				why = fmt.Sprintf("its outcome was %s, not %s", e.Outcome, c.Outcome)
			}
			break
		}
		if why != "" {
			struck = append(struck, Struck{c.Log, why})
			continue
		}
		kept = append(kept, c)
	}
	return kept, struck
}
