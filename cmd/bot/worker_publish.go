package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"culprit/handlers"
	"culprit/internal/checkout"
	"culprit/internal/github"
	"culprit/internal/report"
	"culprit/internal/session"
	"culprit/queue"
)

// publishing is how a session is shown on GitHub.
func (w *worker) publishing(repo *github.Repo, s *session.Session, fence func(context.Context) error) github.PublisherConfig {
	return github.PublisherConfig{Repo: repo, Texts: texts{}, Fence: fence, Hold: w.queue.Lease() / 3, Label: w.cfg.Label, Logger: w.log.With("session", s.ID)}
}

// publisher shows a session on GitHub. Without a mirror it cannot push.
func (w *worker) publisher(repo *github.Repo, s *session.Session, fence func(context.Context) error, mirror *checkout.Mirror) (*github.Publisher, error) {
	cfg := w.publishing(repo, s, fence)
	if mirror != nil {
		cfg.Push = func(ctx context.Context, p github.Push) (string, error) { return w.push(ctx, repo, s, mirror, p) }
	}
	return github.NewPublisher(cfg)
}

// tolerant goes on when progress cannot be shown for now: the work does not
// depend on it, and the next update brings everything. A rate limit, a lost
// lease and a repository that is gone still end the job.
type tolerant struct {
	*github.Publisher
	log *slog.Logger
}

func (t tolerant) Progress(ctx context.Context, s *session.Session) error {
	err := t.Publisher.Progress(ctx, s)
	if errors.Is(err, github.ErrTransient) && github.RetryAfter(err) == 0 && ctx.Err() == nil {
		t.log.Warn("progress is not shown for now", "error", err)
		return nil
	}
	return err
}

// Report tells the end of a job that no worker told: it died, was called off
// or superseded (GH4). It is idempotent, because the publisher is.
func (w *worker) Report(ctx context.Context, r *queue.Report) error {
	began := w.now()
	req, err := handlers.DecodeRequest(r.Payload)
	if err != nil {
		return nil // nobody can be told about a job that cannot be read
	}
	s, err := w.checkpoint(ctx, r.ID)
	if err != nil {
		return err
	}
	repo, err := w.app.Repo(ctx, req.Installation, req.Owner, req.Repo)
	gone := errors.Is(err, github.ErrGone) || (err == nil && repo.Archived)
	if err != nil && !gone {
		return err
	}
	if req.Kind == handlers.KindSettings {
		if gone || r.State != queue.Dead {
			return nil
		}
		_, err := w.checkSettings(ctx, w.soon(r, began), repo, req) // what it could not show
		return err
	}
	if s == nil && !gone {
		s = w.neverBegan(r, req)
	}
	review := req.Kind == handlers.KindReview
	if s == nil && review && !gone {
		return w.tellReview(ctx, r, req, repo, nil, w.soon(r, began))
	}
	if s == nil {
		return nil
	}
	if review {
		if on, err := w.goesOn(ctx, r, s); err != nil || on {
			return err
		}
		if !gone {
			if err := foundPush(ctx, repo, s); err != nil {
				return err
			}
		}
	}
	cut := conclude(s, endOf(r.Info))
	if gone {
		return w.closeLocal(s) // nobody can be told any more
	}
	if s.SupersededBy, err = w.newer(ctx, r); err != nil {
		return err
	}
	cfg := w.publishing(repo, s, w.soon(r, began))
	// Nobody waits for a job that was called off; what is shown of it must not
	// say for ever that it runs. A failure is told in any case.
	cfg.Existing = r.State != queue.Dead
	pub, err := github.NewPublisher(cfg)
	if err != nil {
		return err
	}
	defer pub.Close()
	if err := pub.Final(ctx, s); err != nil && !errors.Is(err, github.ErrGone) {
		return err
	}
	if review {
		var round *session.Session
		if cut {
			round = s
		}
		if err := w.tellReview(ctx, r, req, repo, round, cfg.Fence); err != nil {
			return err
		}
	}
	return w.closeLocal(s)
}

// soon is the fence of a report, which is leased too: whoever was paused
// meanwhile is too late.
func (w *worker) soon(r *queue.Report, began time.Time) func(context.Context) error {
	return func(context.Context) error {
		if took := w.now().Sub(began); took > w.queue.Lease()/3 {
			return fmt.Errorf("report job %s: it took %s already, and another worker may tell it", r.ID, took.Round(time.Second))
		}
		return nil
	}
}

// neverBegan is the session of a job that was buried before it had one: nobody
// must wait for what will not come. Of a job that was called off or superseded
// before anything was visible nothing is said.
func (w *worker) neverBegan(r *queue.Report, req handlers.Request) *session.Session {
	if r.State != queue.Dead || req.Kind == handlers.KindReview || (req.Issue == 0 && req.SHA == "") {
		return nil
	}
	s := &session.Session{Attempt: r.Fence, Symptom: session.Symptom{Title: "not started"}, Source: session.Source{
		Trigger: req.Trigger, Repository: req.Repository(), Ref: req.Ref, SHA: req.SHA, Issue: req.Issue, PR: req.PR,
		CheckRun: req.CheckRun, CheckSuite: req.CheckSuite, Run: req.Run, Delivery: req.Delivery, Actor: req.Actor, Installation: req.Installation,
	}}
	w.name(s, r.ID, r.EnqueuedAt)
	return s
}

// newer is the commit whose job superseded another; empty when it was not, or
// is not known any more.
func (w *worker) newer(ctx context.Context, r *queue.Report) (string, error) {
	if r.State != queue.Superseded || r.Replaced == "" {
		return "", nil
	}
	info, err := w.queue.Show(ctx, r.Replaced)
	if errors.Is(err, queue.ErrNotFound) {
		return "", nil
	}
	return info.SHA, err
}

// closeLocal ends the session in this machine's folder too, if it is here, so
// that nobody takes it up again.
func (w *worker) closeLocal(s *session.Session) error {
	dir := filepath.Join(w.sessionsDir(), s.ID)
	if _, err := os.Stat(dir); err != nil {
		return nil //nolint:nilerr // it is on another machine
	}
	folder, err := session.OpenFolder(dir, w.redactor.Bytes)
	if err != nil {
		return err
	}
	return errors.Join(dropTables(folder), folder.Save(s), folder.Close())
}

// checkpoint is the session of a job as it was saved last; nil when nothing of
// it was ever visible, or when it is not kept any more.
func (w *worker) checkpoint(ctx context.Context, job string) (*session.Session, error) {
	archive, err := w.queue.LoadCheckpoint(ctx, job)
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
	table, err := session.PackedFile(archive, "tasks.csv")
	if err == nil {
		s.Tasks, err = session.DecodeTasks("tasks.csv", table)
	}
	if err != nil && !errors.Is(err, session.ErrNotPacked) {
		return nil, err
	}
	return s, nil
}

// endOf says how a job ended that no worker ended.
func endOf(r queue.Info) string {
	switch r.State {
	case queue.Superseded:
		return "a newer commit of the branch superseded it"
	case queue.Cancelled:
		return "it was called off: " + r.Reason
	case queue.Dead:
		if r.Attempt == 0 && r.Crashes > 0 {
			return fmt.Sprintf("%d workers ended while they had it; the operator finds why in their logs, under job %s", r.Crashes, r.ID)
		}
		return "it failed for good: " + strings.TrimSpace(r.Reason)
	}
	return string(r.State)
}

// texts plugs package report into the publisher.
type texts struct{}

var _ github.Texts = texts{}

func (texts) Comment(s *session.Session) string        { return report.Comment(s) }
func (texts) FindMarker(comment string) (string, bool) { return report.FindMarker(comment) }
func (texts) CommitMessage(s *session.Session) string  { return report.CommitMessage(s) }
func (texts) RoundMessage(s *session.Session) string   { return report.RoundMessage(s) }
func (texts) BranchName(s *session.Session) string     { return report.BranchName(s) }
func (texts) CheckRun(s *session.Session) github.CheckRunText {
	return checkRunText(report.CheckRun(s))
}

func checkRunText(c report.CheckRunText) github.CheckRunText {
	out := github.CheckRunText{Title: c.Title, Summary: c.Summary, Text: c.Text, Conclusion: c.Conclusion}
	for _, a := range c.Annotations {
		out.Annotations = append(out.Annotations, github.Annotation(a))
	}
	return out
}

func (texts) PullRequest(s *session.Session) github.PullRequestText {
	return github.PullRequestText(report.PullRequest(s))
}
