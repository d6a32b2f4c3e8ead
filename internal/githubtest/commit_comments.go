package githubtest

import (
	"fmt"
	"time"
)

// CommitComment is a copy of a comment of a commit.
type CommitComment struct {
	ID  int64
	SHA string // of the commit
	// Path is the file that the comment is about; empty for the whole commit.
	Path string
	// Line is the line of the new file, 0 when there is none.
	Line    int
	Body    string
	User    string
	Created time.Time
	Updated time.Time
	// Edits counts how often the body was changed.
	Edits int
}

// CommentCommit comments on a commit, which is named by SHA, branch or tag.
func (s *Server) CommentCommit(repo, rev, login, body string) (CommitComment, error) {
	return readRepo(s, repo, func(r *repository) (CommitComment, error) {
		sha := s.resolve(r, rev)
		if sha == "" {
			return CommitComment{}, fmt.Errorf("no commit %q", rev)
		}
		c := &commitComment{sha: sha, body: body, user: s.userOrNew(login)}
		s.addCommitComment(r, c)
		return c.snapshot(), nil
	})
}

// CommitComments copies the comments of a commit, which is named by SHA, branch
// or tag, oldest first.
func (s *Server) CommitComments(repo, rev string) ([]CommitComment, error) {
	return readRepo(s, repo, func(r *repository) ([]CommitComment, error) {
		sha := s.resolve(r, rev)
		if sha == "" {
			return nil, fmt.Errorf("no commit %q", rev)
		}
		var out []CommitComment
		for _, c := range r.onCommit(sha) {
			out = append(out, c.snapshot())
		}
		return out, nil
	})
}

func (s *Server) addCommitComment(r *repository, c *commitComment) {
	c.id, c.created, c.updated = s.id(), s.now(), s.now()
	r.commitComments = append(r.commitComments, c)
	s.emit(r, "commit_comment", "created", c.user, nil, obj{"comment": s.commitCommentJSON(r, c)})
}

func (c *commitComment) snapshot() CommitComment {
	return CommitComment{
		ID: c.id, SHA: c.sha, Path: c.path, Line: c.line, Body: c.body, User: c.user.login, Created: c.created, Updated: c.updated, Edits: c.edits,
	}
}
