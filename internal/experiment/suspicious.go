package experiment

import (
	"context"
	"errors"
	"fmt"

	"culprit/internal/experiment/spectrum"
	"culprit/internal/session"
)

// maxSuspicious bounds the lines that a spectrum names.
const maxSuspicious = 8

// Suspicious ranks the lines that the failing test runs through by how few
// passing tests run through them too (spectrum.Ochiai): a hint for people and
// models, never a confirmation. It costs one run. from says which tests were
// compared, or why nothing was; an error is about the machine.
func (l *Lab) Suspicious(ctx context.Context, s *session.Session) (lines []session.SuspiciousLine, from string, err error) {
	r := s.Reproduction
	if l.Language.Cover == nil || r == nil || r.Failure == nil || !r.Reproduced {
		return nil, "", nil
	}
	command, read, ok := l.Language.Cover(*r.Failure)
	if !ok {
		return nil, "", nil
	}
	base, err := Reproduction(ctx, l.History, s)
	if err != nil {
		return nil, "", fmt.Errorf("measure coverage: %w", err)
	}
	t := at(base, s.Bad.SHA, "coverage of the failing test and of those beside it", "")
	t.Command, t.Adapt = command, false
	obs, err := l.Run(ctx, t)
	if errors.Is(err, ErrBudget) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("measure coverage: %w", err)
	}
	c := read(obs.Output)
	switch {
	case len(c.Blocks) == 0:
		return nil, "coverage was not measured: the test did not build with it, or ended before it was written", nil
	case !c.Failed:
		return nil, "coverage shows nothing: the test passed while it was measured", nil
	case c.Passing == 0:
		return nil, "coverage shows nothing: no test beside it passes", nil
	}
	var blocks []spectrum.Block
	for _, b := range c.Blocks {
		if !l.Language.IsTestFile(b.File) {
			blocks = append(blocks, spectrum.Block{File: b.File, From: b.From, To: b.To, Failing: 1, Passed: b.Passing})
		}
	}
	lines = spectrum.Rank(blocks, 1, c.Passing, r.Failure.Stack, maxSuspicious)
	if len(lines) == 0 {
		return nil, "coverage shows nothing: the " + c.String() + " run through the same lines", nil
	}
	return lines, c.String(), nil
}
