package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"culprit/handlers"
	"culprit/internal/checkout"
	"culprit/internal/githubtest"
	"culprit/internal/index"
	"culprit/internal/session"
	"culprit/pipeline"
	"culprit/queue"
)

// failing is a failure of a test with a signature.
func failing(test string) session.Failure {
	return session.Failure{Kind: session.KindTest, Test: test, Package: "prices", Signature: "got N, want N"}
}

// store makes a session of a job that has ended, or that runs, as the worker
// would have left it, and returns its claim.
func (o *office) store(s *session.Session, done bool) *queue.Claim {
	o.t.Helper()
	o.number++
	s.Schema, s.UpdatedAt = session.SchemaVersion, o.worker.now()
	_, err := o.worker.queue.Enqueue(o.t.Context(), queue.Job{Key: handlers.CIKey(officeRepo, fmt.Sprint(s.Source.SHA, o.number)), Payload: []byte("x")})
	o.must(err)
	c, err := o.worker.queue.Claim(o.t.Context(), "test")
	o.must(err)
	folder, err := session.OpenFolder(filepath.Join(o.t.TempDir(), s.ID), func(b []byte) []byte { return b })
	o.must(err)
	defer folder.Close()
	o.must(folder.Save(s))
	archive, err := folder.Pack()
	o.must(err)
	_, err = c.Checkpoint(o.t.Context(), archive, 1)
	o.must(err)
	o.must(o.worker.remember(o.t.Context(), c, s, []string{"test"}))
	if done {
		o.must(c.Complete(o.t.Context(), "done"))
	}
	return c
}

func TestAResultHoldsWhereItsCauseIs(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	culprit := o.commit("main", "wanda")
	head := o.commit("main", "wanda")
	o.must(o.github.CreateBranch(officeRepo, "wanda", "after", head))
	after := o.commit("after", "wanda")
	o.must(o.github.CreateBranch(officeRepo, "wanda", "before", o.main))
	before := o.commit("before", "wanda")
	// A fix that was merged, and a commit after it.
	o.must(o.github.CreateBranch(officeRepo, "wanda", "culprit/fix-1", head))
	o.commit("culprit/fix-1", "wanda")
	fix, err := o.github.OpenPull(officeRepo, "wanda", githubtest.PullConfig{Title: "Fix", Head: "culprit/fix-1", Base: "main"})
	o.must(err)
	_, err = o.github.MergePull(officeRepo, fix.Number, "wanda")
	o.must(err)
	fixed := o.commit("main", "wanda")

	cache, err := checkout.OpenCache(filepath.Join(t.TempDir(), "repositories"))
	o.must(err)
	t.Cleanup(func() { _ = cache.Close() })
	o.worker.cache = cache
	repo, err := o.worker.app.Repo(t.Context(), o.install, "acme", "prices")
	o.must(err)
	mirror, err := o.worker.openMirror(t.Context(), repo, &session.Session{}, false)
	o.must(err)
	defer mirror.Close()

	cause := &session.RootCause{Culprit: &session.Commit{SHA: culprit}, Summary: "it"}
	for i, c := range []struct {
		name    string
		other   session.Session // who was first
		running bool
		sha     string // where it is seen now
		actor   string
		tests   []string // that fail now; the first session had "a" and "b"
		want    string   // same, wait or own
	}{
		{name: "culprit is part of it", other: session.Session{Result: session.ResultFixed, RootCause: cause}, sha: after, want: "same"},
		{name: "one of two failures", other: session.Session{Result: session.ResultRootCause, RootCause: cause}, sha: after, tests: []string{"b"}, want: "same"},
		{name: "one more failure", other: session.Session{Result: session.ResultRootCause, RootCause: cause}, sha: after, tests: []string{"a", "c"}, want: "own"},
		{name: "culprit is not part of it", other: session.Session{Result: session.ResultRootCause, RootCause: cause}, sha: before, want: "own"},
		{name: "back after the fix", other: session.Session{Result: session.ResultFixed, RootCause: cause, Published: session.Published{PR: fix.Number}}, sha: fixed, want: "own"},
		{name: "fix is merged elsewhere", other: session.Session{Result: session.ResultFixed, RootCause: cause, Published: session.Published{PR: fix.Number}}, sha: after, want: "same"},
		{name: "cause without a commit, on the same code", other: session.Session{Result: session.ResultRootCause, RootCause: &session.RootCause{}}, sha: after, want: "same"},
		{name: "cause without a commit, elsewhere", other: session.Session{Result: session.ResultRootCause, RootCause: &session.RootCause{}}, sha: before, want: "own"},
		{name: "flaky", other: session.Session{Result: session.ResultFlaky}, sha: before, want: "same"},
		{name: "nothing confirmed on the same code", other: session.Session{Result: session.ResultInconclusive}, sha: after, want: "same"},
		{name: "not reproduced", other: session.Session{Result: session.ResultNotReproduced}, sha: after, want: "own"},
		{name: "stopped", other: session.Session{Result: session.ResultStopped}, sha: after, want: "own"},
		{name: "running", running: true, sha: after, want: "wait"},
		{name: "asked for by a person", other: session.Session{Result: session.ResultFixed, RootCause: cause}, sha: after, actor: "wanda", want: "own"},
	} {
		var failures []session.Failure
		for _, name := range []string{"a", "b"} {
			failures = append(failures, failing(fmt.Sprint(name, i)))
		}
		first, src := c.other, session.Source{Repository: officeRepo, SHA: head, Ref: "main"}
		first.ID, first.Source, first.State = fmt.Sprintf("20261130-debug-first-%d", i), src, session.StateDone
		if c.running {
			first.State = "reproduce"
		}
		first.Symptom.Failures = append(failures, session.Failure{Kind: session.KindCommand, Signature: "exit code N"}) // compared with nothing
		claim := o.store(&first, false)
		is := incidents{o.worker, claim, repo, mirror, &ciLogs{names: []string{"test"}}}
		if in, err := is.Same(t.Context(), &first); in != nil || err != nil {
			t.Fatalf("%s: the first session finds %+v, %v", c.name, in, err)
		}
		if !c.running {
			o.must(claim.Complete(t.Context(), "done"))
		}

		second := session.Session{ID: fmt.Sprintf("20261130-debug-second-%d", i), Source: session.Source{Repository: officeRepo, SHA: c.sha, Ref: "topic", PR: 7, Actor: c.actor}}
		for _, name := range c.tests {
			second.Symptom.Failures = append(second.Symptom.Failures, failing(fmt.Sprint(name, i)))
		}
		if c.tests == nil {
			second.Symptom.Failures = failures
		}
		is.claim = &queue.Claim{Job: queue.Job{ID: "j", Key: "acme/prices@x/ci"}}
		in, err := is.Same(t.Context(), &second)
		got, wait := "own", (*pipeline.WaitError)(nil)
		switch {
		case errors.As(err, &wait) && strings.Contains(wait.For, first.ID) && second.Incident != nil:
			got = "wait"
		case err != nil:
			t.Fatalf("%s: %v", c.name, err)
		case in != nil:
			got = "same"
		}
		if got != c.want {
			t.Errorf("%s: %s (%+v), want %s", c.name, got, in, c.want)
		}
		seen, err := o.worker.index.Sightings(t.Context(), first.ID)
		if err != nil || (len(seen) == 1) != (c.want != "own") {
			t.Errorf("%s: the first session is told of %+v, %v", c.name, seen, err)
		}
		if c.want == "wait" {
			// It does not wait for ever.
			o.wait(o.worker.cfg.Timeout + time.Minute)
			if in, err := is.Same(t.Context(), &second); in != nil || err != nil {
				t.Errorf("%s: waits for ever: %+v, %v", c.name, in, err)
			}
			o.must(claim.Complete(t.Context(), "done"))
		}
	}
}

// The jobs of one run end at different times; a session speaks for those that
// it has looked at, and for no other.
func TestALateJobOfTheSameRunIsNoNewSession(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	repo, err := o.worker.app.Repo(t.Context(), o.install, "acme", "prices")
	o.must(err)
	s := &session.Session{ID: "20261130-debug-x", State: session.StateDone, Result: session.ResultRootCause, Source: session.Source{Repository: officeRepo, SHA: o.main, Ref: "main"}}
	c := o.store(s, true)
	run := func(jobs ...string) (begun int) {
		cfg := githubtest.RunConfig{Repo: officeRepo, Branch: "main"}
		for _, j := range jobs {
			cfg.Jobs = append(cfg.Jobs, githubtest.Job{Name: j, Conclusion: "failure"})
		}
		_, err := o.github.CompleteRun(cfg)
		o.must(err)
		_, sessions := o.settle()
		for _, d := range sessions {
			if d.session != nil {
				begun++
			}
		}
		return begun
	}
	o.must(o.worker.index.Put(t.Context(), index.Entry{Session: s.ID, Job: c.ID, Seen: []string{"test"}}, handlers.CIKey(repo.FullName(), o.main)))
	if n := run("test"); n != 0 {
		t.Errorf("%d sessions of a job that was looked at", n)
	}
	if n := run("lint"); n != 1 {
		t.Errorf("%d sessions of a job that was not looked at, want 1", n)
	}
}
