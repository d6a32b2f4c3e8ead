package budget_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"culprit/internal/budget"
	"culprit/queue/queuetest"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// each runs a test on an embedded and on a real Redis.
func each(t *testing.T, test func(t *testing.T, l *budget.Ledger)) {
	for name, start := range map[string]func(testing.TB) *redis.Client{
		"embedded": queuetest.Embedded, "redis-server": func(tb testing.TB) *redis.Client { return queuetest.Real(tb) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, budget.Open(start(t)))
		})
	}
}

func TestACallCountsInAllScopesAndTheSmallestLimitHolds(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, l *budget.Ledger) {
		scopes := []budget.Scope{
			budget.Session("s1", budget.Amount{Tokens: 1000}),
			budget.Repository("acme/shop", noon, budget.Amount{Tokens: 1500}),
			budget.Installation(7, noon, budget.Amount{Micros: 400}),
		}
		reserve := func(id string, tokens, micros int64) error {
			return l.Reserve(t.Context(), id, budget.Amount{Tokens: tokens, Micros: micros}, budget.Amount{}, scopes)
		}
		if err := reserve("c1", 600, 100); err != nil {
			t.Fatal(err)
		}
		var ex *budget.Exceeded
		if err := reserve("c2", 600, 100); !errors.As(err, &ex) || ex.Scope.Kind != "session" || ex.Unit != "tokens" || ex.Used != 600 || ex.Limit != 1000 {
			t.Errorf("%v", err)
		}
		if err := l.Settle(t.Context(), "c1", budget.Amount{Tokens: 200, Micros: 90}, scopes); err != nil {
			t.Fatal(err)
		}
		if err := reserve("c3", 600, 400); !errors.As(err, &ex) || ex.Scope.Kind != "installation" || ex.Unit != "money" {
			t.Errorf("%v", err)
		}
		for _, s := range scopes {
			if got, err := l.Used(t.Context(), s); err != nil || got != (budget.Amount{Tokens: 200, Micros: 90}) {
				t.Errorf("%s: %+v %v", s.Kind, got, err)
			}
		}
		// What is to be spared must fit too.
		if err := l.Reserve(t.Context(), "c4", budget.Amount{Tokens: 500}, budget.Amount{Tokens: 400}, scopes); !errors.As(err, &ex) {
			t.Errorf("%v", err)
		}
	})
}

func TestRepeatingAStepChangesNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, l *budget.Ledger) {
		s := []budget.Scope{budget.Session("s1", budget.Amount{Tokens: 100})}
		for range 3 {
			if err := l.Reserve(t.Context(), "c1", budget.Amount{Tokens: 60}, budget.Amount{}, s); err != nil {
				t.Fatal(err)
			}
		}
		for range 3 {
			if err := l.Settle(t.Context(), "c1", budget.Amount{Tokens: 10, Micros: 1}, s); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := l.Used(t.Context(), s[0]); err != nil || got != (budget.Amount{Tokens: 10, Micros: 1}) {
			t.Errorf("%+v %v", got, err)
		}
	})
}

func TestANewDayBeginsWithNothingUsed(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, l *budget.Ledger) {
		for i, now := range []time.Time{noon, noon.Add(24 * time.Hour)} {
			s := []budget.Scope{budget.Repository("acme/shop", now, budget.Amount{Tokens: 100})}
			if err := l.Reserve(t.Context(), fmt.Sprint(i), budget.Amount{Tokens: 100}, budget.Amount{}, s); err != nil {
				t.Errorf("day %d: %v", i+1, err)
			}
		}
	})
}

// Whatever many workers do at once, no limit is passed.
func TestManyWorkersTogetherNeverPassALimit(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, l *budget.Ledger) {
		const limit = 1000
		shared := budget.Repository("acme/shop", noon, budget.Amount{Tokens: limit})
		var wg sync.WaitGroup
		var mu sync.Mutex
		spent := int64(0)
		for w := range 8 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				scopes := []budget.Scope{budget.Session(fmt.Sprint(w), budget.Amount{}), shared}
				for i := range 10 {
					id := fmt.Sprintf("%d-%d", w, i)
					if l.Reserve(t.Context(), id, budget.Amount{Tokens: 50}, budget.Amount{}, scopes) != nil {
						continue
					}
					used := int64(10 + (w+i)%40)
					if w == 0 {
						continue // killed before it settles
					}
					mu.Lock()
					spent += used
					mu.Unlock()
					if err := l.Settle(t.Context(), id, budget.Amount{Tokens: used}, scopes); err != nil {
						t.Error(err)
					}
				}
			}()
		}
		wg.Wait()
		got, err := l.Used(t.Context(), shared)
		if err != nil || got.Tokens > limit || got.Tokens < spent {
			t.Errorf("%d counted, %d spent, limit %d: %v", got.Tokens, spent, limit, err)
		}
	})
}

// Any sequence of steps counts what a plain sum counts.
func TestTheCountIsTheSumOfWhatIsOpenAndWhatWasUsed(t *testing.T) {
	t.Parallel()
	l, n := budget.Open(queuetest.Embedded(t)), 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		s := budget.Session(fmt.Sprint("s", n), budget.Amount{Tokens: rapid.Int64Range(0, 500).Draw(rt, "limit")})
		open, sum := map[string]int64{}, int64(0)
		for i := range rapid.IntRange(1, 20).Draw(rt, "steps") {
			id := fmt.Sprintf("%d-%d", n, rapid.IntRange(0, 5).Draw(rt, "call"))
			amount := rapid.Int64Range(0, 200).Draw(rt, "tokens")
			if held, ok := open[id]; ok && i%2 == 0 {
				if err := l.Settle(t.Context(), id, budget.Amount{Tokens: amount}, []budget.Scope{s}); err != nil {
					rt.Fatal(err)
				}
				delete(open, id)
				sum += amount - held
			} else if err := l.Reserve(t.Context(), id, budget.Amount{Tokens: amount}, budget.Amount{}, []budget.Scope{s}); !ok {
				fits := s.Limits.Tokens == 0 || sum+amount <= s.Limits.Tokens
				if fits != (err == nil) {
					rt.Fatalf("reserve %d at %d of %d: %v", amount, sum, s.Limits.Tokens, err)
				}
				if err == nil {
					open[id] = amount
					sum += amount
				}
			}
			got, err := l.Used(t.Context(), s)
			if err != nil || got.Tokens != sum {
				rt.Fatalf("%d counted, want %d: %v", got.Tokens, sum, err)
			}
		}
	})
}
