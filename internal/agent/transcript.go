package agent

import (
	"bytes"
	"fmt"
	"strings"
)

// transcript writes a conversation for people. What the store writes passes
// the redactor; the tokens and the money stand in dispatches.jsonl.
func transcript(t Task, talk *conversation, d Done) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s %s\n\nInstructions: %s (%s). Role: %s.\n\n## Task\n\n", t.Line.Step, t.Line.Task, t.Prompt.File, t.Prompt.Hash, t.Role)
	fence(&b, "", talk.first)
	for i, turn := range talk.turns {
		fmt.Fprintf(&b, "\n## Answer %d\n\n", i+1)
		if turn.text != "" {
			fence(&b, "", turn.text)
		}
		for k, c := range turn.calls {
			fmt.Fprintf(&b, "\n**%s**\n\n", c.Name)
			fence(&b, "json", c.Arguments)
			if turn.results[k].text != "" {
				b.WriteString("\n")
				fence(&b, "", turn.results[k].text)
			}
		}
		if turn.note != "" {
			fmt.Fprintf(&b, "\n> %s\n", strings.ReplaceAll(turn.note, "\n", "\n> "))
		}
	}
	if d.End != "" {
		fmt.Fprintf(&b, "\n## End: %s\n\n%d answers, %d tokens in (%d of them cached), %d out, cost %.4f.\n", d.End, d.Turns, d.Usage.In, d.Usage.Cached, d.Usage.Out, d.Cost)
		if d.Err != nil {
			fmt.Fprintf(&b, "\n%s\n", d.Err)
		}
		if d.Objection != nil {
			fmt.Fprintf(&b, "\nObjection: %s\n", d.Objection)
		}
		for _, n := range d.Notes {
			fmt.Fprintf(&b, "\nNote: %s\n", n)
		}
	}
	return b.Bytes()
}

// fence writes a block whose fence is longer than any within.
func fence(b *bytes.Buffer, language, text string) {
	mark := "```"
	for strings.Contains(text, mark) {
		mark += "`"
	}
	fmt.Fprintf(b, "%s%s\n%s\n%s\n", mark, language, strings.TrimRight(text, "\n"), mark)
}
