package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	gh "github.com/google/go-github/v62/github"

	"culprit/internal/session"
)

// stateLabels are the labels of a session's state: suffix, colour,
// description.
var stateLabels = []stateLabel{
	{labelRunning, "fbca04", "Culprit is investigating"},
	{labelNeedsYou, "d93f0b", "Culprit needs an answer from a person"},
	{labelDone, "0e8a16", "Culprit has reported its result"},
}

type stateLabel struct{ suffix, color, description string }

// showLabel puts the label of the state on the issue and takes the others off.
// Only issues get one; a pull request has the check run.
func (p *Publisher) showLabel(ctx context.Context, v view, _ *session.Published) error {
	if !v.isIssue || p.label == v.label {
		return nil
	}
	r := p.cfg.Repo
	there, err := pages(0, func(o gh.ListOptions) ([]*gh.Label, *gh.Response, error) {
		return r.read.Issues.ListLabelsByIssue(ctx, r.Owner, r.Name, v.issue, &o)
	})
	if err := r.wrap("list labels of the issue", err); err != nil {
		return p.unlabelled(v, err)
	}
	have := map[string]bool{}
	for _, l := range there {
		have[strings.ToLower(l.GetName())] = true
	}
	if p.cfg.Existing && !slices.ContainsFunc(stateLabels, func(l stateLabel) bool { return have[strings.ToLower(p.cfg.Label+":"+l.suffix)] }) {
		return nil
	}
	for _, l := range stateLabels {
		name := p.cfg.Label + ":" + l.suffix
		want, has := l.suffix == v.label, have[strings.ToLower(name)]
		if want == has {
			continue
		}
		if err := p.allowed(ctx); err != nil {
			return err
		}
		if want {
			err = p.addLabel(ctx, v.issue, name, l.color, l.description)
		} else {
			_, err = r.write.Issues.RemoveLabelForIssue(ctx, r.Owner, r.Name, v.issue, name)
			if err = r.wrap("take label off the issue", err); errors.Is(err, ErrNotFound) {
				err = nil
			}
		}
		if err != nil {
			return p.unlabelled(v, err)
		}
	}
	p.label = v.label
	return nil
}

// unlabelled forgives an issue that was deleted meanwhile.
func (p *Publisher) unlabelled(v view, err error) error {
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrRefused) {
		p.log.Info("issue cannot be labelled", "session", v.id, "error", err)
		p.label = v.label
		return nil
	}
	return err
}

// addLabel makes the label known in the repository, if it is not, and puts it
// on the issue. Without the first step GitHub would make a grey one.
func (p *Publisher) addLabel(ctx context.Context, issue int, name, color, description string) error {
	r := p.cfg.Repo
	_, _, err := r.read.Issues.GetLabel(ctx, r.Owner, r.Name, name)
	if err := r.wrap("look up label", err); errors.Is(err, ErrNotFound) {
		_, _, err := r.write.Issues.CreateLabel(ctx, r.Owner, r.Name, &gh.Label{Name: &name, Color: &color, Description: &description})
		// Refused: somebody else made it at the same time.
		if err := r.wrap("create label", err); err != nil && !errors.Is(err, ErrRefused) {
			return err
		}
	} else if err != nil {
		return err
	}
	// go-github's own method sends a bare list, which GitHub's description does
	// not have.
	req, err := r.write.NewRequest(http.MethodPost, fmt.Sprintf("repos/%s/%s/issues/%d/labels", r.Owner, r.Name, issue), map[string][]string{"labels": {name}})
	if err != nil {
		return r.wrap("label the issue", err)
	}
	_, err = r.write.Do(ctx, req, nil)
	return r.wrap("label the issue", err)
}
