package evidence

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var evalLogs = flag.String("logs", "", "folder of real logs, as scripts/fetch-logs fills it: measure precision and recall on them")

// Goals for the names of failed tests in logs of public projects.
const (
	goalPrecision = 0.98
	goalRecall    = 0.95
)

type score struct{ found, missed, wrong, logs int }

func (s score) recall() float64    { return ratio(s.found, s.missed) }
func (s score) precision() float64 { return ratio(s.found, s.wrong) }

func ratio(good, bad int) float64 {
	if good+bad == 0 {
		return 1
	}
	return float64(good) / float64(good+bad)
}

// TestRealLogsNameTheRightTests compares what Parse names as failed with
// labels. See docs/logs.md for where they come from.
func TestRealLogsNameTheRightTests(t *testing.T) {
	if *evalLogs == "" {
		t.Skip("no real logs here: make eval-logs fetches them")
	}
	labels := map[string][]string{}
	for _, row := range table(t, "testdata/eval/labels.tsv", 2) {
		labels[row[0]] = append(labels[row[0]], row[1])
	}
	var all score
	by := map[string]score{}
	for _, row := range table(t, "testdata/eval/logs.tsv", 5) {
		repo, sha, path := row[0], row[2], row[4]
		data, err := os.ReadFile(filepath.Join(*evalLogs, sha+".log"))
		if err != nil {
			t.Fatalf("%v (make eval-logs fetches it)", err)
		}
		if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != sha {
			t.Fatalf("%s is not the log it was: delete it and fetch again", sha)
		}
		rep, err := Parse(bytes.NewReader(data), Options{})
		if err != nil {
			t.Fatal(err)
		}
		named := map[string]bool{}
		for _, f := range rep.Failures {
			if f.Test != "" {
				named[f.ID()] = true
			}
			if f.From < 0 || f.To > int64(len(data)) || f.From >= f.To {
				t.Errorf("%s: %s has bytes %d–%d of %d as its evidence", path, f.ID(), f.From, f.To, len(data))
			}
			if f.Test != "" && !mentions(data[f.From:], f.Test) {
				t.Errorf("%s: %s stands nowhere after byte %d", path, f.Test, f.From)
			}
		}
		one := score{logs: 1}
		for _, id := range labels[sha[:12]] {
			if named[id] {
				one.found++
			} else {
				one.missed++
				t.Logf("missed in %s %s: %s", repo, path, id)
			}
			delete(named, id)
		}
		for id := range named {
			one.wrong++
			t.Logf("wrong in %s %s: %s", repo, path, id)
		}
		kind := cmp.Or(rep.Framework, "none")
		for _, sum := range []*score{&all, ptr(by[kind])} {
			sum.found, sum.missed, sum.wrong, sum.logs = sum.found+one.found, sum.missed+one.missed, sum.wrong+one.wrong, sum.logs+one.logs
			if sum != &all {
				by[kind] = *sum
			}
		}
	}
	kinds := make([]string, 0, len(by))
	for k := range by {
		kinds = append(kinds, k)
	}
	slices.Sort(kinds)
	fmt.Printf("%-14s %5s %6s %6s %6s %8s %10s\n", "runner", "logs", "found", "missed", "wrong", "recall", "precision")
	for _, k := range append(kinds, "all") {
		s := by[k]
		if k == "all" {
			s = all
		}
		fmt.Printf("%-14s %5d %6d %6d %6d %7.1f%% %9.1f%%\n", k, s.logs, s.found, s.missed, s.wrong, 100*s.recall(), 100*s.precision())
	}
	if all.recall() < goalRecall || all.precision() < goalPrecision {
		t.Errorf("recall %.4f (goal %.2f), precision %.4f (goal %.2f)", all.recall(), goalRecall, all.precision(), goalPrecision)
	}
}

func ptr[T any](v T) *T { return &v }

// mentions reports whether the words of a test's name stand in the log: a
// name is never made up. Names over several lines, or with their parts in
// another order, are looked for part by part.
func mentions(data []byte, name string) bool {
	for _, word := range strings.FieldsFunc(name, func(r rune) bool { return r == ' ' || r == '.' || r == ':' || r == '›' || r == '>' || r == '\\' }) {
		if !bytes.Contains(data, []byte(word)) {
			return false
		}
	}
	return true
}

// table reads the rows of a file of tab-separated fields.
func table(t *testing.T, name string, fields int) [][]string {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var rows [][]string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if l := lines.Text(); !strings.HasPrefix(l, "# ") {
			row := strings.SplitN(l, "\t", fields)
			if len(row) != fields {
				t.Fatalf("%s: %q has not %d fields", name, l, fields)
			}
			rows = append(rows, row)
		}
	}
	return rows
}
