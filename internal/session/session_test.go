package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func same(b []byte) []byte { return b }

func open(t *testing.T) *Folder {
	t.Helper()
	f, err := OpenFolder(filepath.Join(t.TempDir(), "s"), same)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestTasksReadBackAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "a\r\nb", "\r", `"`, ",", "=1+1", "\x00", "a\xffb", " x "}))
	rapid.Check(t, func(t *rapid.T) {
		var tasks []Task
		for i := range rapid.IntRange(0, 5).Draw(t, "rows") {
			tasks = append(tasks, Task{
				ID: "H" + string(rune('1'+i)), Title: text.Draw(t, "title"), Hypothesis: text.Draw(t, "hypothesis"), Wave: 1 + i%2, Status: Pending,
				Findings: text.Draw(t, "findings"), EvidenceFor: text.Draw(t, "evidence"), Deps: []string{"H1"},
				Verdict: rapid.SampledFrom([]Verdict{"", Confirmed, Refuted, Inconclusive}).Draw(t, "verdict"),
			})
		}
		once := EncodeTasks(tasks, false)
		got, err := DecodeTasks("tasks.csv", once)
		if err != nil {
			t.Fatal(err)
		}
		if twice := EncodeTasks(got, false); !bytes.Equal(once, twice) {
			t.Fatalf("written again it differs:\n%q\n%q", once, twice)
		}
		if len(got) != len(tasks) {
			t.Fatalf("%d rows of %d", len(got), len(tasks))
		}
	})
}

func TestABadRowIsNamedByItsLine(t *testing.T) {
	t.Parallel()
	head := strings.Join(columns, ",") + "\n"
	good := "H1,\"two\nlines\",,,,,1,pending,,,,,,,,\n"
	for name, c := range map[string]struct {
		text string
		line int
	}{
		"empty file":      {"", 1},
		"other header":    {"id,name\n", 1},
		"too few columns": {head + good + "H2,x\n", 4},
		"unknown status":  {head + good + "H2,,,,,,1,maybe,,,,,,,,\n", 4},
		"wave 3":          {head + "H2,,,,,,3,pending,,,,,,,,\n", 2},
		"same id twice":   {head + good + good, 4},
		"torn quote":      {head + good + "H2,\"x", 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := DecodeTasks("tasks.csv", []byte(c.text))
			var row *RowError
			if !errors.As(err, &row) || row.Line != c.line {
				t.Errorf("got %v, want an error at line %d", err, c.line)
			}
		})
	}
}

func TestFormulasAreDefusedOnlyWherePeopleOpenTheFile(t *testing.T) {
	t.Parallel()
	tasks := []Task{{ID: "H1", Title: "=HYPERLINK(1)", Wave: 1, Status: Pending}}
	if s := string(EncodeTasks(tasks, true)); !strings.Contains(s, "'=HYPERLINK") {
		t.Errorf("results.csv: %q", s)
	}
	if s := string(EncodeTasks(tasks, false)); strings.Contains(s, "'=") {
		t.Errorf("tasks.csv: %q", s)
	}
}

func FuzzDecodeTasks(f *testing.F) {
	f.Add([]byte(strings.Join(columns, ",") + "\nH1,t,d,h,,,1,pending,,,,,,,,\n"))
	f.Add([]byte("\xff\"\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		tasks, err := DecodeTasks("tasks.csv", data)
		if err != nil {
			return
		}
		again, err := DecodeTasks("tasks.csv", EncodeTasks(tasks, false))
		if err != nil || len(again) != len(tasks) {
			t.Fatalf("what was read cannot be read again: %v", err)
		}
	})
}

func TestSlugsAreSafeShortAndNeverEmpty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := Slug(rapid.String().Draw(t, "title"))
		if s == "" || len(s) > maxSlug || strings.Trim(s, "-") != s || !ValidID("20261130-debug-"+s) {
			t.Fatalf("slug %q", s)
		}
	})
	if got := Slug("ParseDuration(\"-1.5s\") drops the sign"); got != "parseduration-1-5s-drops-the-sign" {
		t.Errorf("got %q", got)
	}
}

func TestTheDateOfASessionIsThatOfItsZone(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 30, 20, 0, 0, 0, time.UTC)
	if got := NewID(at, DefaultZone, "x"); got != "20261201-debug-x" {
		t.Errorf("got %q", got)
	}
}

func TestIDsThatCouldLeaveTheFolderAreRefused(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"", "..", "a/b", "../a", "a\x00", "-rf", ".hidden", "a..b", strings.Repeat("a", 101), "a b"} {
		if ValidID(id) {
			t.Errorf("%q is taken for a session ID", id)
		}
	}
}

func TestTheFolderIsForOneProcess(t *testing.T) {
	t.Parallel()
	f := open(t)
	if _, err := OpenFolder(f.Dir(), same); !errors.Is(err, ErrBusy) {
		t.Errorf("got %v, want ErrBusy", err)
	}
	f.Close()
	again, err := OpenFolder(f.Dir(), same)
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}

func TestWhatAKilledWriterLeftIsHarmless(t *testing.T) {
	t.Parallel()
	f := open(t)
	if err := f.Save(&Session{ID: "s", Schema: 1, Tasks: []Task{{ID: "H1", Wave: 1, Status: Pending}}}); err != nil {
		t.Fatal(err)
	}
	if err := f.Record(Entry{Phase: "experiment", Name: "whole"}); err != nil {
		t.Fatal(err)
	}
	torn, err := os.OpenFile(f.Path("evidence.ndjson"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	torn.WriteString(`{"phase":"exper`)
	torn.Close()
	os.WriteFile(f.Path("session.json.123.tmp"), []byte("{"), 0o644)
	f.Close()
	if f, err = OpenFolder(f.Dir(), same); err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Record(Entry{Phase: "experiment", Name: "after"}); err != nil {
		t.Fatal(err)
	}
	got, err := f.Entries()
	if err != nil || len(got) != 2 || got[1].Name != "after" {
		t.Errorf("entries %v, error %v", got, err)
	}
	if left, _ := filepath.Glob(f.Path("*.tmp")); left != nil {
		t.Errorf("left: %v", left)
	}
	if s, err := f.Load(); err != nil || len(s.Tasks) != 1 {
		t.Errorf("session %v, error %v", s, err)
	}
}

func TestEverythingWrittenIsRedacted(t *testing.T) {
	t.Parallel()
	f, err := OpenFolder(filepath.Join(t.TempDir(), "s"), func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("hunter2"), []byte("[REDACTED:x]")) })
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	err = errors.Join(
		f.Save(&Session{ID: "s", Reason: "hunter2", Tasks: []Task{{ID: "H1", Wave: 1, Status: Pending, Findings: "hunter2"}}}),
		f.Record(Entry{Content: "hunter2"}), f.Write("logs/x.log", []byte("hunter2")),
	)
	if _, e := f.Discover(Discovery{Type: "blocker", Data: map[string]any{"issue": "hunter2"}}); e != nil || err != nil {
		t.Fatal(err, e)
	}
	n := 0
	err = filepath.WalkDir(f.Dir(), func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		if bytes.Contains(data, []byte("hunter2")) {
			t.Errorf("%s holds the secret", p)
		}
		n += bytes.Count(data, []byte("[REDACTED:x]"))
		return err
	})
	if err != nil || n != 5 {
		t.Errorf("%d markers, want 5; %v", n, err)
	}
}

func TestTheBoardTakesADiscoveryOnce(t *testing.T) {
	t.Parallel()
	f := open(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			f.Discover(Discovery{Type: "root_cause", Data: map[string]any{"location": "a.go:1"}})
			f.Discover(Discovery{Type: "root_cause", Data: map[string]any{"location": "a.go:2"}})
			f.Discover(Discovery{Type: "tech_stack", Data: map[string]any{"language": "Go"}})
			f.Discover(Discovery{Type: "gossip", Data: map[string]any{"x": "y"}})
		})
	}
	wg.Wait()
	got, err := f.Discoveries()
	if err != nil || len(got) != 3 {
		t.Errorf("%d discoveries, want 3: %v %v", len(got), got, err)
	}
}

func TestASessionIsRestoredElsewhere(t *testing.T) {
	t.Parallel()
	a, b := open(t), open(t)
	s := &Session{ID: "s", Schema: 1, Mode: Full, Tasks: []Task{{ID: "H1", Wave: 1, Status: Completed, Verdict: Refuted}}}
	if err := errors.Join(a.Save(s), a.Record(Entry{Phase: "experiment"}), a.Write("logs/big.log", make([]byte, maxPackedFile+1)), a.Write("patches/FIX-H1.patch", []byte("x"))); err != nil {
		t.Fatal(err)
	}
	archive, err := a.Pack()
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Unpack(archive); err != nil {
		t.Fatal(err)
	}
	got, err := b.Load()
	if err != nil || !reflect.DeepEqual(got.Tasks, s.Tasks) || got.Mode != Full {
		t.Errorf("got %+v, error %v", got, err)
	}
	if _, err := b.Read("logs/big.log"); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a log over the limit travelled")
	}
	if data, err := PackedFile(archive, "session.json"); err != nil || !json.Valid(data) {
		t.Errorf("packed session: %v", err)
	}
	if _, err := PackedFile(archive, "nothing"); !errors.Is(err, ErrNotPacked) {
		t.Errorf("got %v", err)
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add([]byte("x"))
	f.Fuzz(func(t *testing.T, archive []byte) {
		dir := t.TempDir()
		folder, err := OpenFolder(filepath.Join(dir, "s"), same)
		if err != nil {
			t.Fatal(err)
		}
		defer folder.Close()
		_ = folder.Unpack(archive)
		if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 1 {
			t.Fatalf("files outside of the folder: %v", left)
		}
	})
}

func TestANewerSchemaIsRefused(t *testing.T) {
	t.Parallel()
	f := open(t)
	if err := f.Write("session.json", []byte(`{"schema_version": 99}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Load(); err == nil || !strings.Contains(err.Error(), "newer") {
		t.Errorf("got %v", err)
	}
}

func TestExitCodesAreThoseOfTheManual(t *testing.T) {
	t.Parallel()
	for r, want := range map[Result]int{ResultFixed: 0, ResultRootCause: 1, ResultNotReproduced: 3, ResultInconclusive: 3, ResultFlaky: 4, ResultStopped: 5, "": 70} {
		if got := r.ExitCode(); got != want {
			t.Errorf("%q exits %d, want %d", r, got, want)
		}
	}
}

// A process that is killed within a save leaves the table and the session of
// one and the same save, whichever it is.
func TestASaveThatIsCutOffHappenedOrDidNot(t *testing.T) {
	t.Parallel()
	at := func(s *Session, hypotheses int) *Session {
		s.Hypotheses, s.Tasks = nil, nil
		for i := range hypotheses {
			id := fmt.Sprintf("H%d", i+1)
			s.Hypotheses = append(s.Hypotheses, Hypothesis{ID: id})
			s.Tasks = append(s.Tasks, Task{ID: id, Title: "x", Wave: 1, Status: Pending})
		}
		return s
	}
	for name, cut := range map[string]struct {
		keep map[string]bool // files of the earlier save that are still there
		want int
	}{
		"before json":                {map[string]bool{"session.json": true, "tasks.csv": true}, 1},
		"before the table's name":    {map[string]bool{"tasks.csv": true}, 3},
		"a table edited by a person": {nil, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, err := OpenFolder(t.TempDir()+"/s", func(b []byte) []byte { return b })
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			read := func(file string) []byte {
				data, err := os.ReadFile(f.Path(file))
				if err != nil {
					t.Fatal(err)
				}
				return data
			}
			s := &Session{ID: "s"}
			if err := f.Save(at(s, 1)); err != nil {
				t.Fatal(err)
			}
			old := map[string][]byte{"session.json": read("session.json"), "tasks.csv": read("tasks.csv")}
			if err := f.Save(at(s, 3)); err != nil {
				t.Fatal(err)
			}
			put := func(file string, data []byte) {
				if err := os.WriteFile(f.Path(file), data, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if len(cut.keep) > 0 {
				put("tasks.next.csv", read("tasks.csv"))
			} else {
				put("tasks.csv", EncodeTasks(at(&Session{}, 2).Tasks, false))
			}
			for file := range cut.keep {
				put(file, old[file])
			}
			for range 2 { // also when it is opened once more
				got, err := f.Load()
				if err != nil {
					t.Fatal(err)
				}
				if len(got.Tasks) != cut.want || cut.want != 2 && len(got.Hypotheses) != cut.want {
					t.Errorf("%d rows and %d hypotheses, want %d", len(got.Tasks), len(got.Hypotheses), cut.want)
				}
			}
		})
	}
}
