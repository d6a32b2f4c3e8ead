package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// DemandsSignOff reports whether GitHub lets only signed-off commits onto a
// branch ("" is the default branch), as far as somebody can see who may read:
// by the repository's own setting, by a required check of the DCO App (branch
// protection or ruleset), or by a rule about commit messages (GH6).
func (r *Repo) DemandsSignOff(ctx context.Context, branch string) (bool, error) {
	if branch = strings.TrimPrefix(branch, "refs/heads/"); branch == "" {
		branch = r.DefaultBranch
	}
	if r.SignOff {
		return true, nil
	}
	const op = "look up the rules of the branch"
	var protection struct {
		Protection struct {
			Checks struct {
				Contexts []string `json:"contexts"`
			} `json:"required_status_checks"`
		} `json:"protection"`
	}
	if err := r.get(ctx, op, "branches/"+url.PathEscape(branch), &protection); err != nil || slices.ContainsFunc(protection.Protection.Checks.Contexts, isDCO) {
		return err == nil, ifThere(err)
	}
	var rules []struct {
		Type       string `json:"type"`
		Parameters struct {
			Pattern string `json:"pattern"`
			Negate  bool   `json:"negate"`
			Checks  []struct {
				Context string `json:"context"`
			} `json:"required_status_checks"`
		} `json:"parameters"`
	}
	// An Enterprise Server before 3.11 does not know it.
	if err := r.get(ctx, op, "rules/branches/"+url.PathEscape(branch)+"?per_page=100", &rules); err != nil {
		return false, ifThere(err)
	}
	for _, rule := range rules {
		for _, c := range rule.Parameters.Checks {
			if isDCO(c.Context) {
				return true, nil
			}
		}
		if rule.Type == "commit_message_pattern" && !rule.Parameters.Negate && strings.Contains(strings.ToLower(rule.Parameters.Pattern), "signed-off-by") {
			return true, nil
		}
	}
	return false, nil
}

// isDCO reports whether a required check is the Developer Certificate of Origin.
func isDCO(check string) bool {
	name := strings.ToLower(check)
	return name == "dco" || strings.HasPrefix(name, "dco/") || strings.HasPrefix(name, "dco ") || strings.HasSuffix(name, "/dco")
}

// get reads something below the repository's address.
func (r *Repo) get(ctx context.Context, op, path string, into any) error {
	req, err := r.read.NewRequest(http.MethodGet, fmt.Sprintf("repos/%s/%s/%s", r.Owner, r.Name, path), nil)
	if err == nil {
		_, err = r.read.Do(ctx, req, into)
	}
	return r.wrap(op, err)
}

// ifThere forgives what is not there, and what a plan does not have: protection
// and rulesets of a private repository are not part of GitHub Free, whose answer
// is "Upgrade to GitHub Pro or make this repository public to enable this feature."
func ifThere(err error) error {
	var e *Error
	if errors.Is(err, ErrNotFound) || errors.As(err, &e) && e.Status == http.StatusForbidden && strings.HasPrefix(e.Message, "Upgrade to GitHub ") {
		return nil
	}
	return err
}
