package experiment

import (
	"context"
	"errors"
	"path"
	"slices"
	"time"

	"culprit/internal/experiment/rate"
	"culprit/internal/session"
)

// Runs of the nondeterminism experiment. They are what is needed at most: a
// way of running is left as soon as it is decided.
const (
	aloneRuns    = 5  // of a test that always failed, earlier runs included
	flakyRuns    = 20 // of a test that fails only sometimes, earlier runs included
	variantRuns  = 2  // shuffled and in company, of a test that always failed
	steadyRuns   = 1  // in each other condition that can make it fail always
	decisiveRuns = 8  // more of such a test, once it has passed
	wayRuns      = 28 // in each way, of a test that fails only sometimes
	raceRuns     = 2
	raceSlowdown = 4 // the race detector's runs get this much more time
)

// inCompany names the runs together with the tests that share a process.
const inCompany = "with the tests beside it"

// way is one way to run the failing test: its command, and how often.
type way struct {
	name, kind string
	command    string
	runs       int // at least, unless it is decided earlier
	limit      int // at most
	slow       int // factor for the timeout; 0 = 1
}

// variant is what a way has shown.
type variant struct {
	way
	count      session.Count
	race       *session.Failure // a race that was reported
	tests      []string         // IDs of tests that were seen to pass, in the order of the last run
	impossible string           // why it could not be run
	differs    bool             // fails at another rate than as reproduced
}

// nondeterminism tests "order, time, race, chance" by running the same code in
// different ways: as reproduced, in the company of the suite, shuffled, with
// the race detector, and under the conditions of the table. Each is compared
// with the runs as reproduced, one batch at a time, until it is decided
// (rate.Compare, which knows how many ways there are); the first that differs
// ends the experiment, because it names the kind. What fails every time in every
// way is refuted.
func nondeterminism(ctx context.Context, st *study) error {
	r := st.s.Reproduction
	alone := variant{way: way{name: "as reproduced"}, count: r.Count}
	if r.Alone {
		alone.name = "alone"
	}
	own := at(st.base, st.s.Bad.SHA, "repeat", st.task.ID)
	if known := st.lab.Known(own); known.Runs > alone.count.Runs {
		alone.count = known
	}
	enough := aloneRuns
	if r.Flaky {
		enough = flakyRuns
	}
	var err error
	if n := enough - alone.count.Runs; n > 0 {
		var more session.Count
		more, _, err = st.lab.Repeat(ctx, own, n)
		alone.count.Runs += more.Runs
		alone.count.Failures += more.Failures
	}
	variants := []variant{alone}
	var ways []way
	if err == nil {
		ways, err = st.plan(ctx)
	}
	kinds := 0
	for _, w := range ways {
		if w.kind != "" {
			kinds++
		}
	}
	for _, w := range ways {
		var got variant
		got, err = st.vary(ctx, w, alone.count, kinds)
		variants = append(variants, got)
		if err != nil || got.differs || got.race != nil {
			break
		}
	}
	if err != nil && (!errors.Is(err, ErrBudget) || !r.Flaky) {
		return err
	}
	// A test that was seen to fail and to pass is flaky even when the budget
	// ends before its kind is known.
	if err := st.judgeVariants(ctx, variants); !errors.Is(err, ErrBudget) {
		return err
	}
	return nil
}

// plan lists the ways in which this project's tests can be run.
func (st *study) plan(ctx context.Context) ([]way, error) {
	r, l := st.s.Reproduction, st.lab.Language
	var ways []way
	add := func(w way) {
		if w.limit = wayRuns; !r.Flaky {
			w.limit = w.runs + decisiveRuns
		}
		ways = append(ways, w)
	}
	company := r.Command
	if r.Alone && orWord(r.Group, r.Suite) != "" {
		company = orWord(r.Group, r.Suite)
		add(way{name: inCompany, kind: "order", command: company, runs: variantRuns})
	}
	if c, ok := l.Shuffled(company); ok {
		add(way{name: "shuffled", kind: "order", command: c, runs: variantRuns})
	}
	// A race shows itself by changing results. Where the same code has always
	// given the same one, or nothing near the test runs at the same time, building
	// everything anew with the detector would buy nothing; a failure that is a
	// race report is looked at in any case.
	if c, ok := l.Race(r.Command); ok {
		worth := r.Target.Kind == session.KindRace
		if r.Flaky && !worth {
			var err error
			if worth, err = st.concurrent(ctx); err != nil {
				return nil, err
			}
		}
		if worth {
			ways = append(ways, way{name: "with the race detector", command: c, runs: raceRuns, limit: raceRuns, slow: raceSlowdown})
		}
	}
	for _, c := range conditions {
		if (r.Flaky || c.steady) && (c.needless == nil || !c.needless.MatchString(r.Command)) {
			add(way{name: c.name, kind: c.kind, command: c.script(r.Command), runs: steadyRuns})
		}
	}
	return ways, nil
}

// concurrent reports whether a file beside the failing test could run things
// at the same time.
func (st *study) concurrent(ctx context.Context) (bool, error) {
	dirs := map[string]bool{}
	for _, o := range st.s.Reproduction.Overlay {
		dirs[path.Dir(o.Path)] = true
	}
	if f := st.s.Reproduction.Failure; f != nil && f.File != "" {
		dirs[path.Dir(f.File)] = true
	}
	if len(dirs) == 0 {
		return true, nil
	}
	files, err := st.lab.History.List(ctx, st.s.Bad.SHA)
	if err != nil {
		return false, err
	}
	for _, file := range files {
		if !dirs[path.Dir(file)] {
			continue
		}
		content, _, err := st.lab.History.ShowMode(ctx, st.s.Bad.SHA, file)
		if err != nil {
			return false, err
		}
		if st.lab.Language.Concurrent(file, content) {
			return true, nil
		}
	}
	return false, nil
}

// vary runs one way, batch by batch, until it is decided whether the test
// fails as often as in base, as one of so many ways that could each name a kind.
func (st *study) vary(ctx context.Context, w way, base session.Count, kinds int) (variant, error) {
	v := variant{way: w}
	t := at(st.base, st.s.Bad.SHA, "repeat "+w.name, st.task.ID)
	t.Command, t.Adapt = w.command, false
	if w.slow > 0 {
		t.Timeout = time.Duration(w.slow) * max(st.base.Timeout, st.lab.opts.Timeout)
	}
	for tried := 0; tried < w.limit; {
		// A test that always failed must pass once before more is spent on it.
		limit := w.limit
		if base.Passes() == 0 && v.count.Passes() == 0 {
			limit = w.runs
		}
		n := min(st.lab.slots, limit-tried)
		if n <= 0 {
			break
		}
		seen, err := st.lab.runAll(ctx, slices.Repeat([]session.Trial{t}, n))
		tried += n
		for _, o := range seen {
			if o != nil {
				v.note(*o)
			}
		}
		if err != nil || v.impossible != "" {
			return v, err
		}
		// The race detector's own word is waited for, whatever the rate.
		if w.kind == "" {
			continue
		}
		if c := rate.Compare(base, v.count, w.limit, kinds); c != rate.Open {
			v.differs = c == rate.Different
			break
		}
	}
	return v, nil
}

// note takes one observation.
func (v *variant) note(o session.Observation) {
	if why := notPossible(o.Output); why != "" {
		v.impossible = why
		return
	}
	v.count.Add(o.Outcome)
	for i, f := range o.Report.Failures {
		if f.Kind == session.KindRace && v.race == nil {
			v.race = &o.Report.Failures[i]
		}
	}
	if len(o.Report.Passed) > 0 {
		v.tests = o.Report.Passed
	}
}
