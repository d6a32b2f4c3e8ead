package agent

import (
	"errors"
	"strings"
	"sync"
	"testing"
)

func TestNearTheLimitTheModelReportsAndTheLimitHolds(t *testing.T) {
	t.Parallel()
	const always = "rules:\n  - {when: {last: Your budget is nearly used}, answer: {calls: [{name: report, arguments: {verdict: inconclusive}}]}}\n" +
		"  - {name: reads, answer: {calls: [{name: read, arguments: {path: '${p}'}}], usage: {prompt: 900, completion: 100}}, when: {any: '(?P<p>[a-z]+)'}}\n"
	r := newRig(t, strings.Replace(always, "'${p}'", "a.go", 1))
	task := r.task()
	b := NewLocalBudget(Limits{Tokens: 5200}, Amount{})
	task.Budget = b
	done := r.client.Run(t.Context(), task)
	if done.End != Reported || b.Used().Tokens > 5200 {
		t.Errorf("%s: %v, %d tokens used", done.End, done.Err, b.Used().Tokens)
	}
	if n := len(r.server.Requests()); n < 2 {
		t.Errorf("%d requests", n)
	}
	// With less than one call's worth nothing is asked at all.
	task.Budget = NewLocalBudget(Limits{Tokens: 100}, Amount{})
	before := len(r.server.Requests())
	done = r.client.Run(t.Context(), task)
	var limit *LimitError
	if done.End != OutOfBudget || !errors.As(done.Err, &limit) || limit.Unit != "tokens" || len(r.server.Requests()) != before {
		t.Errorf("%s: %v", done.End, done.Err)
	}
}

func TestALocalBudgetIsNeverPassed(t *testing.T) {
	t.Parallel()
	b := NewLocalBudget(Limits{Micros: 1000}, Amount{Micros: 100})
	var wg sync.WaitGroup
	var mu sync.Mutex
	granted := 0
	for range 50 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			r, err := b.Reserve(t.Context(), Amount{Tokens: 10, Micros: 60}, Amount{})
			if err != nil {
				return
			}
			mu.Lock()
			granted++
			mu.Unlock()
			if err := b.Settle(t.Context(), r, Amount{Tokens: 10, Micros: 60}); err != nil {
				t.Error(err)
			}
			if err := b.Settle(t.Context(), r, Amount{Tokens: 99, Micros: 99}); err != nil { // twice
				t.Error(err)
			}
		}()
	}
	wg.Wait()
	if granted != 15 || b.Used() != (Amount{150, 1000}) {
		t.Errorf("%d granted, %+v used", granted, b.Used())
	}
}
