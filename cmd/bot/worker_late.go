package main

import (
	"context"
	"strings"
	"time"

	"culprit/handlers"
	"culprit/internal/github"
	"culprit/internal/session"
	"culprit/queue"
)

// lateAfter is how long after its event a job comes into the queue that was
// recovered from a failed delivery; the webhook's own are there within seconds.
const lateAfter = time.Minute

// late reports whether a job that the intake made was recovered.
func late(c *queue.Claim) bool { return !c.Asked.IsZero() && c.EnqueuedAt.Sub(c.Asked) >= lateAfter }

// overtaken tells why nothing is to be done about a job that comes late, or
// "". What happened meanwhile is asked of GitHub and not of the queue, because
// GitHub knows it also when Redis has lost everything: then failed deliveries
// of the last days are recovered again, and must not be worked on twice.
func overtaken(ctx context.Context, repo *github.Repo, c *queue.Claim, req handlers.Request) (string, error) {
	// The job of a wish was made by a worker, who may have been busy for long.
	if !req.Late && (req.Kind != handlers.KindCI || !late(c)) {
		return "", nil
	}
	switch {
	case req.Issue > 0:
		answered, err := repo.AnsweredSince(ctx, req.Issue, c.Asked)
		if answered {
			return "it was answered already", err
		}
		return "", err
	case req.Kind != handlers.KindCI: // the button of a check run
		checked, err := repo.Checked(ctx, req.SHA, c.Asked, func(string) bool { return true })
		if checked {
			return "it was answered already", err
		}
		return "", err
	}
	head, err := repo.BranchHead(ctx, req.Ref)
	if err != nil {
		return "", err
	}
	if head != "" && head != req.SHA {
		return "the branch has moved on meanwhile", nil
	}
	// A session about an issue may have looked at the same commit for another
	// reason. What a session is about stands in its ID.
	about := "-" + session.Slug(ciTitle(req.Ref, req.SHA)) + "-"
	checked, err := repo.Checked(ctx, req.SHA, time.Time{}, func(id string) bool { return strings.Contains(id, about) })
	if checked {
		return "the commit was investigated already", err
	}
	return "", err
}
