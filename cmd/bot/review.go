package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"culprit/handlers"
	"culprit/internal/github"
	"culprit/internal/index"
	"culprit/internal/session"
	"culprit/pipeline"
	"culprit/queue"
)

// reviewed takes in what a person did to one of the bot's fix pull requests: the
// session of the fix goes on with it as a job of its own. Nothing is read of it
// here but who did it.
func (x *wish) reviewed(ctx context.Context) (string, error) {
	ended := x.req.Trigger == "closed" // whoever may do that may
	if !ended && !x.may.AtLeast(x.minPermission()) {
		return fmt.Sprintf("%s has the permission %s, and %s is needed", x.req.Actor, x.may, x.minPermission()), x.seen(ctx, github.ReactionRefused)
	}
	why, err := x.handOver(ctx, x.claim, x.repo, x.req, queue.PriorityPerson)
	if errors.Is(err, errNotKept) {
		return x.unkept(ctx, x.repo, x.req, x.claim.Valid)
	}
	if err != nil || ended {
		return why, err
	}
	return why, x.seen(ctx, github.ReactionSeen)
}

func (x *wish) seen(ctx context.Context, r github.Reaction) error {
	if x.req.Remark == 0 {
		return nil
	}
	if err := x.claim.Valid(ctx); err != nil {
		return err
	}
	return x.repo.ReactBelow(ctx, x.req.Remark, r)
}

// redFix takes in red CI of a fix branch (DB8).
func (w *worker) redFix(ctx context.Context, c *queue.Claim, repo *github.Repo, req handlers.Request) (string, error) {
	if repo.Archived {
		return "the repository is archived", nil
	}
	pr, err := repo.OpenPull(ctx, req.Ref)
	if err != nil {
		return "", err
	}
	if pr == nil {
		return "it is one of the bot's own fix branches, without a pull request", nil
	}
	req.PR = pr.Number
	why, err := w.handOver(ctx, c, repo, req, queue.PriorityCI)
	if errors.Is(err, errNotKept) {
		return err.Error(), nil
	}
	return why, err
}

// handOver makes a job about the review of a fix of what happened to it. The
// job goes on from where the session of the fix ended. While that, or an earlier
// job about the fix, is at work, the event waits: a job that runs might have
// looked already.
func (w *worker) handOver(ctx context.Context, c *queue.Claim, repo *github.Repo, req handlers.Request, priority queue.Priority) (string, error) {
	key := handlers.FixKey(repo.FullName(), req.PR)
	e, ok, err := w.index.Latest(ctx, key)
	if err != nil {
		return "", err
	}
	if !ok || !sameRepository(e, repo) {
		return "", errNotKept
	}
	before, err := w.queue.Show(ctx, e.Job)
	if err != nil && !errors.Is(err, queue.ErrNotFound) {
		return "", err
	}
	// The longer it waits, the less often it asks.
	later := &pipeline.WaitError{
		Until: w.now().Add(min(time.Second/4+w.now().Sub(c.EnqueuedAt)/4, time.Minute)), For: "session " + e.Session + " to end, whose fix it is about",
	}
	if err == nil && !before.State.Ended() && (e.Key != key || before.State == queue.Running) {
		return "", later
	}
	s, err := w.stored(ctx, e)
	if err != nil {
		return "", err
	}
	if s == nil || s.Published.PR != req.PR {
		return "", errNotKept
	}
	archive, err := w.archive(ctx, e)
	if err != nil {
		return "", err
	}
	if before.State.Ended() && before.State != queue.Done && !s.Done() {
		if err := foundPush(ctx, repo, s); err != nil {
			return "", err
		}
		conclude(s, endOf(before))
		if archive, err = session.Repack(archive, s, w.redactor.Bytes); err != nil {
			return "", err
		}
		if err := w.closeLocal(s); err != nil {
			return "", err
		}
	}
	req.Kind, req.Session = handlers.KindReview, s.ID
	job := queue.Job{
		Key: key, Priority: priority, Asked: c.Asked, Repository: c.Repository, Installation: c.Installation,
		Payload: req.Encode(), Checkpoint: archive,
	}
	receipt, err := w.queue.Enqueue(ctx, job)
	if errors.Is(err, queue.ErrTooLarge) {
		job.Checkpoint = nil // only the machine that has the folder can go on
		receipt, err = w.queue.Enqueue(ctx, job)
	}
	if err != nil {
		return "", err
	}
	if receipt.Outcome == queue.Merged {
		if state, err := w.state(ctx, receipt.ID); err != nil || state == queue.Running {
			return "", errors.Join(err, later)
		}
	}
	return fmt.Sprintf("session %s goes on as job %s (%s)", s.ID, receipt.ID, receipt.Outcome), nil
}

// archive is a session as it ended: its job's checkpoint, else this machine's
// folder; nil when neither is kept.
func (w *worker) archive(ctx context.Context, e index.Entry) ([]byte, error) {
	archive, err := w.queue.LoadCheckpoint(ctx, e.Job)
	if !errors.Is(err, queue.ErrNotFound) {
		return archive, err
	}
	folder, err := session.OpenFolder(filepath.Join(w.sessionsDir(), e.Session), w.redactor.Bytes)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	return folder.Pack()
}
