package github_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"culprit/internal/github"
	"culprit/internal/session"
)

// A worker is paused between asking for its lease and publishing; when it goes
// on, the job is another's.
func TestAWriteLongAfterTheFenceIsNotSent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.issueSession()
	before := len(w.gh.Writes())
	paused := func(c *github.PublisherConfig) {
		c.Hold = 10 * time.Second
		c.Fence = func(context.Context) error { w.clock.Add(int64(time.Minute)); return nil }
	}
	for name, f := range map[string]func(*github.Publisher) error{
		"progress": func(p *github.Publisher) error { return p.Progress(t.Context(), s) },
		"final":    func(p *github.Publisher) error { return p.Final(t.Context(), s) },
	} {
		if err := f(w.publisher(paused)); !errors.Is(err, github.ErrFenced) {
			t.Errorf("%s: error is %v, want that it is too late", name, err)
		}
	}
	if after := w.gh.Writes()[before:]; len(after) > 0 {
		t.Errorf("%d writes: %+v", len(after), after)
	}
	// In time, with the same limit, all of it goes.
	check(t, play(t.Context(), w.publisher(func(c *github.PublisherConfig) {
		c.Hold = 10 * time.Second
		c.Fence = func(context.Context) error { return nil }
	}), s))
	assertPublished(t, w, s)
}

// The pause comes later still: while the request is on its way through the
// client, behind the last look at the clock before a connection is there.
func TestAWriteThatIsPausedInTheClientIsNotSent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.issueSession()
	before := len(w.gh.Writes())
	p := w.publisher(func(c *github.PublisherConfig) {
		c.Hold = 10 * time.Second
		c.Fence = func(context.Context) error { return nil }
	})
	w.tr.beforeWrite(func() { w.clock.Add(int64(time.Minute)) })
	if err := p.Progress(t.Context(), s); !errors.Is(err, github.ErrFenced) {
		t.Errorf("error is %v, want that it is too late", err)
	}
	if after := w.gh.Writes()[before:]; len(after) > 0 {
		t.Errorf("%d writes: %+v", len(after), after)
	}
}

// Two workers made a comment at the same time, and only the end brings it out.
func TestTheEndLooksForASecondComment(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.issueSession()
	p := w.publisher()
	check(t, p.Progress(t.Context(), s))
	must(w.gh.Comment(full, s.Source.Issue, w.app.BotLogin(), plainTexts{}.Comment(s)))(t)
	s.State = session.StateDone
	check(t, p.Final(t.Context(), s))
	if got := w.comments(s.Source.Issue); len(got) != 1 || got[0].ID != s.Published.Comment {
		t.Errorf("comments are %+v, want only %d", got, s.Published.Comment)
	}
}

func TestWhatIsThereIsUpdatedAndNothingIsMade(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	existing := func(c *github.PublisherConfig) { c.Existing = true }
	s := w.issueSession()
	before := len(w.gh.Writes())
	s.State = session.StateDone
	check(t, w.publisher(existing).Final(t.Context(), s))
	if after := w.gh.Writes()[before:]; len(after) > 0 {
		t.Errorf("of a session that was never shown: %d writes: %+v", len(after), after)
	}
	s.State = "investigate"
	check(t, w.publisher().Progress(t.Context(), s))
	s.State = session.StateDone
	s.Published = session.Published{}
	check(t, w.publisher(existing).Final(t.Context(), s))
	comments := w.comments(s.Source.Issue)
	if len(comments) != 1 || comments[0].Edits != 1 {
		t.Errorf("comments are %+v", comments)
	}
	if runs := must(w.gh.CheckRuns(full))(t); len(runs) != 1 || runs[0].Status != "completed" {
		t.Errorf("check runs are %+v", runs)
	}
}
