package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"culprit/internal/githubtest"
	"culprit/internal/session"
	"culprit/queue"
)

// Redis forgets a job (a failover, no persistence) while the bot runs: the bot
// compares its sessions with the queue and goes on with the same one.
func TestASessionWhoseJobRedisLostIsTakenUpAgain(t *testing.T) {
	t.Parallel()
	p := newSmallProject(t)
	r := embeddedRedis(t) // which its users may empty
	w := newWorld(t, r.url, p)
	w.github.Inject(githubtest.Fault{Status: 500}.On("GET", "/{owner}/{repo}.git/info/refs"))
	w.start("--recover", "1s")
	issue := w.labelled("Discounts are wrong")
	w.delivered()
	q := w.openQueue()
	waits := func() bool {
		s, err := q.Stats(t.Context())
		return err == nil && s.Depth[queue.Retrying] == 1 && len(w.checks()) == 1
	}
	if !eventually(t, time.Minute, "the job waits for its next try, visibly", waits) {
		t.Fatalf("log:\n%s", w.log)
	}
	opts, err := redis.ParseURL(r.url)
	if err != nil {
		t.Fatal(err)
	}
	admin := redis.NewClient(opts)
	defer admin.Close()
	if err := admin.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if !eventually(t, time.Minute, "the job is back and waits again", waits) {
		t.Fatalf("log:\n%s", w.log)
	}
	if err := w.github.CloseIssue(w.repo, issue, "ada"); err != nil {
		t.Fatal(err)
	}
	w.delivered()
	if !eventually(t, time.Minute, "the end is told", func() bool { return w.completed() == 1 && w.idle() }) {
		t.Fatalf("log:\n%s", w.log)
	}
	// The folder may be removed before its end is told: the checkpoint has all of it.
	if n := len(w.sessions()); n > 1 || len(w.checks()) != 1 || len(w.comments()) != 1 {
		t.Errorf("%d sessions, %d check runs, %d comments; want one of each at most", n, len(w.checks()), len(w.comments()))
	}
}

// A job that fails for good before it has a session is told too: the commit
// is red, and somebody waits.
func TestAJobThatIsBuriedBeforeItBeganIsTold(t *testing.T) {
	t.Parallel()
	p := newSmallProject(t)
	w := newWorld(t, someRedis(t).url, p)
	w.github.Inject(githubtest.Fault{Status: 409}.On("GET", "/repos/{owner}/{repo}/git/ref/{ref}"))
	w.start()
	run := w.redCI("main", p.log)
	if !eventually(t, time.Minute, "the end is told", func() bool { return w.completed() > 0 && w.idle() }) {
		t.Fatalf("log:\n%s", w.log)
	}
	checks := w.checks()
	if len(checks) != 1 || checks[0].HeadSHA != run.SHA || checks[0].Conclusion != "neutral" || !strings.Contains(checks[0].Title, "Stopped") || !strings.Contains(checks[0].Title, "409") {
		t.Errorf("check runs: %+v", checks)
	}
}

// Between the look at a session and the lock of its folder a worker of this
// machine may have ended it: what it found must stay.
func TestASessionThatEndedMeanwhileIsNotForgotten(t *testing.T) {
	t.Parallel()
	w := heldWorker(t)
	for state, stays := range map[string]bool{session.StateDone: true, "investigate": false} {
		dir := filepath.Join(w.sessionsDir(), "20261130-debug-"+state)
		folder, err := session.OpenFolder(dir, w.redactor.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		s := &session.Session{ID: filepath.Base(dir), State: state}
		if state == session.StateDone {
			s.Result = session.ResultFixed
		}
		if err := errors.Join(folder.Save(s), folder.Close()); err != nil {
			t.Fatal(err)
		}
		w.forget(dir, "its job has ended", func() bool { return !readDone(dir) })
		if _, err := os.Stat(dir); (err == nil) != stays {
			t.Errorf("session in state %q: stays is %v, want %v", state, err == nil, stays)
		}
	}
}

// A job that Redis forgot comes back once, as what it was, and not at every
// look; and from two machines that have a copy, it is one.
func TestWhatRedisLostIsEnqueuedOnce(t *testing.T) {
	t.Parallel()
	w := heldWorker(t)
	elsewhere := *w
	elsewhere.cfg.Data = t.TempDir()
	asked := time.Now().UTC().Add(-time.Hour).Truncate(time.Second)
	job := queue.Job{Key: "o/r@abc/ci", Ref: "o/r@refs/heads/main", SHA: "abc", RefTime: asked, Asked: asked, Repository: "o/r", Installation: "1", Priority: queue.PriorityIssue, Payload: []byte("{}")}
	lost := &queue.Claim{Job: job, Fence: 7}
	lost.ID = "lost"
	for _, machine := range []*worker{w, &elsewhere} {
		folder, s, err := machine.create(lost, &session.Session{State: "investigate", UpdatedAt: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(folder.Save(s), keep(folder, lost, lost.Fence), folder.Close()); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []int{1, 0, 0} {
		if n, err := w.requeue(t.Context()); n != want || err != nil {
			t.Errorf("look %d: %d sessions taken up, want %d: %v", i+1, n, want, err)
		}
		if n, err := elsewhere.requeue(t.Context()); n != 0 || err != nil {
			t.Errorf("look %d: the other machine takes %d sessions up: %v", i+1, n, err)
		}
	}
	all, _, err := w.queue.Find(t.Context(), queue.Filter{}, 0)
	if err != nil || len(all) != 1 {
		t.Fatalf("%d jobs, want one: %v", len(all), err)
	}
	got := all[0]
	if got.Key != job.Key || got.Ref != job.Ref || got.SHA != job.SHA || !got.RefTime.Equal(asked) || !got.Asked.Equal(asked) || got.Priority != job.Priority {
		t.Errorf("the job came back as %+v", got)
	}
}
