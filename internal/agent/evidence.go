package agent

import (
	"context"
	"io/fs"

	"culprit/internal/agent/tools"
	"culprit/internal/evidence"
)

// quotes strikes the quotes that are not in the tree that the worker sees.
func (d Desk) quotes(ctx context.Context, work *tools.Desk, list []evidence.Quote) (kept []evidence.Quote, struck []evidence.Struck, err error) {
	return evidence.CheckQuotes(list, func(path string) ([]byte, error) {
		data, err := work.Read(ctx, path)
		if err != nil && ctx.Err() == nil {
			// Whatever cannot be read is no evidence.
			return nil, fs.ErrNotExist
		}
		return data, err
	})
}

// claims strikes the runs that were not made, or had another outcome.
func (d Desk) claims(list []evidence.Claim) (kept []evidence.Claim, struck []evidence.Struck, err error) {
	record, err := d.Store.Entries()
	if err != nil {
		return nil, nil, err
	}
	kept, struck = evidence.CheckClaims(list, record)
	return kept, struck, nil
}
