package pipeline

import (
	"context"
	"fmt"
	"path"

	"culprit/internal/session"
)

// suspectsShown bounds the commits that archaeology lists.
const suspectsShown = 10

// archaeology reads the history before any hypothesis (OD4): who changed the
// files in the failure, and which commit is the last known good.
func archaeology(ctx context.Context, e *env) (Outcome, error) {
	s := e.s
	found, err := e.History.FindGood(ctx, s)
	if err != nil {
		return nil, err
	}
	found.Files = failureFiles(s)
	if found.Suspects, err = suspects(ctx, e, found); err != nil {
		return nil, err
	}
	first := s.Archaeology == nil
	s.Archaeology = &found
	if first {
		now := e.Clock.Now().UTC()
		for _, x := range found.Suspects {
			e.trail(session.Entry{
				TS: now, Phase: "archaeology", Type: "suspect", SHA: x.Commit.SHA, Author: x.Commit.Author,
				Date: x.Commit.Date, Message: x.Commit.Subject, Relevance: x.Relevance, Content: x.Why,
			})
		}
	}
	if found.Good == nil {
		return Advance{"no older commit is known to pass: " + boundary(found)}, nil
	}
	return Advance{fmt.Sprintf("%s passes (%s), %d commits in question", found.Good.Short(), found.GoodHow, found.Candidates)}, nil
}

func boundary(a session.Archaeology) string {
	switch a.Boundary {
	case "root":
		return "it fails back to the first commit"
	case "untestable":
		return "older commits cannot be tested here"
	case "limit":
		return "the search limit was reached"
	}
	return "there is no history"
}

// failureFiles are the files that the failure names and those that carry the
// reproduction.
func failureFiles(s *session.Session) []string {
	var out []string
	seen := map[string]bool{}
	add := func(f string) {
		if f != "" && !seen[f] && !path.IsAbs(f) {
			seen[f] = true
			out = append(out, f)
		}
	}
	r := s.Reproduction
	if r.Failure != nil {
		add(r.Failure.File)
		for _, fr := range r.Failure.Stack {
			add(fr.File)
		}
	}
	for _, o := range r.Overlay {
		add(o.Path)
	}
	return out
}

// suspects lists recent commits near the failure: high when they touch a file
// that the failure names, medium when they touch its folder.
func suspects(ctx context.Context, e *env, a session.Archaeology) ([]session.Suspect, error) {
	var out []session.Suspect
	seen := map[string]bool{}
	collect := func(paths []string, rel session.Relevance, why string) error {
		if len(paths) == 0 || len(out) >= suspectsShown {
			return nil
		}
		commits, err := e.Workspace.Log(ctx, e.s.Bad.SHA, LogOptions{Paths: paths, Limit: suspectsShown})
		if err != nil {
			return err
		}
		for _, c := range commits {
			if a.Good != nil && c.SHA == a.Good.SHA {
				break // what is older was there when it passed
			}
			if !seen[c.SHA] && len(out) < suspectsShown {
				seen[c.SHA] = true
				out = append(out, session.Suspect{Commit: c, Relevance: rel, Why: why, Files: paths})
			}
		}
		return nil
	}
	if f := e.s.Reproduction.Failure; f != nil && f.File != "" && f.Line > 0 {
		blamed, err := e.Workspace.Blame(ctx, e.s.Bad.SHA, f.File, f.Line, f.Line)
		if err == nil && len(blamed) > 0 {
			seen[blamed[0].SHA] = true
			out = append(out, session.Suspect{Commit: blamed[0], Relevance: session.Medium, Why: "wrote " + f.Location(), Files: []string{f.File}})
		}
	}
	if err := collect(a.Files, session.High, "touches a file of the failure"); err != nil {
		return nil, err
	}
	var dirs []string
	for _, f := range a.Files {
		if d := path.Dir(f); d != "." {
			dirs = append(dirs, d)
		}
	}
	if err := collect(dirs, session.Medium, "touches the folder of the failure"); err != nil {
		return nil, err
	}
	return out, nil
}
