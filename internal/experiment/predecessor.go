package experiment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"culprit/internal/experiment/ddmin"
	"culprit/internal/session"
)

// Bounds of the search for the tests on which another one depends.
const (
	maxPredecessors = 60 // runs
	pairRuns        = 3  // of what was found
)

// predecessors finds, by delta debugging over the tests that ran beside it,
// the smallest set with which the failing test behaves as in their company:
// what spoils it, or what it cannot do without. note and because are empty
// where that is not decided; an error is about the machine or the budget.
func (st *study) predecessors(ctx context.Context, company, alone variant) (note, because string, err error) {
	some, victim := st.lab.Language.Some, st.s.Reproduction.Failure
	spoiled := company.count.Passes() == 0 && alone.count.Failures == 0
	helped := company.count.Failures == 0 && alone.count.Passes() == 0
	if some == nil || victim == nil || victim.Test == "" || !spoiled && !helped {
		return "", "", nil
	}
	beside := besides(company.tests, *victim)
	if len(beside) == 0 {
		return "", "", nil
	}
	as := session.Passed
	if spoiled {
		as = session.FailedSame
	}
	trial := func(subset []int) (session.Trial, bool) {
		failures := make([]session.Failure, 0, len(subset)+1)
		for _, i := range subset {
			failures = append(failures, session.Failure{Framework: victim.Framework, Package: victim.Package, File: victim.File, Test: beside[i]})
		}
		command, ok := some(append(failures, *victim))
		t := at(st.base, st.s.Bad.SHA, fmt.Sprintf("order: %s before it", plural(len(subset), "test")), st.task.ID)
		t.Command, t.Adapt = command, false
		return t, ok
	}
	found, stats, err := ddmin.Minimise(ctx, len(beside), func(ctx context.Context, subset []int) (ddmin.Verdict, error) {
		t, ok := trial(subset)
		if !ok {
			return ddmin.Unresolved, nil
		}
		obs, err := st.lab.probe(ctx, t, 1)
		switch {
		case err != nil || (obs.Outcome != session.Passed && obs.Outcome != session.FailedSame):
			return ddmin.Unresolved, err
		case obs.Outcome == as:
			return ddmin.Reproduces, nil
		}
		return ddmin.Not, nil
	}, ddmin.Options{Parallel: st.lab.slots, MaxTests: maxPredecessors})
	if errors.Is(err, ddmin.ErrNotReproduced) || (err == nil && len(found) == 0) {
		return "", "", nil // the order, or what stands beside the tests, decides
	}
	if err != nil {
		return "", "", err
	}
	t, _ := trial(found)
	count, _, err := st.lab.Repeat(ctx, t, pairRuns)
	if err != nil || count.Runs == 0 || (spoiled && count.Passes() > 0) || (helped && count.Failures > 0) {
		return "", "", err
	}
	var names []string
	for _, i := range found {
		names = append(names, beside[i])
	}
	list := clip(oneLine(strings.Join(names, ", ")), 200)
	verb := "fails when these run before it: "
	if helped {
		verb = "passes only when these run before it: "
	}
	if !stats.Minimal {
		verb = strings.TrimSuffix(verb, ": ") + " (perhaps fewer): "
	}
	return fmt.Sprintf("%s after %s", tally(count), list), " It " + verb + list + ".", nil
}

// besides are the names of the tests, by their IDs, that share the victim's
// package; of a test with sub-tests only the test itself.
func besides(ids []string, victim session.Failure) []string {
	var names []string
	seen := map[string]bool{}
	prefix := ""
	if victim.Package != "" {
		prefix = victim.Package + "."
	}
	// Some runners don't name the file when they run only one.
	if !slices.ContainsFunc(ids, func(id string) bool { return strings.HasPrefix(id, prefix) }) {
		prefix = ""
	}
	for _, id := range ids {
		name, ok := strings.CutPrefix(id, prefix)
		if ok && name != "" && !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	top, _, _ := strings.Cut(victim.Test, "/")
	return slices.DeleteFunc(names, func(name string) bool {
		parent, _, sub := strings.Cut(name, "/")
		return parent == top || sub && seen[parent]
	})
}
