package wave

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"culprit/internal/session"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memory is a Store that remembers every state that was made durable.
type memory struct {
	mu     sync.Mutex
	files  map[string]string
	saves  []string // tasks.csv at each save
	failAt int      // save number that fails, 0 = none
}

var _ Store = (*memory)(nil)

func newMemory() *memory { return &memory{files: map[string]string{}} }

var errDisk = errors.New("disk is full")

func (m *memory) Save(s *session.Session) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failAt > 0 && len(m.saves)+1 >= m.failAt {
		return errDisk
	}
	m.saves = append(m.saves, string(session.EncodeTasks(s.Tasks, false)))
	return nil
}

func (m *memory) Write(name string, data []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files[name] = string(data)
	return nil
}

func (m *memory) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.files, name)
	return nil
}

func (m *memory) file(name string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.files[name]
}

func hypotheses(n int) *session.Session {
	s := &session.Session{ID: "s"}
	for i := 1; i <= n; i++ {
		id := fmt.Sprintf("H%d", i)
		s.Tasks = append(s.Tasks, session.Task{ID: id, Title: "title " + id, Hypothesis: "it is " + id, Wave: 1, Status: session.Pending})
	}
	for i := 1; i <= n; i++ {
		id := fmt.Sprintf("H%d", i)
		s.Tasks = append(s.Tasks, session.Task{ID: "FIX-" + id, Wave: 2, Status: session.Pending, Deps: []string{id}, ContextFrom: []string{id}})
	}
	return s
}

func confirm(_ context.Context, _ *session.Session, t session.Task) Report {
	return Report{Row: session.Task{Status: session.Completed, Verdict: session.Confirmed, Findings: "found " + t.ID, EvidenceFor: "a.go:1 — it says so"}}
}

func TestEveryRowIsMergedAndTheTemporaryFilesAreGone(t *testing.T) {
	t.Parallel()
	s, m := hypotheses(3), newMemory()
	var kept, merged []string
	err := Run(t.Context(), s, m, Options{Number: 1, Concurrency: 2,
		Work: func(ctx context.Context, _ *session.Session, task session.Task) Report {
			if in := m.file("wave-1.csv"); !strings.Contains(in, "prev_context") || strings.Contains(in, "verdict") {
				t.Errorf("wave-1.csv holds other than input columns: %q", in)
			}
			r := confirm(ctx, nil, task)
			r.Keep = func() { kept = append(kept, task.ID) }
			return r
		},
		Merged: func(task session.Task) { merged = append(merged, task.ID) },
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range s.Wave(1) {
		if row.Status != session.Completed || row.Verdict != session.Confirmed || row.Findings != "found "+row.ID {
			t.Errorf("row %+v", row)
		}
	}
	if len(m.files) != 0 || len(kept) != 3 || len(merged) != 3 || len(m.saves) != 3 {
		t.Errorf("files %v, kept %v, merged %v, saves %d", m.files, kept, merged, len(m.saves))
	}
}

func TestWaveTwoDoesNotStartBeforeWaveOneIsMerged(t *testing.T) {
	t.Parallel()
	s := hypotheses(1)
	err := Run(t.Context(), s, newMemory(), Options{Number: 2, Concurrency: 1, Work: func(context.Context, *session.Session, session.Task) Report {
		t.Error("a row of wave 2 ran")
		return Report{}
	}})
	if !errors.Is(err, ErrOrder) {
		t.Errorf("got %v, want ErrOrder", err)
	}
}

func TestContextComesFromTheMasterTable(t *testing.T) {
	t.Parallel()
	s, m := hypotheses(1), newMemory()
	if err := Run(t.Context(), s, m, Options{Number: 1, Concurrency: 1, Work: confirm}); err != nil {
		t.Fatal(err)
	}
	s.Task("H1").Findings = "what the table says"
	var got string
	err := Run(t.Context(), s, m, Options{Number: 2, Concurrency: 1, Work: func(_ context.Context, _ *session.Session, task session.Task) Report {
		got = task.PrevContext
		return Report{Row: session.Task{Status: session.Completed, FixResult: session.Fixed, Verified: "true"}}
	}})
	if err != nil || !strings.Contains(got, "what the table says") || !strings.Contains(got, "a.go:1") {
		t.Errorf("prev_context %q, error %v", got, err)
	}
	if row := s.Task("FIX-H1"); row.FixResult != session.Fixed || row.Verified != "true" || row.Verdict != "" {
		t.Errorf("row %+v", row)
	}
}

func TestReportsThatMakeNoSenseCountAsTheCautiousOutcome(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		wave int
		row  session.Task
		want session.Task
	}{
		"confirmed without evidence": {1, session.Task{Status: session.Completed, Verdict: session.Confirmed}, session.Task{Status: session.Completed, Verdict: session.Inconclusive}},
		"unknown verdict":            {1, session.Task{Status: session.Completed, Verdict: "sure"}, session.Task{Status: session.Completed, Verdict: session.Inconclusive}},
		"failed is never confirmed":  {1, session.Task{Status: session.Failed, Verdict: session.Confirmed, EvidenceFor: "x:1 — y"}, session.Task{Status: session.Failed, Verdict: session.Inconclusive}},
		"no status":                  {1, session.Task{Verdict: session.Refuted}, session.Task{Status: session.Failed, Verdict: session.Inconclusive}},
		"verified without a fix":     {2, session.Task{Status: session.Completed, FixResult: session.FixFailed, Verified: "true"}, session.Task{Status: session.Completed, FixResult: session.FixFailed, Verified: "false"}},
		"unknown fix result":         {2, session.Task{Status: session.Completed, FixResult: "done"}, session.Task{Status: session.Completed, FixResult: session.FixFailed, Verified: "false"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got session.Task
			apply(&got, c.row, c.wave)
			if got.Status != c.want.Status || got.Verdict != c.want.Verdict || got.FixResult != c.want.FixResult || got.Verified != c.want.Verified {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestFindingsAreCutAtTheirLimit(t *testing.T) {
	t.Parallel()
	var got session.Task
	apply(&got, session.Task{Status: session.Completed, Verdict: session.Refuted, Findings: strings.Repeat("ä", 700)}, 1)
	if n := len([]rune(got.Findings)); n != session.MaxFindings || !strings.HasSuffix(got.Findings, "…") {
		t.Errorf("%d characters, ends in %q", n, got.Findings[len(got.Findings)-6:])
	}
}

func TestARowOutOfTimeIsReportedWithThatReason(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := hypotheses(1)
		err := Run(t.Context(), s, newMemory(), Options{Number: 1, Concurrency: 1, RowTimeout: time.Minute,
			Work: func(ctx context.Context, _ *session.Session, _ session.Task) Report {
				<-ctx.Done()
				return Report{Row: session.Task{Status: session.Completed, Verdict: session.Inconclusive}}
			}})
		if row := s.Task("H1"); err != nil || row.Error != "timeout" || row.Verdict != session.Inconclusive {
			t.Errorf("row %+v, error %v", row, err)
		}
	})
}

func TestADiskThatIsFullStopsTheWaveAndLosesNoMergedRow(t *testing.T) {
	t.Parallel()
	s, m := hypotheses(4), newMemory()
	m.failAt = 3
	if err := Run(t.Context(), s, m, Options{Number: 1, Concurrency: 2, Work: confirm}); !errors.Is(err, errDisk) {
		t.Fatalf("got %v", err)
	}
	if n := strings.Count(m.saves[len(m.saves)-1], ",completed,"); n != 2 {
		t.Errorf("%d rows are durable, want 2", n)
	}
}

// A wave that is killed at any row and run again ends with every row done
// once, with never more workers than allowed.
func TestAWaveThatIsKilledGoesOnWithThePendingRows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "rows")
		limit := rapid.IntRange(1, 4).Draw(t, "concurrency")
		s, m := hypotheses(n), newMemory()
		ended := map[string]int{}
		for round := 0; ; round++ {
			if round > n+1 {
				t.Fatal("it does not end")
			}
			stopAfter := rapid.IntRange(1, n).Draw(t, "rows before the kill")
			ctx, kill := context.WithCancel(context.Background())
			var running, most atomic.Int32
			done := 0
			err := Run(ctx, s, m, Options{Number: 1, Concurrency: limit,
				Work: func(ctx context.Context, _ *session.Session, task session.Task) Report {
					most.Store(max(most.Load(), running.Add(1)))
					defer running.Add(-1)
					return confirm(ctx, nil, task)
				},
				Merged: func(task session.Task) {
					ended[task.ID]++
					if done++; done >= stopAfter && len(ended) < n {
						kill()
					}
				},
			})
			kill()
			if int(most.Load()) > limit {
				t.Fatalf("%d workers at a time, allowed %d", most.Load(), limit)
			}
			if err == nil {
				break
			}
			if !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			// Another process: it knows what is durable, and nothing else.
			tasks, err := session.DecodeTasks("tasks.csv", []byte(m.saves[len(m.saves)-1]))
			if err != nil {
				t.Fatal(err)
			}
			s = &session.Session{ID: "s", Tasks: tasks}
		}
		for _, row := range s.Wave(1) {
			if row.Status != session.Completed || ended[row.ID] != 1 {
				t.Fatalf("row %s: %s, ended %d times", row.ID, row.Status, ended[row.ID])
			}
		}
		if len(m.files) != 0 {
			t.Fatalf("files are left: %v", m.files)
		}
	})
}

// Rows begin by rank, and one that waited for its place knows what was found
// before.
func TestRowsBeginInTheOrderOfTheTable(t *testing.T) {
	t.Parallel()
	s := hypotheses(5)
	var began []string
	err := Run(t.Context(), s, newMemory(), Options{Number: 1, Concurrency: 1, Work: func(ctx context.Context, now *session.Session, row session.Task) Report {
		for _, id := range began {
			if now.Task(id).Status != session.Completed {
				t.Errorf("%s began before %s was merged", row.ID, id)
			}
		}
		began = append(began, row.ID)
		return confirm(ctx, now, row)
	}})
	if err != nil || strings.Join(began, " ") != "H1 H2 H3 H4 H5" {
		t.Errorf("%v: %v", began, err)
	}
}

// The race detector sees it where a row begins while a result is told.
func TestWhatIsDoneAfterAMergeMayWriteToTheSession(t *testing.T) {
	t.Parallel()
	s, told := hypotheses(6), 0
	err := Run(t.Context(), s, newMemory(), Options{Number: 1, Concurrency: 2, Work: confirm, Merged: func(session.Task) {
		told++
		s.Result = session.ResultFlaky
	}})
	if err != nil || told != 6 {
		t.Error(told, err)
	}
}
