package patch

import (
	"errors"
	"fmt"
	"sort"

	"culprit/internal/session"
)

// Content reads what the hunks of a diff stand on.
type Content interface {
	// File is a file on the side that the hunks are put onto.
	File(path string) ([]byte, error)
	// Blob is an object by its (possibly abbreviated) ID; it is asked for
	// where a binary file's content is not in the diff.
	Blob(id string) ([]byte, error)
}

// ApplyEdits is Apply over many files: the edits that bring hunks, any subset
// of a diff's, onto its old side. Edits are sorted by path, deletions first.
func ApplyEdits(hunks []session.Hunk, from Content) ([]session.Edit, error) {
	return edits(hunks, from, false)
}

// ReverseEdits is Reverse over many files: the edits that take hunks, any
// subset of a diff's, off its new side.
func ReverseEdits(hunks []session.Hunk, from Content) ([]session.Edit, error) {
	return edits(hunks, from, true)
}

func edits(hunks []session.Hunk, from Content, reverse bool) ([]session.Edit, error) {
	byFile := map[string][]session.Hunk{}
	var files []string
	result := map[string]session.Edit{}
	put := func(e session.Edit) {
		// A changed type is a deletion and a creation of one path: the
		// creation is what remains.
		if old, there := result[e.Path]; there && e.Delete && !old.Delete {
			return
		}
		result[e.Path] = e
	}
	for _, h := range hunks {
		if h.Whole {
			es, err := wholeEdits(h, from, reverse)
			if err != nil {
				return nil, err
			}
			for _, e := range es {
				put(e)
			}
			continue
		}
		if byFile[h.File] == nil {
			files = append(files, h.File)
		}
		byFile[h.File] = append(byFile[h.File], h)
	}
	for _, file := range files {
		base, err := from.File(file)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		content, err := apply(base, byFile[file], reverse)
		if err != nil {
			return nil, err
		}
		put(session.Edit{Path: file, Content: content})
	}
	out := make([]session.Edit, 0, len(result))
	for _, e := range result {
		out = append(out, e)
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].Delete != out[j].Delete {
			return out[i].Delete
		}
		return out[i].Path < out[j].Path
	})
	return out, nil
}

// wholeEdits are the one or two edits of a whole-file change.
func wholeEdits(h session.Hunk, from Content, reverse bool) ([]session.Edit, error) {
	m, _, err := section(h)
	if err != nil {
		return nil, err
	}
	source, target := h.File, h.File
	if h.OldFile != "" {
		source = h.OldFile
	}
	mode, blob, created, deleted := m.NewMode, m.NewBlob, m.Created || m.Copied, m.Deleted
	if reverse {
		source, target = target, source
		mode, blob = m.OldMode, m.OldBlob
		created, deleted = m.Deleted, m.Created || m.Copied
		if m.Copied {
			target = source
		}
	}
	if m.Submodule() {
		return nil, fmt.Errorf("apply hunk %s: submodules are not changed", h.ID)
	}
	if deleted {
		if reverse {
			target = h.File
		}
		return []session.Edit{{Path: target, Delete: true}}, nil
	}
	var base []byte
	if !created || m.Copied {
		if base, err = from.File(source); err != nil {
			return nil, fmt.Errorf("read %s: %w", source, err)
		}
	}
	content, err := applyWhole(base, h, reverse)
	if errors.Is(err, ErrBinary) {
		content, err = from.Blob(blob)
	}
	if err != nil {
		return nil, fmt.Errorf("apply hunk %s: %w", h.ID, err)
	}
	out := []session.Edit{{Path: target, Content: content, Mode: editMode(mode)}}
	if m.Renamed && source != target {
		out = append(out, session.Edit{Path: source, Delete: true})
	}
	return out, nil
}

// editMode is a git mode as session.Edit has it: permission bits of a file,
// the whole mode of a symbolic link, 0 where nothing is said.
func editMode(mode uint32) uint32 {
	switch mode {
	case ModeFile:
		return 0o644
	case ModeExec:
		return 0o755
	}
	return mode
}
