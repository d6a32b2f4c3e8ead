package experiment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"culprit/internal/patch"
	"culprit/internal/session"
)

// protectedPath tells files that a fix never touches (GH6): they decide who may do
// what, and what runs with the repository's secrets.
func protectedPath(name string) bool {
	if path.Base(name) == "CODEOWNERS" {
		return true
	}
	lower := strings.ToLower(name)
	return strings.HasPrefix(lower, ".github/workflows/") || strings.HasPrefix(lower, ".github/actions/") || lower == ".github/culprit.yml" || lower == ".github/culprit.yaml"
}

// reverter takes hunks of one change off a newer commit.
type reverter struct {
	lab     *Lab
	ch      change // old side, new side, hunks
	head    string
	renamed map[string]string // path at ch.to → path at head; "" when it is gone
}

func (l *Lab) reverter(ctx context.Context, ch change, head string) (*reverter, error) {
	r := &reverter{lab: l, ch: ch, head: head, renamed: map[string]string{}}
	moved, err := l.History.Changed(ctx, ch.to, head)
	if err != nil {
		return nil, fmt.Errorf("revert: %w", err)
	}
	for _, c := range moved {
		switch c.Status {
		case "R":
			r.renamed[c.OldPath] = c.Path
		case "D":
			if _, ok := r.renamed[c.Path]; !ok {
				r.renamed[c.Path] = ""
			}
		}
	}
	return r, nil
}

// revert takes the hunks off head, three-way: base is the file at the change's
// new side, ours is head's, theirs is base without the hunks. Where both sides
// changed the same lines that is a conflict, said in words; nothing is forced,
// and there are no edits then. A file that is as it would be after the revert
// is left out.
func (r *reverter) revert(ctx context.Context, hunks []session.Hunk) (edits []session.Edit, conflicts []string, err error) {
	byFile := map[string][]session.Hunk{}
	var files []string
	for _, h := range hunks {
		switch {
		case r.lab.Language.IsTestFile(h.File):
			conflicts = append(conflicts, h.Location()+" — belongs to the tests, which a fix leaves alone")
			continue
		case protectedPath(h.File) || (h.OldFile != "" && protectedPath(h.OldFile)):
			conflicts = append(conflicts, h.Location()+" — a protected file, which only a person changes")
			continue
		}
		if byFile[h.File] == nil {
			files = append(files, h.File)
		}
		byFile[h.File] = append(byFile[h.File], h)
	}
	slices.Sort(files)
	for _, f := range files {
		var es []session.Edit
		var why string
		if byFile[f][0].Whole {
			es, why, err = r.whole(ctx, byFile[f])
		} else {
			es, why, err = r.lines(ctx, f, byFile[f])
		}
		if err != nil {
			return nil, nil, fmt.Errorf("revert %s: %w", f, err)
		}
		if why != "" {
			conflicts = append(conflicts, why)
		}
		edits = append(edits, es...)
	}
	if conflicts != nil {
		return nil, conflicts, nil
	}
	return edits, nil, nil
}

// lines reverts hunks of one text file.
func (r *reverter) lines(ctx context.Context, file string, hunks []session.Hunk) ([]session.Edit, string, error) {
	base, ok, err := r.read(ctx, r.ch.to, file)
	if err != nil || !ok {
		return nil, "", err
	}
	now := file
	if to, moved := r.renamed[file]; moved {
		now = to
	}
	if now == "" {
		return nil, file + " — was deleted since", nil
	}
	ours, ok, err := r.read(ctx, r.head, now)
	if err != nil {
		return nil, "", err
	}
	if !ok {
		return nil, file + " — is not there any more", nil
	}
	theirs, err := patch.Reverse(base, hunks)
	if err != nil {
		return nil, "", err
	}
	merged, conflicts := patch.Merge(base, ours, theirs)
	if len(conflicts) > 0 {
		return nil, session.Location(now, conflicts[0].Line) + " — was changed again since, in the same place", nil
	}
	if bytes.Equal(merged, ours) {
		return nil, "", nil
	}
	return []session.Edit{{Path: now, Content: merged}}, "", nil
}

// whole reverts a change that cannot be taken line by line: only on a file
// that is still what the change left.
func (r *reverter) whole(ctx context.Context, hunks []session.Hunk) ([]session.Edit, string, error) {
	edits, err := patch.ReverseEdits(hunks, content{ctx, r.lab.History, r.ch.to})
	if err != nil {
		return nil, "", err
	}
	var out []session.Edit
	for _, e := range edits {
		then, had, err := r.read(ctx, r.ch.to, e.Path)
		if err != nil {
			return nil, "", err
		}
		now, has, err := r.read(ctx, r.head, e.Path)
		if err != nil {
			return nil, "", err
		}
		switch {
		case e.Delete && !has, !e.Delete && has && !had && bytes.Equal(now, e.Content):
			continue // somebody has reverted it already
		case had != has:
			return nil, e.Path + " — was created, moved or deleted since", nil
		case had && !bytes.Equal(then, now):
			return nil, e.Path + " — was changed again since, and its change can only be reverted whole", nil
		}
		out = append(out, e)
	}
	return out, "", nil
}

func (r *reverter) read(ctx context.Context, rev, file string) (data []byte, ok bool, err error) {
	data, _, err = r.lab.History.ShowMode(ctx, rev, file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	return data, err == nil, err
}

// clean lists the hunks that can be reverted one by one, and says for the
// others why not.
func (r *reverter) clean(ctx context.Context, hunks []session.Hunk) (clean []session.Hunk, conflicts []string, err error) {
	for _, h := range hunks {
		_, why, err := r.revert(ctx, []session.Hunk{h})
		if err != nil {
			return nil, nil, err
		}
		if why != nil {
			conflicts = append(conflicts, why...)
			continue
		}
		clean = append(clean, h)
	}
	return clean, conflicts, nil
}

// rendered is the fix that the edits make of the base commit: its patch, its
// hunks and counts.
func (l *Lab) rendered(ctx context.Context, base string, edits []session.Edit) (session.Fix, error) {
	fix := session.Fix{Base: base, Edits: edits}
	var text strings.Builder
	for _, e := range edits {
		old, mode, err := l.History.ShowMode(ctx, base, e.Path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fix, fmt.Errorf("render fix: %w", err)
		}
		if err == nil && old == nil {
			old = []byte{}
		}
		f := patch.File{Path: e.Path, Old: old, New: e.Content, OldMode: mode, Mode: gitMode(e.Mode)}
		if e.Delete {
			f.New = nil
		} else if f.New == nil {
			f.New = []byte{}
		}
		text.Write(patch.Format(f, 3))
		fix.Files = append(fix.Files, e.Path)
		for _, h := range patch.Hunks(f) {
			fix.Hunks = append(fix.Hunks, h)
			for line := range strings.Lines(h.Text) {
				switch {
				case h.Whole && (strings.HasPrefix(line, "+++ ") || strings.HasPrefix(line, "--- ")):
				case line[0] == '+':
					fix.Added++
				case line[0] == '-':
					fix.Removed++
				}
			}
		}
	}
	fix.Patch = text.String()
	return fix, nil
}

// gitMode is the inverse of editMode.
func gitMode(mode uint32) uint32 {
	switch mode {
	case 0o644:
		return patch.ModeFile
	case 0o755:
		return patch.ModeExec
	}
	return mode
}
