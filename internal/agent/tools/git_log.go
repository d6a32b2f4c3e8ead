package tools

import (
	"context"
	"fmt"
	"strings"

	"culprit/internal/session"
)

func (d *Desk) log() Tool {
	return typed(Tool{
		Name:        "log",
		Description: "Lists commits that lead to the commit under investigation, newest first: ID, date, author, subject. With paths only those that touch them.",
		Parameters: object(map[string]Schema{
			"paths?": {"type": "array", "items": map[string]any{"type": "string"}, "maxItems": 20, "description": "files or folders"},
			"rev?":   text("where to begin; default: the commit under investigation"),
			"limit?": number("most commits; default 20", 1, 100),
		}),
	}, func(ctx context.Context, a struct {
		Paths []string
		Rev   string
		Limit int
	}) (Result, error) {
		rev, err := d.commit(ctx, a.Rev)
		if err != nil {
			return Result{}, err
		}
		for i, p := range a.Paths {
			if a.Paths[i], err = clean(p); err != nil {
				return Result{}, err
			}
		}
		limit := a.Limit
		if limit == 0 {
			limit = 20
		}
		list, err := d.Repo.Touching(ctx, rev.SHA, a.Paths, limit)
		if err != nil {
			return Result{}, err
		}
		if len(list) == 0 {
			return Result{Note: "[no commit]"}, nil
		}
		var b strings.Builder
		for _, c := range list {
			b.WriteString(commitLine(c) + "\n")
		}
		return Result{Text: b.String(), Note: fmt.Sprintf("[%d commits, at most %d]", len(list), limit)}, nil
	})
}

func commitLine(c session.Commit) string {
	return fmt.Sprintf("%s %s %s: %s", c.Short(), c.Date.UTC().Format("2006-01-02 15:04"), c.Author, clipLine(c.Subject))
}

// commit resolves what a model names; empty is the commit under investigation.
func (d *Desk) commit(ctx context.Context, rev string) (session.Commit, error) {
	if strings.TrimSpace(rev) == "" {
		rev = d.Base.Rev
	}
	c, err := d.Repo.Resolve(ctx, rev)
	if err != nil {
		return c, fmt.Errorf("%w: log lists commits by their IDs", err)
	}
	return c, nil
}
