package main

import (
	"errors"
	"testing"
	"time"

	"culprit/internal/agent"
	"culprit/internal/budget"
	"culprit/internal/modeltest"
	"culprit/queue/queuetest"
)

func TestTheExampleOfAModelScriptCanBeRead(t *testing.T) {
	t.Parallel()
	if _, err := modeltest.Parse(exampleScript); err != nil {
		t.Error(err)
	}
}

func TestTheSharedLedgerHoldsTheAgentsLimits(t *testing.T) {
	t.Parallel()
	ledger := budget.Open(queuetest.Embedded(t))
	s := budget.Session("s", budget.Amount{Tokens: 100})
	b := &ledgerBudget{ledger: ledger, scopes: func() []budget.Scope { return []budget.Scope{s, budget.Repository("o/r", time.Now(), budget.Amount{})} }}
	r, err := b.Reserve(t.Context(), agent.Amount{Tokens: 80}, agent.Amount{})
	if err != nil {
		t.Fatal(err)
	}
	var limit *agent.LimitError
	if _, err := b.Reserve(t.Context(), agent.Amount{Tokens: 80}, agent.Amount{}); !errors.As(err, &limit) || limit.Scope != "session" || limit.Limit != 100 {
		t.Errorf("%v", err)
	}
	if err := b.Settle(t.Context(), r, agent.Amount{Tokens: 30}); err != nil {
		t.Fatal(err)
	}
	if used, err := ledger.Used(t.Context(), s); err != nil || used.Tokens != 30 {
		t.Errorf("%+v %v", used, err)
	}
}
