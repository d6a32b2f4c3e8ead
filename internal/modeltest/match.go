package modeltest

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// fits reports whether the request is what w describes, and what the named
// groups captured.
func (w When) fits(r Request) (captured map[string]string, ok bool) {
	names, texts := r.results()
	format := r.Format.Type
	if format == "" {
		format = "text"
	}
	switch {
	case w.Model != "" && w.Model != r.Model,
		w.NoTools && len(r.Tools) > 0,
		w.Format != "" && w.Format != format,
		w.Turn != 0 && w.Turn != r.turn(),
		w.ResultOf != "" && !slices.Contains(names, w.ResultOf):
		return nil, false
	}
	for _, t := range w.Tools {
		if !r.Offers(t) {
			return nil, false
		}
	}
	captured = map[string]string{}
	for _, text := range []struct {
		re *regexp.Regexp
		in []string
	}{
		{w.compiled["system"], []string{r.Text("system", "developer")}},
		{w.compiled["any"], []string{r.Text()}},
		{w.compiled["last"], []string{r.Last()}},
		{w.compiled["result"], texts},
	} {
		if text.re != nil && !capture(text.re, text.in, captured) {
			return nil, false
		}
	}
	return captured, true
}

func capture(re *regexp.Regexp, in []string, into map[string]string) bool {
	for _, s := range in {
		m := re.FindStringSubmatch(s)
		if m == nil {
			continue
		}
		for i, name := range re.SubexpNames() {
			if name != "" {
				into[name] = m[i]
			}
		}
		return true
	}
	return false
}

// filled puts what was captured into the answer.
func (a Answer) filled(captured map[string]string) Answer {
	fill := func(s string) string {
		for name, v := range captured {
			s = strings.ReplaceAll(s, "${"+name+"}", v)
		}
		return s
	}
	a.Text, a.Refusal = fill(a.Text), fill(a.Refusal)
	calls := make([]Call, len(a.Calls))
	for i, c := range a.Calls {
		calls[i] = Call{Name: fill(c.Name), Arguments: filledValue(c.Arguments, fill)}
	}
	a.Calls = calls
	if n := a.Pad - len(a.Text); n > 0 {
		a.Text += strings.Repeat("All work and no play makes a long answer. ", n/42+1)[:n]
	}
	return a
}

func filledValue(v any, fill func(string) string) any {
	switch v := v.(type) {
	case string:
		return fill(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = filledValue(v[i], fill)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, x := range v {
			out[k] = filledValue(x, fill)
		}
		return out
	}
	return v
}

// arguments of a call as they go over the wire.
func (c Call) arguments() string {
	if text, ok := c.Arguments.(string); ok {
		return text
	}
	if c.Arguments == nil {
		return "{}"
	}
	// What came out of YAML with text keys can be written as JSON.
	data, err := json.Marshal(c.Arguments)
	if err != nil {
		return "{}"
	}
	return string(data)
}
