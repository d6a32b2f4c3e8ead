package queue

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

var enqueueScript = script("enqueue")

// maxName is the longest Key, Ref and so on, in bytes. GitHub's longest
// "owner/repo@refs/heads/branch" has fewer than 400.
const maxName = 1024

// Enqueue makes the job durable, or merges it, or finds that it was handled
// before (GH2). All of that is one script; when it returns without error the
// webhook may be answered. ErrInvalid and ErrTooLarge are for ever; any other
// error means that Redis did not answer, and the webhook should be answered
// 503, so that its delivery is found and recovered (GH3).
func (q *Queue) Enqueue(ctx context.Context, job Job) (Receipt, error) {
	if err := q.check(job); err != nil {
		return Receipt{}, fmt.Errorf("enqueue job: %w", err)
	}
	job.ID = newID(q.now())
	args := []any{job.ID, q.opts.KeepDeliveries.Microseconds(), job.Payload, "prio", strconv.Itoa(int(job.Priority))}
	for _, f := range [...][2]string{
		{"delivery", job.Delivery}, {"key", job.Key}, {"ref", job.Ref}, {"sha", job.SHA},
		{"repo", job.Repository}, {"inst", job.Installation},
	} {
		if f[1] != "" {
			args = append(args, f[0], f[1])
		}
	}
	if !job.RefTime.IsZero() {
		args = append(args, "reftime", job.RefTime.UnixMicro())
	}
	if !job.Asked.IsZero() {
		args = append(args, "asked", job.Asked.UnixMicro())
	}
	if len(job.Checkpoint) > 0 {
		packed, err := q.packCheckpoint(job.Checkpoint)
		if err != nil {
			return Receipt{}, fmt.Errorf("enqueue job: %w", err)
		}
		args = append(args, "checkpoint", packed)
	}
	got, err := q.run(ctx, enqueueScript, args...).StringSlice()
	if err != nil {
		return Receipt{}, fmt.Errorf("enqueue job: %w", err)
	}
	return Receipt{ID: got[1], Outcome: EnqueueOutcome(got[0]), Superseded: got[2:]}, nil
}

// packCheckpoint compresses the state that a lost job goes on from.
func (q *Queue) packCheckpoint(state []byte) ([]byte, error) {
	packed, err := pack(state)
	if err != nil {
		return nil, err
	}
	if limit := q.opts.MaxCheckpoint; len(packed) > limit || len(state)/maxUnpacked > limit {
		return nil, fmt.Errorf("%w: checkpoint of %d bytes, %d compressed; the limit is %d compressed", ErrTooLarge, len(state), len(packed), limit)
	}
	return packed, nil
}

func (q *Queue) check(job Job) error {
	if job.Priority < PriorityCI || job.Priority > PriorityPerson {
		return fmt.Errorf("%w: priority %d is not one of ci, issue, person", ErrInvalid, job.Priority)
	}
	if job.Ref != "" && job.SHA == "" {
		return fmt.Errorf("%w: it has a ref but no SHA", ErrInvalid)
	}
	if len(job.Payload) > q.opts.MaxPayload {
		return fmt.Errorf("%w: payload has %d bytes, the limit is %d: put IDs into it, not content",
			ErrTooLarge, len(job.Payload), q.opts.MaxPayload)
	}
	for _, f := range [...][2]string{
		{"delivery", job.Delivery}, {"key", job.Key}, {"ref", job.Ref}, {"SHA", job.SHA},
		{"repository", job.Repository}, {"installation", job.Installation},
	} {
		if err := checkText(f[0], f[1]); err != nil {
			return err
		}
	}
	return nil
}

// checkText refuses what cannot be a name on GitHub. Control characters would
// otherwise reach terminals, and the queue separates names by a tab.
func checkText(what, s string) error {
	if len(s) > maxName {
		return fmt.Errorf("%w: %s has %d bytes, the limit is %d", ErrInvalid, what, len(s), maxName)
	}
	if strings.ContainsFunc(s, unicode.IsControl) {
		return fmt.Errorf("%w: %s %q has control characters", ErrInvalid, what, s)
	}
	return nil
}

func checkName(what, s string) error {
	if s == "" || strings.ContainsAny(s, "{}") {
		return fmt.Errorf("%w: %s %q must not be empty nor have braces", ErrInvalid, what, s)
	}
	return checkText(what, s)
}
