package queue_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"culprit/queue"
)

var update = flag.Bool("update", false, "rewrite the state machine in docs/operations.md")

// diagram is the state machine as Mermaid draws it.
func diagram() string {
	var b strings.Builder
	b.WriteString("```mermaid\nstateDiagram-v2\n")
	name := func(s queue.State) string {
		if s == "" {
			return "[*]"
		}
		return string(s)
	}
	for _, tr := range queue.Transitions() {
		// A semicolon would end the statement.
		fmt.Fprintf(&b, "  %s --> %s: %s\n", name(tr.From), name(tr.To), strings.ReplaceAll(tr.By, "; ", " · "))
	}
	for _, s := range queue.States() {
		if s.Ended() {
			fmt.Fprintf(&b, "  %s --> [*]\n", s)
		}
	}
	b.WriteString("```\n")
	return b.String()
}

func TestTheDocumentHasTheStateMachine(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "docs", "operations.md")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "go test ./queue -run StateMachine -update` rewrites it -->\n\n", "\n<!-- end of the state machine -->"
	head, rest, found := strings.Cut(string(data), begin)
	_, tail, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has lost the marks around the state machine", path)
	}
	want := head + begin + diagram() + end + tail
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(data) != want {
		t.Errorf("%s is out of date: go test ./queue -run StateMachine -update", path)
	}
}
