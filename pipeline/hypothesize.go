package pipeline

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"

	"culprit/internal/session"
	"culprit/internal/toolchain"
)

// facts is what the rules look at.
type facts struct {
	reads     bool // a model can read code
	flaky     bool
	history   int  // first-parent commits up to bad
	hasGood   bool // an older commit passes
	good      string
	testFiles []string // files that carry the reproduction
	lockFiles []string // dependency files of the repository
	changed   []string // files that changed between good and bad
	suspect   *session.Suspect
	kind      session.Kind
	overlaid  bool            // the reproduction was given from another revision
	wasFlaky  int             // earlier sessions that found the test flaky
	alone     bool            // the failing test fails by itself
	failures  int             // tests that fail
	stack     []session.Frame // of the failure, where it fails first
}

// changedAny reports whether one of the files changed since the good commit.
func (f facts) changedAny(files []string) bool {
	return slices.ContainsFunc(files, func(x string) bool { return slices.Contains(f.changed, x) })
}

// rule raises one kind of hypothesis from what is known. The rank is a prior:
// the higher, the earlier it is tested.
type rule struct {
	kind       session.HypothesisKind
	role       session.Role          // of a reader
	rank       func(f facts) float64 // 0 = does not apply
	title      func(f facts) string
	hypothesis func(f facts) string
	experiment string // what the worker does, for the row's description
	prediction func(f facts) string
	files      func(f facts) []string
}

// rules is the table of hypotheses that need no model (BX2). One rule per
// kind; a worker in internal/experiment tests it.
var rules = []rule{
	{
		kind: session.Regression,
		rank: func(f facts) float64 {
			switch {
			case f.history < 2:
				return 0
			case f.flaky:
				return 0.6
			case f.hasGood:
				return 0.9
			}
			return 0.5
		},
		title: func(f facts) string {
			if f.suspect != nil && f.suspect.Relevance == session.High {
				return fmt.Sprintf("a commit introduced it, first suspect %s %q", f.suspect.Commit.Short(), f.suspect.Commit.Subject)
			}
			return "a commit introduced it"
		},
		hypothesis: func(f facts) string {
			if f.hasGood {
				return "One commit after " + short(f.good) + " makes the failure appear; its parent does not show it."
			}
			return "One commit of the history makes the failure appear; its parent does not show it."
		},
		experiment: "Culprit search over the commits with the reproduction laid over each; culprit and parent are run again; the culprit's hunks are minimised.",
		prediction: func(facts) string { return "the failure is seen at one commit and not at its parent" },
	},
	{
		kind: session.TestFault,
		rank: func(f facts) float64 {
			switch {
			case len(f.testFiles) == 0 || f.kind == session.KindBuild:
				return 0
			case f.overlaid:
				return 0.2
			case !f.hasGood, f.changedAny(f.testFiles):
				return 0.7
			}
			return 0.3
		},
		title: func(facts) string { return "the test is wrong, not the code" },
		hypothesis: func(f facts) string {
			return "A change of " + list(f.testFiles) + " alone makes the test fail: the old test passes on today's code, and today's test fails on the old code."
		},
		experiment: "Swap: old test on new code, new test on old code.",
		prediction: func(facts) string { return "old test passes on new code and new test fails on old code" },
		files:      func(f facts) []string { return f.testFiles },
	},
	{
		kind: session.Nondeterminism,
		rank: func(f facts) float64 {
			switch {
			case f.flaky:
				return 1
			case f.wasFlaky > 0:
				return 0.75
			}
			return 0.25
		},
		title: func(f facts) string {
			if f.wasFlaky > 0 {
				return "the test depends on order, time or scheduling, as before"
			}
			return "the test depends on order, time or scheduling"
		},
		hypothesis: func(facts) string {
			return "The same code passes and fails: the result depends on test order, time, a data race or chance."
		},
		experiment: "Repeat alone, with the other tests, shuffled, and with the race detector where the toolchain has one.",
		prediction: func(facts) string { return "some repetition of the same code gives another result" },
	},
	{
		kind: session.DependencyMove,
		rank: func(f facts) float64 {
			switch {
			case len(f.lockFiles) == 0:
				return 0
			case f.kind == session.KindDependency:
				return 0.95
			case f.changedAny(f.lockFiles):
				return 0.65
			}
			return 0.15
		},
		title: func(facts) string { return "a dependency or the toolchain changed" },
		hypothesis: func(f facts) string {
			return "A change of " + list(f.lockFiles) + " makes the failure appear; with the dependencies of the last good commit it is gone."
		},
		experiment: "Swap: dependency files of the last good commit into the failing one.",
		prediction: func(facts) string { return "the failure is gone with the old dependency files" },
		files:      func(f facts) []string { return f.lockFiles },
	},
	{
		kind: session.Environment,
		rank: func(f facts) float64 {
			if f.kind == session.KindEnvironment {
				return 0.95
			}
			if f.hasGood {
				return 0.1
			}
			return 0.45
		},
		title: func(facts) string { return "this environment differs from one where it passes" },
		hypothesis: func(facts) string {
			return "The code is right and this environment makes it fail: no commit passes here."
		},
		experiment: "Run the reproduction here on commits known or believed to be good.",
		prediction: func(facts) string { return "no older commit passes in this environment" },
	},
}

// hypothesize turns what is known into 3–5 ranked, falsifiable hypotheses and
// writes tasks.csv with their fix rows (QD5). The readers of a model come
// beside them, in the place of the last one (CR7).
func hypothesize(ctx context.Context, e *env) (Outcome, error) {
	s := e.s
	if len(s.Tasks) > 0 {
		return Advance{"hypotheses were ranked before"}, nil
	}
	e.recall(ctx)
	f, err := gather(ctx, e)
	if err != nil {
		return nil, err
	}
	s.Hypotheses, s.Tasks = rank(f, e.limits)
	var titles []string
	for _, t := range s.Wave(1) {
		titles = append(titles, t.ID+" "+t.Title)
	}
	return Advance{strings.Join(titles, "; ")}, nil
}

// rank applies the rules. It is pure: the same facts give the same rows.
func rank(f facts, l limits) ([]session.Hypothesis, []session.Task) {
	type ranked struct {
		rule
		score float64
	}
	var hit []ranked
	for _, r := range rules {
		if score := r.rank(f); score > 0 {
			hit = append(hit, ranked{r, score})
		}
	}
	byScore := func(i, j int) bool { return hit[i].score > hit[j].score }
	sort.SliceStable(hit, byScore)
	most := l.hypotheses
	reading := readers(f, l.readers)
	if len(reading) > 0 {
		most--
	}
	hit = hit[:min(len(hit), most)]
	for _, r := range reading {
		hit = append(hit, ranked{r, r.rank(f)})
	}
	sort.SliceStable(hit, byScore)
	var hypotheses []session.Hypothesis
	var first, second []session.Task
	for i, r := range hit {
		id := fmt.Sprintf("H%d", i+1)
		h := session.Hypothesis{ID: id, Kind: r.kind, Role: r.role, Rank: i + 1, Prediction: r.prediction(f)}
		if r.files != nil {
			h.Files = r.files(f)
		}
		if f.suspect != nil && r.kind == session.Regression {
			h.Suspect = f.suspect.Commit.SHA
		}
		hypotheses = append(hypotheses, h)
		first = append(first, session.Task{
			ID: id, Title: r.title(f), Hypothesis: r.hypothesis(f), Wave: 1, Status: session.Pending,
			Description: r.experiment + " Prediction: " + h.Prediction + ".",
		})
		second = append(second, session.Task{
			ID: "FIX-" + id, Title: "Fix: " + r.title(f), Wave: 2, Status: session.Pending,
			Description: fixDescription[r.kind], Deps: []string{id}, ContextFrom: []string{id},
		})
	}
	return hypotheses, append(first, second...)
}

// fixDescription says what the fix row of a kind does.
var fixDescription = map[session.HypothesisKind]string{
	session.Regression:     "Take the failure-inducing change back on top of the failing commit, as little of it as makes the test pass.",
	session.TestFault:      "No change to the code; the test is not weakened either. A person decides what it should expect.",
	session.Nondeterminism: "No change that hides the failure; the report says what makes it appear.",
	session.DependencyMove: "Put the dependency files back to their last good state.",
	session.Environment:    "No change to the code; the report says what differs.",
	session.Reading:        "The smallest change at the line that is wrong, in the files that the evidence names.",
}

// gather collects the facts for the rules.
func gather(ctx context.Context, e *env) (facts, error) {
	s, r, a := e.s, e.s.Reproduction, e.s.Archaeology
	f := facts{reads: e.Reads, flaky: r.Flaky, history: a.Total, overlaid: len(s.Flags.Overlay) > 0}
	f.alone, f.failures = r.Alone, len(s.Symptom.Failures)
	if r.Failure != nil {
		f.kind, f.stack = r.Failure.Kind, r.Failure.Stack
	}
	if r.Failure != nil {
		for _, p := range s.Past {
			if p.Test == r.Failure.ID() && p.Result == session.ResultFlaky {
				f.wasFlaky++
			}
		}
	}
	for _, o := range r.Overlay {
		f.testFiles = append(f.testFiles, o.Path)
	}
	files, err := e.Workspace.List(ctx, s.Bad.SHA)
	if err != nil {
		return f, err
	}
	for _, name := range files {
		if toolchain.IsLockFile(name) {
			f.lockFiles = append(f.lockFiles, name)
		}
	}
	if a.Good != nil {
		f.hasGood, f.good = true, a.Good.SHA
		changes, err := e.Workspace.Changed(ctx, a.Good.SHA, s.Bad.SHA)
		if err != nil {
			return f, err
		}
		for _, c := range changes {
			f.changed = append(f.changed, c.Path)
		}
	}
	for i := range a.Suspects {
		if a.Suspects[i].Relevance == session.High {
			f.suspect = &a.Suspects[i]
			break
		}
	}
	return f, nil
}

func short(sha string) string { return session.Commit{SHA: sha}.Short() }

// list names at most three files.
func list(files []string) string {
	if len(files) > 3 {
		return strings.Join(files[:3], ", ") + fmt.Sprintf(" and %d more", len(files)-3)
	}
	return strings.Join(files, ", ")
}
