package main

import (
	"bytes"
	"fmt"
	"strings"
	"text/tabwriter"

	"culprit/queue"
)

// listed are the states that `bot jobs list` shows unless told otherwise: what
// goes on, and what waits for a person.
var listed = []queue.State{queue.Running, queue.Queued, queue.Retrying, queue.Snoozed, queue.Dead}

func (j *jobsRun) list() error {
	found, left, err := j.queues[0].Find(j.ctx, j.filter(listed), j.flags.limit)
	if err != nil {
		return err
	}
	if j.flags.json {
		views := make([]jobView, len(found))
		for i, info := range found {
			views[i] = viewOf(info)
		}
		return printJSON(j.Stdout, views)
	}
	if len(found) > 0 {
		if _, err := j.Stdout.Write(j.table(found)); err != nil {
			return fmt.Errorf("print jobs: %w", err)
		}
	}
	if left > 0 {
		j.note("%d more are not shown: --limit 0 lists all", left)
	}
	return j.sum(len(found))
}

// table is one line a job, clipped to the width of a terminal.
func (j *jobsRun) table(found []queue.Info) []byte {
	now := j.Now()
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tSTATE\tFOR\tREPOSITORY\tABOUT\tAGE\tIN STATE\tTRIES\tDETAIL")
	for _, i := range found {
		tries := fmt.Sprint(i.Attempt)
		if i.Crashes > 0 {
			tries += fmt.Sprintf("+%d crashed", i.Crashes)
		}
		cells := []string{
			i.ID, string(i.State), i.Priority.String(), i.Repository, about(i), age(now.Sub(i.EnqueuedAt)), age(now.Sub(i.Since)), tries,
			clipped(detail(i, now), 200),
		}
		for n, c := range cells {
			if cells[n] = strings.TrimSpace(printable(c)); cells[n] == "" {
				cells[n] = "-"
			}
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	_ = w.Flush() // a buffer takes all
	if !isTerminal(j.Stdout) {
		return b.Bytes()
	}
	var out bytes.Buffer
	for line := range strings.Lines(b.String()) {
		out.WriteString(clipped(strings.TrimSuffix(line, "\n"), terminalWidth(j.Stdout)) + "\n")
	}
	return out.Bytes()
}

// sum says how the queue stands as a whole.
func (j *jobsRun) sum(shown int) error {
	s, err := j.queues[0].Stats(j.ctx)
	if err != nil {
		return err
	}
	var parts []string
	for _, state := range queue.States() {
		if n := s.Depth[state]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, state))
		}
	}
	if len(parts) == 0 {
		parts = []string{"no jobs"}
	}
	if shown == 0 {
		j.note("no job is selected; in the whole queue: %s", strings.Join(parts, ", "))
	} else {
		j.note("in the whole queue: %s", strings.Join(parts, ", "))
	}
	if s.Paused {
		j.note("the queue is paused: nobody claims jobs until `bot jobs resume`")
	}
	return nil
}

// clipped cuts s to n characters.
func clipped(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
