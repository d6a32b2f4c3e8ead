package main

import (
	"context"
	"errors"

	"culprit/handlers"
	grammar "culprit/internal/command"
	"culprit/internal/github"
	"culprit/internal/report"
	"culprit/queue"
)

// ReportCommand tells the end of a command that failed for good, in the thread
// where it was given, so that nobody waits for what will not come. Only who may
// give commands is told: a stranger gets no answer out of the bot by giving them
// while GitHub stumbles. A stop button is pressed again; nothing is said of it.
func (w *worker) ReportCommand(ctx context.Context, r *queue.Report) error {
	w.log.Warn("command was not carried out", "job", r.ID, "delivery", r.Delivery, "repository", r.Repository, "reason", printable(r.Reason))
	req, err := handlers.DecodeRequest(r.Payload)
	if err != nil || r.State != queue.Dead || req.Comment == 0 && req.Command == string(grammar.Stop) {
		return nil //nolint:nilerr // nobody can be told about a job that cannot be read
	}
	began := w.now()
	repo, err := w.app.Repo(ctx, req.Installation, req.Owner, req.Repo)
	if errors.Is(err, github.ErrGone) {
		return nil
	}
	if err != nil {
		return err
	}
	may, err := repo.Permission(ctx, req.Actor)
	if err != nil || repo.Archived || !may.AtLeast(w.minPermission()) {
		return err
	}
	if req.Comment == 0 {
		return w.Report(ctx, r)
	}
	comment, _, why, err := commandOf(ctx, repo, req)
	if err != nil || why != "" {
		return err
	}
	text := report.AnswerText(req.Comment, report.Answer{Kind: report.AnswerFailed, Detail: endOf(r.Info)})
	return repo.Answer(ctx, req.Issue, report.AnswerMarker(req.Comment), text, comment.CreatedAt, w.soon(r, began))
}
