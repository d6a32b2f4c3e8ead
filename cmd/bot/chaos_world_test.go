package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/tools/txtar"

	"culprit/handlers"
	"culprit/internal/conformance"
	"culprit/internal/githubtest"
	"culprit/internal/requiretest"
	"culprit/queue"
)

// chaosPlan is what a chaos run does. The same seed makes the same jobs and
// draws the same blows; when they land depends on the machine.
type chaosPlan struct {
	seed   uint64
	jobs   int
	repos  int
	lease  time.Duration
	every  time.Duration          // mean time between two blows
	faults string                 // of the workers: see chaosWorker
	lie    []githubtest.Fault     // told by GitHub, to see that the checks would notice
	limit  time.Duration          // of blows
	enough func(*chaosWorld) bool // ends the run early; may be nil
}

// machines says how many workers stand on each machine. Those of one machine
// share its data folder.
var machines = []int{1, 1, 1, 1, 2}

// A chaosJob is one job and what is to become of it.
type chaosJob struct {
	job     queue.Job
	repo    string
	issue   int    // or
	branch  string // of red CI
	end     string
	stop    string        // "cancel", "supersede" or nothing
	after   time.Duration // from being queued to the stop
	next    *chaosJob     // that supersedes this one
	id      string        // in the queue; empty before it is there
	queued  time.Time
	stopped bool
}

// A chaosWorld is everything around the workers of a chaos run.
type chaosWorld struct {
	t       *testing.T
	plan    chaosPlan
	random  *rand.Rand
	github  *githubtest.Server
	app     githubtest.App
	redis   testRedis
	client  *redis.Client
	queue   *queue.Queue
	jobs    []*chaosJob
	workers []*chaosMachineWorker
	count   figures
	ending  bool // no worker is started again by itself
}

// figures are what a run adds up to.
type figures struct {
	kills, pauses, redis, lost int
}

func newChaosWorld(t *testing.T, plan chaosPlan) *chaosWorld {
	t.Helper()
	requiretest.Program(t, "git")
	w := &chaosWorld{t: t, plan: plan, random: rand.New(rand.NewPCG(plan.seed, 0))}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	w.github = conformance.Start(t, githubtest.Options{RateLimit: 1e6})
	key, err := appKey()
	must(err)
	// Every acknowledged write is on disk before a crash of Redis.
	w.redis = realRedis(t, "pw-of-a-test")
	opts, err := redis.ParseURL(w.redis.url)
	must(err)
	opts.MaxRetries = -1 // the director must not wait for a Redis that it killed
	w.client = redis.NewClient(opts)
	t.Cleanup(func() { _ = w.client.Close() })
	w.queue, err = queue.Open(t.Context(), queue.Options{Redis: w.client, Lease: plan.lease})
	must(err)
	must(w.github.CreateOrg("operator"))
	w.app, err = w.github.CreateApp(githubtest.AppConfig{Name: "Culprit", Owner: "operator", Key: key})
	must(err)
	w.makeJobs(must)
	for _, f := range plan.lie {
		w.github.Inject(f)
	}
	dir := t.TempDir()
	for m, n := range machines {
		home := filepath.Join(dir, fmt.Sprintf("machine-%d", m+1))
		must(os.MkdirAll(filepath.Join(home, "tmp"), 0o755))
		for range n {
			w.workers = append(w.workers, &chaosMachineWorker{
				name: fmt.Sprintf("worker-%d", len(w.workers)+1), log: newBotLog(), gone: true,
				world: &world{
					t: t, github: w.github, app: w.app, redisURL: w.redis.url, data: filepath.Join(home, "data"), home: home, apiURL: w.github.APIURL(),
					env: []string{"TMPDIR=" + filepath.Join(home, "tmp")},
				},
			})
		}
	}
	return w
}

// makeJobs makes the repositories, issues and red runs. Each organisation has
// four repositories, so that no limit of the queue serialises all of it.
func (w *chaosWorld) makeJobs(must func(error)) {
	w.t.Helper()
	installs, repos := map[string]int64{}, make([]string, w.plan.repos)
	branches := make([][]string, w.plan.repos) // of each repository's red CI
	for i := range w.plan.jobs {
		j := &chaosJob{end: []string{endsFixed, endsFixed, endsFixed, endsCause, endsUnknown}[w.random.IntN(5)]}
		r := i % w.plan.repos
		repos[r] = fmt.Sprintf("org-%d/repo-%d", r/4, r)
		j.repo = repos[r]
		switch p := w.random.Float64(); {
		case p < .3:
			j.branch = fmt.Sprintf("job-%d-%s", i, j.end)
			branches[r] = append(branches[r], j.branch)
		}
		switch p := w.random.Float64(); {
		case p < .08:
			j.stop = "cancel"
		case p < .16 && j.branch != "":
			j.stop = "supersede"
		}
		j.after = time.Duration(w.random.Int64N(int64(5 * time.Second)))
		w.jobs = append(w.jobs, j)
	}
	for r, repo := range repos {
		org, name := filepath.Dir(repo), filepath.Base(repo)
		if installs[org] == 0 {
			must(w.github.CreateOrg(org))
			id, err := w.github.Install(w.app.ID, org)
			must(err)
			installs[org] = id
		}
		must(w.github.CreateRepo(githubtest.RepoConfig{Owner: org, Name: name}))
		must(importDemo(w.t.Context(), w.github.GitDir(repo), chaosCommits(branches[r])))
		must(w.github.SetPermission(repo, "ada", "write"))
	}
	for i, j := range w.jobs {
		install := installs[filepath.Dir(j.repo)]
		req := handlers.Request{
			Installation: install, Owner: filepath.Dir(j.repo), Repo: filepath.Base(j.repo), Delivery: fmt.Sprintf("delivery-%d", i), Mode: "quick",
		}
		j.job = queue.Job{Delivery: req.Delivery, Repository: j.repo, Installation: fmt.Sprint(install)}
		if j.branch == "" {
			issue, err := w.github.OpenIssue(j.repo, "ada", fmt.Sprintf("Job %d: %s", i, j.end), "The answer is wrong.")
			must(err)
			must(w.github.AddLabel(j.repo, issue.Number, "ada", "debug"))
			j.issue = issue.Number
			req.Kind, req.Trigger, req.Issue, req.Actor = handlers.KindIssue, "label", issue.Number, "ada"
			j.job.Key, j.job.Priority = fmt.Sprintf("%s#%d", j.repo, issue.Number), queue.PriorityIssue
			j.job.Payload = req.Encode()
			continue
		}
		refs, err := w.github.Refs(j.repo)
		must(err)
		w.redRun(j, req, refs[j.branch], must)
	}
	// A newer commit of the branch: one job more, which supersedes the other.
	for i, j := range w.jobs[:w.plan.jobs] {
		if j.stop != "supersede" {
			continue
		}
		sha, err := w.github.CommitFile(j.repo, "ada", j.branch, "b.go", []byte("package m\n"), "Add a file")
		must(err)
		req, err := handlers.DecodeRequest(j.job.Payload)
		must(err)
		req.Delivery = fmt.Sprintf("delivery-%d-newer", i)
		j.next = &chaosJob{repo: j.repo, branch: j.branch, end: j.end, job: queue.Job{Delivery: req.Delivery, Repository: j.job.Repository, Installation: j.job.Installation}}
		w.redRun(j.next, req, sha, must)
		w.jobs = append(w.jobs, j.next)
	}
}

// redRun makes the job that red CI of a commit leads to.
func (w *chaosWorld) redRun(j *chaosJob, req handlers.Request, sha string, must func(error)) {
	run, err := w.github.CompleteRun(githubtest.RunConfig{Repo: j.repo, Branch: j.branch, SHA: sha, Workflow: "CI", Actor: "ada", Jobs: []githubtest.Job{{
		Name: "test", Steps: []githubtest.Step{{Name: "Test", Run: "go test ./...", Log: "FAIL\tm.example/m\n", Conclusion: "failure", ExitCode: 1}},
	}}})
	must(err)
	req.Kind, req.Trigger, req.SHA, req.Ref, req.Run = handlers.KindCI, "workflow_run", sha, j.branch, run.ID
	j.job.Key, j.job.Ref, j.job.SHA = j.repo+"@"+sha+"/ci", j.repo+"@refs/heads/"+j.branch, sha
	j.job.Payload = req.Encode()
}

// chaosCommits is a project whose last commit broke it, with such a commit on
// each of the branches too.
func chaosCommits(branches []string) []demoCommit {
	commit := func(subject, branch, code string, n int) demoCommit {
		return demoCommit{subject: subject, author: "Ada <ada@a.example>", branch: branch, when: demoStart.Add(time.Duration(n) * time.Hour), files: []txtar.File{
			{Name: "go.mod", Data: []byte("module m.example/m\n\ngo 1.21\n")},
			{Name: "a.go", Data: []byte(code)},
			{Name: "a_test.go", Data: []byte(chaosTest)},
		}}
	}
	all := []demoCommit{commit("Answer", "main", chaosGood, 0)}
	for i, b := range branches {
		all = append(all, commit("Answer on "+b, b, chaosBad, i+1))
	}
	return append(all, commit("Answer less", "main", chaosBad, len(branches)+1))
}
