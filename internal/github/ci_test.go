package github_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"culprit/internal/github"
	"culprit/internal/githubtest"
)

// redRun is a run of three jobs of which two are red.
func (w *world) redRun() githubtest.Run {
	w.t.Helper()
	return must(w.gh.CompleteRun(githubtest.RunConfig{Repo: full, Workflow: "CI", Jobs: []githubtest.Job{
		{Name: "lint", Log: "fine"},
		{Name: "test", Steps: []githubtest.Step{
			{Name: "Set up", Log: "ok"},
			{Name: "Run tests", Run: "go test ./...", Log: "--- FAIL: TestParse", Conclusion: "failure"},
		}},
		{Name: "slow", Conclusion: "timed_out", Log: "too slow"},
	}}))(w.t)
}

func names(jobs []github.Job) string {
	var out []string
	for _, j := range jobs {
		out = append(out, j.Name)
	}
	return strings.Join(out, " ")
}

func TestFailedJobsAreFoundByEveryID(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.redRun()
	r := w.repo()
	for name, c := range map[string]struct {
		ci   github.CI
		want string
	}{
		"run":         {github.CI{Run: run.ID}, "test slow"},
		"suite":       {github.CI{CheckSuite: run.SuiteID}, "test slow"},
		"check run":   {github.CI{CheckRun: run.Jobs["slow"]}, "slow"},
		"green check": {github.CI{CheckRun: run.Jobs["lint"]}, ""},
		"commit":      {github.CI{SHA: run.SHA}, "test slow"},
		"all":         {github.CI{SHA: run.SHA, Run: run.ID, CheckSuite: run.SuiteID, CheckRun: run.Jobs["slow"]}, "slow test"},
	} {
		jobs, err := r.FailedJobs(t.Context(), c.ci)
		if err != nil || names(jobs) != c.want {
			t.Errorf("by %s: %q, %v; want %q", name, names(jobs), err, c.want)
		}
		for _, j := range jobs {
			if j.ID == 0 || j.Run != run.ID || j.HeadSHA != run.SHA {
				t.Errorf("by %s: job is %+v", name, j)
			}
			if j.Name == "test" && (len(j.Steps) != 1 || j.Steps[0] != "Run tests") {
				t.Errorf("by %s: red steps are %q", name, j.Steps)
			}
		}
	}
}

func TestTheAppsOwnCheckRunIsNeverAFailedJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.ciSession("main")
	s.Fix = nil
	check(t, w.publisher().Final(t.Context(), s))
	jobs, err := w.repo().FailedJobs(t.Context(), github.CI{SHA: w.head, CheckRun: s.Published.CheckRun})
	if err != nil || len(jobs) != 0 {
		t.Errorf("jobs are %+v, %v", jobs, err)
	}
}

func TestWorkflowRunTellsWhereItsHeadLies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.redRun()
	got, err := w.repo().WorkflowRun(t.Context(), run.ID)
	if err != nil || got.HeadSHA != run.SHA || got.HeadBranch != "main" || got.HeadRepo != full || got.Conclusion != "failure" {
		t.Errorf("run is %+v, %v", got, err)
	}
	if _, err := w.repo().WorkflowRun(t.Context(), 0); !errors.Is(err, github.ErrNotFound) {
		t.Errorf("error is %v, want ErrNotFound", err)
	}
}

func TestLogsAreReadWholeOrByTheirEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var long strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&long, "line %04d\n", i)
	}
	run := must(w.gh.CompleteRun(githubtest.RunConfig{Repo: full, Jobs: []githubtest.Job{{Name: "test", Conclusion: "failure", Log: long.String()}}}))(t)
	r := w.repo()
	var whole strings.Builder
	got, err := r.JobLog(t.Context(), run.Jobs["test"], &whole, 1<<20)
	if err != nil || got.Skipped != 0 || got.Size != int64(whole.Len()) || !strings.Contains(whole.String(), "line 4999") {
		t.Fatalf("log of %d bytes: %+v, %v", whole.Len(), got, err)
	}
	for _, limit := range []int64{4, 1000, 4001, got.Size - 1, got.Size} {
		var cut strings.Builder
		part, err := r.JobLog(t.Context(), run.Jobs["test"], &cut, limit)
		if err != nil {
			t.Fatal(err)
		}
		head, tail := limit/4, limit-limit/4
		text := cut.String()
		if part.Skipped != got.Size-limit || !strings.HasPrefix(text, whole.String()[:head]) || !strings.HasSuffix(text, whole.String()[got.Size-tail:]) {
			t.Errorf("limit %d: %+v, %d bytes", limit, part, len(text))
		}
		if left := strings.Contains(text, "left out here"); left != (part.Skipped > 0) {
			t.Errorf("limit %d: the gap is told: %v", limit, left)
		}
	}
}

func TestMissingLogsSayWhy(t *testing.T) {
	t.Parallel()
	const route = "/repos/{owner}/{repo}/actions/jobs/{job_id}/logs"
	w := newWorld(t)
	run := w.redRun()
	r := w.repo()
	for _, c := range []struct {
		fault githubtest.Fault
		kind  error
	}{
		{githubtest.Fault{Status: 410}.On("GET", route), github.ErrExpired},
		{githubtest.Fault{Status: 404}.On("GET", route), github.ErrNotFound},
		{githubtest.Fault{Status: 500}.On("GET", route), github.ErrTransient},
	} {
		in := w.gh.Inject(c.fault)
		if _, err := r.JobLog(t.Context(), run.Jobs["test"], &strings.Builder{}, 100); !errors.Is(err, c.kind) {
			t.Errorf("%d: error is %v, want %v", c.fault.Status, err, c.kind)
		}
		in.Remove()
	}
}

func TestLogThatCannotBeWrittenDownIsNotGitHubsFault(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.redRun()
	full := errors.New("no space left on device")
	_, err := w.repo().JobLog(t.Context(), run.Jobs["test"], brokenWriter{full}, 100)
	if !errors.Is(err, full) || errors.Is(err, github.ErrTransient) {
		t.Errorf("error is %v", err)
	}
}

type brokenWriter struct{ err error }

func (b brokenWriter) Write([]byte) (int, error) { return 0, b.err }

func TestPermissionsAreLookedUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.repo()
	for role, may := range map[string]bool{"admin": true, "maintain": true, "write": true, "triage": false, "read": false} {
		check(t, w.gh.SetPermission(full, "user-"+role, role))
		got, err := r.Permission(t.Context(), "user-"+role)
		if err != nil || got.MayWrite() != may || string(got) != role {
			t.Errorf("%s: %q, %v", role, got, err)
		}
	}
	if github.PermissionTriage.AtLeast("owner") || github.Permission("owner").AtLeast(github.PermissionNone) || !github.PermissionAdmin.AtLeast(github.PermissionMaintain) {
		t.Error("permissions are not in order")
	}
	for _, login := range []string{"", "nobody-knows", "../../../user", "a/b?c"} {
		if got, err := r.Permission(t.Context(), login); err != nil || got.MayWrite() {
			t.Errorf("%q: %q, %v", login, got, err)
		}
	}
}

func TestIssuesAndTheirCommentsAreReadInPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.issueSession()
	for i := range 130 {
		must(w.gh.Comment(full, s.Source.Issue, "bob", fmt.Sprint(i)))(t)
	}
	r := w.repo()
	i, err := r.Issue(t.Context(), s.Source.Issue)
	if err != nil || i.Title != "Sign is lost" || i.Author != "ann" || i.IsPR || len(i.Labels) != 1 {
		t.Errorf("issue is %+v, %v", i, err)
	}
	all, err := r.Comments(t.Context(), s.Source.Issue, 0)
	if err != nil || len(all) != 130 || all[129].Body != "129" || all[0].Author != "bob" || all[0].Bot {
		t.Errorf("%d comments, %v", len(all), err)
	}
	if some, err := r.Comments(t.Context(), s.Source.Issue, 20); err != nil || len(some) != 20 {
		t.Errorf("%d comments, %v", len(some), err)
	}
	// The bot's own comment is found behind many others.
	check(t, w.publisher().Progress(t.Context(), s))
	s.Published.Comment = 0
	s.State = "later"
	check(t, w.publisher().Progress(t.Context(), s))
	if got := len(w.comments(s.Source.Issue)); got != 131 {
		t.Errorf("%d comments, want 131", got)
	}
}
