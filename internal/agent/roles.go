package agent

import (
	"fmt"

	"culprit/internal/agent/tools"
	"culprit/internal/session"
)

// side is what a reader of a role gets: a section of instructions after those
// that are the same for all, and tools beside those that all have (CR7). Which
// failures call for which role is in the pipeline.
type side struct {
	prompt string
	tools  []string
}

// sides is the table of roles.
var sides = map[session.Role]side{
	session.ErrorAnalysis:        {"role_error.v1.md", []string{"blame", "log", "diff", "run_command"}},
	session.ChangeAnalysis:       {"role_change.v1.md", []string{"blame", "log", "diff", "run_at"}},
	session.EvidenceGathering:    {"role_evidence.v1.md", []string{"run_command", "repeat"}},
	session.ReproductionAnalysis: {"role_reproduction.v1.md", []string{"run_command", "repeat", "run_at"}},
	session.DeepDive:             {"role_deep.v1.md", []string{"blame", "log", "run_command"}},
	session.DependencyAnalysis:   {"role_dependency.v1.md", []string{"log", "diff", "run_command", "run_at"}},
}

// common are the tools of every reader.
var common = []string{"list", "read", "search", "symbols", "show", "run_test", "board_read", "board_add"}

// reader is the prompt and the tools of a role; those of a hypothesis without
// one are all that investigators have.
func reader(role session.Role, work *tools.Desk) (Prompt, []tools.Tool, error) {
	all := work.Investigator()
	if role == "" {
		p, err := prompt(investigatePrompt)
		return p, all, err
	}
	x, ok := sides[role]
	if !ok {
		return Prompt{}, nil, fmt.Errorf("investigate as %q: there is no such role", role)
	}
	p, err := prompt(investigatePrompt, x.prompt)
	if err != nil {
		return Prompt{}, nil, err
	}
	wanted := map[string]bool{}
	for _, list := range [][]string{common, x.tools} {
		for _, name := range list {
			wanted[name] = true
		}
	}
	var out []tools.Tool
	for _, t := range all {
		if wanted[t.Name] {
			out = append(out, t)
		}
	}
	return p, out, nil
}

// roleOf a row.
func roleOf(s *session.Session, id string) session.Role {
	for _, h := range s.Hypotheses {
		if h.ID == id {
			return h.Role
		}
	}
	return ""
}
