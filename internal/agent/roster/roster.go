// Package roster says which models there are for which work, and what they
// cost. It is apart from the agent so that the configuration can be checked
// without a client.
package roster

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Role says what kind of model a task needs (CR25).
type Role string

// Roles. Judge is apart so that what one model found can be looked at by
// another one.
const (
	High  Role = "high"  // investigates and fixes
	Judge Role = "judge" // tries to break what was found, and weighs it
)

// Model is a model by the name that its server has for it.
type Model struct {
	Name   string
	Effort string // reasoning effort, or empty for the server's default
}

// efforts are what may follow a model's name after "@".
var efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// ReadModels reads "NAME[@EFFORT], …": the model of a role and its
// fallbacks, in order.
func ReadModels(s string) ([]Model, error) {
	var out []Model
	for _, part := range strings.Split(s, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		m := Model{Name: part}
		if i := strings.LastIndexByte(part, '@'); i > 0 && slices.Contains(efforts, part[i+1:]) {
			m = Model{part[:i], part[i+1:]}
		}
		if strings.ContainsAny(m.Name, " \t\n\"'") {
			return nil, fmt.Errorf("%q is no name of a model: want NAME or NAME@EFFORT, several separated by commas", part)
		}
		out = append(out, m)
	}
	if len(out) == 0 {
		return nil, errors.New("want the name of a model")
	}
	return out, nil
}

// Price of a model for one million tokens, in the operator's currency.
type Price struct{ In, Cached, Out float64 }

// Prices by model name. A model that is not listed costs nothing: it runs on
// the operator's own machine, or nobody said what it costs.
type Prices map[string]Price

// Cost of tokens, in millionths of the currency's unit. cached are part of in.
func (p Prices) Cost(model string, in, cached, out int) int64 {
	x := p[model]
	// Per million tokens and in millionths: the two cancel out.
	return int64(math.Ceil(float64(in-cached)*x.In + float64(cached)*x.Cached + float64(out)*x.Out))
}

// ReadPrices reads "MODEL=IN/CACHED/OUT, …": prices of a million tokens.
func ReadPrices(s string) (Prices, error) {
	out := Prices{}
	for _, part := range strings.Split(s, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		i := strings.LastIndexByte(part, '=')
		var fields []string
		if i > 0 {
			fields = strings.Split(part[i+1:], "/")
		}
		if len(fields) != 3 {
			return nil, fmt.Errorf("%q: want MODEL=IN/CACHED/OUT, prices of a million tokens, such as small=0.25/0.025/2", part)
		}
		var v [3]float64
		for k, f := range fields {
			x, err := strconv.ParseFloat(strings.TrimSpace(f), 64)
			if err != nil || x < 0 || x > 1e6 || math.IsNaN(x) {
				return nil, fmt.Errorf("%q: %q is no price", part, f)
			}
			v[k] = x
		}
		out[strings.TrimSpace(part[:i])] = Price{v[0], v[1], v[2]}
	}
	if len(out) == 0 {
		return nil, errors.New("there is no price: want MODEL=IN/CACHED/OUT")
	}
	return out, nil
}
