package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"culprit/internal/session"
)

// Bounds of what a fixer may write.
const (
	maxEdited = 20        // files
	maxFile   = 512 << 10 // bytes of one
)

func (d *Desk) edit() Tool {
	return typed(Tool{
		Name:        "edit",
		Description: "Replaces a text in a file by another one. The old text must stand in the file exactly once, with its indentation: give enough lines around it.",
		Alone:       true,
		Parameters: object(map[string]Schema{
			"path": text("file, relative to the repository's root"),
			"old":  text("text as it stands in the file, without line numbers"),
			"new":  text("text that takes its place"),
		}),
	}, func(ctx context.Context, a struct{ Path, Old, New string }) (Result, error) {
		data, at, err := d.read(ctx, a.Path)
		if err != nil {
			return Result{}, err
		}
		old, replacement := []byte(a.Old), []byte(a.New)
		if bytes.Contains(data, []byte("\r\n")) && !bytes.Contains(old, []byte("\r\n")) {
			// The file has Windows line ends, which read does not show.
			old, replacement = bytes.ReplaceAll(old, []byte("\n"), []byte("\r\n")), bytes.ReplaceAll(replacement, []byte("\n"), []byte("\r\n"))
		}
		switch n := bytes.Count(data, old); {
		case len(old) == 0:
			return Result{}, errors.New("old is empty: to make a new file use create")
		case bytes.Equal(old, replacement):
			return Result{}, errors.New("old and new are the same")
		case n == 0:
			return Result{}, fmt.Errorf("old does not stand in %s as you wrote it%s: read the lines and copy them without their numbers", at, nearby(string(data), a.Old))
		case n > 1:
			return Result{}, fmt.Errorf("old stands in %s %d times: give more lines around it, so that it is there once", at, n)
		}
		i := bytes.Index(data, old)
		out := slices.Concat(data[:i], replacement, data[i+len(old):])
		if err := d.write(at, out, false); err != nil {
			return Result{}, err
		}
		line := bytes.Count(data[:i], []byte("\n")) + 1
		shown, err := lines(at, out, max(1, line-3), line+bytes.Count(replacement, []byte("\n"))+3)
		shown.Note = "[changed] " + shown.Note
		return shown, err
	})
}

// nearby helps with a text that is there but for its white space.
func nearby(data, old string) string {
	first := strings.TrimSpace(strings.SplitN(strings.TrimSpace(old), "\n", 2)[0])
	if first == "" {
		return ""
	}
	for i, line := range strings.Split(data, "\n") {
		if strings.Contains(line, first) {
			return fmt.Sprintf(" (its first line is like line %d; look at the white space)", i+1)
		}
	}
	return ""
}

func (d *Desk) create() Tool {
	return typed(Tool{
		Name:        "create",
		Description: "Makes a new file. To change one that is there use edit.",
		Alone:       true,
		Parameters: object(map[string]Schema{
			"path":    text("file, relative to the repository's root"),
			"content": text("the whole content"),
		}),
	}, func(ctx context.Context, a struct{ Path, Content string }) (Result, error) {
		at, err := clean(a.Path)
		if err != nil {
			return Result{}, err
		}
		if _, _, err := d.read(ctx, at); err == nil {
			return Result{}, fmt.Errorf("%s is there already: use edit", at)
		}
		if err := d.write(at, []byte(a.Content), true); err != nil {
			return Result{}, err
		}
		return Result{Note: fmt.Sprintf("[%s made, %d bytes]", at, len(a.Content))}, nil
	})
}

// write notes an edit, so that it can be undone.
func (d *Desk) write(p string, content []byte, isNew bool) error {
	if len(content) > maxFile {
		return fmt.Errorf("%s would have %d bytes; at most %d are taken", p, len(content), maxFile)
	}
	if d.MayEdit != nil {
		if err := d.MayEdit(p, isNew); err != nil {
			return err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	next := slices.DeleteFunc(slices.Clone(d.edits), func(e session.Edit) bool { return e.Path == p })
	if next = append(next, session.Edit{Path: p, Content: content}); len(next) > maxEdited {
		return fmt.Errorf("%d files are changed already: a fix is smaller than that", maxEdited)
	}
	d.past = append(d.past, d.edits)
	d.edits = next
	return nil
}

func (d *Desk) undo() Tool {
	return typed(Tool{
		Name:        "undo",
		Description: "Takes the last edit back; with all, every one.",
		Alone:       true,
		Parameters:  object(map[string]Schema{"all?": {"type": "boolean", "description": "take all edits back"}}),
	}, func(_ context.Context, a struct{ All bool }) (Result, error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		if len(d.past) == 0 {
			return Result{}, errors.New("there is no edit to take back")
		}
		last := len(d.past) - 1
		if a.All {
			last = 0
		}
		d.edits, d.past = d.past[last], d.past[:last]
		return Result{Note: fmt.Sprintf("[taken back; %d files are changed now]", len(d.edits))}, nil
	})
}
