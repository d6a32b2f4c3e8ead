package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"culprit/handlers"
	"culprit/internal/github"
	"culprit/queue"
)

// recovery finds the webhook deliveries that failed while the bot or Redis was
// away, and brings them to the intake (GH3). GitHub does not deliver them again
// by itself.
//
// Their payload is read from the API and decided about here, instead of asking
// GitHub to deliver them again, because
//   - it needs nothing that may be what failed: no reachable endpoint, no
//     matching webhook secret;
//   - what was handled is then known by the same script that made the job: if
//     Redis loses the job, it loses that knowledge too, and the next look finds
//     the delivery again. GitHub's own list would call it delivered;
//   - the time of the event is known, so that a `/debug stop` that comes late
//     does not stop what people started after it, and of a hundred red pushes
//     the newest is looked at and the others are not.
//
// One process looks at a time, to save calls. That is no lock: two processes
// that look at once do nothing twice, because a GUID or a comment's command
// makes one job, and a call-off that is repeated finds nothing that was asked
// for before it.
type recovery struct {
	app   *github.App
	queue *queue.Queue
	// commands knows the deliveries of what people wanted.
	commands *queue.Queue
	intake   handlers.Intake
	log      *slog.Logger
	now      func() time.Time
	every    time.Duration
}

const (
	// overlap is how far a look goes back before the one before it: GitHub
	// lists a delivery when it is over, and clocks differ.
	overlap = 10 * time.Minute
	// turnLease is how long a process that dies in its turn keeps the others
	// from looking.
	turnLease = 2 * time.Minute
	// chunk is how many deliveries are read before their jobs are enqueued.
	chunk = 100
	// maxRetry bounds the wait between two tries of one delivery.
	maxRetry = 6 * time.Hour
)

// run looks at start and regularly until the context ends.
func (r *recovery) run(ctx context.Context) error {
	for first := true; ctx.Err() == nil; first = false {
		wait := r.turn(ctx, first)
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			t.Stop()
		case <-t.C:
		}
	}
	return nil
}

// turn looks once, if no other process does, and returns how long to wait.
func (r *recovery) turn(ctx context.Context, first bool) time.Duration {
	turn, wait, err := r.queue.TakeTurn(ctx, "recover", turnLease, first)
	switch {
	case ctx.Err() != nil:
		return 0
	case err != nil:
		r.log.Warn("cannot look for failed deliveries: Redis is away", "error", err)
		return min(r.every, 15*time.Second)
	case turn == nil:
		return min(wait, r.every)
	}
	next := r.every
	if err := r.look(ctx, turn); err != nil && ctx.Err() == nil {
		next = max(min(next, time.Minute), github.RetryAfter(err))
		r.log.Warn("not all failed deliveries could be looked at", "error", err, "again in", next.Round(time.Second).String())
	}
	// Given back even while stopping, so that another process goes on at once.
	note, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if err := turn.End(note, next); err != nil {
		r.log.Warn("cannot end the turn", "error", err)
	}
	return next
}

// missed is a failed event: the attempts with one GUID together.
type missed struct {
	github.HookDelivery           // the newest attempt
	at                  time.Time // of the oldest: when the event happened
	decision            handlers.Decision
	said                bool // its call-off is in the log
}

// look deals with all failed deliveries since the last complete look, newest
// first. With an error it is not complete, and the next begins where this one
// did; what was done is not done again.
func (r *recovery) look(ctx context.Context, turn *queue.Turn) error {
	began := r.now()
	since, err := r.queue.Recovered(ctx)
	if err != nil {
		return err
	}
	if oldest := began.Add(-github.KeepDeliveries); since.Before(oldest) {
		since = oldest
	}
	all, open, err := r.list(ctx, since.Add(-overlap))
	if err != nil {
		return err
	}
	var cancels, wishes []*missed
	for part := range slices.Chunk(all, chunk) {
		found, err := r.read(ctx, turn, part)
		if err != nil {
			return err
		}
		if err := r.carryOut(ctx, found.jobs); err != nil {
			return err
		}
		open, wishes, cancels = append(open, found.failed...), append(wishes, found.wishes...), append(cancels, found.cancels...)
		// Again after each part: it may have brought older jobs.
		if err := r.carryOut(ctx, cancels); err != nil {
			return err
		}
	}
	// What people want is done in the order in which they said it: a label
	// waits as long as a command, or a stop would overtake what it stops.
	slices.SortStableFunc(wishes, func(a, b *missed) int { return a.at.Compare(b.at) })
	for _, m := range wishes {
		m.decision.Job.Priority = queue.PriorityPerson
	}
	if err := r.carryOut(ctx, wishes); err != nil {
		return err
	}
	for _, m := range cancels {
		if err := r.settle(ctx, m); err != nil {
			return err
		}
	}
	// What could not be dealt with is looked for again, in time.
	before := began
	for _, m := range open {
		if m.at.Before(before) {
			before = m.at
		}
	}
	if len(all) > 0 {
		r.log.Info("failed deliveries were looked at", "deliveries", len(all), "open", len(open))
	}
	return r.queue.SetRecovered(ctx, before, 2*overlap)
}

// list finds the failed events that may matter, newest first: those that are
// due, and those that are not settled and not due.
func (r *recovery) list(ctx context.Context, since time.Time) (due, open []*missed, err error) {
	byGUID := map[string]*missed{}
	var all []*missed
	var guids []string
	err = r.app.FailedDeliveries(ctx, since, func(d github.HookDelivery) {
		if !handlers.Matters(d.Event, d.Action) || d.GUID == "" {
			return
		}
		if m := byGUID[d.GUID]; m != nil {
			m.at = d.Delivered
			return
		}
		m := &missed{HookDelivery: d, at: d.Delivered}
		byGUID[d.GUID] = m
		all, guids = append(all, m), append(guids, d.GUID)
	})
	if err != nil {
		return nil, nil, err
	}
	known, err := r.queue.Trials(ctx, guids)
	if err != nil {
		return nil, nil, err
	}
	commands, err := r.commands.Trials(ctx, guids)
	if err != nil {
		return nil, nil, err
	}
	for _, m := range all {
		switch t := known[m.GUID]; {
		case t.Settled, commands[m.GUID].Settled:
		case r.tooEarly(t):
			open = append(open, m)
		default:
			due = append(due, m)
		}
	}
	return due, open, nil
}

// tooEarly spaces the tries of one delivery out until GitHub forgets it.
func (r *recovery) tooEarly(t queue.Trial) bool {
	if t.Tries == 0 {
		return false
	}
	wait := r.every
	for i := 1; i < t.Tries && wait < maxRetry; i++ {
		wait *= 2
	}
	return r.now().Before(t.Last.Add(min(wait, maxRetry) - r.every/2))
}

// findings are deliveries by what they lead to.
type findings struct {
	jobs    []*missed // red CI and the like, newest first
	wishes  []*missed // of people
	cancels []*missed
	failed  []*missed // could not be read
}

// read reads some deliveries and decides about them.
func (r *recovery) read(ctx context.Context, turn *queue.Turn, part []*missed) (f findings, err error) {
	for _, m := range part {
		if err := turn.Renew(ctx); err != nil {
			return f, err
		}
		switch settled, err := r.decide(ctx, m); {
		case err != nil && (ctx.Err() != nil || github.RetryAfter(err) > 0):
			return f, err
		case err != nil:
			if err := r.later(ctx, m, err); err != nil {
				return f, err
			}
			f.failed = append(f.failed, m)
		case settled:
			if err := r.settle(ctx, m); err != nil {
				return f, err
			}
		case m.decision.Job == nil:
			f.cancels = append(f.cancels, m)
		case m.decision.ByPerson:
			f.wishes = append(f.wishes, m)
		default:
			f.jobs = append(f.jobs, m)
		}
	}
	return f, nil
}

// carryOut brings decisions to the intake. Call-offs spare what was asked for
// after them, so that their order and number do not matter.
func (r *recovery) carryOut(ctx context.Context, list []*missed) error {
	for _, m := range list {
		result, err := r.intake.CarryOut(ctx, m.decision, m.at)
		if err != nil {
			return fmt.Errorf("carry out what delivery %s says: %w", m.GUID, err)
		}
		if !m.said {
			m.said = true
			r.say(m, result)
		}
		// A command is known by its comment and its words, not by a delivery.
		if job := m.decision.Job; result.Outcome == handlers.Ignored || job != nil && job.Delivery != m.GUID {
			if err := r.settle(ctx, m); err != nil {
				return err
			}
		}
	}
	return nil
}

// decide reads the payload of a delivery. settled: it leads to nothing.
func (r *recovery) decide(ctx context.Context, m *missed) (settled bool, err error) {
	payload, err := r.app.DeliveryPayload(ctx, m.ID)
	if errors.Is(err, github.ErrNotFound) {
		r.log.Error("a failed delivery is lost: GitHub does not keep it any more", "delivery", m.GUID, "event", m.Event, "happened", m.at)
		return true, nil
	}
	if err != nil {
		return false, err
	}
	m.decision, err = handlers.Decide(r.intake.Rules, m.Event, m.GUID, payload)
	if err != nil {
		r.log.Warn("a failed delivery is not what GitHub sends", "delivery", m.GUID, "event", m.Event, "error", err)
		return true, nil
	}
	if m.decision.Job == nil && len(m.decision.Cancels) == 0 {
		r.say(m, handlers.Result{Outcome: handlers.Ignored, Reason: m.decision.Reason})
		return true, nil
	}
	return false, nil
}

// later notes that a delivery could not be dealt with.
func (r *recovery) later(ctx context.Context, m *missed, cause error) error {
	n, err := r.queue.NoteDelivery(ctx, m.GUID, m.at, false)
	if err == nil {
		r.log.Warn("a failed delivery cannot be dealt with yet", "delivery", m.GUID, "event", m.Event, "try", n, "error", cause)
	}
	return err
}

// settle notes that nothing is to be done about a delivery any more.
func (r *recovery) settle(ctx context.Context, m *missed) error {
	_, err := r.queue.NoteDelivery(ctx, m.GUID, m.at, true)
	return err
}

func (r *recovery) say(m *missed, result handlers.Result) {
	r.log.Info("recovered a failed delivery", "delivery", m.GUID, "event", m.Event, "action", m.Action, "answered", m.Code,
		"happened", m.at.UTC().Format(time.RFC3339), "status", result.Outcome, "reason", result.Reason, "job", result.Job)
}
