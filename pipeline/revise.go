package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"culprit/internal/session"
)

// ReviseStage is the State of a session whose fix is tried once more, for what
// was said against it.
const ReviseStage = "revise"

// maxCandidates bounds the fixes that are looked at in one round.
const maxCandidates = 4

// revise makes another fix of the same failure in the session's open round
// (GH7, DB8). What reviewers suggested is laid over the branch as it is now;
// without a suggestion the next fix takes the place of the one that was found
// wanting. Either is proved by confirm like any other, and where there is none
// the fix stays as it was.
func revise(ctx context.Context, e *env) (Outcome, error) {
	s, r := e.s, e.s.OpenRound()
	if r == nil {
		return Stop{s.Result, s.Reason}, nil
	}
	s.Rejected = slices.Clone(r.Rejected)
	made, err := false, error(nil)
	if r.Way == session.BySuggestion {
		made, err = e.suggested(ctx, r)
	} else {
		made, err = e.another(ctx, r)
	}
	if err != nil {
		return nil, err
	}
	if !made {
		return e.leave(r, session.ReplyNoOther, "nothing else can be tried"), nil
	}
	if err := e.Store.Write("patches/"+s.Fix.Task+".patch", []byte(s.Fix.Patch)); err != nil {
		return nil, err
	}
	return Resume{"confirm", fmt.Sprintf("round %d: %s", r.N, s.Fix.Strategy)}, nil
}

// leave ends the round with the fix as it was before.
func (e *env) leave(r *session.Round, kind session.ReplyKind, detail string) Outcome {
	r.Answer(kind, detail)
	e.s.PutBack(r)
	return Stop{session.ResultFixed, ""}
}

// proved notes that what the round made holds.
func (e *env) proved() {
	r := e.s.OpenRound()
	switch {
	case r == nil:
		return
	case r.Way == session.BySuggestion:
		r.Answer(session.ReplyApplied, "")
	default:
		r.Answer(session.ReplyReplaced, r.Fix.Strategy)
	}
	r.Proved = true
	if s := e.s.Rebase; s != nil && s.Commit != "" {
		s.Note = "what the review changed was proved at the commit that failed, and not there again"
	}
}

// notProved ends the round whose fix did not hold.
func (e *env) notProved(r *session.Round, why string) Outcome {
	e.decide("confirm", "round %d: %s is not taken: %s", r.N, e.s.Fix.Strategy, why)
	if r.Way == session.BySuggestion {
		return e.leave(r, session.ReplyRefused, strings.Replace(why, "with the fix", "with it", 1))
	}
	return e.leave(r, session.ReplyNoOther, fmt.Sprintf("the next one (%s) does not hold: %s", e.s.Fix.Strategy, why))
}

// suggested makes the fix that the branch is with the round's suggestions. A
// suggestion that cannot be laid over it gets its answer; false: none is left.
func (e *env) suggested(ctx context.Context, r *session.Round) (bool, error) {
	s := e.s
	edits, by, err := e.suggestions(ctx, r)
	if err != nil || len(edits) == 0 {
		return false, err
	}
	all, err := e.branch(ctx, r)
	if err != nil {
		return false, err
	}
	for _, x := range edits {
		all = slices.DeleteFunc(all, func(old session.Edit) bool { return old.Path == x.Path })
	}
	words := *r.Fix
	words.Strategy += ", with what " + strings.Join(by, " and ") + " suggested"
	fix, err := e.Fixer.Compose(ctx, r.Fix.Base, append(all, edits...), words)
	if err != nil {
		return false, err
	}
	s.Fix = &fix
	s.Fixes[fix.Task] = s.Fix
	top, err := e.Fixer.Compose(ctx, r.Head, edits, words)
	r.Patch = top.Patch
	return err == nil, err
}

// suggestions are the files of the branch's head with the suggested lines in
// them, and who suggested them.
func (e *env) suggestions(ctx context.Context, r *session.Round) (edits []session.Edit, by []string, err error) {
	byFile := map[string][]*session.Remark{}
	var files []string
	for i := range r.Remarks {
		m := &r.Remarks[i]
		if m.Suggestion == nil || m.Answer.Kind != "" && m.Answer.Kind != session.ReplyApplied {
			continue
		}
		if byFile[m.Path] == nil {
			files = append(files, m.Path)
		}
		byFile[m.Path] = append(byFile[m.Path], m)
	}
	for _, file := range files {
		old, err := e.Workspace.Show(ctx, r.Head, file)
		if errors.Is(err, fs.ErrNotExist) {
			old, err = nil, nil
		}
		if err != nil {
			return nil, nil, err
		}
		now := replaced(string(old), byFile[file])
		for _, m := range byFile[file] {
			if m.Answer.Kind == "" && now == string(old) {
				m.Answer = session.Reply{Kind: session.ReplyRefused, Detail: "it changes nothing"}
			}
			if m.Answer.Kind == "" && !slices.Contains(by, m.By) {
				by = append(by, m.By)
			}
		}
		if now != string(old) {
			edits = append(edits, session.Edit{Path: file, Content: []byte(now)})
		}
	}
	return edits, by, nil
}

// replaced is a file with the suggestions in it, from its end to its beginning,
// so that earlier lines keep their numbers. One whose lines are gone or belong
// to another one already gets its answer.
func replaced(content string, list []*session.Remark) string {
	lines := strings.SplitAfter(content, "\n")
	if n := len(lines); lines[n-1] == "" {
		lines = lines[:n-1]
	}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b *session.Remark) int { return b.Start - a.Start })
	free := len(lines) // lines beyond are replaced already
	for _, m := range list {
		switch {
		case m.Start < 1 || m.Line < m.Start || m.Line > len(lines):
			m.Answer.Kind = session.ReplyOutdated
			continue
		case m.Line > free:
			m.Answer = session.Reply{Kind: session.ReplyRefused, Detail: "another suggestion is for the same lines"}
			continue
		}
		text := *m.Suggestion
		if strings.HasSuffix(lines[m.Line-1], "\r\n") {
			text = strings.ReplaceAll(text, "\n", "\r\n")
		}
		if m.Line == len(lines) && !strings.HasSuffix(lines[m.Line-1], "\n") {
			text = strings.TrimSuffix(text, "\n")
		}
		lines = slices.Replace(lines, m.Start-1, m.Line, text)
		free = m.Start - 1
	}
	return strings.Join(lines, "")
}

// branch is what the fix branch has changed at its head, by whomever, since the
// commit that it began at.
func (e *env) branch(ctx context.Context, r *session.Round) ([]session.Edit, error) {
	changes, err := e.Workspace.Changed(ctx, e.s.FixBase(), r.Head)
	if err != nil {
		return nil, err
	}
	var out []session.Edit
	for _, c := range changes {
		if c.Status == "R" {
			out = append(out, session.Edit{Path: c.OldPath, Delete: true})
		}
		if c.Status == "D" {
			out = append(out, session.Edit{Path: c.Path, Delete: true})
			continue
		}
		content, err := e.Workspace.Show(ctx, r.Head, c.Path)
		if err != nil {
			return nil, err
		}
		out = append(out, session.Edit{Path: c.Path, Content: content})
	}
	return out, nil
}

// onTop makes the round's change on top of the branch: what leads from there to
// the session's fix.
func (e *env) onTop(ctx context.Context, r *session.Round) error {
	there, err := e.branch(ctx, r)
	if err != nil {
		return err
	}
	edits := slices.Clone(e.s.Fix.Edits)
	for _, old := range there {
		if slices.ContainsFunc(edits, func(x session.Edit) bool { return x.Path == old.Path }) {
			continue
		}
		back := session.Edit{Path: old.Path}
		back.Content, err = e.Workspace.Show(ctx, r.Fix.Base, old.Path)
		if errors.Is(err, fs.ErrNotExist) {
			back.Delete, err = true, nil
		}
		if err != nil {
			return err
		}
		edits = append(edits, back)
	}
	top, err := e.Fixer.Compose(ctx, r.Head, edits, *e.s.Fix)
	r.Patch = top.Patch
	return err
}
