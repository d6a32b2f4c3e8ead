package handlers

import (
	"encoding/json"
	"fmt"
)

// RequestVersion is the version of Request that this release writes. A worker
// that meets a newer one leaves the job to a newer worker.
const RequestVersion = 1

// Kind says what a Request asks for.
type Kind string

// Kinds of request.
const (
	KindIssue   Kind = "issue"   // an issue or pull request was labelled
	KindCI      Kind = "ci"      // a run concluded red
	KindCommand Kind = "command" // a person gave a command or pressed a button

	KindReview   Kind = "review"   // something happened to a fix pull request
	KindSettings Kind = "settings" // a push changed the repository's settings file
)

// A Request is the payload of a queue.Job: what to look at, in IDs. Everything
// else (state, text, permissions) is read from GitHub when the work starts,
// because it may have changed and because a payload is no proof.
type Request struct {
	Version      int    `json:"v"`
	Kind         Kind   `json:"kind"`
	Trigger      string `json:"trigger"` // as session.Source.Trigger: label, check_run, check_suite, workflow_run, status, command
	Installation int64  `json:"installation"`
	Owner        string `json:"owner"`
	Repo         string `json:"repo"`
	RepoID       int64  `json:"repo_id,omitempty"`
	Delivery     string `json:"delivery,omitempty"`

	// SHA is the head of the red run; of a label or command on a pull request,
	// the head that the person could see, the only one of a fork that is run.
	SHA        string `json:"sha,omitempty"`
	Ref        string `json:"ref,omitempty"`         // its branch, without refs/heads/
	Run        int64  `json:"run,omitempty"`         // workflow run
	CheckSuite int64  `json:"check_suite,omitempty"` // also known from a check run
	CheckRun   int64  `json:"check_run,omitempty"`
	PR         int    `json:"pr,omitempty"`
	// Issue is the thread that a label or command stands in. Of a pull
	// request's thread it is the same number as PR, and Ref is for the worker to
	// look up.
	Issue int `json:"issue,omitempty"`

	// Actor caused the event. Whether he may is for the worker to look up
	// (GH8); empty for red CI, which needs no permission of anybody.
	Actor   string `json:"actor,omitempty"`
	Mode    string `json:"mode,omitempty"`    // quick or deep, of a label like "debug:quick"
	Command string `json:"command,omitempty"` // a command.Verb; empty when it has a problem
	Comment int64  `json:"comment,omitempty"` // where the command stands; its arguments are read from there
	Sum     string `json:"sum,omitempty"`     // command.Command.Sum of it, since the comment may be edited
	Edited  bool   `json:"edited,omitempty"`  // the command came by an edit
	Remark  int64  `json:"remark,omitempty"`  // comment on a line of a fix, whose author is told that it was seen
	Late    bool   `json:"late,omitempty"`    // recovered from a delivery that failed
	Session string `json:"session,omitempty"` // external ID of the check run whose button was pressed; unchecked
}

// Repository is "owner/name".
func (r Request) Repository() string { return r.Owner + "/" + r.Repo }

// Encode makes the bytes that a queue.Job carries.
func (r Request) Encode() []byte {
	r.Version = RequestVersion
	b, err := json.Marshal(r)
	if err != nil {
		panic("encode request: " + err.Error()) // strings and numbers always encode
	}
	return b
}

// DecodeRequest reads the payload of a job. The error says what is wrong with
// it; such a job can never succeed.
func DecodeRequest(payload []byte) (Request, error) {
	var r Request
	if err := json.Unmarshal(payload, &r); err != nil {
		return Request{}, fmt.Errorf("decode job: %w", err)
	}
	switch {
	case r.Version > RequestVersion:
		return Request{}, fmt.Errorf("decode job: version %d is newer than this worker knows (%d): update the worker", r.Version, RequestVersion)
	case r.Version < 1:
		return Request{}, fmt.Errorf("decode job: no version")
	case r.Installation <= 0:
		return Request{}, fmt.Errorf("decode job: no installation")
	case !validRepository(r.Owner, r.Repo):
		return Request{}, fmt.Errorf("decode job: no valid repository")
	}
	return r, nil
}
