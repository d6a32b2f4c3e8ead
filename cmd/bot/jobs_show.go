package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"culprit/handlers"
	"culprit/internal/session"
	"culprit/queue"
)

// nextSteps says for each state what comes by itself and what a person can do.
// %s is the job's ID.
var nextSteps = map[queue.State][]string{
	queue.Queued:     {"a worker takes it when it is its turn and its repository and installation are below their limits", "`bot jobs cancel %s` drops it"},
	queue.Running:    {"`bot jobs cancel %s` asks its worker to stop", "if its worker dies, another one goes on from the last checkpoint when the lease is over"},
	queue.Retrying:   {"it is tried again by itself when it is due", "`bot jobs retry %s` tries it now", "`bot jobs cancel %s` drops it"},
	queue.Snoozed:    {"it goes on by itself when it is due or a new request for the same comes", "`bot jobs retry %s` goes on now", "`bot jobs cancel %s` drops it"},
	queue.Dead:       {"mend what the reason says, then `bot jobs retry %s`: it goes on from its last checkpoint"},
	queue.Cancelled:  {"`bot jobs retry %s` runs it all the same"},
	queue.Superseded: {"the newer job does the work: `bot jobs show` it", "`bot jobs retry %s` runs this one all the same"},
	queue.Done:       {"nothing is to be done; `bot jobs retry %s` runs it again"},
}

func (j *jobsRun) show() error {
	id := j.ids[0]
	q, info, err := j.find(id)
	if errors.Is(err, queue.ErrNotFound) {
		return noSuchJob(id)
	}
	if err != nil {
		return err
	}
	stats, err := q.Stats(j.ctx)
	if err != nil {
		return err
	}
	s, err := sessionOf(j.ctx, q.Queue, id)
	if err != nil {
		j.note("the job's checkpoint cannot be read: %v", err)
	}
	if j.flags.json {
		v := viewOf(info)
		v.Session = s
		for _, c := range info.History {
			v.History = append(v.History, changeView{c.At.UTC(), c.To, c.Why})
		}
		return printJSON(j.Stdout, v)
	}
	p := sheet{now: j.Now()}
	p.job(info, s)
	p.history(info)
	p.next(info, stats.Paused)
	_, err = fmt.Fprint(j.Stdout, p.String())
	return err
}

// find looks for a job in each queue; queue.ErrNotFound: it is in none.
func (j *jobsRun) find(id string) (q namedQueue, info queue.Info, err error) {
	for _, q = range j.queues {
		if info, err = q.Show(j.ctx, id); !errors.Is(err, queue.ErrNotFound) {
			break
		}
	}
	return q, info, err
}

func noSuchJob(id string) error {
	return &session.UserError{Code: "no-job", What: "there is no job " + id, Do: "look at `bot jobs list --state all`; jobs that ended are forgotten after a week, dead ones after four"}
}

// sessionOf reads the job's last checkpoint; nil: there is none.
func sessionOf(ctx context.Context, q *queue.Queue, id string) (*sessionView, error) {
	archive, err := q.LoadCheckpoint(ctx, id)
	if errors.Is(err, queue.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s, _, err := peek(archive)
	if err != nil {
		return nil, err
	}
	return &sessionView{
		ID: s.ID, Stage: s.State, Result: s.Result, Comment: s.Published.CommentURL, Pull: s.Published.PRURL, SavedAt: utc(s.UpdatedAt),
	}, nil
}

// sheet is the text of `bot jobs show`.
type sheet struct {
	strings.Builder
	now time.Time
}

// row prints a name and a value, unless that is empty.
func (p *sheet) row(name, value string) {
	if value != "" {
		fmt.Fprintf(p, "  %-13s %s\n", name, printable(value))
	}
}

func (p *sheet) moment(name string, t time.Time) {
	if !t.IsZero() {
		p.row(name, p.when(t))
	}
}

// when is a moment with its distance from now.
func (p *sheet) when(t time.Time) string {
	s := t.UTC().Format("2006-01-02 15:04:05 UTC")
	if t.After(p.now) {
		return s + " (in " + age(t.Sub(p.now)) + ")"
	}
	return s + " (" + age(p.now.Sub(t)) + " ago)"
}

func (p *sheet) job(i queue.Info, s *sessionView) {
	fmt.Fprintf(p, "Job %s is %s\n", i.ID, i.State)
	p.row("about", about(i))
	p.row("repository", i.Repository)
	p.row("installation", i.Installation)
	p.row("priority", i.Priority.String())
	if req, err := handlers.DecodeRequest(i.Payload); err == nil {
		by := req.Trigger
		if req.Actor != "" {
			by += " by " + req.Actor
		}
		p.row("asked by", by)
	} else {
		p.row("request", "cannot be read: "+err.Error())
	}
	p.row("delivery", i.Delivery)
	p.row("key", i.Key)
	p.row("ref", i.Ref)
	p.row("commit", i.SHA)
	if i.Merges > 0 {
		p.row("merged", fmt.Sprintf("%d later requests for the same", i.Merges))
	}
	p.moment("enqueued", i.EnqueuedAt)
	p.moment("first claimed", i.StartedAt)
	p.moment("in its state", i.Since)
	switch i.State {
	case queue.Running:
		p.moment("lease ends", i.DueAt)
	case queue.Retrying, queue.Snoozed:
		p.moment("due", i.DueAt)
	}
	p.moment("ended", i.EndedAt)
	p.row("worker", i.Worker)
	if i.Fence > 0 {
		p.row("fence", fmt.Sprint(i.Fence))
	}
	p.row("failures", fmt.Sprintf("%d, and %d crashed workers (%d since the work last made progress)", i.Attempt, i.Crashes, i.CrashesInRow))
	p.row("progress", i.Progress)
	if s != nil {
		text := s.ID + ", stage " + s.Stage
		if s.Result != "" {
			text += ", result " + string(s.Result)
		}
		p.row("session", text)
		p.moment("checkpoint", s.SavedAt)
		p.row("comment", s.Comment)
		p.row("pull request", s.Pull)
	}
	p.row("asked", string(i.Stop))
	p.row("reason", i.Reason)
	p.row("summary", i.Summary)
	p.row("superseded by", i.Replaced)
	if i.State.Ended() && i.State != queue.Done {
		told := "not yet"
		if i.Reported {
			told = "yes"
		}
		p.row("people told", told)
	}
}

func (p *sheet) history(i queue.Info) {
	if len(i.History) == 0 {
		return
	}
	fmt.Fprint(p, "\nHistory\n")
	for n, c := range i.History {
		why := c.Why
		if c.To == queue.Running {
			why = "on " + why
		}
		took := ""
		if n > 0 {
			took = "+" + age(c.At.Sub(i.History[n-1].At))
		}
		fmt.Fprintf(p, "  %s\n", strings.TrimRight(printable(fmt.Sprintf("%s  %7s  %-10s %s", c.At.UTC().Format("2006-01-02 15:04:05"), took, c.To, why)), " "))
	}
}

func (p *sheet) next(i queue.Info, paused bool) {
	fmt.Fprint(p, "\nWhat comes next\n")
	if i.State == queue.Running && !i.DueAt.IsZero() && p.now.After(i.DueAt) {
		fmt.Fprint(p, "  its lease is over, and no living worker has taken it over yet: see that one runs\n")
	}
	if paused && !i.State.Ended() && i.State != queue.Running {
		fmt.Fprint(p, "  the queue is paused: nothing is claimed until `bot jobs resume`\n")
	}
	for _, step := range nextSteps[i.State] {
		fmt.Fprintf(p, "  %s\n", strings.ReplaceAll(step, "%s", i.ID))
	}
}
