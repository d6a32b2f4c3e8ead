package queue

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

var enqueueScript = script("enqueue", moving)

// maxName is the longest Key, Ref and so on, in bytes. GitHub's longest
// "owner/repo@refs/heads/branch" has fewer than 400.
const maxName = 1024

// Enqueue makes the job durable, or merges it, or finds that it was handled
// before (GH2). All of that is one script, which jobs that come at the same time
// share; when it returns without error the webhook may be answered. ErrInvalid and ErrTooLarge are for ever; any other
// error means that Redis did not answer, and the webhook should be answered
// 503, so that its delivery is found and recovered (GH3).
func (q *Queue) Enqueue(ctx context.Context, job Job) (Receipt, error) {
	if err := q.check(job); err != nil {
		return Receipt{}, fmt.Errorf("enqueue job: %w", err)
	}
	var packed []byte
	if len(job.Checkpoint) > 0 {
		var err error
		if packed, err = q.packCheckpoint(job.Checkpoint); err != nil {
			return Receipt{}, fmt.Errorf("enqueue job: %w", err)
		}
	}
	asked := ""
	if !job.Asked.IsZero() {
		asked = strconv.FormatInt(job.Asked.UnixMicro(), 10)
	}
	line, err := q.send(&enqueueing{
		ctx:   ctx,
		args:  [enqueueArgs]any{newID(q.now()), int(job.Priority), asked, specOf(job), job.Payload, packed},
		bytes: len(job.Payload) + len(packed),
	})
	if err != nil {
		return Receipt{}, fmt.Errorf("enqueue job: %w", err)
	}
	return readReceipt(line)
}

func readReceipt(line string) (Receipt, error) {
	texts := strings.Fields(line)
	if len(texts) < 2 {
		return Receipt{}, fmt.Errorf("enqueue job: read answer %q", line)
	}
	return Receipt{ID: texts[1], Outcome: EnqueueOutcome(texts[0]), Superseded: texts[2:]}, nil
}

// specOf is what never changes of a job, as one field: its names have no control
// characters. Group and installation are last and first in it, as scripts need
// them.
func specOf(j Job) string {
	refTime := ""
	if !j.RefTime.IsZero() {
		refTime = strconv.FormatInt(j.RefTime.UnixMicro(), 10)
	}
	return strings.Join([]string{j.Delivery, j.Key, j.Ref, j.SHA, refTime, j.Installation + "\t" + j.Repository}, "\n")
}

// jobOf undoes specOf.
func jobOf(spec string) Job {
	var f [6]string
	for i, rest := 0, spec; i < len(f); i++ {
		f[i], rest, _ = strings.Cut(rest, "\n")
	}
	j := Job{Delivery: f[0], Key: f[1], Ref: f[2], SHA: f[3], RefTime: microTime(f[4])}
	j.Installation, j.Repository, _ = strings.Cut(f[5], "\t")
	return j
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
