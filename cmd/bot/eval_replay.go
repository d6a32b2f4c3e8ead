package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"culprit/internal/checkout"
	"culprit/internal/eval"
	"culprit/internal/patch"
	"culprit/internal/sandbox"
	"culprit/internal/session"
)

// replay takes cases of `bot eval` through the pipeline of `bot debug` (BX6).
//
// What keeps the truth from a session: it works on an excerpt of the
// repository that holds the failing revision and its history; files that it may
// see of a later one are put on top as a commit of their own; it knows no
// earlier session; and the case's ID, which may say too much, is nowhere in it.
type replay struct {
	app      *App
	flags    evalFlags
	dir      string
	cache    *checkout.Cache
	box      sandbox.Sandbox
	models   *models
	redact   func([]byte) []byte
	progress func(id, line string)
}

var _ eval.Runner = (*replay)(nil)

// excerptAuthor makes the commit that carries a case's overlay.
var excerptAuthor = checkout.Signature{Name: "Nobody", Email: "nobody@project.example"}

// Run implements eval.Runner.
func (r *replay) Run(ctx context.Context, c eval.Case) (o eval.Observed, err error) {
	full, err := r.open(ctx, c)
	if err != nil {
		return o, &eval.NotRunError{Err: err}
	}
	defer func() { err = errors.Join(err, full.Close()) }()
	known, err := knownOf(ctx, full, c)
	if err != nil {
		return o, &eval.NotRunError{Err: err}
	}
	o.Known = known.Known
	mirror, s, err := r.hide(ctx, full, c, known)
	if err != nil {
		return o, &eval.NotRunError{Err: err}
	}
	defer func() { err = errors.Join(err, mirror.Close()) }()
	if err := r.session(ctx, c, mirror, s, &o); err != nil {
		return o, err
	}
	if p, ok := eval.Named(s.RootCause); ok {
		if o.Place, err = carried(ctx, mirror, p, s); err != nil {
			return o, fmt.Errorf("find the named lines at the failing revision: %w", err)
		}
	}
	o.HeldOut, o.Why, err = r.heldOut(ctx, full, c, known, s, cacheFolder(r.dir, mirror, s))
	return o, err
}

// known is the truth with what a held-out test needs of it.
type known struct {
	eval.Known
	bad   session.Commit
	good  string         // told to the session
	fix   session.Commit // without an ID: the truth has none
	patch []byte         // in place of fix
}

// knownOf resolves what the case says.
func knownOf(ctx context.Context, full *checkout.Mirror, c eval.Case) (k known, err error) {
	resolve := func(rev string) session.Commit {
		if rev == "" || err != nil {
			return session.Commit{}
		}
		var commit session.Commit
		commit, err = workspace{full}.Resolve(ctx, rev)
		return commit
	}
	k.bad, k.good, k.Culprit, k.fix = resolve(c.Bad), resolve(c.Good).SHA, resolve(c.Truth.Culprit).SHA, resolve(c.Truth.Fix)
	k.Result = session.Result(c.Truth.Result)
	if err != nil {
		return k, err
	}
	if k.Culprit != "" {
		within, err := full.IsAncestor(ctx, k.Culprit, k.bad.SHA)
		if err != nil {
			return k, err
		}
		if !within {
			return k, fmt.Errorf("the true culprit %.8s is not part of the failing revision %.8s", k.Culprit, k.bad.SHA)
		}
	}
	if k.patch, err = c.Patch(); err != nil {
		return k, err
	}
	for _, text := range c.Truth.Cause {
		p, err := eval.ParsePlace(text)
		if err != nil {
			return k, err
		}
		k.Places = append(k.Places, p)
	}
	if len(k.Places) > 0 {
		return k, nil
	}
	k.Places, err = fixPlaces(ctx, full, k)
	return k, err
}

// fixPlaces are the lines that the true fix changes, at the failing revision.
func fixPlaces(ctx context.Context, full *checkout.Mirror, k known) ([]eval.Place, error) {
	diff, base := k.patch, k.bad.SHA
	switch {
	case len(k.fix.Parents) > 0:
		base = k.fix.Parents[0]
		var err error
		if diff, err = full.Diff(ctx, base, k.fix.SHA, checkout.DiffOptions{}); err != nil {
			return nil, err
		}
	case diff == nil:
		return nil, nil
	}
	hunks, err := patch.Split(diff)
	if err != nil {
		return nil, fmt.Errorf("read the true fix: %w", err)
	}
	var out []eval.Place
	for _, p := range eval.Changed(hunks) {
		if p, err = moved(ctx, full, p, base, k.bad.SHA); err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// moved takes a place from one commit to another; a file that is not there any
// more keeps its name.
func moved(ctx context.Context, m *checkout.Mirror, p eval.Place, from, to string) (eval.Place, error) {
	if from == to {
		return p, nil
	}
	before, err := m.Show(ctx, from, p.File)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	changed, err := m.Changed(ctx, from, to)
	if err != nil {
		return p, err
	}
	file := p.File
	for _, c := range changed {
		if c.OldPath == p.File && c.Path != p.File {
			file = c.Path
		}
	}
	after, err := m.Show(ctx, to, file)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	p.File = file
	return p.Carry(before, after), nil
}

// carried is where the lines that a root cause names in its culprit's tree
// stand at the failing revision.
func carried(ctx context.Context, m *checkout.Mirror, p eval.Place, s *session.Session) (eval.Place, error) {
	if s.RootCause.Culprit == nil || s.Bad == nil {
		return p, nil
	}
	return moved(ctx, m, p, s.RootCause.Culprit.SHA, s.Bad.SHA)
}

// hide makes the repository that the session may see, and the session.
func (r *replay) hide(ctx context.Context, full *checkout.Mirror, c eval.Case, k known) (mirror *checkout.Mirror, s *session.Session, err error) {
	dir := filepath.Join(r.dir, "cases", c.ID, "project")
	if err := full.Excerpt(ctx, k.bad.SHA, dir); err != nil {
		return nil, nil, err
	}
	mirror, err = r.cache.OpenLocal(ctx, dir)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, mirror.Close())
		}
	}()
	rev, overlay, err := overlaid(ctx, full, mirror, c.Overlay, k.bad)
	if err != nil {
		return nil, nil, err
	}
	text, err := c.Text()
	if err != nil {
		return nil, nil, fmt.Errorf("read the symptom: %w", err)
	}
	f := debugFlags{
		test: c.Test, setup: c.Setup, good: k.good, bad: k.bad.SHA, mode: r.flags.mode, yes: true,
		concurrency: 5, maxRuns: r.flags.maxRuns, timeout: r.flags.timeout, runTimeout: r.flags.runTimeout,
	}
	for _, path := range overlay {
		f.overlay = append(f.overlay, rev+":"+path)
	}
	if s, err = r.app.debugSession(f, dir); err != nil {
		return nil, nil, err
	}
	s.Symptom = symptomOf(text)
	if c.Repository != "" {
		s.Source.Repository = c.Repository
	}
	return mirror, s, localSettings(ctx, mirror, s, r.flags.mode)
}

// overlaid puts files of later revisions on top of the failing one in the
// session's repository, as a commit that holds nothing else of them.
func overlaid(ctx context.Context, full, mirror *checkout.Mirror, entries []string, bad session.Commit) (rev string, paths []string, err error) {
	edits, err := editsOf(ctx, full, entries)
	if err != nil || len(edits) == 0 {
		return "", nil, err
	}
	who := excerptAuthor
	who.When = bad.Date
	rev, err = mirror.Commit(ctx, checkout.NewCommit{Parent: bad.SHA, Edits: edits, Message: "Files that show the failure\n", Author: who, Committer: who})
	if errors.Is(err, checkout.ErrNoChange) {
		rev, err = bad.SHA, nil
	}
	for _, e := range edits {
		paths = append(paths, e.Path)
	}
	return rev, paths, err
}

// editsOf reads REV:PATH entries.
func editsOf(ctx context.Context, full *checkout.Mirror, entries []string) ([]session.Edit, error) {
	var out []session.Edit
	for _, text := range entries {
		entry, err := eval.ParseOverlay(text)
		if err != nil {
			return nil, err
		}
		commit, err := workspace{full}.Resolve(ctx, entry.Rev)
		if err != nil {
			return nil, err
		}
		content, mode, err := full.ShowMode(ctx, commit.SHA, entry.Path)
		if err != nil {
			return nil, fmt.Errorf("overlay %s: %w", text, err)
		}
		out = append(out, session.Edit{Path: entry.Path, Content: content, Mode: mode})
	}
	return out, nil
}

// endTime is what a session may take beyond its limit to come to its end.
const endTime = 5 * time.Minute

// session runs the session to its end.
func (r *replay) session(ctx context.Context, c eval.Case, mirror *checkout.Mirror, s *session.Session, o *eval.Observed) (err error) {
	began := r.app.Now()
	title := s.Symptom.Title
	if title == "" {
		title = s.Source.Repository
	}
	folder, id, err := session.Create(filepath.Join(r.dir, "sessions", c.ID), session.NewID(began, session.DefaultZone, title), r.redact)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, folder.Close()) }()
	s.ID, o.Session, o.Folder = id, s, folder.Dir()
	limit := r.flags.timeout + endTime
	within, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the session did not end within %s", limit))
	defer cancel()
	err = investigation{
		session: s, store: folder, runs: folder, models: r.models, shared: folder, mirror: mirror, box: r.box, caches: cacheFolder(r.dir, mirror, s),
		publisher: silent{}, clock: clock(r.app.Now), progress: func(line string) { r.progress(c.ID, line) },
	}.run(within)
	o.Seconds = r.app.Now().Sub(began).Seconds()
	if err != nil && within.Err() != nil && ctx.Err() == nil {
		return context.Cause(within)
	}
	return err
}
