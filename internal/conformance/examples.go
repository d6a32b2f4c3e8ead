package conformance

import (
	"encoding/json"
	"errors"
	"testing"

	"culprit/internal/requiretest"
)

// Example is one of the public webhook payloads.
type Example struct {
	Event, Action string // Action is empty where the event has none
	Payload       []byte
}

// Examples are all public webhook payloads, by event in the order in which
// they are published. Where they are not installed the test is skipped, or
// failed with CULPRIT_REQUIRE=all.
func Examples(tb testing.TB) []Example {
	tb.Helper()
	d, err := installed()
	switch {
	case errors.Is(err, errNotInstalled):
		requiretest.Missing(tb, err.Error())
	case err != nil:
		tb.Fatal(err)
	}
	var events []struct {
		Name     string
		Examples []json.RawMessage
	}
	if err := d.read("examples.json", &events); err != nil {
		tb.Fatal(err)
	}
	var out []Example
	for _, e := range events {
		for _, payload := range e.Examples {
			var p struct{ Action string }
			if err := json.Unmarshal(payload, &p); err != nil {
				tb.Fatalf("read an example of %s: %v", e.Name, err)
			}
			out = append(out, Example{Event: e.Name, Action: p.Action, Payload: payload})
		}
	}
	if err := (Counts{Examples: len(out)}).log(); err != nil {
		tb.Error(err)
	}
	return out
}
