package agent

import (
	"context"
	"fmt"
	"sync"
)

// micro is how money is counted: millionths of the currency's unit, rounded up.
const micro = 1_000_000

// Amount is what a call uses: tokens, and money in millionths of the
// currency's unit.
type Amount struct {
	Tokens int64
	Micros int64
}

// Budget is asked before each call and told after it. An implementation must
// be safe for concurrent use, by several processes where it is shared.
type Budget interface {
	// Reserve counts want as used, if together with spare it still fits into
	// every limit. The error is a *LimitError when it does not.
	Reserve(ctx context.Context, want, spare Amount) (Reservation, error)
	// Settle replaces what was reserved by what was used. One that is never
	// settled stays counted: the call was probably made. Settling twice
	// changes nothing.
	Settle(ctx context.Context, r Reservation, used Amount) error
}

// Reservation is an amount that is set aside for one call.
type Reservation struct {
	ID   string
	Want Amount
}

// LimitError says which limit a call would pass.
type LimitError struct {
	Scope string // session, repository, installation
	Unit  string // tokens or money
	Used  int64  // reserved amounts included
	Limit int64
}

func (e *LimitError) Error() string {
	if e.Unit == "money" {
		return fmt.Sprintf("the limit on money for the %s is reached: %.4f of %.4f used", e.Scope, float64(e.Used)/micro, float64(e.Limit)/micro)
	}
	return fmt.Sprintf("the limit on tokens for the %s is reached: %d of %d used", e.Scope, e.Used, e.Limit)
}

// Limits of one scope; 0 means none.
type Limits struct{ Tokens, Micros int64 }

// LocalBudget holds the limits of one session within one process: for local
// use, and for what no other process can spend.
type LocalBudget struct {
	mu     sync.Mutex
	limits Limits
	used   Amount
	open   map[string]Amount
	n      int
}

// NewLocalBudget returns a budget of which used is spent already.
func NewLocalBudget(l Limits, used Amount) *LocalBudget {
	return &LocalBudget{limits: l, used: used, open: map[string]Amount{}}
}

var _ Budget = (*LocalBudget)(nil)

// Reserve implements Budget.
func (b *LocalBudget) Reserve(_ context.Context, want, spare Amount) (Reservation, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if l := b.limits.Tokens; l > 0 && b.used.Tokens+want.Tokens+spare.Tokens > l {
		return Reservation{}, &LimitError{"session", "tokens", b.used.Tokens, l}
	}
	if l := b.limits.Micros; l > 0 && b.used.Micros+want.Micros+spare.Micros > l {
		return Reservation{}, &LimitError{"session", "money", b.used.Micros, l}
	}
	b.n++
	r := Reservation{ID: fmt.Sprint(b.n), Want: want}
	b.open[r.ID] = want
	b.used = Amount{b.used.Tokens + want.Tokens, b.used.Micros + want.Micros}
	return r, nil
}

// Settle implements Budget.
func (b *LocalBudget) Settle(_ context.Context, r Reservation, used Amount) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	want, ok := b.open[r.ID]
	if !ok {
		return nil
	}
	delete(b.open, r.ID)
	b.used = Amount{b.used.Tokens - want.Tokens + used.Tokens, b.used.Micros - want.Micros + used.Micros}
	return nil
}

// Used is what was spent, reservations included.
func (b *LocalBudget) Used() Amount {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// Unlimited is a budget without a limit.
type Unlimited struct{}

var _ Budget = Unlimited{}

// Reserve implements Budget.
func (Unlimited) Reserve(context.Context, Amount, Amount) (Reservation, error) {
	return Reservation{}, nil
}

// Settle implements Budget.
func (Unlimited) Settle(context.Context, Reservation, Amount) error { return nil }
