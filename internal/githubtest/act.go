package githubtest

import "fmt"

// What people do, as methods for tests and the demo. Each sends the events
// that GitHub sends. Logins that are unknown are made.

// OpenIssue opens an issue.
func (s *Server) OpenIssue(repo, login, title, body string, labels ...string) (Issue, error) {
	return readRepo(s, repo, func(r *repository) (Issue, error) {
		return s.openIssue(r, s.userOrNew(login), nil, title, body, labels).snapshot(), nil
	})
}

// AddLabel puts a label on an issue or pull request; the label is made when
// the repository lacks it.
func (s *Server) AddLabel(repo string, number int, login, name string) error {
	return s.withIssue(repo, number, func(r *repository, i *issue) error {
		s.addLabel(r, i, s.userOrNew(login), name)
		return nil
	})
}

// RemoveLabel takes a label off.
func (s *Server) RemoveLabel(repo string, number int, login, name string) error {
	return s.withIssue(repo, number, func(r *repository, i *issue) error {
		l := r.label(name)
		if l == nil {
			return fmt.Errorf("no label %q", name)
		}
		s.removeLabel(r, i, s.userOrNew(login), l)
		return nil
	})
}

// Comment adds a comment to an issue or pull request.
func (s *Server) Comment(repo string, number int, login, body string) (Comment, error) {
	var out Comment
	err := s.withIssue(repo, number, func(r *repository, i *issue) error {
		out = s.addComment(r, i, s.userOrNew(login), nil, body).snapshot(i)
		return nil
	})
	return out, err
}

// EditComment changes a comment's text.
func (s *Server) EditComment(repo string, number int, commentID int64, login, body string) error {
	return s.withIssue(repo, number, func(r *repository, i *issue) error {
		for _, c := range i.comments {
			if c.id == commentID {
				s.editComment(r, i, c, s.userOrNew(login), body)
				return nil
			}
		}
		return fmt.Errorf("no comment %d", commentID)
	})
}

// DeleteComment deletes a comment.
func (s *Server) DeleteComment(repo string, number int, commentID int64, login string) error {
	return s.withIssue(repo, number, func(r *repository, i *issue) error {
		for _, c := range i.comments {
			if c.id == commentID {
				s.deleteComment(r, i, c, s.userOrNew(login))
				return nil
			}
		}
		return fmt.Errorf("no comment %d", commentID)
	})
}

// SetDraft turns a pull request into a draft, or marks it ready for review.
func (s *Server) SetDraft(repo string, number int, login string, draft bool) error {
	return s.withIssue(repo, number, func(r *repository, i *issue) error {
		if i.pull == nil {
			return fmt.Errorf("%d is not a pull request", number)
		}
		if i.pull.draft != draft {
			i.pull.draft = draft
			s.emitPull(r, i, map[bool]string{true: "converted_to_draft", false: "ready_for_review"}[draft], s.userOrNew(login), nil)
		}
		return nil
	})
}

// CloseIssue closes an issue or pull request.
func (s *Server) CloseIssue(repo string, number int, login string) error {
	return s.withIssue(repo, number, func(r *repository, i *issue) error {
		s.closeIssue(r, i, s.userOrNew(login), "")
		return nil
	})
}

// ReopenIssue opens a closed issue or pull request again.
func (s *Server) ReopenIssue(repo string, number int, login string) error {
	return s.withIssue(repo, number, func(r *repository, i *issue) error {
		s.reopenIssue(r, i, s.userOrNew(login))
		return nil
	})
}

// PullConfig describes a pull request to open.
type PullConfig struct {
	Title string
	Body  string
	Head  string // branch, or "owner:branch" of a fork
	Base  string // branch
	Draft bool
	// NoMaintainerEdits forbids people who may write to the base repository to
	// push to the head branch of a fork.
	NoMaintainerEdits bool
}

// OpenPull opens a pull request between two branches that exist.
func (s *Server) OpenPull(repo, login string, cfg PullConfig) (PullRequest, error) {
	return readRepo(s, repo, func(r *repository) (PullRequest, error) {
		i, problem := s.openPull(r, s.userOrNew(login), nil, cfg)
		if problem != nil {
			return PullRequest{}, fmt.Errorf("open a pull request from %q into %q: %s %s %s", cfg.Head, cfg.Base, problem.Field, problem.Code, problem.Message)
		}
		return s.snapshotPull(r, i), nil
	})
}

// LineComment is a remark of a review on a line of the new file.
type LineComment struct {
	Path string
	Line int
	Body string
}

// Review reviews a pull request. The state is APPROVED, CHANGES_REQUESTED or
// COMMENTED.
func (s *Server) Review(repo string, number int, login, state, body string, comments ...LineComment) (Review, error) {
	var out Review
	err := s.withIssue(repo, number, func(r *repository, i *issue) error {
		if i.pull == nil {
			return fmt.Errorf("%d is not a pull request", number)
		}
		var lines []lineComment
		for _, c := range comments {
			lc := lineComment{Path: c.Path, Line: c.Line, Body: c.Body}
			if problem := s.checkLine(r, i, lc); problem != "" {
				return fmt.Errorf("comment on %s:%d: %s", c.Path, c.Line, problem)
			}
			lines = append(lines, lc)
		}
		v := s.addReview(r, i, s.userOrNew(login), state, body, lines)
		out = Review{ID: v.id, User: v.user.login, State: v.state, Body: v.body}
		return nil
	})
	return out, err
}

// ReplyToReview answers a review comment in its thread.
func (s *Server) ReplyToReview(repo string, number int, commentID int64, login, body string) error {
	return s.withIssue(repo, number, func(r *repository, i *issue) error {
		if i.pull != nil {
			for _, first := range i.pull.comments {
				if first.id == commentID {
					s.reply(r, i, first, s.userOrNew(login), body)
					return nil
				}
			}
		}
		return fmt.Errorf("no review comment %d", commentID)
	})
}

// MergePull merges a pull request by a merge commit and returns its SHA.
func (s *Server) MergePull(repo string, number int, login string) (string, error) {
	var sha string
	err := s.withIssue(repo, number, func(r *repository, i *issue) (err error) {
		if i.pull == nil {
			return fmt.Errorf("%d is not a pull request", number)
		}
		sha, err = s.merge(r, i, s.userOrNew(login), false, "")
		return err
	})
	return sha, err
}

// CommitFile commits one file on a branch, as the web editor does, and returns
// the commit's SHA. It sends the events of a push.
func (s *Server) CommitFile(repo, login, branch, path string, content []byte, message string) (string, error) {
	return readRepo(s, repo, func(r *repository) (string, error) {
		return s.commitFile(r, branch, path, content, message, s.userOrNew(login))
	})
}

func (s *Server) commitFile(r *repository, branch, path string, content []byte, message string, u *user) (string, error) {
	before, err := s.listRefs(r, "refs/heads", "refs/tags")
	if err != nil {
		return "", err
	}
	if !validPath(path) {
		return "", fmt.Errorf("commit %q: git takes no such path", path)
	}
	blob, err := s.writeObject(r, "blob", content)
	if err != nil {
		return "", err
	}
	ref, tree := "refs/heads/"+branch, ""
	if tip := s.resolve(r, ref); tip != "" {
		c, err := s.readCommit(r, tip)
		if err != nil {
			return "", err
		}
		tree = c.tree
	}
	if tree, err = s.writeFile(r, tree, path, blob); err != nil {
		return "", err
	}
	sha, err := s.commitTree(r, ref, tree, message, u)
	if err != nil {
		return "", err
	}
	return sha, s.refsChanged(r, before, u)
}

// RequestAction presses a button of a check run: its App gets the
// requested_action event.
func (s *Server) RequestAction(repo string, checkRunID int64, login, identifier string) error {
	return s.checkEvent(repo, checkRunID, login, "requested_action", obj{"requested_action": obj{"identifier": identifier}})
}

// Rerequest presses "Re-run" on a check run: its App gets the rerequested
// event.
func (s *Server) Rerequest(repo string, checkRunID int64, login string) error {
	return s.checkEvent(repo, checkRunID, login, "rerequested", nil)
}

// RerequestSuite presses "Re-run all checks" of a commit's suite: its App gets
// the rerequested event.
func (s *Server) RerequestSuite(repo string, suiteID int64, login string) error {
	return s.withRepo(repo, func(r *repository) error {
		for _, st := range r.suites {
			if st.id == suiteID {
				s.emitSuite(r, st, "rerequested", s.userOrNew(login))
				return nil
			}
		}
		return fmt.Errorf("no check suite %d", suiteID)
	})
}

func (s *Server) checkEvent(repo string, id int64, login, action string, extra obj) error {
	return s.withRepo(repo, func(r *repository) error {
		for _, c := range r.checkRuns {
			if c.id == id {
				s.emitCheck(r, c, action, s.userOrNew(login), extra)
				return nil
			}
		}
		return fmt.Errorf("no check run %d", id)
	})
}

func (s *Server) withIssue(repo string, number int, f func(*repository, *issue) error) error {
	return s.withRepo(repo, func(r *repository) error {
		i := r.issue(number)
		if i == nil {
			return fmt.Errorf("no issue %d", number)
		}
		return f(r, i)
	})
}
