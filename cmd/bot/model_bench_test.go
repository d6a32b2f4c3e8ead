package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"culprit/internal/agent"
	"culprit/internal/checkout"
	"culprit/internal/config"
	"culprit/internal/modeltest"
	"culprit/internal/redact"
	"culprit/internal/session"
	"culprit/internal/toolchain"
	"culprit/pipeline/wave"
)

// passing answers every run: what is measured is the prompts, not the runs.
type passing struct{}

func (passing) Run(context.Context, session.Trial) (session.Observation, error) {
	return session.Observation{Outcome: session.Passed, Output: strings.Repeat("--- PASS: TestRun\n", 40), Log: "logs/run.log"}, nil
}

func (passing) Repeat(_ context.Context, _ session.Trial, n int) (session.Count, []session.Observation, error) {
	return session.Count{Runs: n}, nil, nil
}

// reader is a model client, the desk of its workers on this program's own
// repository, and a session with rows for them.
func reader(tb testing.TB, model *modeltest.Server, rows int) (*agent.Client, agent.Desk, *session.Session, *session.Folder) {
	tb.Helper()
	dir := tb.TempDir()
	root, err := exec.CommandContext(tb.Context(), "git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		tb.Skipf("the program's own repository is not here: %v", err)
	}
	cache, err := checkout.OpenCache(filepath.Join(dir, "repositories"))
	if err != nil {
		tb.Fatal(err)
	}
	mirror, err := cache.OpenLocal(tb.Context(), strings.TrimSpace(string(root)))
	if err != nil {
		tb.Fatal(err)
	}
	red := redact.New()
	folder, _, err := session.Create(filepath.Join(dir, "sessions"), "20261130-debug-prompts", red.Bytes)
	if err != nil {
		tb.Fatal(err)
	}
	set, err := config.LoadModels(func(name string) (string, bool) {
		v, ok := map[string]string{"OPENAI_BASE_URL": model.URL(), "OPENAI_API_KEY": "k", "CULPRIT_MODEL_HIGH": "m"}[name]
		return v, ok
	})
	if err != nil {
		tb.Fatal(err)
	}
	llm, err := openModels(set, nil, red, time.Now)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		llm.close()
		_ = folder.Close()
		_ = mirror.Close()
		_ = cache.Close()
	})
	head, err := mirror.Resolve(tb.Context(), "HEAD")
	if err != nil {
		tb.Fatal(err)
	}
	s := &session.Session{
		ID: "20261130-debug-prompts", Mode: session.Full, Bad: &head, Symptom: session.Symptom{Title: "CI fails", Text: "The tests of the model loop fail."},
		Reproduction: &session.Reproduction{
			Command: "go test ./internal/agent", Reproduced: true, Count: session.Count{Runs: 5, Failures: 5},
			Failure: &session.Failure{Test: "TestRun", Package: "culprit/internal/agent", File: "internal/agent/loop_test.go", Line: 120, Message: "ended as missing, want reported",
				Stack: []session.Frame{{File: "internal/agent/loop.go", Line: 90, Function: "endForced"}}},
		},
	}
	for i := range rows {
		id := fmt.Sprintf("H%d", i+1)
		s.Hypotheses = append(s.Hypotheses, session.Hypothesis{ID: id, Kind: session.Reading, Prediction: "a line contradicts the test"})
		s.Tasks = append(s.Tasks, session.Task{ID: id, Title: "a line of the code under test is wrong", Hypothesis: "A line is wrong.", Wave: 1, Status: session.Pending})
	}
	w := workspace{mirror}
	return llm.client, agent.Desk{
		Repo: w, Runner: passing{}, Store: folder, Redact: red.String, Now: time.Now,
		Reproduction: func(context.Context, *session.Session) (session.Trial, error) {
			return session.Trial{Rev: head.SHA, Command: "go test ./internal/agent"}, nil
		},
		Render: func(context.Context, string, []session.Edit, string, string, string) (*session.Fix, error) {
			return &session.Fix{}, nil
		},
	}, s, folder
}

// promptSize is one request, taken apart.
type promptSize struct {
	phase                                     string
	answer, instructions, tools, all, repeats int // bytes, but answer
}

// TestPromptSizes shows how large the prompts of each phase are on a real
// repository, this one, and how much of each the provider has seen before
// (make bench-prompts). It holds that the beginning never changes.
func TestPromptSizes(t *testing.T) {
	t.Parallel()
	model := startModel(t, "reads.yml")
	client, desk, s, _ := reader(t, model, 2)
	for _, row := range s.Wave(1) {
		agent.NewInvestigator(client, desk).Investigate(t.Context(), s, row)
	}
	s.RootCause = &session.RootCause{Task: "H1", Kind: session.Reading, Summary: "it is wrong", Location: "internal/agent/loop.go:28"}
	s.Causes = map[string]*session.RootCause{"H1": s.RootCause}
	for _, id := range []string{"FIX-H1", "FIX-H2"} {
		agent.NewFixer(client, desk, toolchain.IsTestFile).Fix(t.Context(), s, session.Task{ID: id, Title: "Fix", Wave: 2, ContextFrom: []string{"H1"}})
	}
	var before []string
	var out strings.Builder
	fmt.Fprintf(&out, "%-12s %6s %14s %8s %8s %8s %9s\n", "phase", "answer", "instructions B", "tools B", "all B", "~tokens", "seen before")
	for _, r := range model.Requests() {
		var raw struct {
			Tools    json.RawMessage
			Messages json.RawMessage
		}
		if err := json.Unmarshal(r.Body, &raw); err != nil || r.Status != 200 {
			t.Fatalf("%v, status %d", err, r.Status)
		}
		p := promptSize{phase: "investigate", instructions: len(r.Text("system", "developer")), tools: len(raw.Tools), answer: 1}
		if strings.Contains(r.Text("system", "developer"), "You fix") {
			p.phase = "fix"
		}
		for _, m := range r.Messages {
			if m.Role == "assistant" {
				p.answer++
			}
		}
		text := string(raw.Tools) + string(raw.Messages)
		p.all = len(text)
		for _, old := range before {
			n := 0
			for n < min(len(old), len(text)) && old[n] == text[n] {
				n++
			}
			p.repeats = max(p.repeats, n)
		}
		before = append(before, text)
		fmt.Fprintf(&out, "%-12s %6d %14d %8d %8d %8d %8.0f %%\n", p.phase, p.answer, p.instructions, p.tools, p.all, p.all/4, 100*float64(p.repeats)/float64(p.all))
		if p.answer > 1 && p.repeats < p.instructions+p.tools {
			t.Errorf("%s, answer %d: only %d bytes are as before, the beginning has %d", p.phase, p.answer, p.repeats, p.instructions+p.tools)
		}
	}
	t.Logf("\n%s", out.String())
}

// BenchmarkEqualHypotheses runs a wave of one and of five hypotheses whose
// models take the same time, two seconds, to answer.
func BenchmarkEqualHypotheses(b *testing.B) {
	script, err := modeltest.Parse([]byte(`rules:
  - {when: {turn: 1}, answer: {delay: 1s, calls: [{name: list, arguments: {}}]}}
  - when: {any: "id: (?P<row>H[0-9]+)"}
    answer: {delay: 1s, calls: [{name: report, arguments: {id: "${row}", result_status: completed, hypothesis_verdict: inconclusive, findings: Nothing., evidence_for: [], evidence_against: []}}]}
`))
	if err != nil {
		b.Fatal(err)
	}
	model, err := modeltest.Start(script)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = model.Close() })
	took := map[int]time.Duration{}
	for b.Loop() {
		for _, rows := range []int{1, 5} {
			client, desk, s, folder := reader(b, model, rows)
			began := time.Now()
			err := wave.Run(b.Context(), s, folder, wave.Options{
				Number: 1, Concurrency: 5, RowTimeout: time.Minute,
				Work: func(ctx context.Context, now *session.Session, t session.Task) wave.Report {
					f := agent.NewInvestigator(client, desk).Investigate(ctx, now, t)
					row := t
					row.Status, row.Verdict, row.Findings = f.Status, f.Verdict, f.Findings
					return wave.Report{Row: row}
				},
			})
			if err != nil {
				b.Fatal(err)
			}
			for _, row := range s.Wave(1) {
				if row.Findings != "Nothing." {
					b.Fatalf("%+v", row)
				}
			}
			took[rows] += time.Since(began)
		}
	}
	b.ReportMetric(took[1].Seconds()/float64(b.N), "s/one")
	b.ReportMetric(took[5].Seconds()/float64(b.N), "s/five")
	b.ReportMetric(float64(took[5])/float64(took[1]), "five/one")
}
