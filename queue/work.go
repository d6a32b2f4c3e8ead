package queue

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

var workScript = script("work", moving)

// A completion is a job whose result is published.
type completion struct {
	claim   *Claim
	summary string
}

// worked is what work came to.
type worked struct {
	lost   []bool        // of each completion: the lease was over
	claims []*Claim      // none: see wait
	wait   time.Duration // until a job becomes due or a lease runs out; negative: nothing is known to
}

// work completes jobs and then claims up to most others, in one script: a worker
// that goes from job to job asks Redis once for each. With the same token it
// returns the same jobs again, so that a claim whose answer was lost loses no
// job; what was completed stays so.
func (q *Queue) work(ctx context.Context, worker, token string, most int, done []completion) (worked, error) {
	args := make([]any, 0, 4+3*len(done))
	args = append(args, worker, token, q.opts.Lease.Microseconds(), most)
	for _, d := range done {
		args = append(args, d.claim.ID, d.claim.Fence, clip(d.summary))
	}
	rows, err := q.run(ctx, workScript, args...).Slice()
	if err != nil {
		return worked{}, err
	}
	if len(rows) < 2 {
		return worked{}, fmt.Errorf("read answer: %d rows", len(rows))
	}
	got := worked{lost: make([]bool, len(done)), claims: make([]*Claim, 0, len(rows)-2)}
	answers, _ := rows[1].([]any)
	if len(answers) != len(done) {
		return worked{}, fmt.Errorf("read answer: %d completions, want %d", len(answers), len(done))
	}
	for i, a := range answers {
		got.lost[i] = a != "done"
	}
	for _, row := range rows[2:] {
		c, err := q.readClaim(row)
		if err != nil {
			return worked{}, err
		}
		c.worker, c.token = worker, token
		got.claims = append(got.claims, c)
	}
	us, err := strconv.ParseInt(fmt.Sprint(rows[0]), 10, 64)
	if err != nil {
		return worked{}, fmt.Errorf("read wait: %w", err)
	}
	got.wait = time.Duration(us) * time.Microsecond
	return got, nil
}

// claimFields is how many the script gives of a claimed job.
const claimFields = 13

// readClaim reads a row of the script's answer. Only scripts write these fields,
// so a number that does not parse is absent.
func (q *Queue) readClaim(row any) (*Claim, error) {
	list, _ := row.([]any)
	var f [claimFields]string
	if len(list) != claimFields {
		return nil, fmt.Errorf("read claim: %d fields, want %d", len(list), claimFields)
	}
	for i, v := range list {
		s, ok := v.(string)
		if !ok {
			return nil, fmt.Errorf("read claim: field %d is %T", i, v)
		}
		f[i] = s
	}
	num := func(s string) int {
		n, _ := strconv.Atoi(s)
		return n
	}
	c := &Claim{
		Job: jobOf(f[2]), Attempt: num(f[5]) + 1, Crashes: num(f[6]), CrashesInRow: num(f[7]),
		EnqueuedAt: microTime(f[8]), StartedAt: microTime(f[10]), Waited: time.Duration(num(f[11])) * time.Microsecond, q: q,
	}
	c.ID, c.Priority, c.Asked = f[0], Priority(num(f[4])), microTime(f[9])
	c.Fence, _ = strconv.ParseInt(f[1], 10, 64)
	if f[3] != "" {
		c.Payload = []byte(f[3])
	}
	if f[12] != "" {
		var err error
		if c.Resume, err = unpack([]byte(f[12])); err != nil {
			// Going on without it repeats work but loses nothing.
			c.Resume = nil
		}
	}
	return c, nil
}
