package main

import (
	"strings"
	"testing"
	"time"

	"culprit/internal/githubtest"
	"culprit/internal/report"
	"culprit/queue"
)

// A job that GitHub's rate limit holds up sleeps, `bot jobs` says why, and so
// does what is shown next.
func TestASessionThatALimitHeldUpSaysSo(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	limit := o.github.Inject(githubtest.PrimaryRateLimit(time.Now().Add(40*time.Minute)).On("POST", "/repos/{owner}/{repo}/check-runs"))
	defer limit.Remove()
	o.must(o.github.SetStatus(githubtest.StatusConfig{Repo: officeRepo, State: "failure", Context: "ci/legacy"}))
	o.obey()
	c, err := o.worker.queue.Claim(t.Context(), "test")
	o.must(err)
	_, err = o.worker.do(t.Context(), c, o.worker.log)
	if limit.Hits() == 0 || fateOf(err) != snoozed {
		t.Fatalf("the job ends with %v after %d calls into the limit", err, limit.Hits())
	}
	s, err := o.worker.checkpoint(t.Context(), c.ID)
	o.must(err)
	if s.Held == nil || s.Held.Until.Sub(s.Held.Since) < 30*time.Minute {
		t.Fatalf("the session has the wait as %+v", s.Held)
	}
	says := "GitHub's rate limit held it up, from " + s.Held.Since.Format("15:04") + " to " + s.Held.Until.Format("15:04") + " UTC."
	if c := report.CheckRun(s); !strings.Contains(report.Comment(s), says) || !strings.Contains(c.Summary+c.Text, says) {
		t.Errorf("what is shown next does not say %q:\n%s", says, report.Comment(s))
	}
	_, err = c.Snooze(t.Context(), s.Held.Until, "GitHub's rate limit")
	o.must(err)
	info, err := o.worker.queue.Show(t.Context(), c.ID)
	o.must(err)
	if got := detail(info, time.Now()); info.State != queue.Snoozed || !strings.Contains(got, "GitHub's rate limit") {
		t.Errorf("bot jobs says %q", got)
	}
}
