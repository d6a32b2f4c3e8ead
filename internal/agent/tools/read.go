package tools

import (
	"bytes"
	"context"
	"fmt"
	"strings"
)

// maxLines of a file are shown at a time, maxLine bytes of a line.
const (
	maxLines = 400
	maxLine  = 500
)

func (d *Desk) readTool() Tool {
	return typed(Tool{
		Name:        "read",
		Description: "Shows lines of a file with their numbers. Read the lines that matter, not whole files.",
		Parameters: object(map[string]Schema{
			"path":  text("file, relative to the repository's root"),
			"from?": number("first line, from 1; default 1", 1, 10_000_000),
			"to?":   number("last line; default: 200 lines from the first", 1, 10_000_000),
			"rev?":  text("commit, branch or tag to read at; default: the commit under investigation"),
		}),
	}, func(ctx context.Context, a struct {
		Path     string
		From, To int
		Rev      string
	}) (Result, error) {
		data, at, err := d.at(ctx, a.Path, a.Rev)
		if err != nil {
			return Result{}, err
		}
		if bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0 {
			return Result{}, fmt.Errorf("%s is a binary file of %d bytes: its content cannot be shown", at, len(data))
		}
		shown := d.safe(string(data))
		r, err := lines(at, []byte(shown), a.From, a.To)
		if n := bytes.Count(data, []byte("\n")) - strings.Count(shown, "\n"); n > 0 {
			r.Note += fmt.Sprintf("\n[a secret of %d lines is taken out: below it, lines have numbers that are so much too low]", n)
		}
		return r, err
	})
}

// at reads a file as it stands, or as it was at a revision.
func (d *Desk) at(ctx context.Context, name, rev string) ([]byte, string, error) {
	if rev == "" {
		return d.read(ctx, name)
	}
	c, err := d.Repo.Resolve(ctx, rev)
	if err != nil {
		return nil, "", fmt.Errorf("%w: log shows commits", err)
	}
	old := &Desk{Repo: d.Repo}
	old.Base.Rev = c.SHA
	return old.read(ctx, name)
}

// lines are the lines from..to with their numbers.
func lines(name string, data []byte, from, to int) (Result, error) {
	all := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	if from == 0 {
		from = 1
	}
	if to == 0 {
		to = from + 199
	}
	switch {
	case len(data) == 0:
		return Result{Note: "[" + name + " is empty]"}, nil
	case from > len(all):
		return Result{}, fmt.Errorf("%s has %d lines; you asked from line %d", name, len(all), from)
	case to < from:
		return Result{}, fmt.Errorf("lines %d to %d are no range", from, to)
	}
	end := min(to, len(all), from+maxLines-1)
	var b strings.Builder
	for i := from; i <= end; i++ {
		line := all[i-1]
		if len(line) > maxLine {
			line = strings.ToValidUTF8(line[:maxLine], "") + fmt.Sprintf(" […%d bytes cut]", len(line)-maxLine)
		}
		fmt.Fprintf(&b, "%d\t%s\n", i, strings.TrimSuffix(line, "\r"))
	}
	return Result{Text: b.String(), Note: fmt.Sprintf("[lines %d to %d of %d of %s]", from, end, len(all), name)}, nil
}
