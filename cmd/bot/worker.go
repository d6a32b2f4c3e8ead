package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"culprit/handlers"
	"culprit/internal/checkout"
	"culprit/internal/config"
	"culprit/internal/github"
	"culprit/internal/index"
	"culprit/internal/knowledge"
	"culprit/internal/redact"
	"culprit/internal/sandbox"
	"culprit/internal/session"
	"culprit/internal/telemetry"
	"culprit/queue"
)

// worker does the jobs of the queue: it turns a request into a session on a
// fresh mirror, runs the pipeline, and shows the session on GitHub.
type worker struct {
	cfg      config.Config
	app      *github.App
	queue    *queue.Queue
	index    *index.Index
	memory   *knowledge.Redis
	box      sandbox.Sandbox
	cache    *checkout.Cache
	redactor *redact.Redactor
	models   *models // nil: none is configured
	log      *slog.Logger
	metrics  *telemetry.Metrics
	now      func() time.Time
	ownCode  string // see executor
	seams    seams
}

// seams are where tests put faults in at the worst moment. Nil: as it is.
type seams struct {
	investigate func(context.Context, investigation) error
	valid       func(context.Context, *queue.Claim) error
}

// maxLog bounds the log of one CI job that is read, in bytes.
const maxLog = 8 << 20

// Handle does one job. It returns when everything that it started has ended.
func (w *worker) Handle(ctx context.Context, c *queue.Claim) queue.Outcome {
	log := w.log.With("job", c.ID, "delivery", c.Delivery, "repository", c.Repository)
	began := w.now()
	summary, err := w.do(ctx, c, log)
	out := w.outcome(ctx, summary, err)
	log.Info("job ended", "summary", summary, "error", errText(err), "took", w.now().Sub(began).Round(time.Millisecond).String())
	return out
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// do finds or makes the job's session and runs it.
func (w *worker) do(ctx context.Context, c *queue.Claim, log *slog.Logger) (summary string, err error) {
	req, err := handlers.DecodeRequest(c.Payload)
	if err != nil {
		return "", &session.UserError{Code: "bad-job", What: err.Error(), Do: "update this worker, or drop the job"}
	}
	repo, err := w.app.Repo(ctx, req.Installation, req.Owner, req.Repo)
	if err != nil {
		return "", err
	}
	switch {
	case req.Kind == handlers.KindSettings:
		return w.checkSettings(ctx, w.fence(c), repo, req)
	case req.Kind == handlers.KindReview:
		return w.review(ctx, c, repo, req, log)
	case req.Kind == handlers.KindCI && strings.HasPrefix(req.Ref, handlers.FixBranches):
		return w.redFix(ctx, c, repo, req)
	}
	folder, s, err := w.open(ctx, c)
	if err != nil {
		return "", err
	}
	var refused *session.UserError
	if folder == nil {
		if why, err := overtaken(ctx, repo, c, req); why != "" || err != nil {
			return why, err
		}
		made, why, err := w.newSession(ctx, repo, req)
		if made == nil || (err != nil && !errors.As(err, &refused)) {
			return why, err
		}
		if folder, s, err = w.create(c, made); err != nil {
			return "", err
		}
	}
	defer folder.Close()
	if err := keep(folder, c, c.Fence); err != nil {
		return "", err
	}
	// From then on the pool ends the claim: nobody may take this for a dead
	// worker's.
	defer func() { err = errors.Join(err, keep(folder, c, 0)) }()
	if err := w.remember(ctx, c, s, nil); err != nil {
		return "", err
	}
	s.Attempt = c.Fence
	// Before anything of it is visible, or the end of a job that never came
	// beyond its clone could not be told.
	if err := (&checkpointed{folder, ctx, c, w.cfg.RedisGrace}).Save(s); err != nil {
		return "", err
	}
	log = log.With("session", s.ID)
	log.Info("session opened", "state", s.State)
	if refused != nil {
		return refused.What, w.refuse(ctx, c, repo, folder, s, refused)
	}
	err = w.investigate(ctx, c, repo, folder, s, log)
	err = errors.Join(err, w.held(ctx, &checkpointed{folder, ctx, c, w.cfg.RedisGrace}, s, err))
	if err == nil && s.Done() {
		err = w.ended(ctx, c, repo, s)
	}
	if s.Done() && err == nil {
		w.metrics.SessionEnded(string(s.Result))
	}
	return fmt.Sprintf("session %s: %s", s.ID, s.Result), err
}

// investigate opens the repository and runs the session's pipeline.
func (w *worker) investigate(ctx context.Context, c *queue.Claim, repo *github.Repo, folder *session.Folder, s *session.Session, log *slog.Logger) (err error) {
	fence := w.fence(c)
	pub, err := w.publisher(repo, s, fence, nil)
	if err != nil {
		return err
	}
	defer pub.Close()
	// People see that somebody is at work before the clone begins.
	if !s.Done() && s.Bad == nil {
		if err := pub.Progress(ctx, s); err != nil {
			return err
		}
	}
	mirror, err := w.openMirror(ctx, repo, s, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, mirror.Close()) }()
	for _, warning := range mirror.Facts().Warnings() {
		if !contains(s.NotChecked, warning) {
			s.NotChecked = append(s.NotChecked, warning)
		}
	}
	pub, err = w.publisher(repo, s, fence, mirror)
	if err != nil {
		return err
	}
	defer pub.Close()
	ci := &ciLogs{repo: repo}
	work := investigation{
		session: s, store: &checkpointed{folder, ctx, c, w.cfg.RedisGrace}, runs: folder, models: w.models, shared: folder, mirror: mirror, box: w.box,
		caches: cacheFolder(w.cfg.Data, mirror, s), ownCode: w.ownCode, publisher: linked{tolerant{pub, log}, w}, logs: ci, clock: clock(w.now),
		incidents: incidents{w, c, repo, mirror, ci}, people: w.people(c, repo, s), patience: w.cfg.AnswerWait, memory: w.memory,
		rebaser: rebaser{repo, mirror},
		progress: func(line string) {
			log.Info("progress", "line", printable(line))
			// The queue shows the last line to operators; a job does not fail for it.
			_, _ = c.Progress(ctx, printable(line))
		},
	}
	if w.seams.investigate != nil {
		err = w.seams.investigate(ctx, work)
	} else {
		err = work.run(ctx)
	}
	var user *session.UserError
	if errors.As(err, &user) && ctx.Err() == nil {
		return end(ctx, folder, s, pub, user)
	}
	return err
}

// end stops a session for what a person must change, and says it where the
// person looks.
func end(ctx context.Context, folder *session.Folder, s *session.Session, pub *github.Publisher, why *session.UserError) error {
	s.Result, s.Reason, s.State = session.ResultStopped, why.Error(), session.StateDone
	// Said first: a session that is saved as done is not looked at again.
	if err := pub.Final(ctx, s); err != nil {
		return err
	}
	return folder.Save(s)
}

// refuse ends a session before anything of the repository was looked at.
func (w *worker) refuse(ctx context.Context, c *queue.Claim, repo *github.Repo, folder *session.Folder, s *session.Session, why *session.UserError) error {
	pub, err := w.publisher(repo, s, w.fence(c), nil)
	if err != nil {
		return err
	}
	defer pub.Close()
	return end(ctx, folder, s, pub, why)
}

// newSession reads from GitHub what the request is about. A nil session means
// that there is nothing to do, and why; one beside a session.UserError is to
// end with it.
func (w *worker) newSession(ctx context.Context, repo *github.Repo, req handlers.Request) (*session.Session, string, error) {
	if repo.Archived {
		return nil, "the repository is archived", nil
	}
	if req.Kind != handlers.KindCI {
		// It was looked up when the wish came (GH8), and may have been withdrawn
		// while the job waited.
		may, err := repo.Permission(ctx, req.Actor)
		if err != nil {
			return nil, "", err
		}
		fork := req.Issue == 0 && req.Ref == "" || req.PR > 0 && req.SHA != ""
		if !may.AtLeast(w.minPermission()) || fork && !may.MayWrite() {
			return nil, fmt.Sprintf("%s has the permission %s, which is too little", req.Actor, may), nil
		}
	}
	mode := req.Mode
	if mode == "" {
		mode = w.cfg.Mode
	}
	s := &session.Session{
		Mode: session.Mode(mode),
		Source: session.Source{
			Trigger: req.Trigger, Repository: repo.FullName(), URL: repo.HTMLURL, DefaultRef: repo.DefaultBranch, Ref: req.Ref, SHA: req.SHA,
			Issue: req.Issue, PR: req.PR, CheckRun: req.CheckRun, CheckSuite: req.CheckSuite, Run: req.Run,
			Delivery: req.Delivery, Actor: req.Actor, Installation: req.Installation,
		},
		Flags: session.Flags{Concurrency: w.cfg.Concurrency, Yes: true, MaxRuns: w.cfg.MaxRuns, Timeout: w.cfg.Timeout, RunTimeout: w.cfg.RunTimeout},
	}
	from := w.fromCI
	if req.Issue > 0 {
		from = w.fromIssue
	}
	s, why, err := from(ctx, repo, s)
	if err != nil || s == nil {
		return nil, why, err
	}
	asked, why, err := w.applyCommand(ctx, repo, req, s)
	if err != nil || why != "" {
		return nil, why, err
	}
	set, err := w.settings(ctx, repo, req.Installation)
	if err != nil {
		return s, "", err
	}
	if req.Kind == handlers.KindCI {
		if why, ok := set.CISessions(s.Source.Ref, matchBranch); !ok {
			return nil, why, nil
		}
	}
	apply(set, s, asked)
	return s, "", nil
}

// fromIssue takes symptom and revision of an issue or pull request.
func (w *worker) fromIssue(ctx context.Context, repo *github.Repo, s *session.Session) (*session.Session, string, error) {
	issue, err := repo.Issue(ctx, s.Source.Issue)
	if errors.Is(err, github.ErrNotFound) {
		return nil, "the issue is gone", nil
	}
	if err != nil {
		return nil, "", err
	}
	if issue.State != "open" {
		return nil, "the issue is closed", nil
	}
	s.Symptom = session.Symptom{Title: firstLine(issue.Title, 120), Text: issue.Body}
	s.Source.Ref = repo.DefaultBranch
	if issue.IsPR {
		pr, err := repo.PullRequest(ctx, issue.Number)
		if err != nil {
			return nil, "", err
		}
		s.Source.PR = pr.Number
		switch {
		case !pr.FromFork(repo):
			s.Source.SHA, s.Source.Ref = pr.HeadSHA, pr.HeadRef
		case s.Source.SHA == "":
			// Nobody who may has seen what the head is now (GH8).
			return nil, "the pull request is from a fork, and the request names no commit", nil
		default:
			s.Source.Ref = ""
		}
		return s, "", nil
	}
	if s.Source.SHA, err = repo.BranchHead(ctx, repo.DefaultBranch); err != nil {
		return nil, "", err
	}
	if s.Source.SHA == "" {
		return nil, "the repository is empty", nil
	}
	return s, "", nil
}

// fromCI takes the red commit, and the pull request that shows it.
func (w *worker) fromCI(ctx context.Context, repo *github.Repo, s *session.Session) (*session.Session, string, error) {
	if s.Source.Ref != "" {
		head, err := repo.BranchHead(ctx, s.Source.Ref)
		if err != nil {
			return nil, "", err
		}
		if head == "" {
			return nil, "the branch is gone", nil
		}
		if s.Source.PR == 0 {
			pr, err := repo.OpenPull(ctx, s.Source.Ref)
			if err != nil {
				return nil, "", err
			}
			if pr != nil {
				s.Source.PR = pr.Number
			}
		}
	}
	if s.Source.Actor == "" {
		why, err := w.seen(ctx, repo, handlers.CIKey(repo.FullName(), s.Source.SHA), s)
		if err != nil || why != "" {
			return nil, why, err
		}
	}
	s.Symptom.Title = ciTitle(s.Source.Ref, s.Source.SHA)
	return s, "", nil
}

// ciTitle is the title of a session about red CI.
func ciTitle(ref, sha string) string {
	if ref == "" {
		return "CI fails at " + (session.Commit{SHA: sha}).Short()
	}
	return "CI fails on " + ref
}

func firstLine(s string, most int) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	r := []rune(printable(s))
	if len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return string(r)
}

// name gives a new session what it has of its job: an ID that is the same for
// the job on every machine, since two workers must not give one name to two
// causes.
func (w *worker) name(s *session.Session, job string, enqueued time.Time) {
	sum := sha256.Sum256([]byte(job))
	s.ID = session.NewID(enqueued, session.DefaultZone, s.Symptom.Title) + "-" + hex.EncodeToString(sum[:3])
	s.CreatedAt, s.Schema = enqueued.UTC(), session.SchemaVersion
}

// ciLogs fetches the logs of the red jobs of a session.
type ciLogs struct {
	repo  *github.Repo
	names []string // of the red jobs, once they were asked for
	// skip leaves out jobs by their names. May be nil.
	skip func(job string) bool
}

func (l *ciLogs) Logs(ctx context.Context, s *session.Session) ([]pipelineLog, error) {
	src := s.Source
	if src.Issue > 0 && src.PR == 0 && src.Run == 0 && src.CheckRun == 0 && src.CheckSuite == 0 {
		return nil, nil // an issue is about the default branch, red or not
	}
	jobs, err := l.repo.FailedJobs(ctx, github.CI{SHA: src.SHA, Run: src.Run, CheckSuite: src.CheckSuite, CheckRun: src.CheckRun})
	if err != nil {
		return nil, err
	}
	var out []pipelineLog
	runs := map[int64]*github.WorkflowRun{}
	for _, j := range jobs {
		if l.skip != nil && l.skip(j.Name) {
			continue
		}
		l.names = append(l.names, j.Name)
		if j.ID == 0 {
			out = append(out, pipelineLog{Name: j.Name, Content: []byte(j.Output), Note: "GitHub does not have it: another CI service ran the job"})
			continue
		}
		var b bytes.Buffer
		res, err := l.repo.JobLog(ctx, j.ID, &b, maxLog)
		switch {
		case errors.Is(err, github.ErrExpired), errors.Is(err, github.ErrNotFound):
			x := pipelineLog{Name: j.Name, Note: "it is not kept any more", Job: session.CIJob{Name: j.Name, Steps: j.Steps}}
			if x.Job.Workflow, x.Job.Event, err = l.workflow(ctx, runs, j.Run); err != nil {
				return nil, err
			}
			out = append(out, x)
			continue
		case err != nil:
			return nil, err
		}
		x := pipelineLog{Name: j.Name, Content: b.Bytes(), Job: session.CIJob{Name: j.Name, Steps: j.Steps}}
		if x.Job.Workflow, x.Job.Event, err = l.workflow(ctx, runs, j.Run); err != nil {
			return nil, err
		}
		if res.Skipped > 0 {
			x.Note = fmt.Sprintf("%d bytes of its middle were not read", res.Skipped)
		}
		out = append(out, x)
	}
	return out, nil
}

// workflow is the file of a job's run and what started it; empty when the run
// is gone.
func (l *ciLogs) workflow(ctx context.Context, known map[int64]*github.WorkflowRun, run int64) (file, event string, err error) {
	if known[run] == nil {
		got, err := l.repo.WorkflowRun(ctx, run)
		if errors.Is(err, github.ErrNotFound) {
			got, err = &github.WorkflowRun{}, nil
		}
		if err != nil {
			return "", "", err
		}
		known[run] = got
	}
	return known[run].Path, known[run].Event, nil
}

// openMirror clones or fetches the repository. The credential of a fetch can
// only read; a push asks for its own.
func (w *worker) openMirror(ctx context.Context, repo *github.Repo, s *session.Session, write bool) (*checkout.Mirror, error) {
	token := func(ctx context.Context) (string, error) {
		_, token, err := repo.GitCredential(ctx, write)
		return token, err
	}
	var want []string
	if s.Source.SHA != "" {
		want = append(want, s.Source.SHA)
	}
	if r := s.OpenRound(); r != nil {
		want = append(want, r.Head)
	}
	return w.cache.OpenRemote(ctx, repo.CloneURL, token, want...)
}

// sessionsDir is where this machine keeps session folders.
func (w *worker) sessionsDir() string { return filepath.Join(w.cfg.Data, "sessions") }
