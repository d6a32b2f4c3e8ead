package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"culprit/handlers"
	"culprit/internal/github"
	"culprit/internal/report"
	"culprit/internal/session"
	"culprit/pipeline"
	"culprit/queue"
)

// reviewing is the review of one fix pull request with the session that made
// the fix.
type reviewing struct {
	*worker
	claim  *queue.Claim
	repo   *github.Repo
	req    handlers.Request
	folder *session.Folder
	store  *checkpointed
	s      *session.Session
	log    *slog.Logger
}

// review goes on with a session whose fix pull request something happened to
// (GH7, DB8): rounds are made until nothing is left that was not answered.
// Whatever is said and done is read from GitHub; the request only says where.
func (w *worker) review(ctx context.Context, c *queue.Claim, repo *github.Repo, req handlers.Request, log *slog.Logger) (summary string, err error) {
	if repo.Archived {
		return "the repository is archived", nil
	}
	folder, s, err := w.openReviewed(ctx, c, req)
	if err != nil {
		return "", err
	}
	if folder == nil {
		return w.unkept(ctx, repo, req, w.fence(c))
	}
	defer folder.Close()
	if err := keep(folder, c, c.Fence); err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, keep(folder, c, 0)) }()
	if err := w.remember(ctx, c, s, nil); err != nil {
		return "", err
	}
	if s.Review == nil {
		s.Review = &session.Review{State: session.ReviewOpen, MaxRuns: s.Budget.MaxRuns, MaxTime: s.Budget.MaxTime}
	}
	s.Attempt = c.Fence
	x := &reviewing{w, c, repo, req, folder, &checkpointed{folder, ctx, c, w.cfg.RedisGrace}, s, log.With("session", s.ID)}
	if err := x.store.Save(s); err != nil {
		return "", err
	}
	for more := true; more; {
		if err := x.endRound(ctx); err != nil {
			return "", err
		}
		if more, err = x.nextRound(ctx); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("fix of session %s is %s after %d rounds", s.ID, s.Review.State, len(s.Review.Rounds)), nil
}

// openReviewed opens the session: from the job, else from this machine's folder.
func (w *worker) openReviewed(ctx context.Context, c *queue.Claim, req handlers.Request) (*session.Folder, *session.Session, error) {
	folder, s, err := w.open(ctx, c)
	if err != nil || folder != nil || !session.ValidID(req.Session) {
		return folder, s, err
	}
	dir := filepath.Join(w.sessionsDir(), req.Session)
	if _, err := os.Stat(dir); err != nil {
		return nil, nil, nil //nolint:nilerr // it is not here
	}
	if folder, err = session.OpenFolder(dir, w.redactor.Bytes); err != nil {
		return nil, nil, err
	}
	if s, err = folder.Load(); err != nil {
		folder.Close()
		return nil, nil, err
	}
	return folder, s, nil
}

// endRound brings the last round to its end: it is run, shown and answered.
func (x *reviewing) endRound(ctx context.Context) error {
	s := x.s
	r := s.Round()
	if r == nil || r.Replied {
		return nil
	}
	pr, err := x.repo.PullRequest(ctx, s.Published.PR)
	if err != nil && !errors.Is(err, github.ErrNotFound) {
		return err
	}
	if (err != nil || pr.State != "open") && r.Commit == "" { // nobody waits for it any more
		if r.Way != "" {
			s.Abandon(r, session.ReplyCutShort, "the pull request was closed")
			s.State = session.StateDone
		}
		return x.replied(ctx, r)
	}
	if !s.Done() {
		if err := x.investigate(ctx, x.claim, x.repo, x.folder, s, x.log); err != nil {
			return errors.Join(err, x.held(ctx, x.store, s, err))
		}
	}
	switch {
	case r.Way != "" && s.Result != session.ResultFixed: // a limit or a person's error ended it
		s.Abandon(r, session.ReplyCutShort, s.Reason)
	case r.Proved && r.Commit == "" && r.Refused != "":
		s.Abandon(r, session.ReplyCutShort, r.Refused)
	case r.Proved && r.Commit == "":
		s.Abandon(r, session.ReplyMoved, "")
	}
	if err := replyTo(ctx, x.repo, s, x.fence(x.claim)); err != nil {
		return err
	}
	return x.replied(ctx, r)
}

// replied closes a round.
func (x *reviewing) replied(ctx context.Context, r *session.Round) error {
	for _, m := range r.Remarks {
		x.s.Review.Handle(m)
	}
	r.Replied = true
	return x.show(ctx)
}

// show makes the session durable and brings its comment up to date.
func (x *reviewing) show(ctx context.Context) error {
	if err := x.store.Save(x.s); err != nil {
		return err
	}
	cfg := x.publishing(x.repo, x.s, x.fence(x.claim))
	cfg.Existing = true
	pub, err := github.NewPublisher(cfg)
	if err != nil {
		return err
	}
	defer pub.Close()
	return pub.Final(ctx, x.s)
}

// replyTo answers each remark of the last round where it was made: below the
// comment on the line, else in the pull request's conversation. Threads are
// never resolved; that is for those who began them.
func replyTo(ctx context.Context, repo *github.Repo, s *session.Session, fence func(context.Context) error) error {
	r := s.Round()
	for _, m := range r.Remarks {
		// A review without words is no place of its own: its suggestions are.
		if m.Answer.Kind == session.ReplyNone || m.Kind == session.RemarkReview && m.Text == "" && r.Way == session.BySuggestion {
			continue
		}
		text, marker := report.Reply(s, *r, m), report.ReplyMarker(m)
		var err error
		if m.Kind == session.RemarkLine {
			err = repo.ReplyBelow(ctx, s.Published.PR, m.Thread, marker, text, fence)
		} else {
			err = repo.Answer(ctx, s.Published.PR, marker, text, r.Began, fence)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// nextRound looks at the pull request and begins a round if something was said
// that is not answered yet. False: there is nothing more to do.
func (x *reviewing) nextRound(ctx context.Context) (bool, error) {
	s, v := x.s, x.s.Review
	pr, err := x.repo.PullRequest(ctx, s.Published.PR)
	if errors.Is(err, github.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	before := *v
	if pr.State != "open" {
		v.State = session.ReviewClosed
		if pr.Merged {
			v.State = session.ReviewMerged
		}
		if v.By, err = x.repo.Merger(ctx, pr.Number); err != nil {
			return false, err
		}
	} else if v.State != session.ReviewOpen && v.State != session.ReviewApproved {
		v.State, v.By = session.ReviewOpen, "" // reopened
	}
	var remarks []session.Remark
	if pr.State == "open" {
		if remarks, err = x.remarks(ctx, pr); err != nil {
			return false, err
		}
	}
	if v.Asked && s.Round().Head != pr.HeadSHA && v.Tried() < x.cfg.ReviewRounds {
		v.Asked = false // the person did something, and the answers may be others now
	}
	if v.Asked { // and was told so
		for _, m := range remarks {
			v.Handle(m)
		}
		remarks = nil
	}
	if len(remarks) == 0 {
		if v.State != before.State || v.By != before.By || v.Asked != before.Asked || len(v.Handled) != len(before.Handled) {
			return false, x.show(ctx)
		}
		return false, nil
	}
	x.begin(pr, remarks)
	x.log.Info("round of the review", "round", s.Round().N, "remarks", len(remarks), "way", string(s.Round().Way))
	return true, x.store.Save(s)
}

// begin begins a round. What can be answered without running anything is.
func (x *reviewing) begin(pr *github.PullRequest, remarks []session.Remark) {
	s, v := x.s, x.s.Review
	r := session.Round{
		N: len(v.Rounds) + 1, Began: x.now().UTC(), Head: pr.HeadSHA, Remarks: remarks,
		Fix: s.Fix, Confirmation: s.Confirmation, Rejected: slices.Clone(s.Rejected),
	}
	// The same again, and nothing else is asked for: nobody is argued with.
	asked, repeated := 0, 0
	for i := range r.Remarks {
		m := &r.Remarks[i]
		if m.Answer.Kind != "" || !m.Asks() {
			continue
		}
		asked++
		if v.Repeats(*m, pr.HeadSHA) {
			m.Answer.Kind = session.ReplyRepeated
			repeated++
		}
	}
	v.Asked = asked > 0 && repeated == asked
	way := session.RoundWay("")
	for _, m := range r.Remarks {
		switch {
		case m.Answer.Kind != "":
		case m.Suggestion != nil:
			way = session.BySuggestion
		case m.Kind != session.RemarkLine && way == "":
			way = session.ByCandidate
		}
	}
	said := v.Said(session.ReplyWords)
	for i := range r.Remarks {
		m := &r.Remarks[i]
		if m.Answer.Kind != "" || m.Suggestion != nil || m.Kind != session.RemarkLine {
			continue
		}
		m.Answer.Kind = session.ReplyWords
		if said {
			m.Answer.Kind = session.ReplyNone
		}
		said = true
	}
	if way != "" && v.Tried() >= x.cfg.ReviewRounds {
		way, v.Asked = "", true
		r.Answer(session.ReplyLimit, fmt.Sprint(x.cfg.ReviewRounds))
	}
	r.Way = way
	v.Rounds = append(v.Rounds, r)
	if way == "" {
		return
	}
	s.State, s.Result, s.Reason = pipeline.ReviseStage, "", ""
	s.CrossPhaseLoops = 0
	// A round has the budget of a session.
	s.Budget.MaxRuns = s.Budget.Runs + v.MaxRuns
	s.Budget.MaxTime = s.Budget.Used + v.MaxTime
	s.Flags.MaxRuns = s.Budget.MaxRuns // the lab counts all runs of the session
}
