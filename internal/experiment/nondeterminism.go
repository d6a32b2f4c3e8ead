package experiment

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"culprit/internal/experiment/rate"
	"culprit/internal/session"
)

// Runs of the nondeterminism experiment.
const (
	aloneRuns    = 5 // of the reproduction, earlier ones included
	variantRuns  = 2 // shuffled and in company, of a test that always failed
	flakyRuns    = 8 // the same of a test that fails only sometimes: rates are compared
	raceRuns     = 2
	raceSlowdown = 4 // the race detector's runs get this much more time
	// orderLevel is how sure a difference of rates must be to be called order
	// dependence.
	orderLevel = .01
)

// inCompany names the runs together with the tests that share a process.
const inCompany = "with the tests beside it"

// variant is one way to run the failing test.
type variant struct {
	name    string // "alone", "shuffled", inCompany, "with the race detector"
	count   session.Count
	race    *session.Failure // a race that was reported
	skipped string           // why it could not be run
}

func (v variant) String() string {
	if v.count.Runs == 0 {
		return ""
	}
	return fmt.Sprintf("%s %s", tally(v.count), v.name)
}

// nondeterminism tests "order, time, race, chance" by running the same code in
// different ways: as reproduced, shuffled, in the company of the suite, and
// with the race detector. What fails every time in every way is refuted.
func nondeterminism(ctx context.Context, st *study) error {
	r := st.s.Reproduction
	alone := variant{name: "as reproduced", count: r.Count}
	if r.Alone {
		alone.name = "alone"
	}
	own := at(st.base, st.s.Bad.SHA, "repeat", st.task.ID)
	if known := st.lab.Known(own); known.Runs > alone.count.Runs {
		alone.count = known
	}
	if n := aloneRuns - alone.count.Runs; n > 0 && !r.Flaky {
		more, _, err := st.lab.Repeat(ctx, own, n)
		alone.count.Runs += more.Runs
		alone.count.Failures += more.Failures
		if err != nil {
			return err
		}
	}
	variants := []variant{alone}
	ways, err := st.plan(ctx)
	if err != nil {
		return err
	}
	for _, v := range ways {
		got, err := st.vary(ctx, v)
		if err != nil {
			return err
		}
		variants = append(variants, got)
	}
	st.judgeVariants(variants)
	return nil
}

// way is a planned variant: its commands, one for each run.
type way struct {
	name     string
	commands []string
	slow     int
}

// plan lists the ways in which this project's tests can be run.
func (st *study) plan(ctx context.Context) ([]way, error) {
	r, l := st.s.Reproduction, st.lab.Language
	var ways []way
	company, runs := r.Command, variantRuns
	if r.Flaky {
		runs = flakyRuns
	}
	if r.Alone && orWord(r.Group, r.Suite) != "" {
		company = orWord(r.Group, r.Suite)
		ways = append(ways, way{name: inCompany, commands: slices.Repeat([]string{company}, runs)})
	}
	shuffled := way{name: "shuffled"}
	for seed := int64(1); seed <= int64(runs); seed++ {
		if c, ok := l.Shuffled(company, seed); ok {
			shuffled.commands = append(shuffled.commands, c)
		}
	}
	if shuffled.commands != nil {
		ways = append(ways, shuffled)
	}
	// A race shows itself by changing results. Where the same code has always
	// given the same one, or nothing near the test runs at the same time, building
	// everything anew with the detector would buy nothing; a failure that is a
	// race report is looked at in any case.
	c, ok := l.Race(r.Command)
	if !ok {
		return ways, nil
	}
	worth := r.Target.Kind == session.KindRace
	if r.Flaky && !worth {
		var err error
		if worth, err = st.concurrent(ctx); err != nil {
			return nil, err
		}
	}
	if worth {
		ways = append(ways, way{name: "with the race detector", commands: slices.Repeat([]string{c}, raceRuns), slow: raceSlowdown})
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

// vary runs one way and counts.
func (st *study) vary(ctx context.Context, w way) (variant, error) {
	v := variant{name: w.name}
	trials := make([]session.Trial, len(w.commands))
	for i, c := range w.commands {
		t := at(st.base, st.s.Bad.SHA, "repeat "+w.name, st.task.ID)
		t.Command, t.Adapt = c, false
		if w.slow > 0 {
			t.Timeout = time.Duration(w.slow) * max(st.base.Timeout, st.lab.opts.Timeout)
		}
		trials[i] = t
	}
	seen, err := st.lab.runAll(ctx, trials)
	for _, o := range seen {
		if o == nil {
			continue
		}
		v.count.Add(o.Outcome)
		for i, f := range o.Report.Failures {
			if f.Kind == session.KindRace && v.race == nil {
				v.race = &o.Report.Failures[i]
			}
		}
		if o.Outcome == session.Untestable {
			v.skipped = o.Reason
		}
	}
	return v, err
}

// judgeVariants decides from the counts.
func (st *study) judgeVariants(variants []variant) {
	var said []string
	var race *session.Failure
	company := session.Count{}
	alone := variants[0].count
	mixed := false
	for _, v := range variants {
		if s := v.String(); s != "" {
			said = append(said, s)
		}
		if v.race != nil {
			race = v.race
		}
		if v.name == inCompany || v.name == "shuffled" {
			company.Runs += v.count.Runs
			company.Failures += v.count.Failures
		}
		mixed = mixed || (v.count.Failures > 0 && v.count.Passes() > 0 && v.name != "shuffled")
	}
	counts := strings.Join(said, ", ")
	kind := ""
	switch {
	case race != nil && (mixed || st.s.Reproduction.Target.Kind == session.KindRace):
		kind = "race"
	case alone.Failures == alone.Runs && company.Runs > 0 && company.Passes() > 0:
		kind = "order" // it always fails alone, and passes in company
	case alone.Passes() > 0 && company.Runs > 0 && rate.FisherTwoSided(alone, company) < orderLevel:
		kind = "order" // company changes how often it fails
	case mixed:
		kind = "unknown"
	}
	where := orWord(st.failureLocation(), "commit "+st.s.Bad.Short())
	if kind == "" {
		if alone.Runs < rate.DefaultRule.Failures || alone.Failures == 0 {
			st.conclude(session.Inconclusive, "Too few runs came to an end to tell: it %s.", orWord(counts, "was never run to an end"))
			return
		}
		st.contradicts("%s — %s", where, counts)
		note := ""
		if race != nil {
			note = fmt.Sprintf(" The race detector reports a race at %s beside it.", orWord(race.Location(), "an unknown place"))
			st.supports("%s — the race detector reports a race", orWord(race.Location(), where))
		}
		st.conclude(session.Refuted, "The same code gives the same result: it %s.%s", counts, note)
		return
	}
	flake := &session.Flake{Count: alone, Interval: rate.Interval(alone), Suspected: kind, Advice: advice[kind]}
	flake.Evidence = append(flake.Evidence, fmt.Sprintf("%s — %s", where, counts))
	st.supports("%s — %s", where, counts)
	if kind == "race" {
		line := fmt.Sprintf("%s — the race detector reports a race", orWord(race.Location(), where))
		flake.Evidence = append(flake.Evidence, line)
		st.supports("%s", line)
	}
	st.finding.Flake = flake
	summary := fmt.Sprintf("The test is not deterministic (%s): on the same code it %s.", kind, counts)
	st.finding.Cause = &session.RootCause{
		Task: st.task.ID, Kind: session.Nondeterminism, Summary: clip(summary, session.MaxFindings), NoCodeChange: true,
		AtCulprit: alone, Location: st.failureLocation(), MinimalNote: "no commit's change was looked for by this experiment",
	}
	if race != nil && race.Location() != "" {
		st.finding.Cause.Location = race.Location()
	}
	st.conclude(session.Confirmed, "%s", summary)
}

// advice says what a person can do about each kind of flakiness.
var advice = map[string]string{
	"race":    "Run the test with the race detector and guard the shared state at the reported place.",
	"order":   "The test depends on what runs before it: let it set up and tear down its own state.",
	"unknown": "Repeat the test while varying time zone, clock, seed, CPU load and network, and log what differs between a pass and a failure.",
}

// failureLocation is the place that the failure names, if it is in the
// repository.
func (st *study) failureLocation() string {
	if f := st.s.Reproduction.Failure; f != nil {
		return f.Location()
	}
	return ""
}
