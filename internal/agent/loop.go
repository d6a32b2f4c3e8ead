package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"culprit/internal/session"
)

// When the loop asks for the report: half of the context read (CR8), and this
// share of the time gone (QD8). Old results are dropped from a quarter of the
// context on.
const (
	reportAtContext = 0.5
	reportAtTime    = 0.85
	dropAtContext   = 0.25
)

// maxForced is how often a model is made to report before it is given up, and
// maxStumbles how many of its answers in a row may be of no use.
const (
	maxForced   = 2
	maxStumbles = 3
)

// Run works on a task until the model has reported, or cannot any more. It
// returns when everything that it started has ended.
func (c *Client) Run(ctx context.Context, t Task) Done {
	t, err := t.filled()
	if err != nil {
		return Done{End: Faulted, Err: err}
	}
	bench, err := newBench(t)
	if err != nil {
		return Done{End: Faulted, Err: err}
	}
	l := &loop{
		client: c, task: t, bench: bench, began: c.set.Now(),
		talk: &conversation{system: t.Prompt.Text, first: t.Redact(t.First)},
	}
	// The transcript is written at every turn and at the end, so that a killed
	// worker leaves it too.
	defer l.keep()
	if end, ok := ctx.Deadline(); ok { // the session's time may be shorter
		l.task.Timeout = min(t.Timeout, time.Until(end))
	}
	ctx, cancel := context.WithTimeout(ctx, l.task.Timeout)
	defer cancel()
	for l.done.End == "" {
		l.turn(ctx)
		l.keep()
	}
	return l.done
}

type loop struct {
	client *Client
	task   Task
	bench  *bench
	talk   *conversation
	began  time.Time
	done   Done

	forced    string // why the report is asked for; empty: it is not
	asks      int    // how often it was
	stumbles  int    // useless answers in a row
	malformed int
	objected  bool
	broken    error // of the transcript
}

func (l *loop) end(e End, err error) {
	l.done.End, l.done.Err = e, err
}

// endForced ends a worker that was made to report and did not.
func (l *loop) endForced() {
	why := map[string]End{forContext: OutOfContext, forTime: OutOfTime, forBudget: OutOfBudget, forTurns: OutOfTurns}
	e, ok := why[l.forced]
	if !ok {
		e = Missing
	}
	l.end(e, fmt.Errorf("the model did not report (%s)", l.forced))
}

// Why the report is asked for, in words for the model.
const (
	forContext = "You have used half of your context"
	forTime    = "Your time is nearly over"
	forBudget  = "Your budget is nearly used"
	forTurns   = "This is your last answer"
	forSilence = "You have neither called a tool nor reported"
)

// force asks for the report, once; the model is made to call it from then on.
func (l *loop) force(why string) {
	if l.forced != "" {
		return
	}
	l.forced = why
	l.talk.say(fmt.Sprintf("%s. Call %s now with what you have%s.", why, l.task.Report.Tool.Name, l.task.Report.Unsure))
}

// limits asks for the report when one of them is near.
func (l *loop) limits() {
	budget := float64(l.task.Context)
	if used := float64(tokensOf(l.talk.size() + l.talk.dropped)); used > reportAtContext*budget {
		l.force(forContext)
	}
	if l.client.set.Now().Sub(l.began) > time.Duration(reportAtTime*float64(l.task.Timeout)) {
		l.force(forTime)
	}
	if l.done.Turns >= l.task.Turns-1 {
		l.force(forTurns)
	}
	if float64(tokensOf(l.talk.size())) > dropAtContext*budget {
		l.talk.drop(keepTurns)
	}
}

// turn asks the model once and acts on its answer.
func (l *loop) turn(ctx context.Context) {
	l.limits()
	if l.forced != "" {
		if l.asks++; l.asks > maxForced {
			l.endForced()
			return
		}
	}
	reply, err := l.ask(ctx)
	if err != nil {
		l.failed(ctx, err)
		return
	}
	l.done.Turns++
	if reply.Text != "" {
		l.done.Text = clip(reply.Text, 4<<10)
	}
	switch {
	case reply.Refusal != "":
		l.end(Refused, fmt.Errorf("the model refused: %s", oneLine(reply.Refusal, 300)))
	case reply.Cut:
		l.talk.turns = append(l.talk.turns, turn{text: clip(reply.Text, 2<<10)})
		l.stumble(fmt.Sprintf("Your answer was cut: it was longer than %d bytes.", maxAnswer))
	case len(reply.Calls) == 0:
		l.talk.turns = append(l.talk.turns, turn{text: clip(reply.Text, 16<<10)})
		l.silent()
	default:
		l.act(ctx, reply)
	}
}

// ask makes the call of a turn. What is left of the budget must suffice for
// one more, to report; when it does not, the report is asked for instead.
func (l *loop) ask(ctx context.Context) (Reply, error) {
	q := ask{
		talk: l.talk, tools: l.bench.list, budget: l.task.Budget, role: l.task.Role, line: l.task.Line,
		log: func(d session.Dispatch) error {
			l.done.Cost += d.Cost
			return l.task.Store.Dispatch(d)
		},
	}
	q.line.Turn = l.done.Turns + 1
	if l.forced != "" {
		q.force = l.task.Report.Tool.Name
	} else {
		q.spare = l.client.amount(l.client.models(q.role)[0], Usage{In: tokensOf(l.talk.size()), Out: l.client.set.MaxOutput})
	}
	reply, used, err := l.client.ask(ctx, q)
	l.done.Usage = l.done.Usage.add(used)
	reply.Text = l.task.Redact(reply.Text)
	for i := range reply.Calls {
		c := &reply.Calls[i]
		c.Name, c.Arguments = l.task.Redact(c.Name), l.task.Redact(c.Arguments)
		c.ID = fmt.Sprintf("call_%d_%d", l.done.Turns+1, i+1) // not every server gives one
	}
	return reply, err
}

// failed acts on a call without an answer.
func (l *loop) failed(ctx context.Context, err error) {
	var limit *LimitError
	switch {
	case errors.As(err, &limit):
		if l.forced != "" {
			l.end(OutOfBudget, err)
			return
		}
		l.force(forBudget)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		l.end(OutOfTime, errors.New("the time was over"))
	case ctx.Err() != nil:
		l.end(Cancelled, context.Cause(ctx))
	case errors.Is(err, errTooLong):
		if l.talk.drop(1) == 0 {
			l.end(OutOfContext, err)
			return
		}
		l.force(forContext)
	default:
		l.end(Faulted, err)
	}
}

// silent acts on an answer without a call: the worker is asked to go on or to
// report, and given up when it does neither.
func (l *loop) silent() {
	if l.forced != "" {
		l.talk.say(fmt.Sprintf("Call %s now. Nothing else counts.", l.task.Report.Tool.Name))
		return
	}
	l.force(forSilence)
}

// stumble tells the model what was of no use; after a few in a row it is made
// to report.
func (l *loop) stumble(note string) {
	l.talk.say(note)
	if l.stumbles++; l.stumbles >= maxStumbles {
		l.force("Your last answers were of no use")
	}
}

// act runs the calls of an answer, or takes its report.
func (l *loop) act(ctx context.Context, r Reply) {
	t := turn{text: clip(r.Text, 16<<10), calls: r.Calls, results: make([]result, len(r.Calls))}
	var reports, others []int
	for i, c := range r.Calls {
		if c.Name == l.task.Report.Tool.Name {
			reports = append(reports, i)
		} else {
			others = append(others, i)
		}
	}
	if len(reports) > 0 && l.report(&t, reports, others) {
		l.talk.turns = append(l.talk.turns, t)
		return
	}
	if l.forced != "" && len(reports) == 0 {
		for _, i := range others {
			t.results[i].text = fmt.Sprintf("not run: %s. Call %s.", strings.ToLower(l.forced[:1])+l.forced[1:], l.task.Report.Tool.Name)
		}
		l.talk.turns = append(l.talk.turns, t)
		return
	}
	useful := l.bench.run(ctx, r.Calls, others, t.results)
	l.talk.turns = append(l.talk.turns, t)
	if l.malformed > 0 {
		l.force("Your report was not taken")
	}
	if useful || len(reports) > 0 {
		l.stumbles = 0
	} else {
		l.stumble("None of these calls could be carried out; read what the results say.")
	}
}

// report takes the report of an answer. False: it does not stand, the model
// was told why and may mend it once.
func (l *loop) report(t *turn, reports, others []int) bool {
	var valid []json.RawMessage
	var problem error
	for _, i := range reports {
		args := t.calls[i].args()
		if err := l.bench.report.Check(args); err != nil {
			problem = err
			t.results[i].text = "The report was not taken: " + err.Error() + ". Mend it and call " + t.calls[i].Name + " once more: there is no third time."
			continue
		}
		t.results[i].text = "taken"
		valid = append(valid, args)
	}
	for i := 1; i < len(valid); i++ {
		if !sameJSON(valid[0], valid[i]) {
			l.end(Contradictory, errors.New("the model reported more than once in one answer, and not the same"))
			return true
		}
	}
	if len(valid) == 0 {
		if l.malformed++; l.malformed > 1 {
			l.end(Malformed, fmt.Errorf("the report does not fit its schema: %w", problem))
			return true
		}
		l.asks = 0
		return false
	}
	if l.task.Report.Check != nil {
		if err := l.task.Report.Check(valid[0]); err != nil && !l.objected {
			l.objected = true
			for _, i := range reports {
				// What is objected quotes the repository.
				t.results[i].text = "The report was not taken.\n" + l.task.Marks.Block("objection", l.task.Redact(clip(err.Error(), 2<<10))) + "\nMend it and call " + t.calls[i].Name + " once more."
			}
			l.asks = 0
			return false
		} else if err != nil {
			l.done.Objection = err
		}
	}
	for _, i := range others {
		t.results[i].text = "not run: you have reported"
	}
	if len(reports) > 1 {
		l.done.Notes = append(l.done.Notes, fmt.Sprintf("the report was given %d times in one answer", len(reports)))
	}
	if len(others) > 0 {
		l.done.Notes = append(l.done.Notes, fmt.Sprintf("%d calls beside the report were not run", len(others)))
	}
	l.done.Notes = append(l.done.Notes, l.bench.notes...)
	l.done.Report = valid[0]
	l.end(Reported, nil)
	return true
}

// sameJSON compares two documents by what they hold.
func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	ax, errA := json.Marshal(x)
	by, errB := json.Marshal(y)
	return errA == nil && errB == nil && string(ax) == string(by)
}

// keep writes the transcript. A disk that refuses it refuses the audit's next
// line as well, which ends the work.
func (l *loop) keep() {
	if l.task.Log == "" || l.broken != nil {
		return
	}
	if l.broken = l.task.Store.Write(l.task.Log, transcript(l.task, l.talk, l.done)); l.broken != nil {
		l.done.Notes = append(l.done.Notes, "the transcript could not be written: "+l.broken.Error())
	}
}
