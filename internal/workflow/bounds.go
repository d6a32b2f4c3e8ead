package workflow

import (
	"fmt"

	"culprit/internal/session"
)

// Bounds of what expressions make. A value that holds another one twice, which
// holds another one twice, grows without end; so does a job with a thousand
// such values.
const (
	maxValue       = 64 << 10 // bytes of one value
	maxWork        = 64 << 20 // bytes that all expressions of a query read and make
	maxSteps       = 1000     // of one job or action
	maxVariables   = 1000     // of one step
	maxDifferences = 500      // of one recipe
	maxEnvironment = 256 << 10
)

// bounded is a value, or what says that it is too much. It counts towards the
// work of the whole query.
func (s scope) bounded(v value) value {
	n := size(v)
	*s.work += n
	switch {
	case n > maxValue:
		return unknown{why: fmt.Sprintf("a value of more than %d KiB", maxValue>>10), over: true}
	case *s.work > maxWork:
		return unknown{why: fmt.Sprintf("expressions that make more than %d MiB", maxWork>>20), over: true}
	}
	return v
}

// size of a value in bytes, roughly as its JSON has it. The nesting of values
// is bounded where they come in.
func size(v value) int {
	n := 1
	switch v := v.(type) {
	case string:
		n += len(v)
	case []any:
		for _, x := range v {
			n += size(x)
		}
	case map[string]any:
		for k, x := range v {
			n += len(k) + size(x)
		}
	}
	return n
}

// depth is how deep a value nests.
func depth(v value) int {
	n := 0
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			n = max(n, depth(x)+1)
		}
	case map[string]any:
		for _, x := range v {
			n = max(n, depth(x)+1)
		}
	}
	return n
}

// within are the steps that are looked at.
func within[T any](w *walk, list []T, what string) []T {
	if len(list) <= maxSteps {
		return list
	}
	w.differ(session.Difference{Kind: session.DiffWorkflow, There: fmt.Sprintf("%d steps in %s", len(list), what), Here: fmt.Sprintf("the first %d alone are looked at", maxSteps), Blocks: true})
	return list[:maxSteps]
}
