package queue

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"
)

var (
	takeReportScript = script("take_report", aside)
	endReportScript  = script("end_report", aside)
)

// A Report is a job that ended without its worker publishing a result (dead,
// cancelled, superseded), which people are still to be told. It is leased:
// only one holder's Done counts.
type Report struct {
	Info
	Try int // from 1

	q     *Queue
	token string
}

// TakeReport leases the next end that is to be told. ErrEmpty: none is. The
// teller makes the telling idempotent (GH5), calls Done, and with that it is
// over for all; if it dies, another gets the report after the lease.
func (q *Queue) TakeReport(ctx context.Context) (*Report, error) {
	token := rand.Text()
	row, err := q.run(ctx, takeReportScript, token, q.opts.Lease.Microseconds()).StringSlice()
	if err != nil {
		return nil, fmt.Errorf("take report: %w", err)
	}
	if len(row) == 0 {
		return nil, ErrEmpty
	}
	info, err := parseInfo(row)
	if err != nil {
		return nil, fmt.Errorf("take report: %w", err)
	}
	r := &Report{Info: info, q: q, token: token}
	for i := 0; i+1 < len(row); i += 2 {
		if row[i] == "reports" {
			_, _ = fmt.Sscan(row[i+1], &r.Try) // scripts write numbers
		}
	}
	return r, nil
}

// Done takes the report off the list for good.
func (r *Report) Done(ctx context.Context) error { return r.end(ctx, -1) }

// Later puts it back to be taken after d.
func (r *Report) Later(ctx context.Context, d time.Duration) error { return r.end(ctx, max(d, 0)) }

func (r *Report) end(ctx context.Context, d time.Duration) error {
	us := int64(-1)
	if d >= 0 {
		us = d.Microseconds()
	}
	got, err := r.q.run(ctx, endReportScript, r.ID, r.token, us).StringSlice()
	if err != nil {
		return fmt.Errorf("end report of job %s: %w", r.ID, err)
	}
	if got[0] == "lost" {
		return fmt.Errorf("end report of job %s: %w", r.ID, ErrLost)
	}
	return nil
}
