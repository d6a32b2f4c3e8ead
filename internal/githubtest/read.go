package githubtest

import (
	"fmt"
	"slices"
)

// Issues copies all issues and pull requests of a repository, by number.
func (s *Server) Issues(repo string) ([]Issue, error) {
	return readRepo(s, repo, func(r *repository) ([]Issue, error) {
		var out []Issue
		for _, i := range r.issues {
			if !i.deleted {
				out = append(out, i.snapshot())
			}
		}
		return out, nil
	})
}

// Issue copies one issue or pull request.
func (s *Server) Issue(repo string, number int) (Issue, error) {
	return readRepo(s, repo, func(r *repository) (Issue, error) {
		i := r.issue(number)
		if i == nil {
			return Issue{}, fmt.Errorf("no issue %d", number)
		}
		return i.snapshot(), nil
	})
}

// Comments copies the comments of an issue or pull request, oldest first.
func (s *Server) Comments(repo string, number int) ([]Comment, error) {
	return readRepo(s, repo, func(r *repository) ([]Comment, error) {
		i := r.issue(number)
		if i == nil {
			return nil, fmt.Errorf("no issue %d", number)
		}
		var out []Comment
		for _, c := range i.comments {
			out = append(out, c.snapshot(i))
		}
		return out, nil
	})
}

// PullRequests copies all pull requests of a repository, by number.
func (s *Server) PullRequests(repo string) ([]PullRequest, error) {
	return readRepo(s, repo, func(r *repository) ([]PullRequest, error) {
		var out []PullRequest
		for _, i := range r.issues {
			if i.pull != nil {
				out = append(out, s.snapshotPull(r, i))
			}
		}
		return out, nil
	})
}

// Reviews copies the reviews of a pull request and its line comments, oldest
// first.
func (s *Server) Reviews(repo string, number int) ([]Review, []ReviewComment, error) {
	type both struct {
		r []Review
		c []ReviewComment
	}
	b, err := readRepo(s, repo, func(r *repository) (both, error) {
		i := r.pull(number)
		if i == nil {
			return both{}, fmt.Errorf("no pull request %d", number)
		}
		var b both
		for _, v := range i.pull.reviews {
			b.r = append(b.r, Review{ID: v.id, User: v.user.login, State: v.state, Body: v.body})
		}
		for _, c := range i.pull.comments {
			b.c = append(b.c, ReviewComment{ID: c.id, User: c.user.login, Body: c.body, Path: c.path, Line: c.line, ReplyTo: c.replyTo})
		}
		return b, nil
	})
	return b.r, b.c, err
}

// CheckRuns copies all check runs of a repository, oldest first.
func (s *Server) CheckRuns(repo string) ([]CheckRun, error) {
	return readRepo(s, repo, func(r *repository) ([]CheckRun, error) {
		var out []CheckRun
		for _, c := range r.checkRuns {
			out = append(out, c.snapshot())
		}
		return out, nil
	})
}

// Labels copies the names of the labels that a repository defines.
func (s *Server) Labels(repo string) ([]string, error) {
	return readRepo(s, repo, func(r *repository) ([]string, error) { return labelNames(r.labels), nil })
}

// Pushes copies every change of a branch or tag, oldest first. Imports by
// ImportGit are not pushes.
func (s *Server) Pushes(repo string) ([]Push, error) {
	return readRepo(s, repo, func(r *repository) ([]Push, error) { return slices.Clone(r.pushes), nil })
}

// Refs copies the branches of a repository: name to SHA.
func (s *Server) Refs(repo string) (map[string]string, error) {
	return readRepo(s, repo, func(r *repository) (map[string]string, error) {
		refs, err := s.listRefs(r, "refs/heads")
		out := map[string]string{}
		for ref, sha := range refs {
			out[ref[len("refs/heads/"):]] = sha
		}
		return out, err
	})
}

// Deliveries copies the log of an App's webhook deliveries, oldest first.
func (s *Server) Deliveries(appID int64) []Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Delivery
	if a := s.appByID(appID); a != nil {
		for _, d := range a.deliveries {
			if d.finished {
				out = append(out, d.Delivery)
			}
		}
	}
	return out
}

// Calls copies the log of all requests, oldest first.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// CountCalls counts the requests to a route of GitHub's description, such as
// "POST", "/repos/{owner}/{repo}/pulls". An empty method or route counts all.
func (s *Server) CountCalls(method, route string) int {
	n := 0
	for _, c := range s.Calls() {
		if (method == "" || c.Method == method) && (route == "" || c.Route == route) {
			n++
		}
	}
	return n
}

// Writes copies the calls and pushes that changed something, in their order.
func (s *Server) Writes() []Call {
	return slices.DeleteFunc(s.Calls(), func(c Call) bool { return !c.Write() })
}

func readRepo[T any](s *Server, name string, f func(*repository) (T, error)) (T, error) {
	var out T
	err := s.withRepo(name, func(r *repository) (err error) {
		out, err = f(r)
		return err
	})
	return out, err
}

func (i *issue) snapshot() Issue {
	return Issue{
		ID: i.id, Number: i.number, Title: i.title, Body: i.body, User: i.user.login, State: i.state,
		Labels: labelNames(i.labels), Pull: i.pull != nil, Locked: i.locked,
	}
}

func (c *comment) snapshot(i *issue) Comment {
	return Comment{ID: c.id, Number: i.number, Body: c.body, User: c.user.login, Created: c.created, Updated: c.updated, Edits: c.edits}
}

func (s *Server) snapshotPull(r *repository, i *issue) PullRequest {
	p := i.pull
	diff, _ := s.gitOnce(r, "diff", "--no-color", "--no-ext-diff", "--merge-base", p.baseSHA, p.headSHA, "--")
	return PullRequest{
		Issue: i.snapshot(), Head: p.headRef, HeadSHA: p.headSHA, Base: p.baseRef, BaseSHA: p.baseSHA, Draft: p.draft,
		Merged: !p.merged.IsZero(), Mergeable: p.mergeable, Diff: diff,
	}
}

func (c *checkRun) snapshot() CheckRun {
	return CheckRun{
		ID: c.id, App: c.suite.app.Slug, Name: c.name, HeadSHA: c.sha, ExternalID: c.externalID, DetailsURL: c.detailsURL,
		Status: c.status, Conclusion: c.conclusion, Title: deref(c.title), Summary: deref(c.summary), Text: deref(c.text),
		Annotations: slices.Clone(c.annotations), Actions: slices.Clone(c.actions),
	}
}

func labelNames(labels []*label) []string {
	names := make([]string, 0, len(labels))
	for _, l := range labels {
		names = append(names, l.name)
	}
	return names
}

func deref(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}
