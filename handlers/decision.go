package handlers

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"culprit/queue"
)

// A Decision is what becomes of a delivery. With neither Job nor Cancels the
// delivery is ignored, and Reason says why; with both, jobs are called off
// first.
type Decision struct {
	Job *queue.Job
	// ByPerson is set when a person wants the job (a label, a command, a
	// button): it goes to Intake.Commands, where the person's permission is
	// looked up before anything is done (GH8).
	ByPerson bool
	// Cancels are jobs to call off. Whoever closes an issue, takes a label off or
	// deletes a branch had GitHub's permission for it.
	Cancels []queue.Match
	Reason  string
}

// Rules are what decisions depend on besides the payload.
type Rules struct {
	Label   string // that starts a session; "LABEL:quick" and "LABEL:deep" do too
	AppID   int64  // our own App, whose events are ignored
	AppSlug string // its name in logins, "culprit" in "culprit[bot]"; may be empty
}

// errMalformed is wrapped by every error about a payload that GitHub would not
// send.
var errMalformed = errors.New("malformed payload")

// decider decides about the actions of an event that can lead to anything;
// none are named for an event that has no actions.
type decider struct {
	decide  func(r Rules, delivery string, body []byte) (Decision, error)
	actions []string
}

// deciders is the list of events that mean something to us.
var deciders = map[string]decider{
	"check_run":                   {decideCheckRun, []string{"completed", "rerequested", "requested_action"}},
	"check_suite":                 {decideCheckSuite, []string{"completed", "rerequested"}},
	"installation":                {decideInstallation, []string{"deleted", "suspend"}},
	"installation_repositories":   {decideInstallationRepositories, []string{"removed"}},
	"issue_comment":               {decideIssueComment, []string{"created", "edited"}},
	"issues":                      {decideIssues, []string{"labeled", "unlabeled", "closed", "deleted", "transferred"}},
	"ping":                        {decidePing, []string{}},
	"pull_request":                {decidePullRequest, []string{"labeled", "unlabeled", "closed"}},
	"pull_request_review":         {decidePullRequestReview, []string{"submitted"}},
	"pull_request_review_comment": {decideReviewComment, []string{"created"}},
	"push":                        {decidePush, nil},
	"repository":                  {decideRepository, []string{"deleted", "archived"}},
	"status":                      {decideStatus, nil},
	"workflow_run":                {decideWorkflowRun, []string{"completed"}},
}

// Decide turns a delivery into a decision. It is a pure function of its
// arguments; the error means that the payload is not what GitHub sends.
func Decide(r Rules, event, delivery string, body []byte) (Decision, error) {
	d, ok := deciders[event]
	if !ok {
		return ignore("event is not used"), nil
	}
	return d.decide(r, delivery, body)
}

// Matters reports whether a delivery of this event and action can lead to
// anything but being ignored. Most do not, and this is known without their
// payload.
func Matters(event, action string) bool {
	d, ok := deciders[event]
	return ok && (d.actions == nil || slices.Contains(d.actions, action))
}

func ignore(format string, args ...any) Decision {
	return Decision{Reason: fmt.Sprintf(format, args...)}
}

// decode reads the fields that v names. Numbers and texts of the wrong type
// are errors; unknown fields are GitHub's business.
func decode(body []byte, v any) error {
	if pruned, ok := prune(body, selectionOf(reflect.TypeOf(v))); ok {
		body = pruned
	}
	if err := json.Unmarshal(body, v); err != nil {
		return fmt.Errorf("%w: %w", errMalformed, err)
	}
	return nil
}

// The parts of payloads that several events share.
type (
	payloadUser struct {
		Login string `json:"login"`
		Type  string `json:"type"`
	}
	payloadRepo struct {
		ID       int64       `json:"id"`
		Name     string      `json:"name"`
		Owner    payloadUser `json:"owner"`
		Archived bool        `json:"archived"`
	}
	payloadApp struct {
		ID int64 `json:"id"`
	}
	payloadPR struct {
		Number int    `json:"number"`
		State  string `json:"state"`
		Head   struct {
			SHA  string `json:"sha"`
			Ref  string `json:"ref"`
			Repo struct {
				ID int64 `json:"id"`
			} `json:"repo"`
		} `json:"head"`
	}
	// envelope is in every event about a repository.
	envelope struct {
		Action       string      `json:"action"`
		Repository   payloadRepo `json:"repository"`
		Sender       payloadUser `json:"sender"`
		Installation struct {
			ID int64 `json:"id"`
		} `json:"installation"`
	}
)

// usable tells why a job can never be made of the event, or "".
func (e envelope) usable() (reason string, err error) {
	switch {
	case !validRepository(e.Repository.Owner.Login, e.Repository.Name):
		return "", fmt.Errorf("%w: no valid repository", errMalformed)
	case e.Installation.ID <= 0:
		return "not from an installation of the App: set the webhook up in the App, not in the repository", nil
	case e.Repository.Archived:
		return "repository is archived", nil
	}
	return "", nil
}

func (e envelope) fullName() string { return e.Repository.Owner.Login + "/" + e.Repository.Name }

// request begins a Request with what every event has.
func (e envelope) request(kind Kind, trigger, delivery string) Request {
	return Request{
		Kind: kind, Trigger: trigger, Delivery: delivery,
		Installation: e.Installation.ID,
		Owner:        e.Repository.Owner.Login, Repo: e.Repository.Name, RepoID: e.Repository.ID,
	}
}

// wish makes the decision for what a person wants. Such jobs have no Key: they
// never meet before the permission of each person is known, or one who may not
// could take the place of one who may. once names the wish, so that it counts
// once however often it is delivered.
func (r Request) wish(once string, priority queue.Priority, reason string) Decision {
	job := r.job("", priority)
	if once != "" {
		job.Delivery = once
	}
	return Decision{Job: job, ByPerson: true, Reason: reason}
}

// job makes the queue's job of a request.
func (r Request) job(key string, priority queue.Priority) *queue.Job {
	return &queue.Job{
		Delivery: r.Delivery, Key: key, Priority: priority,
		Repository: r.Repository(), Installation: fmt.Sprint(r.Installation),
		Payload: r.Encode(),
	}
}

// ThreadKey is the Job.Key of everything about an issue or pull request.
func ThreadKey(repository string, number int) string {
	return strings.ToLower(fmt.Sprintf("%s#%d", repository, number))
}

// branchRef is the Job.Ref of a branch.
func branchRef(repository, branch string) string {
	return strings.ToLower(repository) + "@refs/heads/" + branch
}

// CIKey is the Job.Key of everything about red CI of one commit: the many
// check runs, suites and workflow runs of it become one job (GH2).
func CIKey(repository, sha string) string {
	return strings.ToLower(repository + "@" + sha + "/ci")
}

// isBot reports whether a user is a bot or the App itself. Bots never start
// anything (GH8).
func (r Rules) isBot(u payloadUser) bool {
	return u.Type == "Bot" || strings.HasSuffix(u.Login, "[bot]") ||
		(r.AppSlug != "" && strings.EqualFold(u.Login, r.AppSlug+"[bot]"))
}

// red reports whether a conclusion starts a session.
func red(conclusion string) bool { return conclusion == "failure" || conclusion == "timed_out" }

// redRun is a concluded run in any of its three forms.
type redRun struct {
	env      envelope
	request  Request // with SHA, Ref, PR and the run's IDs
	moved    time.Time
	prs      []payloadPR
	headRepo int64 // 0: unknown
}

// decideRedRun is the common end of check_run, check_suite and workflow_run.
func decideRedRun(run redRun) (Decision, error) {
	if reason, err := run.env.usable(); reason != "" || err != nil {
		return ignore("%s", reason), err
	}
	if !validSHA(run.request.SHA) {
		return Decision{}, fmt.Errorf("%w: no valid head SHA", errMalformed)
	}
	// Code of a fork runs only after a writer's command (GH8). The events of
	// checks name no branch when the head lies in a fork.
	if run.headRepo != 0 && run.headRepo != run.env.Repository.ID {
		return ignore("head is in a fork: a person with write access can start it with /debug on the pull request"), nil
	}
	if run.request.Ref == "" {
		return ignore("no branch: deleted, or the head is in a fork"), nil
	}
	for _, pr := range run.prs {
		if pr.Head.Repo.ID != 0 && pr.Head.Repo.ID != run.env.Repository.ID {
			continue
		}
		run.request.PR = pr.Number
		break
	}
	name := run.env.fullName()
	job := run.request.job(CIKey(name, run.request.SHA), queue.PriorityCI)
	job.Ref = branchRef(name, run.request.Ref)
	job.SHA = run.request.SHA
	job.RefTime = run.moved
	return Decision{Job: job, Reason: "run concluded red"}, nil
}

// validRepository checks owner and name as GitHub makes them, since they
// become part of URLs and keys.
func validRepository(owner, name string) bool {
	ok := func(s string) bool {
		if s == "" || len(s) > 100 || s == "." || s == ".." {
			return false
		}
		return !strings.ContainsFunc(s, func(c rune) bool {
			return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != '.'
		})
	}
	return ok(owner) && ok(name)
}

// validSHA accepts full commit IDs (SHA-1 and SHA-256), not all zeros, which
// stands for a deleted branch.
func validSHA(s string) bool {
	if (len(s) != 40 && len(s) != 64) || strings.Trim(s, "0") == "" {
		return false
	}
	return !strings.ContainsFunc(s, func(c rune) bool { return (c < 'a' || c > 'f') && (c < '0' || c > '9') })
}
