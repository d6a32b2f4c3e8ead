package pipeline

import (
	"context"
	"fmt"

	"culprit/internal/session"
)

// checkout resolves the revisions that the session is about. Nothing is ever
// checked out in the repository that was given: runs use private worktrees.
func checkout(ctx context.Context, e *env) (Outcome, error) {
	s := e.s
	rev := s.Flags.Bad
	if rev == "" {
		rev = s.Source.SHA
	}
	if rev == "" {
		rev = "HEAD"
	}
	bad, err := e.Workspace.Resolve(ctx, rev)
	if err != nil {
		return nil, err
	}
	s.Bad = &bad
	if s.Source.SHA == "" {
		s.Source.SHA = bad.SHA
	}
	if s.Flags.Good != "" {
		// Resolved now, so that a mistyped revision is told before work begins.
		if _, err := e.Workspace.Resolve(ctx, s.Flags.Good); err != nil {
			return nil, err
		}
	}
	for i, o := range s.Flags.Overlay {
		c, err := e.Workspace.Resolve(ctx, o.Rev)
		if err != nil {
			return nil, err
		}
		if _, err := e.Workspace.Show(ctx, c.SHA, o.Path); err != nil {
			return nil, &session.UserError{
				Code: "unknown-overlay", What: fmt.Sprintf("--overlay %s:%s: that revision has no such file", o.Rev, o.Path),
				Do: "check the path, from the repository's root, with git ls-tree", Err: err,
			}
		}
		s.Flags.Overlay[i].Rev = c.SHA
	}
	return Advance{fmt.Sprintf("failing revision is %s %q", bad.Short(), bad.Subject)}, nil
}
