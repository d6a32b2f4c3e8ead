package handlers_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"culprit/internal/conformance"
)

var update = flag.Bool("update", false, "rewrite docs/events.md")

const eventsDoc = "../docs/events.md"

const eventsIntro = `# Events

What the bot does with each event that GitHub can send, and why. The table is made by posting every public example
(npm ` + "`@octokit/webhooks-examples`" + `), and examples changed as the column "when" says, to the running web server. It is
rewritten by ` + "`go test ./handlers -run Examples -update`" + `.

"Queues" means that a worker looks at it: who asked, and whether he may, is looked up there and never taken from the event.
Events that are not used do no harm; the App need not subscribe to them.

| event | action | when | what the bot does | why |
|---|---|---|---|---|
`

// variant is an example changed so that it shows what the public ones do not:
// none has our label, our App, a command or a red workflow.
type variant struct {
	event, action, when string
	set                 map[string]any // dotted path to value
}

// same stands for the value of another field of the payload.
type same string

const ourApp = 4242 // as in serve

var variants = []variant{
	{"issues", "labeled", "the label is `debug`", map[string]any{"label.name": "debug"}},
	{"issues", "labeled", "the label is `debug:deep`", map[string]any{"label.name": "debug:deep"}},
	{"issues", "labeled", "the label is `debug`, put on by a bot", map[string]any{"label.name": "debug", "sender.type": "Bot"}},
	{"issues", "labeled", "the label is `debug`, the repository archived", map[string]any{"label.name": "debug", "repository.archived": true}},
	{"issues", "unlabeled", "the label is `debug`", map[string]any{"label.name": "debug"}},
	{"pull_request", "labeled", "the label is `debug`", map[string]any{"label.name": "debug"}},
	{"pull_request", "unlabeled", "the label is `debug`", map[string]any{"label.name": "debug"}},
	{"pull_request", "closed", "it is one of the bot's own fixes", ourFix(nil)},
	{"pull_request_review", "submitted", "the bot's own fix is approved", ourFix(map[string]any{"review.state": "approved"})},
	{"pull_request_review", "submitted", "changes of the bot's own fix are requested", ourFix(map[string]any{"review.state": "changes_requested"})},
	{"pull_request_review", "submitted", "of the bot's own fix, with comments alone", ourFix(map[string]any{"review.state": "commented"})},
	{"pull_request_review", "submitted", "of the bot's own fix, by a bot", ourFix(map[string]any{"review.state": "changes_requested", "sender.type": "Bot"})},
	{"pull_request_review_comment", "created", "on a line of the bot's own fix", ourFix(nil)},
	{"pull_request_review_comment", "created", "on a line of the bot's own fix, by a bot", ourFix(map[string]any{"sender.type": "Bot"})},
	{"issue_comment", "created", "it says `/debug`", map[string]any{"comment.body": "/debug"}},
	{"issue_comment", "created", "it says `/debug stop`", map[string]any{"comment.body": "/debug stop"}},
	{"issue_comment", "created", "it says `/debug`, written by a bot", map[string]any{"comment.body": "/debug", "comment.user.type": "Bot", "sender.type": "Bot"}},
	{"issue_comment", "created", "it quotes `/debug`", map[string]any{"comment.body": "> /debug"}},
	{"issue_comment", "edited", "the edit brings `/debug`", map[string]any{"comment.body": "/debug", "changes.body.from": "hm"}},
	{"check_run", "completed", "it failed", map[string]any{"check_run.conclusion": "failure"}},
	{"check_run", "completed", "it failed in a fork", map[string]any{"check_run.conclusion": "failure", "check_run.check_suite.head_branch": nil}},
	{"check_run", "completed", "it is the App's own", map[string]any{"check_run.conclusion": "failure", "check_run.app.id": ourApp}},
	{"check_run", "rerequested", "of the App's own", map[string]any{"check_run.app.id": ourApp}},
	{"check_run", "requested_action", "the button Retry", map[string]any{"check_run.app.id": ourApp, "requested_action.identifier": "retry"}},
	{"check_run", "requested_action", "the button Stop", map[string]any{"check_run.app.id": ourApp, "requested_action.identifier": "stop"}},
	{"check_suite", "completed", "it failed", map[string]any{"check_suite.conclusion": "failure"}},
	{"check_suite", "rerequested", "of the App's own", map[string]any{"check_suite.app.id": ourApp, "sender.type": "User", "sender.login": "ada"}},
	{"check_suite", "rerequested", "of the App's own, by a bot", map[string]any{"check_suite.app.id": ourApp, "sender.type": "Bot"}},
	{"workflow_run", "completed", "it failed", map[string]any{"workflow_run.conclusion": "failure", "workflow_run.head_repository": same("repository")}},
	{"workflow_run", "completed", "it failed in a fork", map[string]any{"workflow_run.conclusion": "failure", "workflow_run.head_repository.id": 1}},
	{"workflow_run", "completed", "it timed out", map[string]any{"workflow_run.conclusion": "timed_out", "workflow_run.head_repository": same("repository")}},
	{"repository", "deleted", "", map[string]any{"action": "deleted"}},
	{"repository", "archived", "", map[string]any{"action": "archived"}},
	{"push", "", "it deletes a branch", map[string]any{"ref": "refs/heads/fix", "deleted": true, "after": strings.Repeat("0", 40)}},
	{"status", "", "it failed", map[string]any{"state": "failure"}},
	{"push", "", "it changes `.github/culprit.yml` of the default branch", map[string]any{
		"ref": "refs/heads/main", "repository.default_branch": "main", "after": strings.Repeat("a", 40), "deleted": false,
		"commits": []any{map[string]any{"modified": []any{".github/culprit.yml"}}},
	}},
}

// ourFix makes the pull request of a payload one of the bot's own.
func ourFix(more map[string]any) map[string]any {
	out := map[string]any{"pull_request.head.ref": "culprit/20261130-debug-x", "pull_request.head.repo": same("repository"), "pull_request.state": "open"}
	maps.Copy(out, more)
	return out
}

// setField changes one field of a payload; the objects on its way must be there.
func setField(t *testing.T, payload map[string]any, path string, value any) {
	t.Helper()
	keys := strings.Split(path, ".")
	for _, key := range keys[:len(keys)-1] {
		next, ok := payload[key].(map[string]any)
		if !ok {
			next = map[string]any{}
			payload[key] = next
		}
		payload = next
	}
	payload[keys[len(keys)-1]] = value
}

// row is a line of the document.
type row struct{ event, action, when, does, why string }

// TestExamples posts every public webhook payload to the running server: each
// is handled or ignored on purpose, and docs/events.md says which.
func TestExamples(t *testing.T) {
	t.Parallel()
	examples := conformance.Examples(t)
	s := serve(t, &fakeQueue{})
	try := func(event, action, when string, payload []byte) row {
		code, answer := post(t, s, delivery{event: event, body: payload})
		if code != http.StatusOK && code != http.StatusAccepted || answer["reason"] == "" {
			t.Errorf("%s %s was answered %d %v", event, action, code, answer)
		}
		does := map[string]string{"enqueued": "queues a job", "cancelled": "calls jobs off", "ignored": "nothing", "ok": "nothing"}[answer["status"]]
		if does == "" {
			t.Errorf("%s %s: status %q", event, action, answer["status"])
		}
		return row{event, action, when, does, answer["reason"]}
	}
	var rows []row
	for _, e := range examples {
		// Many were recorded by the webhook of a repository, which names no
		// installation; they must be taken as they are, and as our App gets them.
		try(e.Event, e.Action, "", e.Payload)
		rows = append(rows, try(e.Event, e.Action, "", withInstallation(t, e.Payload, nil)))
	}
	for _, v := range variants {
		at := slices.IndexFunc(examples, func(e conformance.Example) bool {
			return e.Event == v.event && (e.Action == v.action || v.set["action"] == v.action)
		})
		if at < 0 {
			t.Errorf("there is no example of %s %s", v.event, v.action)
			continue
		}
		rows = append(rows, try(v.event, v.action, v.when, withInstallation(t, examples[at].Payload, v.set)))
	}
	rows = withoutRepeated(rows)
	doc := eventsIntro + table(rows) + "\n" + strconv.Itoa(len(examples)) + " public payloads.\n"
	if *update {
		if err := os.WriteFile(eventsDoc, []byte(doc), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile(eventsDoc)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != doc {
		t.Error("docs/events.md is out of date: go test ./handlers -run Examples -update")
	}
}

// withInstallation is a payload as the App gets it, with fields changed.
func withInstallation(t *testing.T, payload []byte, fields map[string]any) []byte {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(payload, &v); err != nil {
		t.Fatal(err)
	}
	if v["installation"] == nil {
		v["installation"] = map[string]any{"id": 1}
	}
	// The branch of a commit status is right only with its commit at its head.
	if branches, ok := v["branches"].([]any); ok && len(branches) > 0 {
		setField(t, v, "sha", branches[0].(map[string]any)["commit"].(map[string]any)["sha"])
	}
	for path, value := range fields {
		if other, ok := value.(same); ok {
			value = v[string(other)]
		}
		setField(t, v, path, value)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// withoutRepeated leaves out the examples that end as one of the variants of
// the same action does, which says when.
func withoutRepeated(rows []row) []row {
	return slices.DeleteFunc(slices.Clone(rows), func(r row) bool {
		return r.when == "" && r.does != "nothing" && slices.ContainsFunc(rows, func(v row) bool {
			return v.when != "" && v.event == r.event && v.action == r.action && v.does == r.does && v.why == r.why
		})
	})
}

// table sorts rows by event and puts the actions that end alike into one line.
func table(rows []row) string {
	slices.SortStableFunc(rows, func(a, b row) int { return strings.Compare(a.event, b.event) })
	var out []row
	for _, r := range rows {
		at := slices.IndexFunc(out, func(o row) bool {
			return o.event == r.event && o.when == r.when && o.does == r.does && o.why == r.why && (o.when == "" || o.action == r.action)
		})
		switch {
		case at < 0:
			out = append(out, r)
		case !slices.Contains(strings.Split(out[at].action, ", "), r.action):
			out[at].action += ", " + r.action
		}
	}
	var b strings.Builder
	for _, r := range out {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", r.event, r.action, r.when, r.does, strings.ReplaceAll(r.why, "|", "\\|"))
	}
	return b.String()
}
