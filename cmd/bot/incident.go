package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"culprit/internal/checkout"
	"culprit/internal/github"
	"culprit/internal/session"
	"culprit/pipeline"
	"culprit/queue"
)

const (
	// incidentPoll is how long a session waits before it looks again at the one
	// that it waits for; that one wakes it when it ends.
	incidentPoll = 5 * time.Minute
	// incidentAge is how old a result may be to be linked to instead of looking
	// again: the same failure after a week is a new one.
	incidentAge = 7 * 24 * time.Hour
	// maxFingerprints bounds the failures of a run that are compared.
	maxFingerprints = 100
)

// incidents finds the session that investigates the same failure. What failed
// and how is compared by fingerprints; where it started is asked of git: a
// result holds for another commit when that contains the culprit.
type incidents struct {
	*worker
	claim  *queue.Claim
	repo   *github.Repo
	mirror *checkout.Mirror
	ci     *ciLogs
}

var _ pipeline.Incidents = incidents{}

// fingerprints of the failures of a session: test and error signature, within
// one repository. Failures that name no place ("exit code 1") are compared with
// nothing.
func fingerprints(s *session.Session) []string {
	var out []string
	for _, f := range s.Symptom.Failures {
		if f.Signature == "" || f.Test == "" && f.File == "" && f.Package == "" {
			continue
		}
		sum := sha256.Sum256([]byte(strings.Join([]string{strings.ToLower(s.Source.Repository), string(f.Kind), f.ID(), f.Signature}, "\x00")))
		if id := hex.EncodeToString(sum[:16]); !slices.Contains(out, id) && len(out) < maxFingerprints {
			out = append(out, id)
		}
	}
	return out
}

// Same implements pipeline.Incidents. A session that a person asked for never
// waits; it is found by others.
func (i incidents) Same(ctx context.Context, s *session.Session) (*session.Incident, error) {
	if err := i.remember(ctx, i.claim, s, i.ci.names); err != nil {
		return nil, err
	}
	prints := fingerprints(s)
	owner, err := i.index.Own(ctx, prints, s.ID, "")
	if err != nil || owner == s.ID || s.Source.Actor != "" {
		return nil, err
	}
	for range 3 { // others may take over in turn
		in, err := i.look(ctx, s, owner)
		if err != nil || in != nil {
			return in, err
		}
		if err := i.index.Unsee(ctx, owner, s.ID); err != nil {
			return nil, err
		}
		next, err := i.index.Own(ctx, prints, s.ID, owner)
		if err != nil || next == s.ID {
			return nil, err
		}
		owner = next
	}
	return nil, nil
}

// look compares the session with the owner of its failures. Nil: its result
// does not hold here.
func (i incidents) look(ctx context.Context, s *session.Session, owner string) (*session.Incident, error) {
	entry, ok, err := i.index.Session(ctx, owner)
	if err != nil || !ok || !sameRepository(entry, i.repo) {
		return nil, err
	}
	other, err := i.stored(ctx, entry)
	if err != nil {
		return nil, err
	}
	state, err := i.state(ctx, entry.Job)
	if err != nil {
		return nil, err
	}
	running := state != "" && !state.Ended()
	if other == nil && !running {
		return nil, nil
	}
	in := &session.Incident{Session: owner, Issue: entry.Issue, PR: entry.PR, Ref: entry.Ref, SHA: entry.SHA, Since: i.now().UTC()}
	if s.Incident != nil && s.Incident.Session == owner {
		in.Since = s.Incident.Since
	}
	if other != nil {
		in.URL = other.Published.CommentURL
	}
	if err := i.index.See(ctx, owner, sighting(s)); err != nil {
		return nil, err
	}
	if running {
		if i.now().Sub(in.Since) > i.cfg.Timeout {
			return nil, nil // long enough
		}
		s.Incident = in
		return nil, &pipeline.WaitError{Until: i.now().Add(incidentPoll), For: "session " + owner + ", which investigates the same failure"}
	}
	if !other.Done() || i.now().Sub(other.UpdatedAt) > incidentAge {
		return nil, nil
	}
	if in.Why, err = i.holds(ctx, s, other); err != nil || in.Why == "" {
		return nil, err
	}
	in.Result, in.FixPR = other.Result, other.Published.PR
	if c := other.RootCause; c != nil {
		in.Culprit, in.Summary = c.Culprit, c.Summary
	}
	return in, nil
}

// holds says why the result of another session holds for this one, or nothing.
func (i incidents) holds(ctx context.Context, s, other *session.Session) (string, error) {
	contains := func(commit string) (bool, error) {
		if commit == "" {
			return false, nil
		}
		in, err := i.mirror.IsAncestor(ctx, commit, s.Source.SHA)
		if errors.Is(err, checkout.ErrUnknownRevision) {
			return false, nil
		}
		return in, err
	}
	switch other.Result {
	case session.ResultFlaky:
		return "the test fails only sometimes, on the same code", nil
	case session.ResultFixed, session.ResultRootCause:
		if c := other.RootCause; c != nil && c.Culprit != nil {
			in, err := contains(c.Culprit.SHA)
			if err != nil || !in {
				return "", err
			}
			if fixed, err := i.fixed(ctx, other, contains); err != nil || fixed {
				return "", err // it is back after the fix
			}
			return "its culprit " + c.Culprit.Short() + " is part of this commit", nil
		}
	case session.ResultInconclusive:
	default:
		return "", nil
	}
	in, err := contains(other.Source.SHA)
	if err != nil || !in {
		return "", err
	}
	return "the commit that was looked at is part of this one", nil
}

// fixed reports whether the other session's fix is part of this commit.
func (i incidents) fixed(ctx context.Context, other *session.Session, contains func(string) (bool, error)) (bool, error) {
	if other.Published.PR == 0 {
		return false, nil
	}
	pr, err := i.repo.PullRequest(ctx, other.Published.PR)
	if errors.Is(err, github.ErrNotFound) {
		return false, nil
	}
	if err != nil || !pr.Merged {
		return false, err
	}
	return contains(pr.MergeSHA)
}

// sighting is how a session is named where its failure is investigated.
func sighting(s *session.Session) session.Sighting {
	return session.Sighting{Session: s.ID, URL: s.Published.CommentURL, Ref: s.Source.Ref, SHA: s.Source.SHA, PR: s.Source.PR}
}

// linked shows with a session where else its failure was seen.
type linked struct {
	tolerant
	worker *worker
}

func (l linked) Progress(ctx context.Context, s *session.Session) error {
	l.worker.sightings(ctx, s, l.log)
	return l.tolerant.Progress(ctx, s)
}

func (l linked) Final(ctx context.Context, s *session.Session) error {
	l.worker.sightings(ctx, s, l.log)
	return l.tolerant.Final(ctx, s)
}

// sightings reads where else the failure was seen. Links are no reason to fail.
func (w *worker) sightings(ctx context.Context, s *session.Session, log *slog.Logger) {
	all, err := w.index.Sightings(ctx, s.ID)
	if err != nil {
		log.Warn("links to other places of the failure are left out for now", "error", err)
		return
	}
	s.Sightings = all
}

// ended ties a session that has ended to the others of its incident: those that
// wait for it are woken, and the one that it links to links back.
func (w *worker) ended(ctx context.Context, c *queue.Claim, repo *github.Repo, s *session.Session) error {
	if s.Published.PR > 0 {
		if err := w.remember(ctx, c, s, nil); err != nil { // under the fix, too
			return err
		}
	}
	if s.Result == session.ResultDuplicate && s.Incident != nil {
		err := w.linkBack(ctx, c, repo, s)
		if err != nil && fateOf(err) == buried {
			w.log.Warn("the other session does not link back", "session", s.ID, "other", s.Incident.Session, "error", err)
			return nil // the result stands
		}
		return err
	}
	all, err := w.index.Sightings(ctx, s.ID)
	if err != nil {
		return err
	}
	for _, x := range all {
		e, ok, err := w.index.Session(ctx, x.Session)
		if err != nil {
			return err
		}
		if ok {
			// One that does not wait any more cannot be woken, and need not be.
			if state, err := w.state(ctx, e.Job); err == nil && state == queue.Snoozed {
				_ = w.queue.Retry(ctx, e.Job)
			}
		}
	}
	return nil
}

// linkBack shows a session's place in the comment of the one that it links to,
// unless that named it already.
func (w *worker) linkBack(ctx context.Context, c *queue.Claim, repo *github.Repo, s *session.Session) error {
	owner := s.Incident.Session
	if err := w.index.See(ctx, owner, sighting(s)); err != nil {
		return err
	}
	e, ok, err := w.index.Session(ctx, owner)
	if err != nil || !ok {
		return err
	}
	other, err := w.stored(ctx, e)
	if err != nil || other == nil || !other.Done() {
		return err
	}
	// Two that end at a time would each leave the other out: look again after.
	for range 3 {
		all, err := w.index.Sightings(ctx, owner)
		if err != nil || slices.Equal(all, other.Sightings) {
			return err
		}
		other.Sightings = all
		cfg := w.publishing(repo, other, w.fence(c))
		cfg.Existing = true // what a person deleted since is not made again for a link
		pub, err := github.NewPublisher(cfg)
		if err != nil {
			return err
		}
		err = pub.Final(ctx, other)
		pub.Close()
		if err != nil {
			return fmt.Errorf("link from session %s: %w", owner, err)
		}
	}
	return nil
}

// seen looks whether everything that is red at a commit was looked at by the
// last session about it: the jobs of one run end at different times, and one
// session speaks for all of them (GH2).
func (w *worker) seen(ctx context.Context, repo *github.Repo, key string, s *session.Session) (why string, err error) {
	e, ok, err := w.index.Latest(ctx, key)
	if err != nil || !ok || len(e.Seen) == 0 {
		return "", err
	}
	last, err := w.stored(ctx, e)
	if err != nil || last == nil || !last.Done() || last.Result == session.ResultStopped || last.Result == "" {
		return "", err
	}
	src := s.Source
	jobs, err := repo.FailedJobs(ctx, github.CI{SHA: src.SHA, Run: src.Run, CheckSuite: src.CheckSuite, CheckRun: src.CheckRun})
	if err != nil {
		return "", err
	}
	for _, j := range jobs {
		if !slices.Contains(e.Seen, j.Name) {
			return "", nil
		}
	}
	return fmt.Sprintf("session %s looked at all that is red at this commit", e.Session), nil
}
