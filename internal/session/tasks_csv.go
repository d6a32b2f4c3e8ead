package session

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// columns of tasks.csv, in order (spec/files.md).
var columns = []string{
	"id", "title", "description", "hypothesis", "deps", "context_from", "wave", "status",
	"hypothesis_verdict", "fix_result", "findings", "evidence_for", "evidence_against",
	"fix_applied", "verified", "error",
}

// RowError is a row of a CSV file that cannot be understood. The session
// stops at the last good state and names the line (QD21).
type RowError struct {
	File string
	Line int
	Why  string
}

func (e *RowError) Error() string {
	return fmt.Sprintf("read %s line %d: %s", e.File, e.Line, e.Why)
}

// EncodeTasks writes the master table. With safe set, cells that a
// spreadsheet would take for a formula are quoted with a leading apostrophe
// (results.csv); tasks.csv is never written so.
func EncodeTasks(tasks []Task, safe bool) []byte {
	rows := make([][]string, 0, len(tasks))
	for _, t := range tasks {
		rows = append(rows, []string{
			t.ID, t.Title, t.Description, t.Hypothesis, strings.Join(t.Deps, ";"), strings.Join(t.ContextFrom, ";"),
			strconv.Itoa(t.Wave), string(t.Status), string(t.Verdict), string(t.FixResult), t.Findings,
			t.EvidenceFor, t.EvidenceAgainst, t.FixApplied, t.Verified, t.Error,
		})
	}
	return EncodeCSV(columns, rows, safe)
}

// EncodeCSV writes a header and rows as RFC 4180 with LF line ends.
func EncodeCSV(header []string, rows [][]string, safe bool) []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	// Errors of a bytes.Buffer cannot occur, and Flush reports none.
	_ = w.Write(header)
	for _, row := range rows {
		out := make([]string, len(row))
		for i, cell := range row {
			out[i] = cleanCell(cell, safe)
		}
		_ = w.Write(out)
	}
	w.Flush()
	return b.Bytes()
}

// cleanCell makes a cell that reads back as it was written: encoding/csv
// folds CRLF to LF inside quotes, so carriage returns go before.
func cleanCell(s string, safe bool) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	s = strings.ReplaceAll(s, "\r", "\n")
	s = strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "\uFFFD")
	if safe && s != "" && strings.ContainsRune("=+-@\t\n", rune(s[0])) {
		return "'" + s
	}
	return s
}

// DecodeTasks reads a master table. Every row is checked: IDs are present and
// unique, enumerations are known, waves are 1 or 2. The error is a *RowError
// that names the line.
func DecodeTasks(name string, data []byte) ([]Task, error) {
	rows, lines, err := DecodeCSV(name, data, columns)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	tasks := make([]Task, 0, len(rows))
	for i, row := range rows {
		t, err := taskOf(row)
		if err == nil && seen[t.ID] {
			err = fmt.Errorf("id %q occurs twice", t.ID)
		}
		if err != nil {
			return nil, &RowError{File: name, Line: lines[i], Why: err.Error()}
		}
		seen[t.ID] = true
		tasks = append(tasks, t)
	}
	return tasks, nil
}

// DecodeCSV reads rows under exactly the given header, with the line number
// of each row.
func DecodeCSV(name string, data []byte, header []string) (rows [][]string, lines []int, err error) {
	r := csv.NewReader(bytes.NewReader(data))
	r.FieldsPerRecord = len(header)
	first := true
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			if first {
				return nil, nil, &RowError{File: name, Line: 1, Why: "the header is missing"}
			}
			return rows, lines, nil
		}
		if err != nil {
			line, why := 1, err.Error()
			if pe := (*csv.ParseError)(nil); errors.As(err, &pe) {
				line, why = pe.Line, pe.Err.Error()
			}
			return nil, nil, &RowError{File: name, Line: line, Why: why}
		}
		line, _ := r.FieldPos(0)
		if first {
			first = false
			for i := range header {
				if row[i] != header[i] {
					return nil, nil, &RowError{File: name, Line: line, Why: fmt.Sprintf("column %d is %q, want %q", i+1, row[i], header[i])}
				}
			}
			continue
		}
		rows, lines = append(rows, row), append(lines, line)
	}
}

func taskOf(row []string) (Task, error) {
	t := Task{
		ID: row[0], Title: row[1], Description: row[2], Hypothesis: row[3],
		Deps: splitIDs(row[4]), ContextFrom: splitIDs(row[5]),
		Status: Status(row[7]), Verdict: Verdict(row[8]), FixResult: FixResult(row[9]), Findings: row[10],
		EvidenceFor: row[11], EvidenceAgainst: row[12], FixApplied: row[13], Verified: row[14], Error: row[15],
	}
	if t.ID == "" {
		return t, errors.New("id is empty")
	}
	wave, err := strconv.Atoi(row[6])
	if err != nil || (wave != 1 && wave != 2) {
		return t, fmt.Errorf("wave is %q, want 1 or 2", row[6])
	}
	t.Wave = wave
	switch {
	case !oneOf(row[7], "pending", "completed", "failed", "skipped"):
		return t, fmt.Errorf("status is %q, want pending, completed, failed or skipped", row[7])
	case !oneOf(row[8], "", "confirmed", "refuted", "inconclusive"):
		return t, fmt.Errorf("hypothesis_verdict is %q, want confirmed, refuted or inconclusive", row[8])
	case !oneOf(row[9], "", "fixed", "fix_failed"):
		return t, fmt.Errorf("fix_result is %q, want fixed or fix_failed", row[9])
	case !oneOf(row[14], "", "true", "false"):
		return t, fmt.Errorf("verified is %q, want true or false", row[14])
	}
	return t, nil
}

func oneOf(s string, values ...string) bool {
	for _, v := range values {
		if s == v {
			return true
		}
	}
	return false
}

func splitIDs(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ";")
}
