package eval

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"culprit/internal/session"
)

const (
	shaA = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	shaB = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

// scripted is a Runner that answers from a table and remembers what it was
// asked.
type scripted struct {
	mu    sync.Mutex
	asked []string
	by    map[string]func(ctx context.Context) (Observed, error)
}

func (s *scripted) Run(ctx context.Context, c Case) (Observed, error) {
	s.mu.Lock()
	s.asked = append(s.asked, c.ID)
	f := s.by[c.ID]
	s.mu.Unlock()
	if f == nil {
		return found(shaA), nil
	}
	return f(ctx)
}

// found is a session that names a culprit at a.go:5 and proves a fix; the truth
// is shaA and a.go:5-6.
func found(culprit string) Observed {
	s := &session.Session{Result: session.ResultFixed, Reproduction: &session.Reproduction{Reproduced: true}}
	s.RootCause = &session.RootCause{Location: "a.go:5", Culprit: &session.Commit{SHA: culprit}}
	s.Budget.Runs, s.Budget.Tokens, s.Budget.Cost = 10, 100, 0.5
	return Observed{Session: s, Place: Place{"a.go", 5, 5}, Known: Known{Culprit: shaA, Places: []Place{{"a.go", 5, 6}}}, HeldOut: Yes, Seconds: 2}
}

func cases(ids ...string) *Manifest {
	m := &Manifest{}
	for _, id := range ids {
		m.Cases = append(m.Cases, Case{ID: id, digest: "d-" + id, Truth: Truth{Culprit: "x", Fix: "y"}, HeldOut: HeldOut{Test: "make"}})
	}
	return m
}

func options(t *testing.T) Options {
	t.Helper()
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	return Options{Results: filepath.Join(t.TempDir(), "results.jsonl"), Version: "v1", Settings: "model none", Now: func() time.Time { return at }}
}

func mustRun(t *testing.T, m *Manifest, r Runner, o Options) []Record {
	t.Helper()
	records, err := Run(t.Context(), m, r, o)
	if err != nil {
		t.Fatal(err)
	}
	return records
}

func TestACaseIsJudgedAgainstWhatIsKnown(t *testing.T) {
	t.Parallel()
	type answers struct{ Reproduced, Culprit, File, Line, Fix, HeldOut, End Answer }
	for _, tt := range []struct {
		name string
		seen func() Observed
		want answers
	}{
		{"all right", func() Observed { return found(shaA) }, answers{Yes, Yes, Yes, Yes, Yes, Yes, Unknown}},
		{"wrong culprit", func() Observed { return found(shaB) }, answers{Yes, No, Yes, Yes, Yes, Yes, Unknown}},
		{"another line", func() Observed { o := found(shaA); o.Place = Place{"a.go", 9, 9}; return o }, answers{Yes, Yes, Yes, No, Yes, Yes, Unknown}},
		{"another file", func() Observed { o := found(shaA); o.Place.File = "b.go"; return o }, answers{Yes, Yes, No, No, Yes, Yes, Unknown}},
		{"only the file is known", func() Observed { o := found(shaA); o.Known.Places = []Place{{File: "a.go"}}; return o }, answers{Yes, Yes, Yes, Unknown, Yes, Yes, Unknown}},
		{"no place is named", func() Observed { o := found(shaA); o.Place = Place{}; return o }, answers{Yes, Yes, None, None, Yes, Yes, Unknown}},
		{"nothing is known", func() Observed { o := found(shaA); o.Known, o.HeldOut = Known{}, Unknown; return o }, answers{Yes, Unknown, Unknown, Unknown, Yes, Unknown, Unknown}},
		{"not reproduced", func() Observed {
			o := found(shaA)
			o.Session, o.Place, o.HeldOut = &session.Session{Result: session.ResultNotReproduced}, Place{}, None
			return o
		}, answers{None, None, None, None, None, None, Unknown}},
		{"not reproduced, as known", func() Observed {
			o := found(shaA)
			o.Session, o.Known, o.Place, o.HeldOut = &session.Session{Result: session.ResultNotReproduced}, Known{Result: session.ResultNotReproduced}, Place{}, Unknown
			return o
		}, answers{Unknown, Unknown, Unknown, Unknown, Unknown, Unknown, Yes}},
		{"flaky, as known", func() Observed {
			o := found(shaA)
			o.Known.Result, o.Session.Result, o.Session.RootCause = session.ResultFlaky, session.ResultFlaky, nil
			o.Session.Flake = &session.Flake{Since: &session.Commit{SHA: shaA}}
			return o
		}, answers{Yes, Yes, Yes, Yes, Unknown, Yes, Yes}},
		{"read, and searched beside it", func() Observed {
			o := found(shaA)
			o.Session.Causes = map[string]*session.RootCause{"H1": {Culprit: &session.Commit{SHA: shaB}}, "H2": o.Session.RootCause}
			o.Session.RootCause = &session.RootCause{Kind: session.Reading}
			o.Session.Tasks = []session.Task{{ID: "H1", Verdict: session.Refuted}, {ID: "H2", Verdict: session.Confirmed}}
			return o
		}, answers{Yes, Yes, Yes, Yes, Yes, Yes, Unknown}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := &scripted{by: map[string]func(context.Context) (Observed, error){"a": func(context.Context) (Observed, error) { return tt.seen(), nil }}}
			x := mustRun(t, cases("a"), r, options(t))[0]
			if got := (answers{x.Reproduced, x.Culprit, x.FileHit, x.LineHit, x.Fix, x.HeldOut, x.ResultHit}); got != tt.want {
				t.Errorf("got  %v\nwant %v", got, tt.want)
			}
		})
	}
}

func TestWhatHasARecordIsSkippedAndWhatChangedIsRunAgain(t *testing.T) {
	t.Parallel()
	o := options(t)
	broken := errors.New("the disk is full")
	r := &scripted{by: map[string]func(context.Context) (Observed, error){
		"absent": func(context.Context) (Observed, error) {
			return Observed{}, &NotRunError{errors.New("no such repository")}
		},
		"breaks": func(context.Context) (Observed, error) {
			return Observed{Session: found(shaA).Session, Seconds: 3}, broken
		},
	}}
	m := cases("a", "absent", "breaks", "b")
	first := mustRun(t, m, r, o)
	if want := []string{"a", "absent", "breaks", "b"}; !reflect.DeepEqual(r.asked, want) {
		t.Fatalf("ran %q, want %q", r.asked, want)
	}
	for i, want := range []Status{Ran, NotRun, Broke, Ran} {
		if first[i].Status != want {
			t.Errorf("%s is %q, want %q", first[i].Case, first[i].Status, want)
		}
	}
	if x := first[2]; x.Error != broken.Error() || x.Culprit != None || x.LineHit != None || x.HeldOut != None || x.Runs != 10 || x.Seconds != 3 {
		t.Errorf("the session that broke is recorded as %+v", x)
	}

	// A kill tore the file in the middle of a line.
	data, err := os.ReadFile(o.Results)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(o.Results, data[:len(data)-20], 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		change func(m *Manifest, o *Options)
		want   []string
	}{
		{"the torn one, and those that did not run", func(*Manifest, *Options) {}, []string{"absent", "breaks", "b"}},
		{"those that did not run", func(*Manifest, *Options) {}, []string{"absent", "breaks"}},
		{"one by its ID", func(_ *Manifest, o *Options) { o.Filter = regexp.MustCompile("^ab") }, []string{"absent"}},
		{"a case that changed", func(m *Manifest, o *Options) { m.Cases[0].digest = "other" }, []string{"a", "absent", "breaks"}},
		{"another program", func(_ *Manifest, o *Options) { o.Version = "v2" }, []string{"a", "absent", "breaks", "b"}},
		{"another model", func(_ *Manifest, o *Options) { o.Settings = "model x" }, []string{"a", "absent", "breaks", "b"}},
		{"all again", func(_ *Manifest, o *Options) { o.Again = true }, []string{"a", "absent", "breaks", "b"}},
	} {
		r.asked = nil
		mm, oo := cases("a", "absent", "breaks", "b"), o
		tt.change(mm, &oo)
		mustRun(t, mm, r, oo)
		if !reflect.DeepEqual(r.asked, tt.want) {
			t.Errorf("%s: ran %q, want %q", tt.name, r.asked, tt.want)
		}
	}
	all, err := ReadRecords(o.Results)
	if err != nil || len(all) != 4-1+3+2+1+3+4+4+4 {
		t.Errorf("the file has %d records, %v", len(all), err)
	}
}

func TestAnInterruptedCaseGetsNoRecord(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	o := options(t)
	r := &scripted{by: map[string]func(context.Context) (Observed, error){"b": func(ctx context.Context) (Observed, error) {
		cancel()
		return found(shaA), ctx.Err()
	}}}
	records, err := Run(ctx, cases("a", "b", "c"), r, o)
	if !errors.Is(err, context.Canceled) || len(records) != 1 {
		t.Errorf("records %v, error %v", records, err)
	}
	if saved, err := ReadRecords(o.Results); err != nil || len(saved) != 1 || saved[0].Case != "a" {
		t.Errorf("saved are %v, %v", saved, err)
	}
}

func TestCasesRunAsManyAtATimeAsAllowed(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.Parallel = 3
	var mu sync.Mutex
	now, most := 0, 0
	together := make(chan struct{})
	r := &scripted{by: map[string]func(context.Context) (Observed, error){}}
	m := cases("a", "b", "c", "d", "e", "f")
	for _, c := range m.Cases {
		r.by[c.ID] = func(context.Context) (Observed, error) {
			mu.Lock()
			now++
			if most = max(most, now); now == 3 {
				select {
				case <-together:
				default:
					close(together)
				}
			}
			mu.Unlock()
			<-together // the first three wait for one another
			mu.Lock()
			now--
			mu.Unlock()
			return found(shaA), nil
		}
	}
	records := mustRun(t, m, r, o)
	if most != 3 {
		t.Errorf("%d at a time, want 3", most)
	}
	for i, x := range records {
		if x.Case != m.Cases[i].ID {
			t.Errorf("record %d is of %s", i, x.Case)
		}
	}
	if saved, err := ReadRecords(o.Results); err != nil || len(saved) != 6 {
		t.Errorf("%d saved, %v", len(saved), err)
	}
}

func TestResultsThatCannotBeWrittenEndTheRun(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.Results = filepath.Join(o.Results, "below", "nothing")
	r := &scripted{}
	if _, err := Run(t.Context(), cases("a", "b"), r, o); err == nil || len(r.asked) != 1 {
		t.Errorf("asked %q, error %v", r.asked, err)
	}
}

func TestABadResultsFileIsAnErrorWithItsLine(t *testing.T) {
	t.Parallel()
	good := `{"schema_version":1,"case":"a"}` + "\n"
	for _, tt := range []struct{ text, want string }{
		{good + "{\n" + good, "line 2 is not a record"},
		{`{"schema_version":2,"case":"a"}` + "\n", "line 1 has schema version 2"},
		{`{"schema_version":1}` + "\n", "line 1 names no case"},
	} {
		file := filepath.Join(t.TempDir(), "r.jsonl")
		if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadRecords(file); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got %v, want %q", err, tt.want)
		}
	}
}

func TestAFilterThatLeavesNothingIsAnError(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.Filter = regexp.MustCompile("zzz")
	if _, err := Run(t.Context(), cases("a"), &scripted{}, o); !errors.Is(err, ErrNoCase) {
		t.Errorf("got %v", err)
	}
}

func ExampleShare() {
	fmt.Println(Share{Right: 4, Of: 6})
	fmt.Println(Share{Right: 6, Of: 6})
	fmt.Println(Share{})
	// Output:
	// 4 of 6, 67 % (22–96 %)
	// 6 of 6, 100 % (54–100 %)
	// 0 of 0
}
