package figures

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"
	"unicode/utf8"
)

// A Table prints as Markdown with aligned columns, so that what a terminal
// shows can be pasted into docs/benchmarks.md.
type Table struct {
	Title  string
	Header []string
	rows   [][]string
}

// Row adds a row; each value is written by fmt.Sprint.
func (t *Table) Row(cells ...any) {
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = fmt.Sprint(c)
	}
	t.rows = append(t.rows, row)
}

// Print writes the table. The first column is aligned left, others right.
func (t *Table) Print(w io.Writer) {
	widths := make([]int, len(t.Header))
	for _, row := range append([][]string{t.Header}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell), 3)
		}
	}
	line := func(row []string) {
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				fmt.Fprintf(w, "| %s%s ", cell, pad)
			} else {
				fmt.Fprintf(w, "| %s%s ", pad, cell)
			}
		}
		fmt.Fprintln(w, "|")
	}
	fmt.Fprintf(w, "\n**%s**\n\n", t.Title)
	line(t.Header)
	for i, width := range widths {
		if i == 0 {
			fmt.Fprintf(w, "|%s", strings.Repeat("-", width+2))
		} else {
			fmt.Fprintf(w, "|%s:", strings.Repeat("-", width+1))
		}
	}
	fmt.Fprintln(w, "|")
	for _, row := range t.rows {
		line(row)
	}
}

// Ms writes a duration in milliseconds with three significant digits.
func Ms(d time.Duration) string {
	ms := float64(d) / float64(time.Millisecond)
	switch {
	case ms >= 100:
		return fmt.Sprintf("%.0f", ms)
	case ms >= 10:
		return fmt.Sprintf("%.1f", ms)
	}
	return fmt.Sprintf("%.2f", ms)
}

// Rate writes a number per second with separators of thousands.
func Rate(perSecond float64) string { return Count(int(math.Round(perSecond))) }

// Count writes a number with separators of thousands.
func Count(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
