package github

import (
	"context"
	"errors"

	gh "github.com/google/go-github/v62/github"
)

// RedStatus is a commit status that is red: what CI services that are no GitHub
// Apps report by. Its texts are hostile.
type RedStatus struct {
	Context     string // its name
	Description string
}

// RedStatuses lists the contexts whose newest status of a commit is red. There
// are none where the App may not read statuses: it is not told of them either.
func (r *Repo) RedStatuses(ctx context.Context, sha string) ([]RedStatus, error) {
	client := r.client(scopeStatus)
	got, err := pages(1000, func(o gh.ListOptions) ([]*gh.RepoStatus, *gh.Response, error) {
		got, resp, err := client.Repositories.GetCombinedStatus(ctx, r.Owner, r.Name, sha, &o)
		if err != nil {
			return nil, resp, err
		}
		return got.Statuses, resp, nil
	})
	if err := r.wrap("read commit statuses", err); errors.Is(err, ErrForbidden) {
		r.app.cfg.Logger.Info("commit statuses are left out", "repository", r.FullName(), "error", err)
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	var out []RedStatus
	for _, s := range got {
		if state := s.GetState(); state == "failure" || state == "error" {
			out = append(out, RedStatus{Context: s.GetContext(), Description: s.GetDescription()})
		}
	}
	return out, nil
}
