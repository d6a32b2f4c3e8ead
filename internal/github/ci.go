package github

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	gh "github.com/google/go-github/v62/github"
)

// CI names a red run by whichever of its IDs are known.
type CI struct {
	SHA        string // with it, other red runs of the commit are found too
	Run        int64  // workflow run
	CheckSuite int64
	CheckRun   int64
}

// WorkflowRun is a run of GitHub Actions.
type WorkflowRun struct {
	ID         int64
	Name       string
	Path       string // of the workflow's file in the repository
	Event      string
	Conclusion string
	HeadSHA    string
	HeadBranch string
	HeadRepo   string // owner/name
	CheckSuite int64
	Attempt    int
	PRs        []int
	HTMLURL    string
}

// Job is one red job of a CI run.
type Job struct {
	// ID for JobLog; 0 when another CI service made the check run, whose logs
	// GitHub does not have.
	ID         int64
	CheckRun   int64
	Run        int64
	Name       string
	Conclusion string
	HeadSHA    string
	Labels     []string // of the runner that it asked for: "ubuntu-latest"
	Steps      []string // names of the red steps
	HTMLURL    string
	// Output is what the check run itself says; hostile text.
	Output string
}

// WorkflowRun reads a run.
func (r *Repo) WorkflowRun(ctx context.Context, id int64) (*WorkflowRun, error) {
	if err := validID("read workflow run", id); err != nil {
		return nil, err
	}
	// go-github's own type leaves the path out.
	var got struct {
		gh.WorkflowRun
		Path string `json:"path"`
	}
	req, err := r.read.NewRequest("GET", fmt.Sprintf("repos/%s/%s/actions/runs/%d", r.Owner, r.Name, id), nil)
	if err == nil {
		_, err = r.read.Do(ctx, req, &got)
	}
	if err := r.wrap("read workflow run", err); err != nil {
		return nil, err
	}
	run := runOf(&got.WorkflowRun)
	run.Path, _, _ = strings.Cut(got.Path, "@") // "ci.yml@main" when it is required from elsewhere
	return run, nil
}

func runOf(w *gh.WorkflowRun) *WorkflowRun {
	run := &WorkflowRun{
		ID: w.GetID(), Name: w.GetName(), Event: w.GetEvent(), Conclusion: w.GetConclusion(),
		HeadSHA: w.GetHeadSHA(), HeadBranch: w.GetHeadBranch(), HeadRepo: w.GetHeadRepository().GetFullName(),
		CheckSuite: w.GetCheckSuiteID(), Attempt: w.GetRunAttempt(), HTMLURL: w.GetHTMLURL(),
	}
	for _, p := range w.PullRequests {
		run.PRs = append(run.PRs, p.GetNumber())
	}
	return run
}

// FailedJobs finds the red jobs of a run: those that the IDs name first, then
// the others of the same commit. The App's own check runs are never among
// them. What has turned green since is not there any more.
func (r *Repo) FailedJobs(ctx context.Context, ci CI) ([]Job, error) {
	f := finder{repo: r, seen: map[int64]bool{}, runs: map[int64]bool{}}
	if ci.CheckRun > 0 {
		if err := f.checkRun(ctx, ci.CheckRun); err != nil {
			return nil, err
		}
	}
	if ci.Run > 0 {
		if err := f.run(ctx, ci.Run); err != nil {
			return nil, err
		}
	}
	if ci.CheckSuite > 0 {
		if err := f.workflowRuns(ctx, gh.ListWorkflowRunsOptions{CheckSuiteID: ci.CheckSuite}); err != nil {
			return nil, err
		}
	}
	if ci.SHA != "" {
		if err := f.workflowRuns(ctx, gh.ListWorkflowRunsOptions{HeadSHA: ci.SHA}); err != nil {
			return nil, err
		}
		if err := f.checkRunsOf(ctx, ci.SHA); err != nil {
			return nil, err
		}
	}
	return f.jobs, nil
}

// finder collects red jobs without naming one twice.
type finder struct {
	repo *Repo
	jobs []Job
	seen map[int64]bool // by check run, which has the job's ID in GitHub Actions
	runs map[int64]bool
}

func (f *finder) add(j Job) {
	if id := cmp.Or(j.ID, j.CheckRun); !f.seen[id] {
		f.seen[id] = true
		f.jobs = append(f.jobs, j)
	}
}

func (f *finder) run(ctx context.Context, id int64) error {
	if f.runs[id] {
		return nil
	}
	f.runs[id] = true
	r := f.repo
	jobs, err := pages(1000, func(o gh.ListOptions) ([]*gh.WorkflowJob, *gh.Response, error) {
		got, resp, err := r.read.Actions.ListWorkflowJobs(ctx, r.Owner, r.Name, id, &gh.ListWorkflowJobsOptions{Filter: "latest", ListOptions: o})
		if err != nil {
			return nil, resp, err
		}
		return got.Jobs, resp, nil
	})
	if err := r.wrap("list jobs of a run", err); err != nil {
		return err
	}
	for _, j := range jobs {
		if red(j.GetConclusion()) {
			f.add(jobOf(j))
		}
	}
	return nil
}

// workflowRuns adds the jobs of the red runs that a filter selects.
func (f *finder) workflowRuns(ctx context.Context, filter gh.ListWorkflowRunsOptions) error {
	r := f.repo
	filter.ExcludePullRequests = true
	runs, err := pages(200, func(o gh.ListOptions) ([]*gh.WorkflowRun, *gh.Response, error) {
		opts := filter
		opts.ListOptions = o
		got, resp, err := r.read.Actions.ListRepositoryWorkflowRuns(ctx, r.Owner, r.Name, &opts)
		if err != nil {
			return nil, resp, err
		}
		return got.WorkflowRuns, resp, nil
	})
	if err := r.wrap("list workflow runs", err); err != nil {
		return err
	}
	for _, run := range runs {
		if red(run.GetConclusion()) {
			if err := f.run(ctx, run.GetID()); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkRun adds the check run itself and, for GitHub Actions, its job.
func (f *finder) checkRun(ctx context.Context, id int64) error {
	r := f.repo
	c, _, err := r.read.Checks.GetCheckRun(ctx, r.Owner, r.Name, id)
	if err := r.wrap("read check run", err); err != nil {
		return err
	}
	return f.addCheckRun(ctx, c)
}

func (f *finder) addCheckRun(ctx context.Context, c *gh.CheckRun) error {
	r := f.repo
	if c.GetApp().GetID() == r.app.cfg.AppID || !red(c.GetConclusion()) || f.seen[c.GetID()] {
		return nil
	}
	job := Job{
		CheckRun: c.GetID(), Name: c.GetName(), Conclusion: c.GetConclusion(), HeadSHA: c.GetHeadSHA(), HTMLURL: c.GetHTMLURL(),
		Output: joinText(c.GetOutput().GetTitle(), c.GetOutput().GetSummary(), c.GetOutput().GetText()),
	}
	if c.GetApp().GetSlug() == "github-actions" {
		j, _, err := r.read.Actions.GetWorkflowJobByID(ctx, r.Owner, r.Name, c.GetID())
		if err := r.wrap("read job", err); err != nil && !errors.Is(err, ErrNotFound) {
			return err
		} else if err == nil {
			found := jobOf(j)
			found.Output = job.Output
			job = found
		}
	}
	f.add(job)
	return nil
}

func (f *finder) checkRunsOf(ctx context.Context, sha string) error {
	runs, err := f.repo.checkRuns(ctx, sha, gh.ListCheckRunsOptions{Filter: gh.String("latest")})
	if err != nil {
		return err
	}
	for _, c := range runs {
		if err := f.addCheckRun(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

func (r *Repo) checkRuns(ctx context.Context, sha string, filter gh.ListCheckRunsOptions) ([]*gh.CheckRun, error) {
	runs, err := pages(1000, func(o gh.ListOptions) ([]*gh.CheckRun, *gh.Response, error) {
		opts := filter
		opts.ListOptions = o
		got, resp, err := r.read.Checks.ListCheckRunsForRef(ctx, r.Owner, r.Name, sha, &opts)
		if err != nil {
			return nil, resp, err
		}
		return got.CheckRuns, resp, nil
	})
	return runs, r.wrap("list check runs", err)
}

// CheckRun is one check of a commit.
type CheckRun struct {
	ID          int64
	Name        string
	App         string // slug of the App that made it
	Status      string
	Conclusion  string
	ExternalID  string
	CompletedAt time.Time
	HTMLURL     string
}

// CheckRuns lists the latest check runs of a commit.
func (r *Repo) CheckRuns(ctx context.Context, sha string) ([]CheckRun, error) {
	got, err := r.checkRuns(ctx, sha, gh.ListCheckRunsOptions{Filter: gh.String("latest")})
	if err != nil {
		return nil, err
	}
	var out []CheckRun
	for _, c := range got {
		out = append(out, CheckRun{
			ID: c.GetID(), Name: c.GetName(), App: c.GetApp().GetSlug(), Status: c.GetStatus(), Conclusion: c.GetConclusion(),
			ExternalID: c.GetExternalID(), CompletedAt: c.GetCompletedAt().Time, HTMLURL: c.GetHTMLURL(),
		})
	}
	return out, nil
}

func jobOf(j *gh.WorkflowJob) Job {
	job := Job{
		ID: j.GetID(), CheckRun: j.GetID(), Run: j.GetRunID(), Name: j.GetName(), Conclusion: j.GetConclusion(),
		HeadSHA: j.GetHeadSHA(), Labels: slices.Clone(j.Labels), HTMLURL: j.GetHTMLURL(),
	}
	for _, s := range j.Steps {
		if red(s.GetConclusion()) {
			job.Steps = append(job.Steps, s.GetName())
		}
	}
	return job
}

// red reports whether a conclusion is a failure to debug.
func red(conclusion string) bool { return conclusion == "failure" || conclusion == "timed_out" }

func joinText(parts ...string) string {
	out := ""
	for _, p := range parts {
		if p != "" {
			out += p + "\n"
		}
	}
	return out
}
