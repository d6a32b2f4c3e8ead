package tools

import (
	"context"
	"fmt"
)

func (d *Desk) show() Tool {
	return typed(Tool{
		Name:        "show",
		Description: "Shows a commit: author, date, message, and what it changed. With paths only their part of it.",
		Parameters: object(map[string]Schema{
			"rev":    text("commit"),
			"paths?": {"type": "array", "items": map[string]any{"type": "string"}, "maxItems": 20, "description": "files or folders"},
		}),
	}, func(ctx context.Context, a struct {
		Rev   string
		Paths []string
	}) (Result, error) {
		c, err := d.commit(ctx, a.Rev)
		if err != nil {
			return Result{}, err
		}
		message, err := d.Repo.Message(ctx, c.SHA)
		if err != nil {
			return Result{}, err
		}
		parent := ""
		if len(c.Parents) > 0 {
			parent = c.Parents[0]
		}
		change, err := d.Repo.Patch(ctx, parent, c.SHA, a.Paths)
		if err != nil {
			return Result{}, err
		}
		r := Result{Text: fmt.Sprintf("%s\nparents %v\n\n%s\n\n%s", commitLine(c), c.Parents, message, change)}
		if len(c.Parents) > 1 {
			r.Note = "[a merge: the change against its first parent is shown]"
		}
		return r, nil
	})
}
