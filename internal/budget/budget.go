// Package budget counts what models cost, in Redis, for all workers together:
// tokens and money, for each session, repository and installation, the latter
// two by the day.
//
// A call reserves what it may use at most before it is made, and settles what
// it used afterwards. Reserving is one step of one script over all scopes, so
// that any number of workers together never pass a limit: what is reserved
// counts as used. A reservation that is never settled stays counted, because
// the call of a worker that was killed has probably been made. Settling again,
// or reserving again under the same name, changes nothing, so that either may
// be repeated when an answer of Redis was lost.
//
// A limit can only be passed by what a single call uses beyond what was
// estimated for it.
package budget

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// Amount of tokens, and of money in millionths of the currency's unit.
type Amount struct{ Tokens, Micros int64 }

// Scope is one thing that has limits.
type Scope struct {
	Kind   string // session, repository, installation
	Name   string // identifies it, with its day where it has one
	Limits Amount // 0: none
	Keep   time.Duration
}

// Session is the scope of one session.
func Session(id string, limits Amount) Scope {
	return Scope{"session", id, limits, 30 * 24 * time.Hour}
}

// Repository is the scope of a repository on the day of now, in UTC.
func Repository(name string, now time.Time, limits Amount) Scope {
	return daily("repository", name, now, limits)
}

// Installation is the scope of an installation of the App on the day of now.
func Installation(id int64, now time.Time, limits Amount) Scope {
	return daily("installation", fmt.Sprint(id), now, limits)
}

// daily scopes are kept a second day, for who looks at yesterday.
func daily(kind, name string, now time.Time, limits Amount) Scope {
	return Scope{kind, name + "@" + now.UTC().Format(time.DateOnly), limits, 48 * time.Hour}
}

// keepCall is how long a reservation can be settled.
const keepCall = 24 * time.Hour

// Exceeded says which limit a call would pass.
type Exceeded struct {
	Scope Scope
	Unit  string // tokens or money
	Used  int64
	Limit int64
}

func (e *Exceeded) Error() string {
	return fmt.Sprintf("the limit on %s for the %s is reached: %d of %d used", e.Unit, e.Scope.Kind, e.Used, e.Limit)
}

//go:embed lua/ledger.lua
var source string

var script = redis.NewScript(source)

// Ledger is a handle on the counts. It is safe for concurrent use and holds no
// goroutine and no connection of its own.
type Ledger struct {
	rdb  redis.UniversalClient
	base string
}

// Open returns the ledger under the prefix that the bot's keys have.
func Open(rdb redis.UniversalClient) *Ledger { return &Ledger{rdb, "{culprit-budget}:"} }

func (l *Ledger) keys(call string, scopes []Scope) []string {
	keys := []string{l.base + "call:" + call}
	for _, s := range scopes {
		keys = append(keys, l.base+s.Kind+":"+s.Name)
	}
	return keys
}

// Reserve counts want as used in all scopes, if together with spare it fits
// into every limit; else the error is an *Exceeded and nothing is counted.
// call is a name that no other call has.
func (l *Ledger) Reserve(ctx context.Context, call string, want, spare Amount, scopes []Scope) error {
	if want.Tokens < 0 || want.Micros < 0 {
		return errors.New("reserve a model call: the amount is negative")
	}
	args := []any{"reserve", want.Tokens, want.Micros, spare.Tokens, spare.Micros, int(keepCall.Seconds())}
	for _, s := range scopes {
		args = append(args, s.Limits.Tokens, s.Limits.Micros, int(s.Keep.Seconds()))
	}
	answer, err := script.Run(ctx, l.rdb, l.keys(call, scopes), args...).Int64Slice()
	switch {
	case err != nil:
		return fmt.Errorf("reserve a model call: %w", err)
	case len(answer) == 0:
		return nil
	case len(answer) != 4 || answer[0] < 1 || int(answer[0]) > len(scopes):
		return fmt.Errorf("reserve a model call: Redis answers %v", answer)
	}
	return &Exceeded{scopes[answer[0]-1], map[int64]string{1: "tokens", 2: "money"}[answer[1]], answer[2], answer[3]}
}

// Settle replaces what the call reserved by what it used.
func (l *Ledger) Settle(ctx context.Context, call string, used Amount, scopes []Scope) error {
	if err := script.Run(ctx, l.rdb, l.keys(call, scopes), "settle", used.Tokens, used.Micros).Err(); err != nil {
		return fmt.Errorf("settle a model call: %w", err)
	}
	return nil
}

// Used is what counts in a scope, reservations included.
func (l *Ledger) Used(ctx context.Context, s Scope) (Amount, error) {
	var a Amount
	v := l.rdb.HMGet(ctx, l.base+s.Kind+":"+s.Name, "tokens", "micros")
	if err := v.Err(); err != nil {
		return a, fmt.Errorf("read what models cost: %w", err)
	}
	for i, into := range []*int64{&a.Tokens, &a.Micros} {
		if text, ok := v.Val()[i].(string); ok {
			if _, err := fmt.Sscan(text, into); err != nil {
				return a, fmt.Errorf("read what models cost: %w", err)
			}
		}
	}
	return a, nil
}
