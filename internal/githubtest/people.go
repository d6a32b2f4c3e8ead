package githubtest

import (
	"fmt"
	"strings"
)

// AddMember makes a person (made when unknown) a member of an organisation.
// Members may read all its repositories. Whoever has a role on a repository
// without being a member is an outside collaborator.
func (s *Server) AddMember(org, login string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.users[strings.ToLower(org)]
	if o == nil || o.kind != "Organization" {
		return fmt.Errorf("add a member: no organisation %q", org)
	}
	if o.members == nil {
		o.members = map[*user]bool{}
	}
	o.members[s.userOrNew(login)] = true
	return nil
}

// role is what a person may do in a repository.
func (r *repository) role(u *user) string {
	if u == nil {
		return "none"
	}
	if role, ok := r.permissions[u.login]; ok {
		return role
	}
	if !r.private || r.owner.members[u] {
		return "read"
	}
	return "none"
}

// association is author_association of an issue or comment.
func (r *repository) association(u *user) string {
	switch role := r.permissions[u.login]; {
	case u == r.owner:
		return "OWNER"
	case r.owner.members[u]:
		return "MEMBER"
	case role != "" && role != "none":
		return "COLLABORATOR"
	case r.contributors[u]:
		return "CONTRIBUTOR"
	}
	return "NONE"
}

// pullAssociation is association for the author of a pull request: there
// GitHub says of a newcomer that it is the first time.
func (r *repository) pullAssociation(u *user) string {
	if a := r.association(u); a != "NONE" {
		return a
	}
	return "FIRST_TIME_CONTRIBUTOR"
}
