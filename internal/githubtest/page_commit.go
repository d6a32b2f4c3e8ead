package githubtest

import (
	"fmt"
	"html/template"
	"strings"
	"time"
)

// commitView is what the page of a commit shows: the change, its checks, and
// the comments under it.
type commitView struct {
	SHA, Title, Body, Author string
	When                     time.Time
	Files                    []diffView
	Checks                   []checkRow
	Posts                    []postView
}

// checkList is a list of checks and the repository that its links lead into.
type checkList struct {
	Repo string
	Rows []checkRow
}

func (s *Server) commitView(r *repository, sha string) (commitView, bool) {
	c, err := s.readCommit(r, sha)
	if err != nil {
		return commitView{}, false
	}
	files, _ := s.diffFiles(r, c.firstParent(), sha)
	title, rest, _ := strings.Cut(c.message, "\n")
	v := commitView{
		SHA: sha, Title: title, Body: strings.TrimSpace(rest), Author: c.author, When: c.authored, Files: diffViews(files), Checks: r.checksOf(sha),
	}
	for _, x := range r.onCommit(sha) {
		p := s.newPost(r, x.user, x.body)
		p.Anchor, p.When, p.Edited = fmt.Sprintf("commitcomment-%d", x.id), x.created, x.edits > 0
		if x.path != "" {
			p.What = "commented on " + x.path
			if x.line > 0 {
				p.What += fmt.Sprintf(" line %d", x.line)
			}
		}
		v.Posts = append(v.Posts, p)
	}
	return v, true
}

func (s *Server) newPost(r *repository, u *user, body string) postView {
	return postView{User: u.login, UserID: u.id, Bot: u.kind == "Bot", What: "commented", Body: s.markdown(r, body)}
}

func (s *Server) markdown(r *repository, text string) template.HTML {
	return renderMarkdown(text, s.base, r.fullName())
}

// checksOf lists the check runs of a commit, oldest first.
func (r *repository) checksOf(sha string) []checkRow {
	var rows []checkRow
	for _, c := range r.checkRuns {
		if c.sha == sha {
			rows = append(rows, newCheckRow(c))
		}
	}
	return rows
}
