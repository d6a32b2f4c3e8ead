package handlers_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"culprit/handlers"
	"culprit/internal/command"
	"culprit/queue"
)

const sha = "3f2a91c8d7e6b5a4938271605f4e3d2c1b0a9f8e"

var rules = handlers.Rules{Label: "debug", AppID: 4242, AppSlug: "culprit"}

// payload reads a fixture and changes the fields that are named by their path.
func payload(t testing.TB, fixture string, changes map[string]any) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/" + fixture + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var root map[string]any
	if err := json.Unmarshal(b, &root); err != nil {
		t.Fatal(err)
	}
	for path, value := range changes {
		at, names := root, strings.Split(path, ".")
		for _, name := range names[:len(names)-1] {
			next, ok := at[name].(map[string]any)
			if !ok {
				next = map[string]any{}
				at[name] = next
			}
			at = next
		}
		if value == nil {
			delete(at, names[len(names)-1])
		} else {
			at[names[len(names)-1]] = value
		}
	}
	b, err = json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

type set = map[string]any

func TestEventsBecomeJobs(t *testing.T) {
	t.Parallel()
	moved := time.Date(2026, 11, 30, 1, 2, 3, 0, time.UTC)
	base := handlers.Request{Version: 1, Installation: 77, Owner: "octo", Repo: "calc", RepoID: 1296269, Delivery: "d-1"}
	sum := func(text string) string { c, _ := command.Find(text); return c.Sum() }
	issue, ci, cmd := base, base, base
	issue.Kind, issue.Trigger, issue.Issue, issue.Actor = handlers.KindIssue, "label", 12, "ann"
	ci.Kind, ci.SHA, ci.Ref, ci.CheckSuite, ci.PR = handlers.KindCI, sha, "topic", 3001, 5
	cmd.Kind, cmd.Trigger, cmd.Command, cmd.Comment, cmd.Issue, cmd.Actor, cmd.Sum = handlers.KindCommand, "command", "run", 9001, 12, "ann", sum("/debug")
	statusJob := queue.Job{
		Delivery: "d-1", Key: "octo/calc@" + sha + "/ci", Ref: "octo/calc@refs/heads/topic", SHA: sha, RefTime: moved,
		Repository: "octo/calc", Installation: "77", Priority: queue.PriorityCI,
	}
	with := func(r handlers.Request, change func(*handlers.Request)) handlers.Request { change(&r); return r }

	labelJob := queue.Job{Delivery: "d-1", Repository: "octo/calc", Installation: "77", Priority: queue.PriorityIssue}
	button := queue.Job{Delivery: "d-1", Repository: "octo/calc", Installation: "77", Priority: queue.PriorityPerson}
	comment := func(text string) queue.Job {
		c, _ := command.Find(text)
		j := button
		j.Delivery = "comment-9001-" + c.Sum()
		return j
	}
	ciJob := queue.Job{
		Delivery: "d-1", Key: "octo/calc@" + sha + "/ci", Ref: "octo/calc@refs/heads/topic", SHA: sha, RefTime: moved,
		Repository: "octo/calc", Installation: "77", Priority: queue.PriorityCI,
	}
	for name, c := range map[string]struct {
		fixture string
		changes set
		job     queue.Job
		request handlers.Request
	}{
		"label":                {"issues.labeled", nil, labelJob, issue},
		"label in capitals":    {"issues.labeled", set{"label.name": "Debug"}, labelJob, issue},
		"label with mode":      {"issues.labeled", set{"label.name": "debug:quick"}, labelJob, with(issue, func(r *handlers.Request) { r.Mode = "quick" })},
		"label on a PR":        {"pull_request.labeled", nil, labelJob, with(issue, func(r *handlers.Request) { r.PR, r.SHA = 12, sha })},
		"check run":            {"check_run.completed", nil, ciJob, with(ci, func(r *handlers.Request) { r.Trigger, r.CheckRun = "check_run", 4001 })},
		"check suite":          {"check_suite.completed", nil, ciJob, with(ci, func(r *handlers.Request) { r.Trigger = "check_suite" })},
		"workflow run":         {"workflow_run.completed", nil, ciJob, with(ci, func(r *handlers.Request) { r.Trigger, r.Run = "workflow_run", 2001 })},
		"timed out":            {"workflow_run.completed", set{"workflow_run.conclusion": "timed_out"}, ciJob, with(ci, func(r *handlers.Request) { r.Trigger, r.Run = "workflow_run", 2001 })},
		"no pull request":      {"check_suite.completed", set{"check_suite.pull_requests": []any{}}, ciJob, with(ci, func(r *handlers.Request) { r.Trigger, r.PR = "check_suite", 0 })},
		"other's pull request": {"check_suite.completed", set{"check_suite.pull_requests": []any{set{"number": 8, "head": set{"repo": set{"id": 5}}}}}, ciJob, with(ci, func(r *handlers.Request) { r.Trigger, r.PR = "check_suite", 0 })},
		"status":               {"status", nil, statusJob, with(ci, func(r *handlers.Request) { r.Trigger, r.PR, r.CheckSuite = "status", 0, 0 })},
		"status of an error":   {"status", set{"state": "error"}, statusJob, with(ci, func(r *handlers.Request) { r.Trigger, r.PR, r.CheckSuite = "status", 0, 0 })},
		"command":              {"issue_comment.created", nil, comment("/debug"), cmd},
		"command on a PR":      {"issue_comment.created", set{"issue.pull_request": set{"url": "x"}}, comment("/debug"), with(cmd, func(r *handlers.Request) { r.PR = 12 })},
		"retry": {"issue_comment.created", set{"comment.body": "So?\r\n /debug retry it depends on TZ"}, comment("/debug retry it depends on TZ"),
			with(cmd, func(r *handlers.Request) { r.Command, r.Sum = "retry", sum("/debug retry it depends on TZ") })},
		"stop":                       {"issue_comment.created", set{"comment.body": "/debug stop"}, comment("/debug stop"), with(cmd, func(r *handlers.Request) { r.Command, r.Sum = "stop", sum("/debug stop") })},
		"mistake":                    {"issue_comment.created", set{"comment.body": "/debug --colour"}, comment("/debug --colour"), with(cmd, func(r *handlers.Request) { r.Sum = sum("/debug --colour") })},
		"edit that brings a command": {"issue_comment.created", set{"action": "edited", "comment.body": "/debug", "changes.body.from": "thanks"}, comment("/debug"), with(cmd, func(r *handlers.Request) { r.Edited = true })},
		"edit of a command": {"issue_comment.created", set{"action": "edited", "comment.body": "/debug retry", "changes.body.from": "/debug rerty"}, comment("/debug retry"),
			with(cmd, func(r *handlers.Request) { r.Command, r.Sum, r.Edited = "retry", sum("/debug retry"), true })},
		"comment by another App's user": {"issue_comment.created", set{"comment.performed_via_github_app": set{"id": 99}}, comment("/debug"), cmd},
		"retry button": {"check_run.completed", set{"action": "requested_action", "requested_action.identifier": "retry", "check_run.app.id": 4242, "check_run.external_id": "20261130-debug-x"}, button,
			with(ci, func(r *handlers.Request) {
				r.Kind, r.Trigger, r.Command, r.Session, r.CheckRun, r.PR, r.Actor = handlers.KindCommand, "command", "retry", "20261130-debug-x", 4001, 0, "ann"
			})},
		"retry button of an issue": {"check_run.completed", set{"action": "requested_action", "requested_action.identifier": "retry#12", "check_run.app.id": 4242}, button,
			with(ci, func(r *handlers.Request) {
				r.Kind, r.Trigger, r.Command, r.CheckRun, r.PR, r.Actor, r.Issue = handlers.KindCommand, "command", "retry", 4001, 0, "ann", 12
			})},
		"stop button": {"check_run.completed", set{"action": "requested_action", "requested_action.identifier": "stop#12", "check_run.app.id": 4242}, button,
			with(ci, func(r *handlers.Request) {
				r.Kind, r.Trigger, r.Command, r.CheckRun, r.PR, r.Actor, r.Issue = handlers.KindCommand, "command", "stop", 4001, 0, "ann", 12
			})},
		"re-run button": {"check_run.completed", set{"action": "rerequested", "check_run.app.id": 4242}, button,
			with(ci, func(r *handlers.Request) {
				r.Kind, r.Trigger, r.Command, r.CheckRun, r.PR, r.Actor = handlers.KindCommand, "command", "retry", 4001, 0, "ann"
			})},
		"re-run all checks": {"check_suite.completed", set{"action": "rerequested", "check_suite.app.id": 4242}, button,
			with(ci, func(r *handlers.Request) {
				r.Kind, r.Trigger, r.Command, r.PR, r.Actor = handlers.KindCommand, "command", "retry", 0, "ann"
			})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			event, _, _ := strings.Cut(c.fixture, ".")
			d, err := handlers.Decide(rules, event, "d-1", payload(t, c.fixture, c.changes))
			if err != nil || d.Job == nil || d.ByPerson != (c.request.Actor != "") {
				t.Fatalf("decision is %+v, %v", d, err)
			}
			request, err := handlers.DecodeRequest(d.Job.Payload)
			if err != nil || request != c.request {
				t.Errorf("request is\n%+v, %v, want\n%+v", request, err, c.request)
			}
			got := *d.Job
			got.Payload = nil
			if !sameJob(got, c.job) {
				t.Errorf("job is\n%+v, want\n%+v", got, c.job)
			}
		})
	}
}

func sameJob(a, b queue.Job) bool {
	return a.Delivery == b.Delivery && a.Key == b.Key && a.Ref == b.Ref && a.SHA == b.SHA && a.RefTime.Equal(b.RefTime) &&
		a.Repository == b.Repository && a.Installation == b.Installation && a.Priority == b.Priority
}

func TestEventsAreIgnoredForAReason(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fixture string
		changes set
		reason  string
	}{
		"ping":                  {"ping", nil, "pong"},
		"other label":           {"issues.labeled", set{"label.name": "bug"}, "label is not"},
		"state label":           {"issues.labeled", set{"label.name": "debug:running"}, "label is not"},
		"longer label":          {"issues.labeled", set{"label.name": "debugging"}, "label is not"},
		"label in the middle":   {"issues.labeled", set{"label.name": "no-debug"}, "label is not"},
		"assigned":              {"issues.labeled", set{"action": "assigned"}, "not labelled"},
		"other label gone":      {"issues.labeled", set{"action": "unlabeled", "label.name": "debug:running"}, "label is not"},
		"label gone by a bot":   {"issues.labeled", set{"action": "unlabeled", "sender.type": "Bot"}, "by a bot"},
		"closed while archived": {"issues.labeled", set{"action": "closed", "repository.archived": true}, "archived"},
		"pushed":                {"push", set{"deleted": false, "after": sha}, "not to the default branch"},
		"deleted tag":           {"push", set{"ref": "refs/tags/v1"}, "not to a branch"},
		"repository added":      {"installation_repositories.removed", set{"action": "added"}, "no repository was removed"},
		"label of a bot":        {"issues.labeled", set{"sender.type": "Bot"}, "by a bot"},
		"label of some [bot]":   {"issues.labeled", set{"sender.login": "x[bot]"}, "by a bot"},
		"label of the App":      {"issues.labeled", set{"sender.login": "culprit[bot]"}, "by a bot"},
		"closed issue":          {"issues.labeled", set{"issue.state": "closed"}, "closed"},
		"archived":              {"issues.labeled", set{"repository.archived": true}, "archived"},
		"webhook of a repo":     {"issues.labeled", set{"installation": nil}, "not from an installation"},
		"own check run":         {"check_run.completed", set{"check_run.app.id": 4242}, "own check run"},
		"own suite":             {"check_suite.completed", set{"check_suite.app.id": 4242}, "own check suite"},
		"unknown button":        {"check_run.completed", set{"check_run.app.id": 4242, "action": "requested_action", "requested_action.identifier": "x"}, "own check run"},
		"button of nothing":     {"check_run.completed", set{"check_run.app.id": 4242, "action": "requested_action", "requested_action.identifier": "stop#x"}, "own check run"},
		"opened PR":             {"pull_request.labeled", set{"action": "opened"}, "not labelled"},
		"closed PR":             {"pull_request.labeled", set{"pull_request.state": "closed"}, "closed"},
		"PR with other label":   {"pull_request.labeled", set{"label.name": "bug"}, "label is not"},
		"PR labelled by a bot":  {"pull_request.labeled", set{"sender.type": "Bot"}, "by a bot"},
		"button of a bot":       {"check_run.completed", set{"check_run.app.id": 4242, "action": "rerequested", "sender.type": "Bot"}, "by a bot"},
		"running check":         {"check_run.completed", set{"action": "created"}, "not concluded"},
		"green check":           {"check_run.completed", set{"check_run.conclusion": "success"}, "not red"},
		"null conclusion":       {"check_run.completed", set{"check_run.conclusion": nil}, "not red"},
		"cancelled suite":       {"check_suite.completed", set{"check_suite.conclusion": "cancelled"}, "not red"},
		"requested suite":       {"check_suite.completed", set{"action": "requested"}, "not concluded"},
		"suite without branch":  {"check_suite.completed", set{"check_suite.head_branch": nil}, "no branch"},
		"check without branch":  {"check_run.completed", set{"check_run.check_suite.head_branch": nil}, "no branch"},
		"neutral run":           {"workflow_run.completed", set{"workflow_run.conclusion": "neutral"}, "not red"},
		"requested run":         {"workflow_run.completed", set{"action": "requested"}, "not concluded"},
		"run of a fork":         {"workflow_run.completed", set{"workflow_run.head_repository.id": 99}, "fork"},
		"run of a deleted fork": {"workflow_run.completed", set{"workflow_run.head_repository": nil}, "gone"},
		"comment":               {"issue_comment.created", set{"comment.body": "thanks"}, "no command"},
		"comment of a bot":      {"issue_comment.created", set{"comment.user.type": "Bot"}, "bot"},
		"comment via the App":   {"issue_comment.created", set{"comment.performed_via_github_app": set{"id": 4242}}, "bot"},
		"edit by a bot":         {"issue_comment.created", set{"action": "edited", "sender.type": "Bot"}, "bot"},
		"edit around a command": {"issue_comment.created", set{"action": "edited", "comment.body": "Now: \n\n/debug", "changes.body.from": "/debug"}, "did not change the command"},
		"edit of the title":     {"issue_comment.created", set{"action": "edited", "comment.body": "x", "changes.body.from": "/debug"}, "no command"},
		"quoted command":        {"issue_comment.created", set{"comment.body": "> /debug"}, "no command"},
		"pending status":        {"status", set{"state": "pending"}, "not red"},
		"green status":          {"status", set{"state": "success"}, "not red"},
		"status of the App":     {"status", set{"sender.login": "culprit[bot]"}, "own commit status"},
		"status of a fork":      {"status", set{"branches": []any{}}, "no branch"},
		"status of an old head": {"status", set{"branches": []any{set{"name": "main", "commit": set{"sha": "00"}}}}, "no branch"},
		"re-run by a bot":       {"check_suite.completed", set{"check_suite.app.id": 4242, "action": "rerequested", "sender.type": "Bot"}, "by a bot"},
		"deleted comment":       {"issue_comment.created", set{"action": "deleted"}, "not new"},
		"installed":             {"installation.deleted", set{"action": "created"}, "not removed"},
		"renamed repository":    {"repository.deleted", set{"action": "renamed"}, "still there"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			event, _, _ := strings.Cut(c.fixture, ".")
			d, err := handlers.Decide(rules, event, "d-1", payload(t, c.fixture, c.changes))
			if err != nil || d.Job != nil || d.Cancels != nil || !strings.Contains(d.Reason, c.reason) {
				t.Errorf("decision is %+v, %v; want it ignored for %q", d, err, c.reason)
			}
		})
	}
	if d, err := handlers.Decide(rules, "star", "d-1", []byte("not even JSON")); err != nil || d.Job != nil || d.Reason != "event is not used" {
		t.Errorf("unknown event: %+v, %v", d, err)
	}
}

// What Matters leaves out leads to nothing whatever its payload says.
func TestActionsThatDoNotMatterAreIgnored(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok {
			continue
		}
		event, _, _ := strings.Cut(name, ".")
		for _, action := range []string{
			"", "added", "archived", "closed", "completed", "created", "deleted", "edited", "labeled", "opened", "published", "removed", "rerequested",
			"requested", "requested_action", "suspend", "synchronize", "transferred", "unlabeled", "unsuspend",
		} {
			if handlers.Matters(event, action) {
				continue
			}
			checked++
			d, err := handlers.Decide(rules, event, "d-1", payload(t, name, set{"action": action}))
			if err != nil || d.Job != nil || d.Cancels != nil {
				t.Errorf("%s %s does not matter, but the decision is %+v, %v", event, action, d, err)
			}
		}
	}
	if checked < 100 || handlers.Matters("star", "created") || !handlers.Matters("push", "") || !handlers.Matters("issues", "labeled") {
		t.Errorf("%d actions do not matter", checked)
	}
}

func TestEventsCallJobsOff(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fixture string
		changes set
		match   queue.Match // the first
	}{
		"uninstalled":         {"installation.deleted", nil, queue.Match{Installation: "77"}},
		"suspended":           {"installation.deleted", set{"action": "suspend"}, queue.Match{Installation: "77"}},
		"repository deleted":  {"repository.deleted", nil, queue.Match{Repository: "octo/calc"}},
		"repository archived": {"repository.deleted", set{"action": "archived"}, queue.Match{Repository: "octo/calc"}},
		"issue deleted":       {"issues.labeled", set{"action": "deleted"}, queue.Match{Key: "octo/calc#12"}},
		"issue transferred":   {"issues.labeled", set{"action": "transferred"}, queue.Match{Key: "octo/calc#12"}},
		"issue closed":        {"issues.labeled", set{"action": "closed", "issue.state": "closed", "label": nil}, queue.Match{Key: "octo/calc#12"}},
		"label taken off":     {"issues.labeled", set{"action": "unlabeled", "label.name": "debug:deep"}, queue.Match{Key: "octo/calc#12"}},
		"PR closed":           {"pull_request.labeled", set{"action": "closed", "label": nil, "pull_request.state": "closed"}, queue.Match{Key: "octo/calc#12"}},
		"PR unlabelled":       {"pull_request.labeled", set{"action": "unlabeled"}, queue.Match{Key: "octo/calc#12"}},
		"branch deleted":      {"push", nil, queue.Match{Ref: "octo/calc@refs/heads/topic"}},
		"repository removed":  {"installation_repositories.removed", nil, queue.Match{Repository: "octo/calc", Installation: "77"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			event, _, _ := strings.Cut(c.fixture, ".")
			d, err := handlers.Decide(rules, event, "d-1", payload(t, c.fixture, c.changes))
			if err != nil || d.Job != nil || len(d.Cancels) == 0 || d.Cancels[0] != c.match {
				t.Fatalf("decision is %+v, %v", d, err)
			}
		})
	}
}

func TestPayloadsThatGitHubDoesNotSendAreErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fixture string
		changes set
	}{
		"number as text":     {"issues.labeled", set{"issue.number": "12"}},
		"no issue number":    {"issues.labeled", set{"issue.number": 0}},
		"no repository":      {"issues.labeled", set{"repository": nil}},
		"path in the name":   {"issues.labeled", set{"repository.name": "../x"}},
		"slash in the owner": {"check_run.completed", set{"repository.owner.login": "a/b"}},
		"dots":               {"check_run.completed", set{"repository.name": ".."}},
		"no SHA":             {"check_run.completed", set{"check_run.head_sha": ""}},
		"deleted SHA":        {"workflow_run.completed", set{"workflow_run.head_sha": strings.Repeat("0", 40)}},
		"revision as SHA":    {"check_suite.completed", set{"check_suite.head_sha": "--upload-pack=x" + strings.Repeat("a", 25)}},
		"time as number":     {"check_suite.completed", set{"check_suite.created_at": 5}},
		"no head of a PR":    {"pull_request.labeled", set{"pull_request.head": nil}},
		"status of no SHA":   {"status", set{"sha": "main"}},
		"no comment ID":      {"issue_comment.created", set{"comment.id": 0}},
		"no installation":    {"installation.deleted", set{"installation": nil}},
		"removed from none":  {"installation_repositories.removed", set{"installation": nil}},
		"removed nothing":    {"installation_repositories.removed", set{"repositories_removed": []any{set{"full_name": "octo"}}}},
		"closed no issue":    {"issues.labeled", set{"action": "closed", "issue.number": 0}},
		"no branch":          {"push", set{"ref": "refs/heads/"}},
		"long external ID":   {"check_run.completed", set{"check_run.app.id": 4242, "action": "rerequested", "check_run.external_id": strings.Repeat("x", 200)}},
	} {
		event, _, _ := strings.Cut(c.fixture, ".")
		if d, err := handlers.Decide(rules, event, "d-1", payload(t, c.fixture, c.changes)); err == nil {
			t.Errorf("%s: decision is %+v", name, d)
		}
	}
}

func TestRequestsAreCheckedWhenTheyAreDecoded(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		`{`:                        "decode job",
		`{}`:                       "no version",
		`{"v":99}`:                 "update the worker",
		`{"v":1}`:                  "no installation",
		`{"v":1,"installation":7}`: "no valid repository",
		`{"v":1,"installation":7,"owner":"..","repo":"x"}`: "no valid repository",
	} {
		if _, err := handlers.DecodeRequest([]byte(text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: error is %v, want %q", text, err, says)
		}
	}
}

// FuzzDecide: no payload makes it panic, and whatever becomes a job can be
// decoded by the worker.
func FuzzDecide(f *testing.F) {
	entries, err := os.ReadDir("testdata")
	if err != nil {
		f.Fatal(err)
	}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok {
			continue
		}
		event, _, _ := strings.Cut(name, ".")
		f.Add(event, payload(f, name, nil))
	}
	f.Fuzz(func(t *testing.T, event string, body []byte) {
		d, err := handlers.Decide(rules, event, "d", body)
		if err != nil {
			return
		}
		if d.Job == nil && d.Cancels == nil && d.Reason == "" {
			t.Error("ignored without a reason")
		}
		if d.Job == nil {
			return
		}
		r, err := handlers.DecodeRequest(d.Job.Payload)
		if err != nil {
			t.Fatal(err)
		}
		if d.Job.Repository != r.Repository() || d.ByPerson != (d.Job.Key == "") || d.ByPerson != (r.Actor != "") {
			t.Errorf("job %+v and request %+v differ", d.Job, r)
		}
	})
}
