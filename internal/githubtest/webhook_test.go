package githubtest_test

import (
	"bytes"
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-github/v62/github"

	"culprit/internal/githubtest"
)

func TestWebhooksAreSignedAndParsed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	must(t, w.Ping(w.app.ID))
	_, err := w.OpenIssue(repoName, "ada", "t", "b")
	must(t, err)
	must(t, w.AddLabel(repoName, 1, "ada", "debug"))
	_, err = w.CompleteRun(githubtest.RunConfig{Repo: repoName, Jobs: []githubtest.Job{{Name: "test", Conclusion: "failure"}}})
	must(t, err)
	w.settle()
	for _, h := range w.hooks.all() {
		event := h.header.Get("X-GitHub-Event")
		if err := github.ValidateSignature(h.header.Get("X-Hub-Signature-256"), h.body, []byte("s3cret")); err != nil {
			t.Errorf("%s: %v", event, err)
		}
		if err := github.ValidateSignature(h.header.Get("X-Hub-Signature"), h.body, []byte("s3cret")); err != nil {
			t.Errorf("%s: %v", event, err)
		}
		if err := github.ValidateSignature(h.header.Get("X-Hub-Signature-256"), h.body, []byte("other")); err == nil {
			t.Errorf("%s: any secret fits", event)
		}
		for _, name := range []string{"X-GitHub-Delivery", "X-GitHub-Hook-ID", "X-GitHub-Hook-Installation-Target-ID"} {
			if h.header.Get(name) == "" {
				t.Errorf("%s: no %s", event, name)
			}
		}
		if h.header.Get("X-GitHub-Hook-Installation-Target-Type") != "integration" || h.header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: headers %v", event, h.header)
		}
		if _, err := github.ParseWebHook(event, h.body); err != nil {
			t.Errorf("%s: %v", event, err)
		}
	}
	last := w.hooks.all()[len(w.hooks.all())-1]
	ev, err := github.ParseWebHook("workflow_run", last.body)
	must(t, err)
	run := ev.(*github.WorkflowRunEvent)
	if run.GetWorkflowRun().GetConclusion() != "failure" || run.GetInstallation().GetID() != w.inst || run.GetRepo().GetFullName() != repoName {
		t.Errorf("workflow_run = %s", last.body)
	}
}

func TestAnAppHearsOfItsOwnActions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.OpenIssue(repoName, "ada", "t", "b")
	must(t, err)
	_, _, err = w.client().Issues.CreateComment(t.Context(), "octo", "calc", 1, &github.IssueComment{Body: github.String("hello")})
	must(t, err)
	w.settle()
	last := w.hooks.all()[len(w.hooks.all())-1]
	if field(last.body, "sender.login") != "culprit[bot]" || field(last.body, "sender.type") != "Bot" {
		t.Errorf("sender = %s", last.body)
	}
}

func TestEventsGoOnlyToWhoMayHaveThem(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(_ *githubtest.Options, c *githubtest.AppConfig) {
		c.Events = []string{"issues", "push"}
		c.Permissions = map[string]string{"metadata": "read", "issues": "read"}
	})
	_, err := w.OpenIssue(repoName, "ada", "t", "b")
	must(t, err)
	_, err = w.Comment(repoName, 1, "ada", "not subscribed")
	must(t, err)
	_, err = w.CommitFile(repoName, "ada", "main", "x", []byte("no permission"), "m")
	must(t, err)
	must(t, w.Suspend(w.inst, true))
	must(t, w.AddLabel(repoName, 1, "ada", "debug"))
	w.settle()
	want := []string{"installation.created", "issues.opened", "installation.suspend"}
	if got := w.hooks.events(); !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
}

func TestFailedDeliveriesAreLoggedAndRedelivered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.settle()
	w.hooks.answer(http.StatusInternalServerError)
	_, err := w.OpenIssue(repoName, "ada", "t", "b")
	must(t, err)
	w.settle()
	gh := w.appClient()
	list, _, err := gh.Apps.ListHookDeliveries(t.Context(), &github.ListCursorOptions{PerPage: 1})
	must(t, err)
	if len(list) != 1 || list[0].GetStatusCode() != 500 || list[0].GetEvent() != "issues" || list[0].GetRedelivery() {
		t.Fatalf("deliveries = %v", list)
	}
	full, _, err := gh.Apps.GetHookDelivery(t.Context(), list[0].GetID())
	must(t, err)
	if full.GetGUID() != list[0].GetGUID() || !bytes.Contains(full.Request.GetRawPayload(), []byte(`"opened"`)) {
		t.Errorf("delivery = %v", full)
	}
	w.hooks.answer(http.StatusAccepted)
	_, _, err = gh.Apps.RedeliverHookDelivery(t.Context(), list[0].GetID())
	if accepted := new(github.AcceptedError); err != nil && !errors.As(err, &accepted) {
		t.Fatal(err)
	}
	w.settle()
	hooks := w.hooks.all()
	first, again := hooks[len(hooks)-2], hooks[len(hooks)-1]
	if first.header.Get("X-GitHub-Delivery") != again.header.Get("X-GitHub-Delivery") || !bytes.Equal(first.body, again.body) {
		t.Error("a redelivery must carry the same GUID and payload")
	}
	log := w.Deliveries(w.app.ID)
	if last := log[len(log)-1]; !last.Redelivery || last.Code != http.StatusAccepted || last.Status != "OK" {
		t.Errorf("log = %+v", last)
	}
}

func TestAReceiverThatIsAwayOrTooSlow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *githubtest.Options, _ *githubtest.AppConfig) { o.WebhookTimeout = 50 * time.Millisecond })
	w.settle()
	must(t, w.SetWebhook(w.app.ID, "http://127.0.0.1:1/webhook", "s3cret"))
	must(t, w.Ping(w.app.ID))
	w.settle()
	slow := newSlowReceiver(t)
	must(t, w.SetWebhook(w.app.ID, slow, "s3cret"))
	must(t, w.Ping(w.app.ID))
	w.settle()
	log := w.Deliveries(w.app.ID)
	if a, b := log[len(log)-2], log[len(log)-1]; a.Code != 502 || b.Code != 504 || b.Status != "timed out" {
		t.Errorf("log = %+v, %+v", a, b)
	}
}

func TestCheckRunButtonsReachTheirApp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	refs, err := w.Refs(repoName)
	must(t, err)
	run, _, err := w.client().Checks.CreateCheckRun(t.Context(), "octo", "calc", github.CreateCheckRunOptions{Name: "culprit", HeadSHA: refs["main"]})
	must(t, err)
	must(t, w.RequestAction(repoName, run.GetID(), "ada", "retry"))
	must(t, w.Rerequest(repoName, run.GetID(), "ada"))
	w.settle()
	got := w.hooks.events()
	if want := []string{"check_run.requested_action", "check_run.rerequested"}; !slices.Equal(got[len(got)-2:], want) {
		t.Errorf("events = %v", got)
	}
	hooks := w.hooks.all()
	if id := field(hooks[len(hooks)-2].body, "requested_action.identifier"); id != "retry" {
		t.Errorf("identifier = %q", id)
	}
}
