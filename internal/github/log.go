package github

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// LogResult tells what JobLog wrote.
type LogResult struct {
	Size    int64 // bytes of the whole log, as far as it was received
	Skipped int64 // bytes left out of its middle
}

// logTime bounds the download of one log.
const logTime = 10 * time.Minute

// JobLog writes the log of an Actions job to w. Of a log of more than limit
// bytes, a quarter from the beginning and the rest from the end are written,
// with a line between that says how much is missing. The error is ErrExpired
// when GitHub keeps the log no longer and ErrNotFound when there never was
// one, as for a job that was not started.
func (r *Repo) JobLog(ctx context.Context, job int64, w io.Writer, limit int64) (LogResult, error) {
	op := fmt.Sprintf("read the log of job %d", job)
	if err := validID(op, job); err != nil {
		return LogResult{}, err
	}
	location, resp, err := r.read.Actions.GetWorkflowJobLogs(ctx, r.Owner, r.Name, job, 3)
	if err != nil {
		if resp != nil && resp.Response != nil {
			return LogResult{}, r.logStatus(op, resp.Response)
		}
		return LogResult{}, r.wrap(op, err)
	}
	// The address carries its own signature: it goes to another host, without
	// our token, and into no error text.
	if location.Scheme != "https" && location.Scheme != r.app.base.Scheme {
		return LogResult{}, &Error{Op: op, Message: "the log lies behind an insecure address", kind: ErrRefused}
	}
	ctx, cancel := context.WithTimeout(ctx, logTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, location.String(), nil)
	if err != nil {
		return LogResult{}, &Error{Op: op, Message: "the log has no readable address", kind: ErrTransient}
	}
	req.Header.Set("User-Agent", r.app.cfg.UserAgent)
	client := &http.Client{Transport: r.app.cfg.Transport}
	begins := time.AfterFunc(r.app.cfg.Timeout, cancel) // its first byte comes as soon as any answer
	log, err := client.Do(req)
	begins.Stop()
	if err != nil {
		return LogResult{}, r.wrap(op, err)
	}
	defer log.Body.Close()
	if log.StatusCode != http.StatusOK {
		return LogResult{}, r.logStatus(op, log)
	}
	out := &ends{w: w, limit: max(limit, 4)}
	_, err = io.Copy(out, log.Body)
	if err == nil {
		err = out.flush()
	}
	if out.err != nil {
		return out.result(), fmt.Errorf("%s: write it down: %w", op, out.err)
	}
	return out.result(), r.wrap(op, err)
}

func (r *Repo) logStatus(op string, resp *http.Response) error {
	if resp.StatusCode == http.StatusGone {
		return &Error{Op: op + " in " + r.FullName(), Status: resp.StatusCode, Message: "the log has expired: run the job again to get a new one", kind: ErrExpired}
	}
	return r.app.status(op+" in "+r.FullName(), resp, "")
}

// ends passes the beginning of a stream on, keeps the end of it, and writes
// that on flush.
type ends struct {
	w     io.Writer
	limit int64
	err   error

	total int64
	ring  []byte // end of the stream
	next  int    // where the next byte goes in a full ring
}

func (e *ends) headSize() int64 { return e.limit / 4 }
func (e *ends) tailSize() int   { return int(e.limit - e.headSize()) }

// Write implements io.Writer.
func (e *ends) Write(p []byte) (int, error) {
	n := len(p)
	if head := e.headSize() - e.total; head > 0 {
		part := p[:min(int64(len(p)), head)]
		if _, err := e.w.Write(part); err != nil {
			e.err = err
			return 0, err
		}
		e.total += int64(len(part))
		p = p[len(part):]
	}
	e.total += int64(len(p))
	if room := e.tailSize() - len(e.ring); room > 0 {
		part := p[:min(len(p), room)]
		e.ring = append(e.ring, part...)
		p = p[len(part):]
	}
	if over := len(p) - e.tailSize(); over > 0 {
		e.next = (e.next + over) % e.tailSize()
		p = p[over:]
	}
	for len(p) > 0 {
		c := copy(e.ring[e.next:], p)
		e.next = (e.next + c) % len(e.ring)
		p = p[c:]
	}
	return n, nil
}

func (e *ends) flush() error {
	parts := [][]byte{e.ring[e.next:], e.ring[:e.next]}
	if skipped := e.result().Skipped; skipped > 0 {
		parts = append([][]byte{fmt.Appendf(nil, "\n[%d bytes of the log left out here]\n", skipped)}, parts...)
	}
	for _, p := range parts {
		if _, err := e.w.Write(p); err != nil {
			e.err = err
			return err
		}
	}
	return nil
}

func (e *ends) result() LogResult {
	return LogResult{Size: e.total, Skipped: max(0, e.total-e.headSize()-int64(len(e.ring)))}
}
