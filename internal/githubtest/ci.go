package githubtest

import (
	"fmt"
	"strings"
	"time"
)

// RunConfig is one finished run of a GitHub Actions workflow.
type RunConfig struct {
	Repo string
	// SHA is the commit; the branch's head when empty.
	SHA string
	// HeadRepo is the fork ("owner/name") that a pull request's commit comes
	// from; the repository itself when empty.
	HeadRepo string
	// Branch is the head branch; the default branch when empty.
	Branch string
	// Workflow is the workflow's name ("CI"); its file is derived from it.
	Workflow string
	// Event is what started it ("push").
	Event string
	// Actor is the login of who started it; the owner when empty.
	Actor string
	Jobs  []Job
	// RunID completes a further attempt of an existing run: the queued one
	// after a re-run, or a new one.
	RunID int64
}

// Job is one job of a run.
type Job struct {
	Name string
	// Conclusion is success, failure, cancelled, skipped, timed_out; when empty
	// it follows from the steps.
	Conclusion string
	Steps      []Step
	// Log is the output of the job's last given step, for jobs that are
	// described without steps.
	Log string
}

// Step is one step of a job.
type Step struct {
	Name string
	// Run is the command that the log names.
	Run string
	// Log is the command's output, without timestamps.
	Log string
	// Conclusion is success (when empty), failure, skipped or cancelled.
	Conclusion string
	// ExitCode is what the log reports for a failure; 1 when zero.
	ExitCode int
}

// Run is a finished run.
type Run struct {
	ID      int64
	Attempt int
	SuiteID int64
	SHA     string
	Branch  string
	// Jobs has the job's (and check run's) ID by the job's name.
	Jobs map[string]int64
}

// CompleteRun makes a workflow run with its check suite, check runs, jobs and
// logs as GitHub Actions does, and sends check_run, check_suite and
// workflow_run events, in this order.
func (s *Server) CompleteRun(cfg RunConfig) (Run, error) {
	return readRepo(s, cfg.Repo, func(r *repository) (Run, error) {
		w, a, err := s.prepareRun(r, cfg)
		if err != nil {
			return Run{}, err
		}
		out := Run{ID: w.id, Attempt: a.number, SuiteID: w.suite.id, SHA: w.sha, Branch: w.branch, Jobs: map[string]int64{}}
		a.status, a.conclusion = "completed", "success"
		end := a.started
		for _, j := range cfg.Jobs {
			done := s.runJob(r, w, a, j)
			out.Jobs[j.Name] = done.check.id
			if done.check.completed.After(end) {
				end = done.check.completed
			}
			if c := done.check.conclusion; c != "success" && c != "skipped" && a.conclusion != "failure" {
				a.conclusion = c
			}
		}
		a.updated = end
		for _, j := range a.jobs {
			s.emitCheck(r, j.check, "created", w.actor, nil)
			s.emitCheck(r, j.check, "completed", w.actor, nil)
		}
		s.emitSuite(r, w.suite, "completed", w.actor)
		s.emitRun(r, w, "completed", w.actor)
		return out, nil
	})
}

func (s *Server) prepareRun(r *repository, cfg RunConfig) (*run, *attempt, error) {
	actor := r.owner
	if cfg.Actor != "" {
		actor = s.userOrNew(cfg.Actor)
	}
	if cfg.RunID != 0 {
		for _, w := range r.runs {
			if w.id != cfg.RunID {
				continue
			}
			if a := w.last(); a.status != "completed" {
				return w, a, nil
			}
			return w, s.newAttempt(w, actor), nil
		}
		return nil, nil, fmt.Errorf("complete run %d: there is none", cfg.RunID)
	}
	if cfg.Branch == "" {
		cfg.Branch = r.defaultBranch
	}
	if cfg.SHA == "" {
		cfg.SHA = "refs/heads/" + cfg.Branch
	}
	sha := s.resolve(r, cfg.SHA)
	if sha == "" {
		return nil, nil, fmt.Errorf("complete run: no commit %q", cfg.SHA)
	}
	if cfg.Workflow == "" {
		cfg.Workflow = "CI"
	}
	if cfg.Event == "" {
		cfg.Event = "push"
	}
	var wf *workflow
	number := 1
	for _, x := range r.workflows {
		if x.name == cfg.Workflow {
			wf = x
		}
	}
	if wf == nil {
		file := strings.ToLower(strings.ReplaceAll(cfg.Workflow, " ", "-"))
		wf = &workflow{id: s.id(), name: cfg.Workflow, path: ".github/workflows/" + file + ".yml", created: s.now()}
		r.workflows = append(r.workflows, wf)
	}
	for _, x := range r.runs {
		if x.workflow == wf {
			number++
		}
	}
	// Each run has a suite of its own: two workflows of a commit are two suites.
	st := &suite{id: s.id(), app: s.actions, sha: sha, branch: cfg.Branch, before: zeroSHA, created: s.now(), updated: s.now()}
	info, err := s.readCommit(r, sha)
	if err != nil {
		return nil, nil, err
	}
	if len(info.parents) > 0 {
		st.before = info.parents[0]
	}
	head := r
	if cfg.HeadRepo != "" {
		if head = s.repo(cfg.HeadRepo); head == nil {
			return nil, nil, fmt.Errorf("complete run: no repository %q", cfg.HeadRepo)
		}
		st.branch = "" // GitHub names no branch of a fork in suites and check runs
	}
	title, _, _ := strings.Cut(info.message, "\n")
	w := &run{
		headRepo: head,
		id:       s.id(), workflow: wf, number: number, event: cfg.Event, title: title, sha: sha, branch: cfg.Branch, suite: st,
		actor: actor, created: s.now(),
	}
	r.suites, r.runs = append(r.suites, st), append(r.runs, w)
	return w, s.newAttempt(w, actor), nil
}

// runJob makes a job, its check run and its logs.
func (s *Server) runJob(r *repository, w *run, a *attempt, cfg Job) *job {
	check := s.newCheck(r, w.suite, cfg.Name)
	check.detailsURL = fmt.Sprintf("%s/actions/runs/%d/job/%d", s.webURL(r), w.id, check.id)
	check.externalID = fmt.Sprintf("%08x-0000-5000-8000-%012x", w.id, check.id)
	j := &job{name: cfg.Name, check: check}
	a.jobs = append(a.jobs, j)
	if cfg.Steps == nil {
		cfg.Steps = []Step{{Name: "Run tests", Run: "make test", Log: cfg.Log, Conclusion: cfg.Conclusion}}
		cfg.Log = ""
	}
	if cfg.Log != "" {
		cfg.Steps[len(cfg.Steps)-1].Log += cfg.Log
	}
	clock := &logClock{now: a.started}
	j.steps = append(j.steps, setUpStep(clock, w))
	failed := ""
	for _, st := range cfg.Steps {
		if failed != "" && st.Conclusion == "" {
			st.Conclusion = "skipped"
		}
		done := runStep(clock, st)
		j.steps = append(j.steps, done)
		if failed == "" && done.conclusion != "success" && done.conclusion != "skipped" {
			failed = done.conclusion
			check.annotations = append(check.annotations, Annotation{
				Path: ".github", StartLine: len(strings.Split(done.log, "\n")), EndLine: len(strings.Split(done.log, "\n")), Level: "failure",
				Message: fmt.Sprintf("Process completed with exit code %d.", max(1, st.ExitCode)),
			})
		}
	}
	j.steps = append(j.steps, completeStep(clock))
	for _, st := range j.steps {
		j.log += st.log
	}
	check.status, check.conclusion = "completed", cfg.Conclusion
	if check.conclusion == "" {
		check.conclusion = "success"
		if failed != "" {
			check.conclusion = failed
		}
	}
	check.started, check.completed = a.started, clock.now
	if n := len(check.annotations); n > 0 {
		none := ""
		check.title, check.summary = &none, &none
	}
	return j
}

// logClock stamps the lines of a log.
type logClock struct {
	now   time.Time
	ticks int
}

// line is one line of a log as Actions stores it.
func (c *logClock) line(text string) string {
	c.ticks++
	return c.now.Add(time.Duration(c.ticks)*1000100).Format("2006-01-02T15:04:05.0000000Z") + " " + text + "\n"
}

func (c *logClock) lines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(c.line(strings.TrimRight(line, "\r\n")))
	}
	return b.String()
}

// next moves to the following step.
func (c *logClock) next() time.Time {
	c.now, c.ticks = c.now.Add(time.Second+time.Duration(c.ticks/1000)*time.Second), 0
	return c.now
}

func setUpStep(c *logClock, w *run) step {
	st := step{name: "Set up job", conclusion: "success", started: c.now}
	st.log = c.lines(fmt.Sprintf(`Current runner version: '2.321.0'
##[group]Operating System
Ubuntu
24.04.1
LTS
##[endgroup]
##[group]Runner Image
Image: ubuntu-24.04
##[endgroup]
##[group]GITHUB_TOKEN Permissions
Contents: read
Metadata: read
##[endgroup]
Secret source: Actions
Prepare workflow directory
Complete job name: %s
`, w.workflow.name))
	st.completed = c.next()
	return st
}

func runStep(c *logClock, cfg Step) step {
	st := step{name: cfg.Name, conclusion: cfg.Conclusion, started: c.now}
	if st.conclusion == "" {
		st.conclusion = "success"
	}
	if st.conclusion == "skipped" {
		st.completed = c.now
		return st
	}
	head := cfg.Run
	if head == "" {
		head = cfg.Name
	}
	first, _, _ := strings.Cut(head, "\n")
	st.log = c.line("##[group]Run " + first)
	if cfg.Run != "" {
		for line := range strings.Lines(cfg.Run) {
			st.log += c.line("\x1b[36;1m" + strings.TrimRight(line, "\n") + "\x1b[0m")
		}
		st.log += c.line("shell: /usr/bin/bash -e {0}")
	}
	st.log += c.line("##[endgroup]") + c.lines(cfg.Log)
	switch st.conclusion {
	case "failure":
		st.log += c.line(fmt.Sprintf("##[error]Process completed with exit code %d.", max(1, cfg.ExitCode)))
	case "cancelled", "timed_out":
		st.log += c.line("##[error]The operation was canceled.")
	}
	st.completed = c.next()
	return st
}

func completeStep(c *logClock) step {
	st := step{name: "Complete job", conclusion: "success", started: c.now}
	st.log = c.line("Cleaning up orphan processes")
	st.completed = c.next()
	return st
}
