package tools

import (
	"context"
	"errors"
	"io/fs"

	"culprit/internal/patch"
)

func (d *Desk) changes() Tool {
	return typed(Tool{
		Name:        "changes",
		Description: "Shows the edits made so far as a diff.",
		Parameters:  object(nil),
	}, func(ctx context.Context, _ struct{}) (Result, error) {
		out := ""
		for _, e := range d.Edits() {
			old, mode, err := d.Repo.ShowMode(ctx, d.Base.Rev, e.Path)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return Result{}, err
			}
			if err == nil && old == nil {
				old = []byte{}
			}
			out += string(patch.Format(patch.File{Path: e.Path, Old: old, New: e.Content, OldMode: mode}, 3))
		}
		if out == "" {
			return Result{Note: "[nothing is changed]"}, nil
		}
		return Result{Text: out}, nil
	})
}
