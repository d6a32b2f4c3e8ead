package agent

import "fmt"

// conversation is what a model is shown, in no server's form. Its beginning
// never changes; only old results of tools are ever taken out, many at once,
// so that the cached prefix is lost seldom.
type conversation struct {
	system string // instructions: equal for all sessions
	first  string // the task
	turns  []turn
	// dropped is how many bytes were taken out.
	dropped int
}

// turn is one answer of the model and what it was told in return.
type turn struct {
	text    string
	calls   []Call
	results []result // one for each call
	note    string
}

type result struct {
	text string
	what string // stands in its place when it is dropped
}

// size of the conversation as it is shown, in bytes.
func (t *conversation) size() int {
	n := len(t.system) + len(t.first)
	for _, turn := range t.turns {
		n += len(turn.text) + len(turn.note)
		for _, c := range turn.calls {
			n += len(c.Name) + len(c.Arguments)
		}
		for _, r := range turn.results {
			n += len(r.text)
		}
	}
	return n
}

// keepTurns are left whole when old results are dropped; worthDropping is the
// least that a result must free, in bytes.
const (
	keepTurns     = 3
	worthDropping = 300
)

// drop takes the results of all but the newest turns out and returns how many
// bytes that freed.
func (t *conversation) drop(keep int) int {
	freed := 0
	for i := range max(0, len(t.turns)-keep) {
		for k := range t.turns[i].results {
			r := &t.turns[i].results[k]
			short := fmt.Sprintf("[the %d bytes of this result were dropped to save room: %s; ask again if you need them]", len(r.text), r.what)
			if n := len(r.text) - len(short); n >= worthDropping {
				r.text = short
				freed += n
			}
		}
	}
	t.dropped += freed
	return freed
}

// say appends a note of ours to the last turn, or to the task.
func (t *conversation) say(note string) {
	if len(t.turns) == 0 {
		t.first += "\n\n" + note
		return
	}
	last := &t.turns[len(t.turns)-1]
	if last.note != "" {
		last.note += "\n"
	}
	last.note += note
}
