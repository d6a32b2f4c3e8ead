package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
	Key          string `json:"key"`
	Ref          string `json:"ref"`
	SHA          string `json:"sha"`
	Repository   string `json:"repository"`
	Installation string `json:"installation"`
	Priority     int    `json:"priority"`
	Payload      []byte `json:"payload"`
	JobID        string `json:"job_id"`
	Fence        int64  `json:"fence,omitempty"` // of the claim that has the folder; 0: it ended in order
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
	if err := folder.Unpack(archive); err != nil {
		folder.Close()
		return nil, nil, err
	}
	if s, err = folder.Load(); err != nil {
		folder.Close()
		return nil, nil, err
	}
	return folder, s, nil
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
	data, err := json.MarshalIndent(kept{
		Key: c.Key, Ref: c.Ref, SHA: c.SHA, Repository: c.Repository, Installation: c.Installation,
		Priority: int(c.Priority), Payload: c.Payload, JobID: c.ID, Fence: fence,
	}, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", jobFile, err)
	}
	return folder.Write(jobFile, data)
}

// requeue takes care of the unfinished sessions of this machine, at start and
// now and then. A job that the queue does not know (an embedded Redis starts
// empty, a failover may lose the last writes) is put into it again. A job whose
// worker died here is given back now, so that it does not wait for the lease.
// Any other is the queue's business, above all one that ended. It returns of how
// many it took care.
func (w *worker) requeue(ctx context.Context) (int, error) {
	paths, err := filepath.Glob(filepath.Join(w.sessionsDir(), "*", jobFile))
	if err != nil {
		return 0, err
	}
	slices.Sort(paths)
	n := 0
	for _, p := range paths {
		k, err := readKept(p)
		if err != nil {
			w.log.Warn("session is passed over: its job file cannot be read", "session", filepath.Base(filepath.Dir(p)), "error", err)
			continue
		}
		data, err := os.ReadFile(filepath.Join(filepath.Dir(p), "session.json"))
		var s session.Session
		if err != nil || json.Unmarshal(data, &s) != nil || s.Done() {
			continue
		}
		took := false
		info, err := w.queue.Show(ctx, k.JobID)
		switch {
		case errors.Is(err, queue.ErrNotFound):
			took, err = w.enqueueAgain(ctx, k, filepath.Dir(p))
		case err == nil && info.State == queue.Running && info.Fence == k.Fence:
			took, err = w.abandon(ctx, info, filepath.Dir(p))
		case err == nil && info.State.Ended():
			// Whoever runs it again goes on from the checkpoint, if there is one.
			if _, err := w.queue.LoadCheckpoint(ctx, info.ID); err == nil || info.State == queue.Done {
				w.forget(filepath.Dir(p), info.ID)
			}
			continue
		}
		if err != nil {
			return n, err
		}
		if took {
			n++
		}
	}
	return n, nil
}

// forget removes the copy of a session that went on and ended on another
// machine, whose worker has the whole of it.
func (w *worker) forget(dir, job string) {
	folder, err := session.OpenFolder(dir, w.redactor.Bytes)
	if err != nil {
		return // in use, or next time
	}
	defer folder.Close()
	if err := os.RemoveAll(dir); err != nil {
		w.log.Warn("cannot remove a session that ended elsewhere", "session", filepath.Base(dir), "error", err)
		return
	}
	w.log.Info("removed a session that ended elsewhere", "session", filepath.Base(dir), "job", job)
}

// reconcile calls requeue again and again until the context ends.
func (w *worker) reconcile(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		switch n, err := w.requeue(ctx); {
		case ctx.Err() != nil:
		case err != nil:
			w.log.Warn("unfinished sessions cannot be compared with the queue for now", "error", err)
		case n > 0:
			w.log.Info("unfinished sessions are taken up", "sessions", n)
		}
	}
}

// enqueueAgain puts a job that Redis lost into the queue, with its state, so
// that whichever machine claims it goes on with this session. A folder that
// somebody holds is left for the next time: its worker is about to learn that
// its job is gone.
func (w *worker) enqueueAgain(ctx context.Context, k kept, dir string) (bool, error) {
	folder, err := session.OpenFolder(dir, w.redactor.Bytes)
	if errors.Is(err, session.ErrBusy) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer folder.Close()
	state, err := folder.Pack()
	if err != nil {
		return false, err
	}
	job := queue.Job{
		Key: k.Key, Ref: k.Ref, SHA: k.SHA, Repository: k.Repository, Installation: k.Installation,
		Priority: queue.Priority(k.Priority), Payload: k.Payload, Checkpoint: state,
	}
	_, err = w.queue.Enqueue(ctx, job)
	if errors.Is(err, queue.ErrTooLarge) {
		job.Checkpoint = nil // only this machine can go on with it then
		_, err = w.queue.Enqueue(ctx, job)
	}
	return err == nil, err
}

// abandon gives a job back whose worker had this folder, if that is dead: it
// would hold the folder's lock otherwise. The lock is held meanwhile, so that
// nobody begins.
func (w *worker) abandon(ctx context.Context, info queue.Info, dir string) (bool, error) {
	folder, err := session.OpenFolder(dir, w.redactor.Bytes)
	if errors.Is(err, session.ErrBusy) {
		return false, nil // it lives
	}
	if err != nil {
		return false, err
	}
	defer folder.Close()
	state, err := w.queue.Abandon(ctx, info.ID, info.Fence)
	if errors.Is(err, queue.ErrLost) {
		return false, nil // somebody else saw it
	}
	if err != nil {
		return false, err
	}
	w.log.Warn("took job from a worker that died on this machine", "job", info.ID, "delivery", info.Delivery, "session", filepath.Base(dir), "worker", info.Worker, "state", state)
	return true, nil
}

// checkpointed saves a session here and in the queue at each transition, so
// that another worker can go on with it (CR22). A worker whose lease is gone
// is refused, and stops.
type checkpointed struct {
	*session.Folder
	ctx   context.Context //nolint:containedctx // pipeline.Store has no place for it; it lives as long as the job
	claim *queue.Claim
}

func (s *checkpointed) Save(x *session.Session) error {
	if err := s.Folder.Save(x); err != nil {
		return err
	}
	archive, err := s.Pack()
	if err != nil {
		return err
	}
	err = patiently(s.ctx, func(ctx context.Context) error {
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
