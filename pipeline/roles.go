package pipeline

import (
	"cmp"
	"fmt"
	"path"
	"slices"

	"culprit/internal/session"
)

// part is one row of the table of roles: a reader that looks at the failure
// from one side (CR7). Its hypothesis is tested by reading; which instructions
// and tools it gets is in internal/agent.
type part struct {
	role session.Role
	// rank is the prior of its hypothesis; 0: the failure gives no reason for
	// this side.
	rank       func(f facts) float64
	title      func(f facts) string
	hypothesis func(f facts) string
	looks      string // what the worker does, for the row's description
	prediction string
}

// parts is the table. Error analysis is always there, and change analysis
// wherever something can have changed. The others need a sign in the failure or
// in the change: each costs as much as the first.
var parts = []part{
	{
		role: session.ErrorAnalysis,
		rank: func(f facts) float64 {
			switch {
			case f.flaky:
				return 0.8
			case f.hasGood:
				return 0.6 // an experiment decides more, where one is possible
			}
			return 0.85
		},
		title: func(facts) string { return "a line of the code under test is wrong" },
		hypothesis: func(facts) string {
			return "The code that the failing test exercises does something else than the test demands, and the line can be named."
		},
		looks:      "Reading, backwards from the failing assertion to the place where the value becomes wrong, and the runs that this asks for.",
		prediction: "there is a line in the code under test that makes the observed value out of right ones",
	},
	{
		role: session.ChangeAnalysis,
		rank: func(f facts) float64 {
			switch {
			case f.history < 2:
				return 0
			case f.hasGood:
				return 0.55
			}
			return 0.4
		},
		title: func(facts) string { return "a line that was changed lately is wrong" },
		hypothesis: func(f facts) string {
			since := "in the last commits"
			if f.hasGood {
				since = "after " + short(f.good)
			}
			return "A line that was changed " + since + " makes the failure, and can be named."
		},
		looks:      "Reading what changed, in the order of how near it is to the failure, and the runs that this asks for.",
		prediction: "there is a changed line that makes the observed value, and did not stand there when the test passed",
	},
	{
		role: session.DependencyAnalysis,
		rank: func(f facts) float64 {
			switch {
			case f.kind == session.KindDependency, f.kind == session.KindEnvironment:
				return 0.9
			case len(f.lockFiles) > 0 && f.changedAny(f.lockFiles):
				return 0.5
			}
			return 0
		},
		title: func(facts) string { return "the code does not fit its dependencies or settings" },
		hypothesis: func(facts) string {
			return "The code uses a dependency, a tool or a setting in a way that the version or value here does not allow, and the line can be named."
		},
		looks:      "Reading dependency files, settings and the code that uses them, and the runs that this asks for.",
		prediction: "there is a line that demands what the version or setting here does not give",
	},
	{
		role: session.ReproductionAnalysis,
		rank: func(f facts) float64 {
			switch {
			case f.flaky:
				return 0.7
			case f.wasFlaky > 0, f.kind == session.KindRace, f.kind == session.KindTimeout, !f.alone:
				return 0.5
			}
			return 0
		},
		title: func(facts) string { return "a condition that is not set decides whether it fails" },
		hypothesis: func(facts) string {
			return "Whether the test fails depends on order, time, concurrency or what was left behind, and the line that lets it depend on that can be named."
		},
		looks:      "Repeating the test under other conditions, and reading what lets them in.",
		prediction: "there is a line by which the result depends on a condition that the test does not set",
	},
	{
		role: session.EvidenceGathering,
		rank: func(f facts) float64 {
			if len(folders(f.stack)) >= 3 || f.failures >= 3 {
				return 0.45
			}
			return 0
		},
		title: func(facts) string { return "a value becomes wrong on its way between components" },
		hypothesis: func(f facts) string {
			where := "the components that the failure passes through"
			if dirs := folders(f.stack); len(dirs) >= 3 {
				where = list(dirs)
			}
			return "Between " + where + ", one hands on something else than it was given, and the line can be named."
		},
		looks:      "Looking at what goes in and out at each boundary, by runs that print it.",
		prediction: "there is a boundary before which the value is right and after which it is wrong",
	},
	{
		role: session.DeepDive,
		rank: func(f facts) float64 {
			switch {
			case f.kind == session.KindPanic, f.kind == session.KindRace:
				return 0.42
			case len(f.stack) >= 5:
				return 0.35
			}
			return 0
		},
		title: func(f facts) string {
			if file := deepest(f.stack); file != "" {
				return "what " + file + " takes for granted does not hold"
			}
			return "what the failing part takes for granted does not hold"
		},
		hypothesis: func(f facts) string {
			where := "The part of the code in which it fails"
			if file := deepest(f.stack); file != "" {
				where = fmt.Sprintf("The part of the code around %s", file)
			}
			return where + " takes something for granted that does not hold here, and the line can be named."
		},
		looks:      "Reading one part of the code as a whole: what it takes for granted, and who breaks that.",
		prediction: "there is a line that breaks what this part takes for granted",
	},
}

// readers are the parts that the facts call for, the most likely first.
func readers(f facts, most int) []rule {
	var out []rule
	for _, p := range parts {
		if !f.reads || p.rank(f) <= 0 {
			continue
		}
		out = append(out, rule{
			kind: session.Reading, role: p.role, rank: p.rank, title: p.title, hypothesis: p.hypothesis, experiment: p.looks,
			prediction: func(facts) string { return p.prediction },
		})
	}
	likely := func(r rule) float64 {
		if r.role == session.ErrorAnalysis {
			return 1 // always there
		}
		return r.rank(f)
	}
	slices.SortStableFunc(out, func(a, b rule) int { return cmp.Compare(likely(b), likely(a)) })
	return out[:min(len(out), most)]
}

// folders of a stack, each once.
func folders(stack []session.Frame) []string {
	var out []string
	for _, x := range stack {
		if dir := path.Dir(x.File); x.File != "" && !slices.Contains(out, dir) {
			out = append(out, dir)
		}
	}
	return out
}

// deepest is the file of a stack in which it fails.
func deepest(stack []session.Frame) string {
	if len(stack) == 0 {
		return ""
	}
	return stack[0].File
}
