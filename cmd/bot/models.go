package main

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"culprit/internal/agent"
	"culprit/internal/agent/tools"
	"culprit/internal/budget"
	"culprit/internal/checkout"
	"culprit/internal/config"
	"culprit/internal/experiment"
	"culprit/internal/redact"
	"culprit/internal/session"
	"culprit/internal/toolchain"
	"culprit/pipeline"
)

var (
	_ tools.Repo            = workspace{}
	_ tools.Runner          = (*experiment.Lab)(nil)
	_ pipeline.Investigator = investigators{}
	_ pipeline.Refuter      = (*agent.Refuter)(nil)
	_ pipeline.Synthesizer  = (*agent.Synthesizer)(nil)
	_ pipeline.Rewriter     = (*agent.Fixer)(nil)
	_ pipeline.Fixer        = fixers{}
	_ agent.Budget          = (*ledgerBudget)(nil)
)

// models are what a process asks. A nil one is a process without a model:
// everything is done by experiment.
type models struct {
	set      config.Models
	client   *agent.Client
	ledger   *budget.Ledger // nil: the limits of the session alone, in this process
	redactor *redact.Redactor
	now      func() time.Time
}

// openModels returns nil when no model is configured.
func openModels(set config.Models, ledger *budget.Ledger, red *redact.Redactor, now func() time.Time) (*models, error) {
	if !set.Configured() {
		return nil, nil
	}
	red.AddKind("model-key", set.APIKey)
	client, err := agent.New(agent.Settings{
		BaseURL: set.BaseURL, APIKey: set.APIKey, Roles: set.Roles, Prices: set.Prices, Now: now,
		HTTP: &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()},
	})
	if err != nil {
		return nil, err
	}
	return &models{set, client, ledger, red, now}, nil
}

func (m *models) close() {
	if m != nil {
		m.client.Close()
	}
}

// desk is what the workers of a session have in common.
func (m *models) desk(s *session.Session, lab *experiment.Lab, w workspace, store agent.SessionStore) agent.Desk {
	return agent.Desk{
		Repo: w, Runner: lab, Store: store, Context: m.set.Context, Redact: m.redactor.String, Now: m.now, Budget: m.budget(s),
		Reproduction: func(ctx context.Context, s *session.Session) (session.Trial, error) {
			return experiment.Reproduction(ctx, lab.History, s)
		},
		Render: lab.Render,
	}
}

func (m *models) budget(s *session.Session) agent.Budget {
	if m.ledger == nil {
		used := agent.Amount{Tokens: int64(s.Budget.Tokens), Micros: int64(s.Budget.Cost * 1_000_000)}
		return agent.NewLocalBudget(agent.Limits(m.set.Session), used)
	}
	return &ledgerBudget{ledger: m.ledger, scopes: func() []budget.Scope {
		now := m.now()
		return []budget.Scope{
			budget.Session(s.ID, budget.Amount(m.set.Session)),
			budget.Repository(s.Source.Repository, now, budget.Amount(m.set.Repository)),
			budget.Installation(s.Source.Installation, now, budget.Amount(m.set.Installation)),
		}
	}}
}

// ledgerBudget plugs the ledger that all workers share into the agent.
type ledgerBudget struct {
	ledger *budget.Ledger
	scopes func() []budget.Scope
	open   sync.Map // call → its scopes: a day may end while it is made
}

// Reserve implements agent.Budget.
func (b *ledgerBudget) Reserve(ctx context.Context, want, spare agent.Amount) (agent.Reservation, error) {
	r := agent.Reservation{ID: rand.Text(), Want: want}
	scopes := b.scopes()
	err := b.ledger.Reserve(ctx, r.ID, budget.Amount(want), budget.Amount(spare), scopes)
	var over *budget.Exceeded
	if errors.As(err, &over) {
		return r, &agent.LimitError{Scope: over.Scope.Kind, Unit: over.Unit, Used: over.Used, Limit: over.Limit}
	}
	if err == nil {
		b.open.Store(r.ID, scopes)
	}
	return r, err
}

// Settle implements agent.Budget.
func (b *ledgerBudget) Settle(ctx context.Context, r agent.Reservation, used agent.Amount) error {
	scopes, ok := b.open.LoadAndDelete(r.ID)
	if !ok {
		return nil
	}
	return b.ledger.Settle(ctx, r.ID, budget.Amount(used), scopes.([]budget.Scope))
}

// Patch is a change as people read it.
func (w workspace) Patch(ctx context.Context, from, to string, paths []string) ([]byte, error) {
	return w.Mirror.Diff(ctx, from, to, checkout.DiffOptions{Unified: 3, Paths: paths})
}

// Search finds lines of a commit.
func (w workspace) Search(ctx context.Context, rev, pattern string, fixed bool, paths []string) (string, bool, error) {
	return w.Grep(ctx, rev, pattern, checkout.GrepOptions{Fixed: fixed, Paths: paths})
}

// investigators test each hypothesis in the way of its kind: by a model's
// reading, or by an experiment.
type investigators struct {
	*experiment.Investigator
	reading *agent.Investigator
}

// Investigate implements pipeline.Investigator.
func (v investigators) Investigate(ctx context.Context, s *session.Session, t session.Task) session.Finding {
	reads := slices.ContainsFunc(s.Hypotheses, func(h session.Hypothesis) bool { return h.ID == t.ID && h.Kind == session.Reading })
	if reads && v.reading != nil {
		return v.reading.Investigate(ctx, s, t)
	}
	return v.Investigator.Investigate(ctx, s, t)
}

// fixers let a model write the fix, and take the smallest revert where it has
// none that holds.
type fixers struct {
	fixer
	writing *agent.Fixer
}

// Fix implements pipeline.Fixer.
func (f fixers) Fix(ctx context.Context, s *session.Session, t session.Task) session.FixReport {
	if f.writing == nil {
		return f.fixer.Fix(ctx, s, t)
	}
	if old := s.Fixes[t.ID]; old != nil && len(old.Hunks) > 0 && !agent.Wrote(old) {
		return f.fixer.Fix(ctx, s, t) // no model's change held when it was made
	}
	written := f.writing.Fix(ctx, s, t)
	if written.Result == session.Fixed || s.RootCause == nil || s.RootCause.Kind == session.Reading || !slices.Contains(t.ContextFrom, s.RootCause.Task) {
		return written
	}
	reverted := f.fixer.Fix(ctx, s, t)
	reverted.Spent = written.Spent
	if reverted.Result != session.Fixed {
		reverted.Findings = strings.TrimSpace(reverted.Findings + " No model's change held either: " + written.Findings)
	}
	return reverted
}

// workers are what investigates and fixes in a session, and what looks at the
// findings again (judges, empty without a model). They share one budget.
func (m *models) workers(s *session.Session, lab *experiment.Lab, w workspace, store agent.SessionStore) (v investigators, j judges, f fixers) {
	v, f = investigators{Investigator: experiment.NewInvestigator(lab)}, fixers{fixer: fixer{experiment.NewFixer(lab), lab}}
	if m != nil {
		d := m.desk(s, lab, w, store)
		v.reading, f.writing = agent.NewInvestigator(m.client, d), agent.NewFixer(m.client, d, toolchain.IsTestFile)
		j = judges{agent.NewRefuter(m.client, d), agent.NewSynthesizer(m.client, d), f.writing, m.set.Candidates}
	}
	return v, j, f
}

// judges look at what others found, and write more fixes to choose from.
type judges struct {
	refuter     pipeline.Refuter
	synthesizer pipeline.Synthesizer
	rewriter    pipeline.Rewriter
	candidates  int
}
