package handlers

import (
	"fmt"
	"slices"
	"strings"

	"culprit/queue"
)

// SettingsFile is the file whose change on the default branch is looked at.
// It is config.RepositoryFile, which this package cannot import; a test of
// package main holds them together.
const SettingsFile = ".github/culprit.yml"

// pushPayload is what decisions about a push are made from.
type pushPayload struct {
	envelope
	// The owner of a push's repository has its login in "name" too.
	Ref        string       `json:"ref"`
	After      string       `json:"after"`
	Deleted    bool         `json:"deleted"`
	Commits    []pushChange `json:"commits"`
	Repository struct {
		payloadRepo
		DefaultBranch string `json:"default_branch"`
	} `json:"repository"`
}

type pushChange struct {
	Added, Removed, Modified []string
}

// decidePush calls off the jobs of a branch that was deleted, and has the
// settings file checked when a push to the default branch changes it (GH9). A
// branch that moved on starts nothing else: its CI tells whether the new commit
// is red.
func decidePush(_ Rules, delivery string, body []byte) (Decision, error) {
	var p pushPayload
	if err := decode(body, &p); err != nil {
		return Decision{}, err
	}
	p.envelope.Repository = p.Repository.payloadRepo
	branch, ok := strings.CutPrefix(p.Ref, "refs/heads/")
	switch {
	case !ok:
		return ignore("push is not to a branch"), nil
	case branch == "":
		return Decision{}, fmt.Errorf("%w: no branch", errMalformed)
	case p.Deleted:
		return decideDeletedBranch(p, branch)
	case branch != p.Repository.DefaultBranch:
		return ignore("push is not to the default branch"), nil
	case !slices.ContainsFunc(p.Commits, func(c pushChange) bool {
		return slices.Contains(c.Added, SettingsFile) || slices.Contains(c.Modified, SettingsFile) || slices.Contains(c.Removed, SettingsFile)
	}):
		return ignore("push does not change " + SettingsFile), nil
	}
	if reason, err := p.usable(); reason != "" || err != nil {
		return ignore("%s", reason), err
	}
	if !validSHA(p.After) {
		return Decision{}, fmt.Errorf("%w: no valid SHA", errMalformed)
	}
	req := p.request(KindSettings, "push", delivery)
	req.SHA, req.Ref = p.After, branch
	return Decision{Job: req.job(strings.ToLower(p.fullName()+"@"+p.After+"/settings"), queue.PriorityPerson), Reason: "push changes " + SettingsFile}, nil
}

func decideDeletedBranch(p pushPayload, branch string) (Decision, error) {
	if reason, err := p.usable(); reason != "" || err != nil {
		return ignore("%s", reason), err
	}
	return Decision{Cancels: []queue.Match{{Ref: branchRef(p.fullName(), branch)}}, Reason: "the branch was deleted"}, nil
}
