package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"culprit/internal/session"
	"culprit/pipeline"
	"culprit/queue"
)

type pipelineLog = pipeline.CILog

// jobFile ties a session folder to the job that it belongs to and to the claim
// that works in it, so that another process finds it again, also when an
// embedded Redis has forgotten the job or its worker was killed.
const jobFile = "job.json"

// kept is the content of jobFile.
type kept struct {
	Key          string    `json:"key"`
	Ref          string    `json:"ref"`
	SHA          string    `json:"sha"`
	RefTime      time.Time `json:"ref_time,omitzero"`
	Asked        time.Time `json:"asked,omitzero"`
	Repository   string    `json:"repository"`
	Installation string    `json:"installation"`
	Priority     int       `json:"priority"`
	Payload      []byte    `json:"payload"`
	JobID        string    `json:"job_id"`
	Fence        int64     `json:"fence,omitempty"` // of the claim that has the folder; 0: it ended in order
}

// job is what the queue is to be given when it has lost it.
func (k kept) job() queue.Job {
	return queue.Job{
		Key: k.Key, Ref: k.Ref, SHA: k.SHA, RefTime: k.RefTime, Asked: k.Asked, Repository: k.Repository, Installation: k.Installation,
		Priority: queue.Priority(k.Priority), Payload: k.Payload,
	}
}

func (k kept) write(folder *session.Folder) error {
	data, err := json.MarshalIndent(k, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", jobFile, err)
	}
	return folder.Write(jobFile, data)
}

// open finds the session of a job that ran before: in this machine's folders,
// else in the job's checkpoint. All results nil: there is none.
func (w *worker) open(ctx context.Context, c *queue.Claim) (*session.Folder, *session.Session, error) {
	folder, s, err := w.local(ctx, c)
	if err != nil || (folder != nil && len(c.Resume) == 0) {
		return folder, s, err
	}
	if len(c.Resume) == 0 {
		return nil, nil, nil
	}
	restored, archive, err := peek(c.Resume)
	if err != nil {
		return nil, nil, err
	}
	if folder != nil {
		if s.ID == restored.ID && !older(s, restored) {
			// This machine had it last, and kept more than the checkpoint.
			return folder, s, nil
		}
		folder.Close()
	}
	if folder, err = session.OpenFolder(filepath.Join(w.sessionsDir(), restored.ID), w.redactor.Bytes); err != nil {
		return nil, nil, err
	}
	if err := errors.Join(dropTables(folder), folder.Unpack(archive)); err != nil {
		folder.Close()
		return nil, nil, err
	}
	if s, err = folder.Load(); err != nil {
		folder.Close()
		return nil, nil, err
	}
	return folder, s, nil
}

// dropTables removes the tables of a wave that was cut off here: the session
// has gone beyond it elsewhere, or has ended.
func dropTables(folder *session.Folder) error {
	tables, err := filepath.Glob(folder.Path("wave-*.csv"))
	for _, path := range tables {
		err = errors.Join(err, folder.Remove(filepath.Base(path)))
	}
	return err
}

// older reports whether a session stands where an earlier claim left it, while
// the other was saved by a later one. Times only tell within one claim: a worker
// that lost its lease may have saved after the one that took over.
func older(s, other *session.Session) bool {
	if s.Attempt != other.Attempt {
		return s.Attempt < other.Attempt
	}
	return s.UpdatedAt.Before(other.UpdatedAt)
}

// peek reads the session out of a checkpoint.
func peek(archive []byte) (*session.Session, []byte, error) {
	data, err := session.PackedFile(archive, "session.json")
	if err != nil {
		return nil, nil, err
	}
	var s session.Session
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, nil, fmt.Errorf("read checkpoint: %w", err)
	}
	if !session.ValidID(s.ID) {
		return nil, nil, fmt.Errorf("read checkpoint: %q is no session ID", s.ID)
	}
	return &s, archive, nil
}

// local looks for an unfinished session of the job on this machine.
//
// One of another job on the same is taken over only if the queue has lost that
// job. A job that it knows tells its own end: to go on with the session of one
// that was called off would let that end overwrite this one's result.
func (w *worker) local(ctx context.Context, c *queue.Claim) (*session.Folder, *session.Session, error) {
	paths, err := filepath.Glob(filepath.Join(w.sessionsDir(), "*", jobFile))
	if err != nil {
		return nil, nil, err
	}
	for _, p := range paths {
		k, err := readKept(p)
		if err != nil || k.Key != c.Key || (k.SHA != c.SHA && c.SHA != "") {
			continue
		}
		if k.JobID != c.ID {
			_, err := w.queue.Show(ctx, k.JobID)
			if err == nil {
				continue
			}
			if !errors.Is(err, queue.ErrNotFound) {
				return nil, nil, err
			}
		}
		folder, err := session.OpenFolder(filepath.Dir(p), w.redactor.Bytes)
		if errors.Is(err, session.ErrBusy) {
			// Another worker of this machine is still ending; come back.
			return nil, nil, fmt.Errorf("open session %s: %w", filepath.Base(filepath.Dir(p)), err)
		}
		if err != nil {
			return nil, nil, err
		}
		s, err := folder.Load()
		if err == nil && (!s.Done() || k.JobID == c.ID) {
			return folder, s, nil
		}
		folder.Close()
		if err != nil && !errors.Is(err, session.ErrNoSession) {
			return nil, nil, err
		}
	}
	return nil, nil, nil
}

func readKept(path string) (kept, error) {
	var k kept
	data, err := os.ReadFile(path)
	if err != nil {
		return k, err
	}
	return k, json.Unmarshal(data, &k)
}

// create makes the folder of a new session and makes it durable, here and in
// the queue, before anything of it is visible.
func (w *worker) create(c *queue.Claim, s *session.Session) (*session.Folder, *session.Session, error) {
	w.name(s, c.ID, c.EnqueuedAt)
	folder, err := session.OpenFolder(filepath.Join(w.sessionsDir(), s.ID), w.redactor.Bytes)
	if err != nil {
		return nil, nil, err
	}
	// The session first: a job file without one would be passed over.
	if err := folder.Save(s); err != nil {
		folder.Close()
		return nil, nil, err
	}
	return folder, s, nil
}

// keep writes down whose folder it is. fence is that of the claim, or 0 when the
// worker leaves in order.
func keep(folder *session.Folder, c *queue.Claim, fence int64) error {
	return kept{
		Key: c.Key, Ref: c.Ref, SHA: c.SHA, RefTime: c.RefTime, Asked: c.Asked, Repository: c.Repository, Installation: c.Installation,
		Priority: int(c.Priority), Payload: c.Payload, JobID: c.ID, Fence: fence,
	}.write(folder)
}

// checkpointed saves a session here and in the queue at each transition, so
// that another worker can go on with it (CR22). A worker whose lease is gone
// is refused, and stops.
type checkpointed struct {
	*session.Folder
	ctx   context.Context //nolint:containedctx // pipeline.Store has no place for it; it lives as long as the job
	claim *queue.Claim

	patience time.Duration // with a Redis that does not answer
}

func (s *checkpointed) Save(x *session.Session) error {
	if err := s.Folder.Save(x); err != nil {
		return err
	}
	archive, err := s.Pack()
	if err != nil {
		return err
	}
	err = patiently(s.ctx, s.patience, func(ctx context.Context) error {
		_, err := s.claim.Checkpoint(ctx, archive, step(x))
		return err
	})
	if errors.Is(err, queue.ErrTooLarge) {
		return nil // the local folder has it; only another machine could not go on
	}
	return err
}

// step tells the queue how far a session is: stages that finished, and within
// one the rows that did. What a killed worker repeats does not raise it.
func step(s *session.Session) int64 {
	rows := int64(0)
	for _, t := range s.Tasks {
		if t.Status != session.Pending {
			rows++
		}
	}
	return int64(len(s.Stages))<<20 + rows
}
