package pipeline

import (
	"slices"
	"testing"

	"culprit/internal/session"
)

// CR7: error and change analysis always, the others where the failure or the
// change calls for them.
func TestTheFailureCallsForTheReadersThatItNeeds(t *testing.T) {
	t.Parallel()
	base := facts{reads: true, history: 9, hasGood: true, good: "c4", alone: true, kind: session.KindTest}
	stack := func(files ...string) (out []session.Frame) {
		for _, f := range files {
			out = append(out, session.Frame{File: f})
		}
		return out
	}
	both := []session.Role{session.ErrorAnalysis, session.ChangeAnalysis}
	for name, c := range map[string]struct {
		change func(f *facts)
		most   int
		want   []session.Role
	}{
		"a failing assertion":   {func(*facts) {}, 6, both},
		"a single commit":       {func(f *facts) { f.history = 1 }, 6, both[:1]},
		"quick mode":            {func(*facts) {}, 1, both[:1]},
		"no model":              {func(f *facts) { f.reads = false }, 6, nil},
		"a flaky test":          {func(f *facts) { f.flaky = true }, 6, []session.Role{session.ErrorAnalysis, session.ReproductionAnalysis, session.ChangeAnalysis}},
		"flaky before":          {func(f *facts) { f.wasFlaky = 1 }, 6, append(slices.Clone(both), session.ReproductionAnalysis)},
		"only with other tests": {func(f *facts) { f.alone = false }, 6, append(slices.Clone(both), session.ReproductionAnalysis)},
		"a moved lock file":     {func(f *facts) { f.lockFiles, f.changed = []string{"go.sum"}, []string{"go.sum"} }, 6, append(slices.Clone(both), session.DependencyAnalysis)},
		"an unmoved lock file":  {func(f *facts) { f.lockFiles = []string{"go.sum"} }, 6, both},
		"what does not resolve": {func(f *facts) { f.kind = session.KindDependency }, 6, []session.Role{session.ErrorAnalysis, session.DependencyAnalysis, session.ChangeAnalysis}},
		"many components":       {func(f *facts) { f.stack = stack("a/a.go", "b/b.go", "c/c.go") }, 6, append(slices.Clone(both), session.EvidenceGathering)},
		"many tests":            {func(f *facts) { f.failures = 3 }, 6, append(slices.Clone(both), session.EvidenceGathering)},
		"a crash":               {func(f *facts) { f.kind = session.KindPanic }, 6, append(slices.Clone(both), session.DeepDive)},
		"a deep stack":          {func(f *facts) { f.stack = stack("a/a.go", "a/b.go", "a/c.go", "a/d.go", "a/e.go") }, 6, append(slices.Clone(both), session.DeepDive)},
		"the most likely first": {func(f *facts) { f.kind, f.failures, f.flaky = session.KindRace, 5, true }, 3, []session.Role{session.ErrorAnalysis, session.ReproductionAnalysis, session.ChangeAnalysis}},
		"everything is at stake": {func(f *facts) {
			f.kind, f.failures, f.wasFlaky, f.lockFiles, f.changed = session.KindPanic, 5, 1, []string{"x"}, []string{"x"}
		}, 6, append(slices.Clone(both), session.DependencyAnalysis, session.ReproductionAnalysis, session.EvidenceGathering, session.DeepDive)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := base
			c.change(&f)
			hs, tasks := rank(f, limits{hypotheses: 5, readers: c.most})
			var got []session.Role
			for _, r := range readers(f, c.most) {
				got = append(got, r.role)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
			n := 0
			for i, h := range hs {
				if (h.Role != "") != (h.Kind == session.Reading) || tasks[i].Hypothesis == "" || tasks[i].Title == "" {
					t.Errorf("%+v %+v", h, tasks[i])
				}
				if h.Role != "" {
					n++
				}
			}
			if n != len(c.want) || n > 0 && len(hs)-n > 4 || n == 0 && len(hs) > 5 {
				t.Errorf("%d readers of %d hypotheses", n, len(hs))
			}
		})
	}
}
