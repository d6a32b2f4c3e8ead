package githubtest

import (
	"errors"
	"slices"
	"strings"
)

// Questions about how commits descend from one another. Nearly all are about
// a few commits in a row, which are walked here; git answers the rest.

// maxWalk bounds a walk; beyond that git is faster.
const maxWalk = 64

var errFarAway = errors.New("not in a short line of commits")

// line walks from head back to base along commits with one parent. It returns
// the commits after base, newest first, and whether base was met; when it was
// not, the line ended at a first commit. Where the history is long or branched
// the error is errFarAway.
func (s *Server) line(r *repository, base, head string) (list []commitInfo, met bool, err error) {
	for sha := head; sha != base; {
		c, err := s.readCommit(r, sha)
		switch {
		case err != nil:
			return nil, false, err
		case len(c.parents) > 1, len(list) == maxWalk:
			return nil, false, errFarAway
		}
		list = append(list, c)
		if len(c.parents) == 0 {
			return list, false, nil
		}
		sha = c.parents[0]
	}
	return list, true, nil
}

// isAncestor says whether b is a or descends from it.
func (s *Server) isAncestor(r *repository, a, b string) bool {
	if _, met, err := s.line(r, a, b); err == nil {
		return met
	}
	_, err := s.git(r, "merge-base", "--is-ancestor", a, b)
	return err == nil
}

// mergeBase is the best common ancestor of two commits.
func (s *Server) mergeBase(r *repository, a, b string) (string, error) {
	switch {
	case s.isAncestor(r, a, b):
		return a, nil
	case s.isAncestor(r, b, a):
		return b, nil
	}
	out, err := s.gitOnce(r, "merge-base", a, b)
	return strings.TrimSpace(out), err
}

// between lists the commits that are in head and not in base, oldest first.
func (s *Server) between(r *repository, base, head string) ([]commitInfo, error) {
	if list, met, err := s.line(r, base, head); err == nil && met {
		slices.Reverse(list)
		return list, nil
	}
	return s.logCommits(r, "--reverse", base+".."+head, "--")
}

// mergeState says whether two commits merge cleanly and gives the merge
// commit's tree. Unknown (nil) when this git cannot tell.
func (s *Server) mergeState(r *repository, base, head string) (clean *bool, tree string) {
	yes, no := true, false
	if s.isAncestor(r, base, head) {
		if c, err := s.readCommit(r, head); err == nil {
			return &yes, c.tree
		}
	}
	out, err := s.git(r, "merge-tree", "--write-tree", base, head)
	switch {
	case err == nil:
		return &yes, strings.TrimSpace(out)
	case exitCode(err) == 1:
		return &no, ""
	}
	return nil, ""
}
