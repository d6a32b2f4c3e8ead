package pipeline

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"culprit/internal/session"
)

// nearly is the share of the session's time and runs from which on nothing is
// challenged: the fix and its proof come first.
const nearly = .8

// challenge is the pressure pass (QD14): each confirmed cause that no
// experiment has decided is given to a worker that tries to break it. What it
// can show lowers the confidence; a run that decides turns the verdict to
// inconclusive; what it cannot show changes nothing.
func challenge(ctx context.Context, e *env) (Outcome, error) {
	s := e.s
	if e.Refuter == nil {
		return Advance{}, nil
	}
	var rows []session.Task
	for _, t := range s.Wave(1) {
		if c := s.Causes[t.ID]; t.Verdict == session.Confirmed && c != nil && s.Challenge(t.ID) == nil {
			if why := e.leftOut(t); why != "" {
				s.Challenges = append(s.Challenges, session.Challenge{Task: t.ID, Result: session.LeftOut, Why: why})
			} else {
				rows = append(rows, t)
			}
		}
	}
	if err := e.refute(ctx, rows); err != nil {
		return nil, err
	}
	s.RootCause = best(s)
	e.contradict()
	return Advance{challenged(s)}, nil
}

// leftOut says why a confirmed row is not challenged; empty: it is.
func (e *env) leftOut(t session.Task) string {
	s := e.s
	used, runs := float64(s.Budget.Used)/float64(s.Budget.MaxTime), float64(s.Budget.Runs)/float64(s.Budget.MaxRuns)
	switch why, sure := decidedByRuns(s.Causes[t.ID]); {
	case sure:
		return "not challenged: " + why
	case s.Reproduction != nil && s.Reproduction.Flaky:
		return "not challenged: the test fails only sometimes, so that a run decides nothing against a line"
	case used > nearly:
		return fmt.Sprintf("not challenged: %.0f %% of the session's time are used", 100*used)
	case runs > nearly:
		return fmt.Sprintf("not challenged: %.0f %% of the session's runs are used", 100*runs)
	}
	return ""
}

// placed takes the rows together that name one place: it is challenged once.
func (e *env) placed(rows []session.Task) (first []session.Task, with map[string][]string) {
	with = map[string][]string{}
next:
	for _, t := range rows {
		at := e.s.Causes[t.ID].Location
		for _, f := range first {
			if at != "" && e.s.Causes[f.ID].Location == at {
				with[f.ID] = append(with[f.ID], t.ID)
				continue next
			}
		}
		first = append(first, t)
	}
	return first, with
}

// decidedByRuns reports whether experiments have decided a cause, so that
// nothing that is read can add to it: both sides of it were run.
func decidedByRuns(c *session.RootCause) (why string, sure bool) {
	clean := c.AtCulprit.Runs >= 3 && c.AtCulprit.Failures == c.AtCulprit.Runs && c.AtParent.Runs >= 3 && c.AtParent.Failures == 0
	switch {
	case c.Kind == session.Reading, c.Kind == session.Environment:
		return "", false // nobody has seen the other side
	case c.Culprit == nil:
		return "the failure was seen to come and go with it", true
	case clean && len(c.Alternatives) == 0 && (c.Probability == 0 || c.Probability >= .95):
		return "the test was run with it and without it, several times", true
	}
	return "", false
}

// refute lets the rows be challenged in parallel. Each result is durable when
// it is there, so that a process that is killed loses only what was running.
func (e *env) refute(ctx context.Context, rows []session.Task) error {
	s := e.s
	rows, with := e.placed(rows)
	ctx, cancel := context.WithTimeout(ctx, rowTimeout)
	defer cancel()
	view := s.Snapshot()
	results := make(chan session.Challenge)
	slots := make(chan struct{}, max(1, s.Flags.Concurrency))
	var wg sync.WaitGroup
	for _, t := range rows {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			results <- e.Refuter.Refute(ctx, view, t)
		})
	}
	go func() {
		wg.Wait()
		close(results)
	}()
	var failed error
	for x := range results {
		if failed != nil || ctx.Err() != nil && !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			continue // it was stopped, and is asked again
		}
		e.challengedRow(x)
		for _, id := range with[x.Task] {
			e.challengedRow(session.Challenge{Task: id, As: x.Task, Result: x.Result, Findings: x.Findings, Why: x.Why, Evidence: x.Evidence})
		}
		if failed = e.Store.Save(s); failed != nil {
			cancel()
		}
	}
	if failed == nil && ctx.Err() != nil && !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		failed = context.Cause(ctx)
	}
	return failed
}

// challengedRow takes the result of one challenge into the session.
func (e *env) challengedRow(x session.Challenge) {
	s := e.s
	spend(s, x.Spent)
	x.Spent = session.Spent{}
	s.Challenges = append(s.Challenges, x)
	row := s.Task(x.Task)
	line := x.Findings
	if x.Why != "" {
		line = strings.TrimSpace(line + " (" + x.Why + ")")
	}
	e.progress("%s was challenged: %s: %s", x.Task, x.Result, line)
	e.trail(session.Entry{TS: e.Clock.Now().UTC(), Phase: "diagnosis", Source: x.Task, Type: "challenge", Hypothesis: row.Hypothesis, Result: string(x.Result), Content: line})
	if x.Result == session.Contested || x.Result == session.Broken {
		row.EvidenceAgainst = strings.Trim(row.EvidenceAgainst+"\n"+strings.Join(x.Evidence, "\n"), "\n")
	}
	if x.Result != session.Broken {
		return
	}
	row.Verdict = session.Inconclusive
	row.Findings = limited("It was confirmed, and does not stand: "+x.Why+". It was: "+row.Findings, session.MaxFindings)
	delete(s.Causes, x.Task)
	e.decide("challenge", "%s is inconclusive: %s", x.Task, x.Why)
}

// challenged sums the challenges up for the stage's line.
func challenged(s *session.Session) string {
	if len(s.Challenges) == 0 {
		return "nothing was confirmed that could be challenged"
	}
	n := map[session.Challenged]int{}
	for _, x := range s.Challenges {
		n[x.Result]++
	}
	var parts []string
	for _, r := range []struct {
		result session.Challenged
		words  string
	}{{session.Stands, "stand"}, {session.Contested, "are contested"}, {session.Broken, "broken"}, {session.Undecided, "without an end"}, {session.LeftOut, "left out"}} {
		if n[r.result] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[r.result], r.words))
		}
	}
	return fmt.Sprintf("of %d confirmed: %s", len(s.Challenges), strings.Join(parts, ", "))
}

// limited shortens a text to n characters.
func limited(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
