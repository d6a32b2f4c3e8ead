package agent

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"culprit/internal/agent/tools"
	"culprit/internal/session"
)

// One golden for each role: its instructions, and the tools that it has.
func TestRolesAreAsTheirGoldens(t *testing.T) {
	t.Parallel()
	base, err := prompt(investigatePrompt)
	if err != nil {
		t.Fatal(err)
	}
	work := &tools.Desk{}
	for role := range sides {
		p, offered, err := reader(role, work)
		if err != nil {
			t.Fatal(err)
		}
		section, ok := strings.CutPrefix(p.Text, base.Text)
		if !ok || p.Hash == base.Hash || !strings.HasPrefix(p.File, "investigate.v1.md+role_") {
			t.Errorf("%s: %s does not begin with what all readers are told", role, p.File)
		}
		var names []string
		for _, x := range offered {
			names = append(names, x.Name)
		}
		for _, want := range slices.Concat(common, sides[role].tools) {
			if !slices.Contains(names, want) {
				t.Errorf("%s: there is no tool %s", role, want)
			}
		}
		got := p.File + " " + strings.Join(names, " ") + "\n" + section
		golden := filepath.Join("testdata", "role_"+string(role)+".golden")
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s: %s", role, diff)
		}
	}
}

func TestAnInvestigatorWorksInItsRole(t *testing.T) {
	t.Parallel()
	p, r, d := newShop(t, `rules:
  - {times: 1, answer: {calls: [{name: run_command, arguments: {command: "true"}}]}}
  - {answer: {calls: [`+good+`]}}
`)
	s, h, _ := shopSession()
	s.Hypotheses[0].Role = session.ChangeAnalysis
	if f := NewInvestigator(r.client, d).Investigate(t.Context(), s, h); f.Verdict != session.Confirmed {
		t.Fatalf("%+v", f)
	}
	for _, q := range r.server.Requests() {
		if !strings.Contains(q.Text("system", "developer"), "Your side: the change") || q.Offers("run_command") || !q.Offers("run_at") {
			t.Errorf("tools %+v", q.Tools)
		}
	}
	if !strings.Contains(r.server.Requests()[1].Text("tool"), `there is no tool "run_command"`) || p.runs != 0 {
		t.Error("a tool of another role was used")
	}
	lines, err := p.store.Dispatches()
	if err != nil || len(lines) != 2 || lines[0].Prompt != "investigate.v1.md+role_change.v1.md" {
		t.Errorf("%+v %v", lines, err)
	}
	s.Hypotheses[0].Role = "boss"
	if f := NewInvestigator(r.client, d).Investigate(t.Context(), s, h); f.Status != session.Failed || !strings.Contains(f.Error, "no such role") {
		t.Errorf("%+v", f)
	}
}
