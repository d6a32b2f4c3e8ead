package tools

import (
	"context"
	"fmt"
	"strings"
)

func (d *Desk) blame() Tool {
	return typed(Tool{
		Name:        "blame",
		Description: "Shows for lines of a file which commit wrote each of them.",
		Parameters: object(map[string]Schema{
			"path": text("file, relative to the repository's root"),
			"from": number("first line, from 1", 1, 10_000_000),
			"to":   number("last line, at most 100 after the first", 1, 10_000_000),
		}),
	}, func(ctx context.Context, a struct {
		Path     string
		From, To int
	}) (Result, error) {
		p, err := clean(a.Path)
		if err != nil {
			return Result{}, err
		}
		if a.To < a.From || a.To-a.From > 100 {
			return Result{}, fmt.Errorf("ask for lines from..to, at most 101 of them")
		}
		commits, err := d.Repo.Blame(ctx, d.Base.Rev, p, a.From, a.To)
		if err != nil {
			return Result{}, err
		}
		data, _, err := d.Repo.ShowMode(ctx, d.Base.Rev, p)
		if err != nil {
			return Result{}, err
		}
		text := strings.Split(string(data), "\n")
		var b strings.Builder
		for i, c := range commits {
			line := ""
			if n := a.From - 1 + i; n < len(text) {
				line = text[n]
			}
			fmt.Fprintf(&b, "%s %s %s\t%d\t%s\n", c.Short(), c.Date.UTC().Format("2006-01-02"), c.Author, a.From+i, clipLine(line))
		}
		return Result{Text: b.String(), Note: fmt.Sprintf("[%d lines of %s at the commit under investigation, without edits]", len(commits), p)}, nil
	})
}
