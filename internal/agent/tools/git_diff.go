package tools

import "context"

func (d *Desk) diff() Tool {
	return typed(Tool{
		Name:        "diff",
		Description: "Shows what changed between two commits. With paths only their part of it: name them where much has changed.",
		Parameters: object(map[string]Schema{
			"from":   text("older commit"),
			"to?":    text("newer commit; default: the commit under investigation"),
			"paths?": {"type": "array", "items": map[string]any{"type": "string"}, "maxItems": 20, "description": "files or folders"},
		}),
	}, func(ctx context.Context, a struct {
		From, To string
		Paths    []string
	}) (Result, error) {
		from, err := d.commit(ctx, a.From)
		if err != nil {
			return Result{}, err
		}
		to, err := d.commit(ctx, a.To)
		if err != nil {
			return Result{}, err
		}
		change, err := d.Repo.Patch(ctx, from.SHA, to.SHA, a.Paths)
		if err != nil {
			return Result{}, err
		}
		if len(change) == 0 {
			return Result{Note: "[no difference]"}, nil
		}
		return Result{Text: string(change)}, nil
	})
}
