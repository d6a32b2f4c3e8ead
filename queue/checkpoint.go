package queue

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/redis/go-redis/v9"
)

var checkpointScript = script("checkpoint", leasing)

// maxUnpacked bounds what a checkpoint may grow to, in multiples of the limit
// on its compressed size. Text shrinks tenfold; a thousandfold is an attack.
const maxUnpacked = 64

// Checkpoint keeps the state of the work, so that another worker goes on from
// it (CR22), and renews the lease. It replaces the one before.
//
// step tells how far the work is. More than in any checkpoint before is
// progress: crashes until then no longer count towards Options.MaxCrashes, so
// that a long job survives any number of killed workers, but not a stage that
// kills each of them.
//
// ErrTooLarge: the state is more than Options.MaxCheckpoint after compression.
// The one before stays, and the step counts all the same.
func (c *Claim) Checkpoint(ctx context.Context, state []byte, step int64) (Signal, error) {
	packed, err := pack(state)
	if err != nil {
		return SignalNone, fmt.Errorf("checkpoint job %s: %w", c.ID, err)
	}
	limit := c.q.opts.MaxCheckpoint
	var tooLarge error
	if len(packed) > limit || len(state)/maxUnpacked > limit {
		tooLarge = fmt.Errorf("checkpoint job %s: %w: %d bytes, %d compressed; the limit is %d compressed",
			c.ID, ErrTooLarge, len(state), len(packed), limit)
		packed = nil
	}
	s, err := c.call(ctx, "checkpoint", checkpointScript, c.q.opts.Lease.Microseconds(), step, packed)
	switch {
	case isLost(err):
		return SignalLost, err
	case err != nil:
		return SignalNone, err
	}
	return Signal(s), tooLarge
}

// LoadCheckpoint returns the last checkpoint of a job, also of one that ended
// within Options.KeepCheckpoints. ErrNotFound: there is none.
func (q *Queue) LoadCheckpoint(ctx context.Context, id string) ([]byte, error) {
	packed, err := q.rdb.Get(ctx, q.base+"checkpoint:"+id).Bytes()
	if errors.Is(err, redis.Nil) {
		return nil, fmt.Errorf("load checkpoint of job %s: %w", id, ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("load checkpoint of job %s: %w", id, err)
	}
	state, err := unpack(packed)
	if err != nil {
		return nil, fmt.Errorf("load checkpoint of job %s: %w", id, err)
	}
	return state, nil
}

func pack(state []byte) ([]byte, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(state); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func unpack(packed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("unpack checkpoint: %w", err)
	}
	limit := int64(len(packed)+1) * 1100 // deflate cannot pack tighter than 1:1032
	state, err := io.ReadAll(io.LimitReader(r, limit))
	if err != nil {
		return nil, fmt.Errorf("unpack checkpoint: %w", err)
	}
	return state, nil
}
