package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"culprit/internal/agent/tools"
	"culprit/internal/modeltest"
	"culprit/internal/session"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memory is a store in memory.
type memory struct {
	mu    sync.Mutex
	files map[string][]byte
	lines []session.Dispatch
	full  bool // refuses the audit
}

func (m *memory) Write(name string, data []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.files == nil {
		m.files = map[string][]byte{}
	}
	m.files[name] = data
	return nil
}

func (m *memory) Dispatch(d session.Dispatch) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.full {
		return errors.New("no space left on device")
	}
	m.lines = append(m.lines, d)
	return nil
}

// rig is a scripted model with a client on it.
type rig struct {
	server *modeltest.Server
	client *Client
	store  *memory
	waits  []time.Duration
}

func newRig(t testing.TB, script string) *rig {
	t.Helper()
	s, err := modeltest.Parse([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	v, err := modeltest.Start(s)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{server: v, store: &memory{}}
	var mu sync.Mutex
	r.client, err = New(Settings{
		BaseURL: v.URL(), APIKey: "test-key",
		Roles:     map[Role][]Model{High: {{Name: "big"}, {Name: "spare"}}, Judge: {{Name: "other"}}},
		Prices:    Prices{"big": {In: 2, Cached: 0.5, Out: 8}},
		MaxOutput: 1000,
		HTTP:      &http.Client{Transport: &http.Transport{}},
		Sleep: func(ctx context.Context, d time.Duration) error {
			mu.Lock()
			defer mu.Unlock()
			r.waits = append(r.waits, d)
			return ctx.Err()
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.client.Close()
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// verdict is a small report.
var verdict = Report{Tool: tools.Tool{
	Name: "report", Description: "Ends the work.",
	Parameters: tools.Schema{
		"type": "object", "additionalProperties": false, "required": []string{"verdict"},
		"properties": map[string]any{
			"verdict": map[string]any{"type": "string", "enum": []string{"confirmed", "refuted", "inconclusive"}},
			"why":     map[string]any{"type": "string"},
		},
	},
}}

// pages is a tool with an answer of the asked size.
var pages = tools.Tool{
	Name: "read", Description: "Reads a file.",
	Parameters: tools.Schema{
		"type": "object", "additionalProperties": false, "required": []string{"path"},
		"properties": map[string]any{"path": map[string]any{"type": "string"}, "size": map[string]any{"type": "integer"}},
	},
	Run: func(_ context.Context, args json.RawMessage) (tools.Result, error) {
		var a struct {
			Path string
			Size int
		}
		if err := json.Unmarshal(args, &a); err != nil {
			return tools.Result{}, err
		}
		if a.Path == "missing" {
			return tools.Result{}, errors.New("there is no file missing: list shows what is there")
		}
		return tools.Result{Text: "content of " + a.Path + "\n" + strings.Repeat("a line of it\n", a.Size/13), Note: "[whole]"}, nil
	},
}

func (r *rig) task() Task {
	return Task{
		Role: High, Prompt: Prompt{File: "test.md", Text: "You look for the cause of a failure.", Hash: "abc"}, First: "Is H1 true?",
		Marks: NewMarks(), Tools: []tools.Tool{pages}, Report: verdict, Store: r.store, Log: "logs/H1-agent.md",
		Line:   session.Dispatch{Step: "investigate", Task: "H1", Mode: session.Full},
		Redact: func(s string) string { return strings.ReplaceAll(s, "hunter2", "[REDACTED:secret]") },
	}
}

const reads = `
  - {name: reads, times: 1, when: {turn: 1}, answer: {text: "I read both", calls: [{name: read, arguments: {path: a.go}}, {name: read, arguments: {path: b.go}}]}}
`

const reports = `
  - {name: reports, answer: {calls: [{name: report, arguments: {verdict: confirmed, why: line 7}}]}}
`

func TestAModelReadsInParallelAndReportsOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, "rules:"+reads+reports)
	done := r.client.Run(t.Context(), r.task())
	if done.End != Reported || string(done.Report) != `{"verdict":"confirmed","why":"line 7"}` || done.Turns != 2 {
		t.Fatalf("%+v", done)
	}
	last := r.server.Requests()[1]
	var results []string
	for _, m := range last.Messages {
		if m.Role == "tool" {
			results = append(results, string(m.Content))
		}
	}
	if len(results) != 2 || !strings.Contains(results[0], "content of a.go") || !strings.Contains(results[1], "content of b.go") || !strings.Contains(results[0], "<data-") {
		t.Errorf("results: %q", results)
	}
	if len(r.store.lines) != 2 {
		t.Fatalf("audit: %+v", r.store.lines)
	}
	l := r.store.lines[1]
	if l.Step != "investigate" || l.Task != "H1" || l.Model != "big" || l.Prompt != "test.md" || l.Hash != "abc" || l.Turn != 2 || l.Outcome != "answered" || l.TokensIn == 0 || l.TokensOut == 0 || l.Cost <= 0 {
		t.Errorf("audit: %+v", l)
	}
	if text := string(r.store.files["logs/H1-agent.md"]); !strings.Contains(text, "I read both") || !strings.Contains(text, "End: reported") {
		t.Errorf("transcript: %s", text)
	}
}

// The beginning of every request is that of the one before, so that a
// provider's cache has it.
func TestEveryRequestBeginsWithTheOneBefore(t *testing.T) {
	t.Parallel()
	r := newRig(t, "rules:"+reads+`
  - {name: again, times: 1, when: {turn: 2}, answer: {calls: [{name: read, arguments: {path: c.go}}]}}
`+reports)
	task := r.task()
	task.Prompt.Text = strings.Repeat("A rule that every session has. ", 300)
	done := r.client.Run(t.Context(), task)
	if done.End != Reported || done.Usage.Cached < 1024 {
		t.Fatalf("%+v", done)
	}
	all := r.server.Requests()
	for i := 1; i < len(all); i++ {
		before, now := all[i-1], all[i]
		if fmt.Sprint(before.Messages) != fmt.Sprint(now.Messages[:len(before.Messages)]) {
			t.Errorf("request %d does not begin with request %d", i+1, i)
		}
		if !reflect.DeepEqual(before.Tools, now.Tools) {
			t.Errorf("request %d has other tools", i+1)
		}
	}
}

// QD8 and the worker's contract: every way in which a report can be wrong has
// one outcome.
func TestAReportThatIsMissingDoubleMalformedOrContradictoryHasItsEnd(t *testing.T) {
	t.Parallel()
	const good = `{name: report, arguments: {verdict: refuted}}`
	cases := []struct {
		name, rules string
		want        End
		note        string
	}{
		{"missing", `
  - {answer: {text: I am done and think that it is line 7}}`, Missing, "did not report"},
		{"missing, then given when asked", `
  - {times: 1, answer: {text: It is line 7}}
  - {when: {last: "Call report now"}, answer: {calls: [` + good + `]}}`, Reported, ""},
		{"double and the same", `
  - {answer: {calls: [` + good + `, ` + good + `]}}`, Reported, "2 times"},
		{"double and not the same", `
  - {answer: {calls: [` + good + `, {name: report, arguments: {verdict: confirmed}}]}}`, Contradictory, "not the same"},
		{"double, one of them malformed", `
  - {answer: {calls: [{name: report, arguments: {verdict: perhaps}}, ` + good + `]}}`, Reported, "2 times"},
		{"malformed, then mended", `
  - {times: 1, answer: {calls: [{name: report, arguments: {verdict: perhaps}}]}}
  - {when: {result: "was not taken.*perhaps|was not taken.*Mend it"}, answer: {calls: [` + good + `]}}`, Reported, ""},
		{"malformed twice", `
  - {answer: {calls: [{name: report, arguments: {verdict: perhaps}}]}}`, Malformed, "schema"},
		{"no JSON, twice", `
  - {answer: {calls: [{name: report, arguments: '{"verdict": "conf'}]}}`, Malformed, "not JSON"},
		{"with calls beside it", `
  - {answer: {calls: [{name: read, arguments: {path: a.go}}, ` + good + `]}}`, Reported, "1 calls beside"},
		{"refused", `
  - {answer: {refusal: I will not}}`, Refused, "I will not"},
		{"filtered", `
  - {answer: {text: x, finish: content_filter}}`, Refused, "filter"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "rules:"+c.rules+"\n")
			done := r.client.Run(t.Context(), r.task())
			said := fmt.Sprint(done.Err, done.Notes)
			if done.End != c.want || !strings.Contains(said, c.note) {
				t.Errorf("%s: %s", done.End, said)
			}
			if (done.Report != nil) != (c.want == Reported) {
				t.Errorf("report %s with end %s", done.Report, done.End)
			}
		})
	}
}

func TestAnObjectionIsToldOnceAndKeptTheSecondTime(t *testing.T) {
	t.Parallel()
	r := newRig(t, "rules:"+reports)
	task := r.task()
	n := 0
	task.Report.Check = func(json.RawMessage) error { n++; return errors.New("line 7 reads otherwise") }
	done := r.client.Run(t.Context(), task)
	if done.End != Reported || done.Objection == nil || n != 2 || done.Turns != 2 {
		t.Errorf("%+v after %d checks", done, n)
	}
	if last := r.server.Requests()[1].Last(); !strings.Contains(last, "line 7 reads otherwise") {
		t.Errorf("told %q", last)
	}
}

// A model that goes astray is brought back, or ended.
func TestAModelThatGoesAstrayIsStopped(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, rules string
		set         func(*Task)
		want        End
		told        string // is in some request
	}{
		{"invented tool", `
  - {times: 1, answer: {calls: [{name: teleport, arguments: {}}]}}` + reports, nil, Reported, `there is no tool \"teleport\"; there are: more, read, report`},
		{"only invented tools", `
  - {answer: {calls: [{name: teleport, arguments: {}}]}}`, nil, Missing, "of no use"},
		{"arguments that are no JSON", `
  - {times: 1, answer: {calls: [{name: read, arguments: '{"path"'}]}}` + reports, nil, Reported, "this is not JSON"},
		{"arguments that do not fit", `
  - {times: 1, answer: {calls: [{name: read, arguments: {file: a.go}}]}}` + reports, nil, Reported, "do not fit"},
		{"a tool that fails", `
  - {times: 1, answer: {calls: [{name: read, arguments: {path: missing}}]}}` + reports, nil, Reported, "list shows what is there"},
		{"endless loop of one call", `
  - {answer: {calls: [{name: read, arguments: {path: a.go}}]}}`, nil, Missing, "nothing has changed"},
		{"too many turns", `
  - {when: {turn: 1}, answer: {calls: [{name: read, arguments: {path: a1}}]}}
  - {when: {turn: 2}, answer: {calls: [{name: read, arguments: {path: a2}}]}}
  - {answer: {calls: [{name: read, arguments: {path: a3}}]}}`, func(t *Task) { t.Turns = 3 }, OutOfTurns, "This is your last answer"},
		{"a very long answer", `
  - {times: 1, answer: {pad: 2000000, chunk: 20000}}` + reports, nil, Reported, "Your answer was cut"},
		{"half of the context is read", `
  - {times: 1, answer: {calls: [{name: read, arguments: {path: big, size: 12000}}]}}` + reports, func(t *Task) { t.Context = 6000 }, Reported, "You have used half of your context"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "rules:"+c.rules+"\n")
			task := r.task()
			if c.set != nil {
				c.set(&task)
			}
			done := r.client.Run(t.Context(), task)
			if done.End != c.want {
				t.Errorf("%s: %v", done.End, done.Err)
			}
			var all strings.Builder
			for _, q := range r.server.Requests() {
				all.Write(q.Body)
			}
			if !strings.Contains(strings.ReplaceAll(all.String(), `\\\"`, `\"`), c.told) {
				t.Errorf("the model was not told %q", c.told)
			}
			if n := len(r.server.Requests()); n > 12 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

func TestALongResultIsShownInPages(t *testing.T) {
	t.Parallel()
	r := newRig(t, `rules:
  - {times: 1, answer: {calls: [{name: read, arguments: {path: long, size: 40000}}]}}
  - {times: 1, when: {result: "page 1 of 3 of r1"}, answer: {calls: [{name: more, arguments: {result: r1, page: 3}}, {name: more, arguments: {result: r9, page: 2}}, {name: more, arguments: {result: r1, page: 7}}]}}
`+reports)
	done := r.client.Run(t.Context(), r.task())
	if done.End != Reported {
		t.Fatalf("%s: %v", done.End, done.Err)
	}
	last := r.server.Requests()[2]
	text := last.Text("tool")
	for _, want := range []string{"[page 3 of 3 of r1]", "there is no result \"r9\"", "r1 has 3 pages"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in the results", want)
		}
	}
	for _, m := range last.Messages {
		if len(m.Content) > maxResult+500 {
			t.Errorf("a message of %d bytes", len(m.Content))
		}
	}
}

func TestOldResultsAreDroppedBeforeTheContextIsFull(t *testing.T) {
	t.Parallel()
	rules := "rules:\n"
	for i := range 8 {
		rules += fmt.Sprintf("  - {when: {turn: %d}, answer: {calls: [{name: read, arguments: {path: f%d, size: 7000}}]}}\n", i+1, i)
	}
	r := newRig(t, rules+reports)
	task := r.task()
	task.Context = 32_000 // 8 × 7 kB are 44 % of it: more than a quarter, less than half
	done := r.client.Run(t.Context(), task)
	if done.End != Reported || done.Turns != 9 {
		t.Fatalf("%s after %d: %v", done.End, done.Turns, done.Err)
	}
	all := r.server.Requests()
	last := all[len(all)-1]
	if text := last.Text("tool"); !strings.Contains(text, "were dropped to save room: read {\"path\":\"f0\"") || !strings.Contains(text, "content of f7") {
		t.Errorf("the results are %q", clip(text, 2000))
	}
	if size := len(last.Body); size > 45_000 {
		t.Errorf("the last request has %d bytes", size)
	}
}

func TestWhatIsSentAndStoredIsRedacted(t *testing.T) {
	t.Parallel()
	r := newRig(t, `rules:
  - {times: 1, answer: {text: "the password is hunter2", calls: [{name: read, arguments: {path: "hunter2"}}, {name: "hunter2", arguments: {}}]}}
`+reports)
	task := r.task()
	task.First += " The log says hunter2."
	if done := r.client.Run(t.Context(), task); done.End != Reported {
		t.Fatalf("%s: %v", done.End, done.Err)
	}
	for i, q := range r.server.Requests() {
		for _, m := range q.Messages {
			if strings.Contains(string(m.Content), "hunter2") {
				t.Errorf("request %d: %s", i+1, m.Content)
			}
		}
	}
}

func TestARunWhoseAuditCannotBeWrittenEnds(t *testing.T) {
	t.Parallel()
	r := newRig(t, "rules:"+reads+reports)
	r.store.full = true
	done := r.client.Run(t.Context(), r.task())
	if done.End != Faulted || !strings.Contains(done.Err.Error(), "no space left") || len(r.server.Requests()) != 1 {
		t.Errorf("%s: %v", done.End, done.Err)
	}
}

func TestTheFolderKeepsTheAudit(t *testing.T) {
	t.Parallel()
	folder, _, err := session.Create(t.TempDir(), "20261130-debug-x", func(b []byte) []byte { return []byte(strings.ReplaceAll(string(b), "hunter2", "[REDACTED:secret]")) })
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	r := newRig(t, "rules:"+reads+reports)
	task := r.task()
	task.Store, task.Line.Task = folder, "H1-hunter2"
	if done := r.client.Run(t.Context(), task); done.End != Reported {
		t.Fatalf("%s: %v", done.End, done.Err)
	}
	lines, err := folder.Dispatches()
	if err != nil || len(lines) != 2 || lines[0].Task != "H1-[REDACTED:secret]" {
		t.Errorf("%+v %v", lines, err)
	}
	if _, err := os.Stat(folder.Path("logs/H1-agent.md")); err != nil {
		t.Error(err)
	}
}
