package githubtest

import (
	"slices"
	"time"
)

// What can happen to an issue or pull request, whoever does it: REST, a person
// of the test, or a push. Each change sends its event.

func (s *Server) openIssue(r *repository, u *user, via *app, title, body string, labels []string) *issue {
	i := s.newIssue(r, u, via, title, body)
	for _, name := range labels {
		i.labels = append(i.labels, s.labelOrNew(r, name))
	}
	s.emitIssue(r, i, "opened", u, nil)
	for _, l := range i.labels {
		s.emitIssue(r, i, "labeled", u, obj{"label": s.labelJSON(r, l)})
	}
	return i
}

func (s *Server) newIssue(r *repository, u *user, via *app, title, body string) *issue {
	i := &issue{
		id: s.id(), number: len(r.issues) + 1, title: title, body: body, user: u, via: via, state: "open",
		created: s.now(), updated: s.now(),
	}
	r.issues = append(r.issues, i)
	return i
}

// emitThread sends an event of an issue or of a pull request.
func (s *Server) emitThread(r *repository, i *issue, action string, u *user, extra obj) {
	if i.pull != nil {
		s.emitPull(r, i, action, u, extra)
		return
	}
	s.emitIssue(r, i, action, u, extra)
}

func (s *Server) editIssue(r *repository, i *issue, u *user, title, body string) {
	changes := obj{}
	if title != i.title {
		changes["title"] = obj{"from": i.title}
	}
	if body != i.body {
		changes["body"] = obj{"from": i.body}
	}
	if len(changes) == 0 {
		return
	}
	i.title, i.body, i.updated = title, body, s.now()
	s.emitThread(r, i, "edited", u, obj{"changes": changes})
}

func (s *Server) closeIssue(r *repository, i *issue, u *user, reason string) {
	if i.state == "closed" {
		return
	}
	if reason == "" && i.pull == nil {
		reason = "completed"
	}
	i.state, i.stateReason, i.closed, i.closedBy, i.updated = "closed", reason, s.now(), u, s.now()
	s.emitThread(r, i, "closed", u, nil)
}

func (s *Server) reopenIssue(r *repository, i *issue, u *user) {
	if i.state == "open" {
		return
	}
	i.state, i.stateReason, i.closedBy, i.updated = "open", "reopened", nil, s.now()
	i.closed = time.Time{}
	s.emitThread(r, i, "reopened", u, nil)
}

func (s *Server) addLabel(r *repository, i *issue, u *user, name string) {
	l := s.labelOrNew(r, name)
	if slices.Contains(i.labels, l) {
		return
	}
	i.labels, i.updated = append(i.labels, l), s.now()
	s.emitThread(r, i, "labeled", u, obj{"label": s.labelJSON(r, l)})
}

func (s *Server) removeLabel(r *repository, i *issue, u *user, l *label) {
	at := slices.Index(i.labels, l)
	if at < 0 {
		return
	}
	i.labels, i.updated = slices.Delete(slices.Clone(i.labels), at, at+1), s.now()
	s.emitThread(r, i, "unlabeled", u, obj{"label": s.labelJSON(r, l)})
}

func (s *Server) setLabels(r *repository, i *issue, u *user, names []string) {
	want := map[*label]bool{}
	for _, name := range names {
		want[s.labelOrNew(r, name)] = true
	}
	for _, l := range slices.Clone(i.labels) {
		if !want[l] {
			s.removeLabel(r, i, u, l)
		}
	}
	for _, name := range names {
		s.addLabel(r, i, u, name)
	}
}

// labelOrNew finds a label, or makes it as GitHub does when an unknown name is
// put on an issue.
func (s *Server) labelOrNew(r *repository, name string) *label {
	if l := r.label(name); l != nil {
		return l
	}
	l := &label{id: s.id(), name: name, color: "ededed"}
	r.labels = append(r.labels, l)
	return l
}

func (s *Server) addComment(r *repository, i *issue, u *user, via *app, body string) *comment {
	c := &comment{id: s.id(), body: body, user: u, via: via, created: s.now(), updated: s.now()}
	i.comments, i.updated = append(i.comments, c), s.now()
	s.emitComment(r, i, c, "created", u, nil)
	return c
}

func (s *Server) editComment(r *repository, i *issue, c *comment, u *user, body string) {
	if body == c.body {
		return
	}
	from := c.body
	c.body, c.updated = body, s.now()
	c.edits++
	s.emitComment(r, i, c, "edited", u, obj{"changes": obj{"body": obj{"from": from}}})
}

func (s *Server) deleteComment(r *repository, i *issue, c *comment, u *user) {
	i.comments = slices.DeleteFunc(slices.Clone(i.comments), func(x *comment) bool { return x == c })
	s.emitComment(r, i, c, "deleted", u, nil)
}
