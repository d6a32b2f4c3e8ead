package agent

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Price of a model for one million tokens, in the operator's currency.
type Price struct{ In, Cached, Out float64 }

// Prices by model name. A model that is not listed costs nothing: it runs on
// the operator's own machine, or nobody said what it costs.
type Prices map[string]Price

// micro is how money is counted: millionths of the currency's unit, rounded up.
const micro = 1_000_000

// Cost of the tokens, in millionths of the currency's unit.
func (p Prices) Cost(model string, u Usage) int64 {
	x := p[model]
	// Per million tokens and in millionths: the two cancel out.
	return int64(math.Ceil(float64(u.In-u.Cached)*x.In + float64(u.Cached)*x.Cached + float64(u.Out)*x.Out))
}

// ParsePrices reads "MODEL=IN/CACHED/OUT, …": prices of a million tokens.
func ParsePrices(s string) (Prices, error) {
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
