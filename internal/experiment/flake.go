package experiment

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"culprit/internal/experiment/rate"
	"culprit/internal/session"
)

// String says "fails 3/8 shuffled", or nothing where nothing was seen.
func (v variant) String() string {
	if v.count.Runs == 0 {
		return ""
	}
	return fmt.Sprintf("%s %s", tally(v.count), v.name)
}

// judgeVariants decides from the counts. The first variant is the test as it
// was reproduced.
func (st *study) judgeVariants(ctx context.Context, variants []variant) error {
	var said, impossible []string
	var race *session.Failure
	var differs *variant
	alone := variants[0].count
	mixed := false
	for i, v := range variants {
		if s := v.String(); s != "" {
			said = append(said, s)
		}
		if v.impossible != "" && !slices.Contains(impossible, v.impossible) {
			impossible = append(impossible, v.impossible)
		}
		if v.race != nil {
			race = v.race
		}
		if v.differs && differs == nil {
			differs = &variants[i]
		}
		// Another order is another run: a mixture there is no proof of chance.
		mixed = mixed || (v.count.Failures > 0 && v.count.Passes() > 0 && v.name != "shuffled")
	}
	if alone.Passes() > 0 && alone.Failures > 0 {
		mixed = true
	}
	counts := strings.Join(said, ", ")
	kind := ""
	switch {
	case race != nil && (mixed || st.s.Reproduction.Target.Kind == session.KindRace):
		kind = "race"
	case differs != nil:
		kind = differs.kind
	case mixed:
		kind = "unknown"
	}
	where := orWord(st.failureLocation(), "commit "+st.s.Bad.Short())
	if kind == "" {
		st.notFlaky(alone, race, counts, where)
		return nil
	}
	flake := &session.Flake{Count: alone, Interval: rate.Interval(alone), Suspected: kind, Advice: advice[kind]}
	evidence := func(format string, args ...any) {
		line := oneLine(fmt.Sprintf(format, args...))
		flake.Evidence = append(flake.Evidence, line)
		st.supports("%s", line)
	}
	evidence("%s — %s", where, counts)
	if kind == "race" {
		evidence("%s — the race detector reports a race", orWord(race.Location(), where))
	}
	for _, why := range impossible {
		flake.Evidence = append(flake.Evidence, "not tried here: what needs "+clip(why, 120))
	}
	var stopped error
	because := ""
	if kind == "order" && differs.name == inCompany {
		// Which of them it is, is a bonus: what goes wrong here leaves the kind.
		var note string
		if note, because, stopped = st.predecessors(ctx, *differs, variants[0]); note != "" {
			evidence("%s — %s", where, note)
		}
	}
	st.finding.Flake = flake
	summary := fmt.Sprintf("The test is not deterministic (%s): on the same code it %s.%s", kind, counts, because)
	st.finding.Cause = &session.RootCause{
		Task: st.task.ID, Kind: session.Nondeterminism, Summary: clip(summary, session.MaxFindings), NoCodeChange: true,
		AtCulprit: alone, Location: st.failureLocation(), MinimalNote: "no commit's change was looked for by this experiment",
	}
	if race != nil && race.Location() != "" {
		st.finding.Cause.Location = race.Location()
	}
	st.conclude(session.Confirmed, "%s", summary)
	return stopped
}

// notFlaky concludes for a test that gave the same result in every way.
func (st *study) notFlaky(alone session.Count, race *session.Failure, counts, where string) {
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
}

// failureLocation is the place that the failure names, if it is in the
// repository.
func (st *study) failureLocation() string {
	if f := st.s.Reproduction.Failure; f != nil {
		return f.Location()
	}
	return ""
}
