package main

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"culprit/internal/session"
	"culprit/queue"
)

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
		s, err := readSession(filepath.Dir(p))
		if err != nil || s.Done() {
			continue
		}
		took := false
		info, err := w.queue.Show(ctx, k.JobID)
		switch {
		case errors.Is(err, queue.ErrNotFound) && !s.UpdatedAt.IsZero() && w.now().Sub(s.UpdatedAt) > keepLost:
			// Nobody waits for it any more, and the queue may have ended it long ago.
			w.forget(filepath.Dir(p), "it was left weeks ago", func() bool { return !readDone(filepath.Dir(p)) })
			continue
		case errors.Is(err, queue.ErrNotFound):
			took, err = w.enqueueAgain(ctx, k, filepath.Dir(p))
		case err == nil && info.State == queue.Running && info.Fence == k.Fence:
			took, err = w.abandon(ctx, info, filepath.Dir(p))
		case err == nil && info.State.Ended():
			if whole, err := w.keptElsewhere(ctx, info, &s); err != nil {
				return n, err
			} else if whole {
				w.forget(filepath.Dir(p), "its job has ended", func() bool { return !readDone(filepath.Dir(p)) })
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
	return n, w.forgetTorn()
}

// keepLost is how long an unfinished session counts whose job the queue does not
// know: it forgets ended jobs after as long.
const keepLost = 7 * 24 * time.Hour

// keptElsewhere reports whether nothing is lost with the copy of a session whose
// job has ended: it was finished elsewhere, had not begun, or its checkpoint,
// from which a retry goes on, is not older. Checkpoints may be too large to be
// kept; then the folder alone has the newest state.
func (w *worker) keptElsewhere(ctx context.Context, job queue.Info, s *session.Session) (bool, error) {
	if job.State == queue.Done || s.State == "" {
		return true, nil
	}
	archive, err := w.queue.LoadCheckpoint(ctx, job.ID)
	if errors.Is(err, queue.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	restored, _, err := peek(archive)
	return err == nil && !older(restored, s), nil // a torn checkpoint keeps nothing
}

// readSession reads a session whose folder may be another's.
func readSession(dir string) (s session.Session, err error) {
	data, err := os.ReadFile(filepath.Join(dir, "session.json"))
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(data, &s)
}

// readDone reports whether a session has ended.
func readDone(dir string) bool {
	s, err := readSession(dir)
	return err == nil && s.Done()
}

// forgetTorn removes session folders whose making was cut off: they hold
// neither a session nor the job that it was for.
func (w *worker) forgetTorn() error {
	dirs, err := filepath.Glob(filepath.Join(w.sessionsDir(), "*"))
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		torn := func() bool {
			_, noJob := os.Stat(filepath.Join(dir, jobFile))
			_, noSession := os.Stat(filepath.Join(dir, "session.json"))
			return errors.Is(noJob, fs.ErrNotExist) && errors.Is(noSession, fs.ErrNotExist)
		}
		if torn() {
			w.forget(dir, "its making was cut off", torn)
		}
	}
	return nil
}

// forget removes a session folder that nobody goes on with, such as the copy of
// a session that ended on another machine, whose worker has the whole of it.
// Whether that holds is asked again under the folder's lock: a worker of this
// machine may have finished the session since it was looked at.
func (w *worker) forget(dir, why string, still func() bool) {
	folder, err := session.OpenFolder(dir, w.redactor.Bytes)
	if err != nil {
		return // in use, or next time
	}
	defer folder.Close()
	if !still() {
		return
	}
	if err := os.RemoveAll(dir); err != nil {
		w.log.Warn("cannot remove a session folder", "session", filepath.Base(dir), "why", why, "error", err)
		return
	}
	w.log.Info("removed a session folder", "session", filepath.Base(dir), "why", why)
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
	if readDone(dir) {
		return false, nil // it ended since it was looked at
	}
	state, err := folder.Pack()
	if err != nil {
		return false, err
	}
	job := k.job()
	job.Checkpoint = state
	receipt, err := w.queue.Enqueue(ctx, job)
	if errors.Is(err, queue.ErrTooLarge) {
		job.Checkpoint = nil // only this machine can go on with it then
		receipt, err = w.queue.Enqueue(ctx, job)
	}
	if err != nil {
		return false, err
	}
	// From now on the folder is that job's, or it would be lost again at the
	// next look. A job that it was merged into, or a newer commit's, tells by its
	// end that this one is over too.
	k.JobID, k.Fence = receipt.ID, 0
	return receipt.Outcome == queue.Enqueued, k.write(folder)
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
