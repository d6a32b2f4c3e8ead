package report

import (
	"fmt"
	"strings"
	"time"

	"culprit/internal/session"
)

// doing says what goes on in each stage, and what comes after it.
var doing = map[string][2]string{
	"intake":      {"reading the symptom", "look for the same failure elsewhere"},
	"incident":    {"looking for the same failure elsewhere", "resolve the revisions"},
	"checkout":    {"resolving revisions", "reproduce the failure"},
	"reproduce":   {"reproducing the failure", "search the history for a commit that passes"},
	"archaeology": {"searching the history for a commit that passes", "rank hypotheses"},
	"hypothesize": {"ranking hypotheses", "test them by experiment"},
	"investigate": {"testing hypotheses", "weigh the verdicts"},
	"challenge":   {"trying to break what was confirmed", "weigh the findings together"},
	"synthesize":  {"weighing the findings together", "weigh the verdicts"},
	"escalate":    {"weighing the verdicts", "build the smallest fix of what is confirmed"},
	"fix":         {"building the smallest fix", "run the failing test and the suite with it and without it"},
	"confirm":     {"proving the fix", "write the report"},
	"ask":         {"waiting for an answer", "go on with it"},
	"revise":      {"revising the fix after its review", "run the failing test and the suite with it and without it"},
	"record":      {"writing the report", "publish"},
	"publish":     {"publishing", "nothing"},
}

// elapsed is the time that the session has used.
func (v *view) elapsed() time.Duration {
	if v.Budget.Used > 0 {
		return v.Budget.Used
	}
	return max(v.UpdatedAt.Sub(v.CreatedAt), 0)
}

// progressText is the headline of a running session.
func (v *view) progressText() string {
	s := "Investigating · "
	if v.waits() {
		return "Waiting for the session that investigates the same failure · " + duration(v.elapsed())
	}
	wave := v.Wave(1)
	done := func(rows []session.Task) (n int) {
		for _, t := range rows {
			if t.Status != session.Pending {
				n++
			}
		}
		return n
	}
	switch {
	case v.State == "fix" || v.State == "confirm":
		s += "wave 2 of 2, " + doing[v.State][0]
	case len(wave) > 0 && (v.State == "investigate" || v.State == "challenge" || v.State == "synthesize" || v.State == "escalate"):
		s += fmt.Sprintf("wave 1 of 2, %d of %s tested", done(wave), count(len(wave), "hypothesis"))
	case doing[v.State][0] != "":
		s += doing[v.State][0]
	default:
		s += line(v.State)
	}
	return s + " · " + duration(v.elapsed())
}

// ProgressTable is what is known of each hypothesis so far.
func (v *view) ProgressTable() string {
	rows := v.Wave(1)
	if len(rows) == 0 {
		return ""
	}
	out := []string{"| | hypothesis | so far |", "|---|---|---|"}
	for _, t := range rows[:min(len(rows), v.rows)] {
		far := "waiting"
		switch {
		case t.Status == session.Failed:
			far = "could not be tested: " + prose(cut(line(t.Error), v.cell))
		case t.Verdict != "":
			far = bold(t.Verdict) + ": " + v.decisive(t)
		case v.State == "investigate":
			far = "being tested"
		}
		out = append(out, "| "+cell(prose(line(t.ID)))+" | "+cell(prose(cut(line(t.Title), v.cell)))+" | "+cell(far)+" |")
	}
	return strings.Join(out, "\n") + "\n" + italic(more(len(rows)-v.rows, "hypothesis"))
}

func italic(s string) string {
	if s == "" {
		return ""
	}
	return "\n_" + s + "_\n"
}

func bold(v session.Verdict) string {
	if v == session.Confirmed {
		return "**confirmed**"
	}
	return string(v)
}

// health is GREEN while all goes well, YELLOW when something had to be done
// again or a budget runs low, RED when it cannot go on by itself (CR20).
func (v *view) health() (colour, why, action string) {
	used := func(n, max float64) float64 {
		if max <= 0 {
			return 0
		}
		return n / max
	}
	share := max(used(float64(v.Budget.Runs), float64(v.Budget.MaxRuns)), used(float64(v.Budget.Used), float64(v.Budget.MaxTime)))
	switch {
	case v.Question.Open():
		return "RED", "a person must answer", "answer the question"
	case v.Result == session.ResultStopped:
		return "RED", line(v.Reason), "resume with more budget, or give what is missing"
	case v.Done() && v.Result == "":
		return "RED", "the session itself failed", "retry, and report it if it fails again"
	case v.Done():
		return "GREEN", "", ""
	case v.MaxLoops > 0 && v.CrossPhaseLoops >= v.MaxLoops:
		return "RED", "no attempts are left", "look at what was tried"
	case share >= 0.8:
		return "YELLOW", percent(share) + " of the budget is used", "raise --max-runs or --timeout if the result matters"
	case v.CrossPhaseLoops > 0 || v.DiagnosisRetries > 0:
		return "YELLOW", "an attempt was rejected and is made again", "none; it goes on by itself"
	}
	return "GREEN", "", ""
}

// Next is what comes after the present stage.
func (v *view) Next() string {
	if n := doing[v.State][1]; n != "" {
		return n
	}
	return "go on"
}

// HealthLine is the last sentence of the running comment.
func (v *view) HealthLine() string {
	colour, why, _ := v.health()
	s := "Health: " + strings.ToLower(colour)
	if why != "" {
		s += " (" + prose(cut(why, v.cell)) + ")"
	}
	s += ". Next: " + v.Next() + "."
	if h := v.Held; h != nil {
		s += fmt.Sprintf(" GitHub's rate limit held it up, from %s to %s UTC.", h.Since.UTC().Format("15:04"), h.Until.UTC().Format("15:04"))
	}
	return s
}

// Doing is the sentence before there are hypotheses.
func (v *view) Doing() string {
	if len(v.Wave(1)) > 0 {
		return ""
	}
	if v.waits() {
		return v.waitingText()
	}
	if v.Title() == "" {
		return ""
	}
	return "Symptom: " + sentence(v.Title())
}

// Status is status.md: the block that is shown at every transition (CR20).
func Status(s *session.Session) string {
	v := show(s)
	colour, why, action := v.health()
	wave := "–"
	switch s.State {
	case "investigate", "challenge", "synthesize", "escalate":
		wave = "1 of 2"
	case "fix", "confirm":
		wave = "2 of 2"
	}
	var done []string
	for _, r := range s.Stages {
		if r.Note != "" {
			done = append(done, "- "+line(r.Name)+": "+prose(cut(line(r.Note), v.cell)))
		}
	}
	finished := "- nothing yet"
	if len(done) > 0 {
		finished = strings.Join(done[max(0, len(done)-12):], "\n")
	}
	next := v.Next()
	if s.Done() {
		next = s.NextStep
		if next == "" {
			next = "nothing"
		}
	}
	return render("status", struct {
		*view
		Colour, Why, Action, Wave, Finished, NextStep, Took string
		Hypothesis                                          string
	}{v, colour, prose(why), action, wave, finished, sentence(prose(next)), duration(v.elapsed()), v.current()})
}

// current is the hypothesis that the session is about.
func (v *view) current() string {
	if v.RootCause != nil {
		if t := v.Task(v.RootCause.Task); t != nil {
			return t.ID + " " + prose(line(t.Title)) + " (" + string(t.Verdict) + ")"
		}
	}
	for _, t := range v.Wave(1) {
		if t.Status == session.Pending {
			return t.ID + " " + prose(line(t.Title))
		}
	}
	return "–"
}
