package main

import (
	"context"
	"io/fs"
	"sync"

	"culprit/internal/session"
	"culprit/internal/toolchain"
)

// project is the failing commit as the toolchains see it: its files and the
// kit that the reproduction uses. It is read once and used by all runs.
type project struct {
	s    *session.Session
	tree func() fs.FS // nil until the failing commit is known

	mu     sync.Mutex
	kits   map[string]toolchain.Kit // by Reproduction.Toolchain
	placed func(string) (string, bool)
}

func newProject(ctx context.Context, w workspace, s *session.Session) *project {
	return &project{s: s, kits: map[string]toolchain.Kit{}, tree: func() fs.FS {
		if s.Bad == nil {
			return nil
		}
		sha := s.Bad.SHA
		files, err := w.List(ctx, sha)
		if err != nil {
			return nil // the run that needs it fails by the same error
		}
		return toolchain.FS(files, func(name string) ([]byte, error) { return w.Show(ctx, sha, name) })
	}}
}

// kit is the toolchain of the session's reproduction.
func (p *project) kit() toolchain.Kit {
	r := p.s.Reproduction
	if r == nil {
		return toolchain.Kit{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if k, ok := p.kits[r.Toolchain]; ok {
		return k
	}
	kit := toolchain.Kit{Name: r.Toolchain}
	tree := p.tree()
	if tree == nil {
		return kit
	}
	var hint []session.Failure
	if r.Failure != nil {
		hint = append(hint, *r.Failure)
	}
	for i, k := range toolchain.Detect(tree, hint) {
		if i == 0 || k.Name == r.Toolchain {
			kit = k
		}
		if k.Name == r.Toolchain {
			break
		}
	}
	p.kits[r.Toolchain] = kit
	return kit
}

// place maps a path that a test runner prints to one of the repository.
func (p *project) place(name string) (string, bool) {
	p.mu.Lock()
	if p.placed == nil {
		tree := p.tree()
		if tree == nil {
			p.mu.Unlock()
			return name, true
		}
		p.placed = toolchain.Files(tree)
	}
	placed := p.placed
	p.mu.Unlock()
	return placed(name)
}
