package githubtest

import (
	"fmt"
	"os"
)

// What people do with repositories and branches.

// CreateBranch makes a branch at a commit, as a push does.
func (s *Server) CreateBranch(repo, login, branch, sha string) error {
	return s.changeRefs(repo, login, func(r *repository) error {
		ref := "refs/heads/" + branch
		full := s.resolve(r, sha)
		if full == "" || !s.validRef(r, ref) || s.refSHA(r, ref) != "" {
			return fmt.Errorf("create branch %q: it exists, is no valid name, or there is no commit %q", branch, sha)
		}
		return s.setRef(r, ref, full)
	})
}

// DeleteBranch deletes a branch, as a push does. Pull requests from it and
// into it are closed.
func (s *Server) DeleteBranch(repo, login, branch string) error {
	return s.changeRefs(repo, login, func(r *repository) error {
		_, err := s.git(r, "update-ref", "-d", "--end-of-options", "refs/heads/"+branch)
		return err
	})
}

func (s *Server) changeRefs(repo, login string, change func(*repository) error) error {
	return s.withRepo(repo, func(r *repository) error {
		before, err := s.listRefs(r, "refs/heads", "refs/tags")
		if err != nil {
			return err
		}
		if err := change(r); err != nil {
			return err
		}
		return s.refsChanged(r, before, s.userOrNew(login))
	})
}

// ArchiveRepo makes a repository read-only, or writable again.
func (s *Server) ArchiveRepo(repo string, archived bool) error {
	return s.withRepo(repo, func(r *repository) error {
		if r.archived != archived {
			r.archived = archived
			s.emit(r, "repository", map[bool]string{true: "archived", false: "unarchived"}[archived], r.owner, nil, nil)
		}
		return nil
	})
}

// SetPrivate changes the visibility of a repository.
func (s *Server) SetPrivate(repo string, private bool) error {
	return s.withRepo(repo, func(r *repository) error {
		if r.private != private {
			r.private = private
			s.emit(r, "repository", map[bool]string{true: "privatized", false: "publicized"}[private], r.owner, nil, nil)
		}
		return nil
	})
}

// DisableIssues turns the issues of a repository off: their endpoints answer
// 410, while those of pull requests go on.
func (s *Server) DisableIssues(repo string) error {
	return s.withRepo(repo, func(r *repository) error { r.noIssues = true; return nil })
}

// DeleteRepo removes a repository: everything about it is 404 afterwards. Pull
// requests from it are closed.
func (s *Server) DeleteRepo(repo string) error {
	return s.withRepo(repo, func(r *repository) error {
		s.emit(r, "repository", "deleted", r.owner, nil, nil)
		r.deleted = true
		if r.parent != nil {
			for _, i := range r.parent.issues {
				if i.pull != nil && i.pull.headRepo == r {
					s.closeIssue(r.parent, i, r.owner, "")
				}
			}
		}
		r.reader.close()
		r.reader = nil
		return os.RemoveAll(r.dir)
	})
}
