package wave

import (
	"strconv"
	"strings"

	"culprit/internal/session"
)

// Columns of the temporary files (spec/files.md). No output column has the
// name of an input column.
var (
	inputColumns  = []string{"id", "title", "description", "hypothesis", "deps", "context_from", "wave", "prev_context"}
	resultColumns = map[int][]string{
		1: {"id", "result_status", "hypothesis_verdict", "findings", "evidence_for", "evidence_against", "error"},
		2: {"id", "result_status", "fix_result", "findings", "fix_applied", "verified", "error"},
	}
)

func encodeInput(rows []session.Task) []byte {
	cells := make([][]string, 0, len(rows))
	for _, t := range rows {
		cells = append(cells, []string{
			t.ID, t.Title, t.Description, t.Hypothesis, strings.Join(t.Deps, ";"), strings.Join(t.ContextFrom, ";"),
			strconv.Itoa(t.Wave), t.PrevContext,
		})
	}
	return session.EncodeCSV(inputColumns, cells, false)
}

func encodeResults(number int, rows []session.Task) []byte {
	cells := make([][]string, 0, len(rows))
	for _, t := range rows {
		if number == 1 {
			cells = append(cells, []string{t.ID, string(t.Status), string(t.Verdict), t.Findings, t.EvidenceFor, t.EvidenceAgainst, t.Error})
			continue
		}
		cells = append(cells, []string{t.ID, string(t.Status), string(t.FixResult), t.Findings, t.FixApplied, t.Verified, t.Error})
	}
	return session.EncodeCSV(resultColumns[number], cells, false)
}
