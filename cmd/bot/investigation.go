package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"culprit/internal/agent"
	"culprit/internal/checkout"
	"culprit/internal/experiment"
	"culprit/internal/sandbox"
	"culprit/internal/session"
	"culprit/pipeline"
)

// investigation is one session with everything that it runs on. It is the same
// for a local repository and for one on GitHub; what differs is the publisher.
type investigation struct {
	session   *session.Session
	store     pipeline.Store
	runs      experiment.Store
	models    *models            // nil: none is configured
	shared    agent.SessionStore // of the models' workers; needed beside models
	mirror    *checkout.Mirror
	box       sandbox.Sandbox
	caches    string // folder of this repository's build caches
	ownCode   string // see executor
	publisher pipeline.Publisher
	logs      pipeline.LogSource
	incidents pipeline.Incidents // may be nil
	rebaser   pipeline.Rebaser   // may be nil
	people    pipeline.People    // nil: nobody can answer
	patience  time.Duration
	memory    pipeline.Memory
	clock     pipeline.Clock
	progress  func(line string)
	seen      func(session.Trial, session.Observation)
}

// run plugs the adapters together and takes the session to its end.
func (i investigation) run(ctx context.Context) (err error) {
	s := i.session
	w := workspace{i.mirror}
	lab, err := experiment.NewLab(experiment.Outside{
		History: w, Trees: w, Store: i.runs,
		Executor: executor{box: i.box, caches: i.caches, ownCode: i.ownCode},
		Language: language(newProject(ctx, w, s)),
	}, labOptions(s, func(t session.Trial, o session.Observation) {
		if i.seen != nil {
			i.seen(t, o)
		}
	}))
	if err != nil {
		return err
	}
	// The worktrees go whatever happens to the context.
	defer func() { err = errors.Join(err, lab.Close(context.WithoutCancel(ctx))) }()
	investigator, judge, fixes := i.models.workers(s, lab, w, i.shared)
	return pipeline.Run(ctx, s, pipeline.Deps{
		Workspace: w, Runner: runner{lab}, History: runner{lab},
		Investigator: investigator, Refuter: judge.refuter, Synthesizer: judge.synthesizer, Rewriter: judge.rewriter, Candidates: judge.candidates, Fixer: fixes, Reads: i.models != nil,
		Publisher: i.publisher, Store: i.store, Clock: i.clock, Logs: i.logs, Incidents: i.incidents, Memory: i.memory, People: i.people, Patience: i.patience, Progress: i.progress,
		Rebaser: i.rebaser,
		Machine: machine{executor{box: i.box, caches: i.caches}}.about,
	})
}

// cacheFolder is where builds of one repository are kept, apart from those of
// every other: a poisoned cache must not reach another repository. Code of a
// fork is such another one, though it is looked at for this repository.
func cacheFolder(data string, m *checkout.Mirror, s *session.Session) string {
	name := filepath.Base(m.Dir())
	if s.Source.PR > 0 && s.Source.Ref == "" {
		name = fmt.Sprintf("%s-fork-%d", name, s.Source.PR)
	}
	return filepath.Join(data, "builds", name)
}

// clock is the wall clock, or a test's.
type clock func() time.Time

func (c clock) Now() time.Time { return c() }

// checkoutError says what to do about a repository that cannot be used.
func checkoutError(path string, err error) error {
	switch {
	case errors.Is(err, checkout.ErrNotRepository):
		return &session.UserError{Code: "not-a-repository", What: fmt.Sprintf("%s is not a git repository", path), Do: "give the path of a clone", Err: err}
	case errors.Is(err, checkout.ErrNoCommits):
		return &session.UserError{Code: "no-commits", What: fmt.Sprintf("%s has no commit yet", path), Do: "commit what fails first", Err: err}
	}
	return err
}
