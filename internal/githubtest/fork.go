package githubtest

import (
	"fmt"
	"strings"
)

// Fork makes a person's (made when unknown) or organisation's fork of a
// repository, of the same name and with the branches as they are, and returns
// its full name.
func (s *Server) Fork(repo, login string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	parent := s.repo(repo)
	if parent == nil {
		return "", fmt.Errorf("fork %q: there is no such repository", repo)
	}
	cfg := RepoConfig{
		Owner: s.userOrNew(login).login, Name: parent.name, Description: parent.description, DefaultBranch: parent.defaultBranch, Private: parent.private,
	}
	r, err := s.createRepo(cfg)
	if err != nil {
		return "", fmt.Errorf("fork %s: %w", repo, err)
	}
	r.parent = parent
	if err := s.copyRefs(parent, r, "+refs/heads/*:refs/heads/*"); err != nil {
		return "", fmt.Errorf("fork %s: %w", repo, err)
	}
	s.emit(parent, "fork", "", r.owner, nil, obj{"forkee": s.forkeeJSON(r)})
	return r.fullName(), nil
}

// copyRefs fetches from one repository of this server into another.
func (s *Server) copyRefs(from, to *repository, refspecs ...string) error {
	_, err := s.git(to, append([]string{"fetch", "--quiet", "--no-tags", "--end-of-options", from.dir}, refspecs...)...)
	return err
}

// forkeeJSON is a fork as the fork event has it.
func (s *Server) forkeeJSON(r *repository) obj {
	v := s.repoJSON(r)
	v["public"] = !r.private
	return v
}

// forkOf finds the repository in a network that a pull request into r can come
// from: r itself or the fork of an account.
func (s *Server) forkOf(r *repository, owner string) *repository {
	if strings.EqualFold(owner, r.owner.login) {
		return r
	}
	for _, f := range s.repos {
		if !f.deleted && f.parent == r && strings.EqualFold(f.owner.login, owner) {
			return f
		}
	}
	return nil
}

// headTip is the tip of a pull request's head branch, or "" when the branch or
// the fork is gone. The commit of a fork is fetched, so that the base
// repository has it as refs/pull/N/head.
func (s *Server) headTip(r *repository, i *issue) string {
	p := i.pull
	if p.headRepo.deleted {
		return ""
	}
	sha := s.resolve(p.headRepo, "refs/heads/"+p.headRef)
	if sha == "" || p.headRepo == r {
		return sha
	}
	if err := s.copyRefs(p.headRepo, r, fmt.Sprintf("+refs/heads/%s:refs/pull/%d/head", p.headRef, i.number)); err != nil {
		s.logf("fetch the head of %s#%d: %v", r.fullName(), i.number, err)
		return ""
	}
	return sha
}

// mayMaintain says whether a person may push to a fork because a pull request
// from there allows edits by maintainers. GitHub allows it to people who may
// write to the base repository, for that branch.
func (s *Server) mayMaintain(fork *repository, u *user) []string {
	if fork.parent == nil || u == nil || roleRank[fork.parent.role(u)] < roleRank["write"] {
		return nil
	}
	var refs []string
	for _, i := range fork.parent.issues {
		if p := i.pull; p != nil && p.headRepo == fork && p.canModify && i.state == "open" {
			refs = append(refs, "refs/heads/"+p.headRef)
		}
	}
	return refs
}

// resolveInNetwork is resolve for "owner:branch" too, a branch of a fork.
func (s *Server) resolveInNetwork(r *repository, rev string) string {
	owner, branch, qualified := strings.Cut(rev, ":")
	if !qualified {
		return s.resolve(r, rev)
	}
	from := s.forkOf(r, owner)
	if from == nil {
		return ""
	}
	sha := s.resolve(from, "refs/heads/"+branch)
	if sha != "" && from != r {
		// The objects are needed to compare; GitHub shares them among forks.
		if err := s.copyRefs(from, r, "refs/heads/"+branch); err != nil {
			s.logf("fetch %s for %s: %v", rev, r.fullName(), err)
			return ""
		}
	}
	return sha
}
