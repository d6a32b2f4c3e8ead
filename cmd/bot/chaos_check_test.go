package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"culprit/handlers"
	"culprit/internal/githubtest"
	"culprit/internal/report"
	"culprit/internal/session"
	"culprit/queue"
)

// A verdict is what a chaos run left, as against what it should have.
type verdict struct {
	duplicates, lost, leaks []string
	crashes, buried         int
}

func (v *verdict) all() []string { return slices.Concat(v.duplicates, v.lost, v.leaks) }

// shown is what stands on GitHub of one session.
type shown struct {
	comments []string // bodies
	checks   []githubtest.CheckRun
	pulls    []githubtest.PullRequest
	branches []string
}

// check looks at everything that a run leaves, once its workers have ended.
func (w *chaosWorld) check() *verdict {
	w.t.Helper()
	v := &verdict{}
	sessions := w.sessionsOnGitHub()
	for i, j := range w.jobs {
		ctx, cancel := w.context()
		info, err := w.queue.Show(ctx, j.id)
		cancel()
		if err != nil {
			v.lost = append(v.lost, fmt.Sprintf("job %d (%s): %v", i, j.id, err))
			continue
		}
		v.crashes += info.Crashes
		// The end of a session's name is made of its job's.
		sum := sha256.Sum256([]byte(j.id))
		suffix := "-" + hex.EncodeToString(sum[:3])
		var mine []string
		for id := range sessions {
			if strings.HasSuffix(id, suffix) {
				mine = append(mine, id)
			}
		}
		name := fmt.Sprintf("job %d (%s, %s, %s, %v)", i, j.job.Key, j.end, info.State, mine)
		if len(mine) > 1 {
			v.duplicates = append(v.duplicates, name+" has several sessions on GitHub")
			continue
		}
		s := &shown{}
		if len(mine) == 1 {
			s = sessions[mine[0]]
			delete(sessions, mine[0])
		}
		w.checkJob(v, name, j, info, s)
	}
	for id := range sessions {
		v.duplicates = append(v.duplicates, "session "+id+" is no job's")
	}
	for _, path := range goesBack(w.github.Writes()) {
		v.duplicates = append(v.duplicates, path+" told its end, and then that it runs")
	}
	w.checkMachines(v)
	return v
}

// checkJob holds one job against what is shown of it.
func (w *chaosWorld) checkJob(v *verdict, name string, j *chaosJob, info queue.Info, s *shown) {
	twice := func(what string, n int) {
		if n > 1 {
			v.duplicates = append(v.duplicates, fmt.Sprintf("%s: %d %s", name, n, what))
		}
	}
	lost := func(format string, args ...any) { v.lost = append(v.lost, name+": "+fmt.Sprintf(format, args...)) }
	twice("comments", len(s.comments))
	twice("check runs", len(s.checks))
	twice("pull requests", len(s.pulls))
	twice("branches", len(s.branches))
	for _, c := range s.comments {
		if !terminal(c) {
			lost("the comment still says that it runs")
		}
	}
	for _, c := range s.checks {
		if c.Status != "completed" {
			lost("the check run is %s", c.Status)
		}
	}
	if j.issue > 0 {
		issue, err := w.github.Issue(j.repo, j.issue)
		if err != nil {
			w.t.Fatal(err)
		}
		slices.Sort(issue.Labels)
		got := strings.Join(issue.Labels, " ")
		if got != "debug debug:done" && (j.end != endsUnknown || got != "debug debug:needs-you") && (info.State == queue.Done || got != "debug") {
			lost("labels are %s", got)
		}
	}
	switch {
	case info.State == queue.Done:
		pulls := 0
		if j.end == endsFixed {
			pulls = 1
		}
		if len(s.comments) == 0 || len(s.checks) == 0 || len(s.pulls) < pulls || len(s.branches) < pulls {
			lost("%d comments, %d check runs, %d pull requests, %d branches", len(s.comments), len(s.checks), len(s.pulls), len(s.branches))
		}
		if len(s.pulls) > pulls {
			twice("pull requests that nobody wanted", 1+len(s.pulls))
		}
	case j.stop == "cancel" && info.State == queue.Cancelled, j.stop == "supersede" && info.State == queue.Superseded:
		if len(s.comments) == 0 && len(s.checks)+len(s.pulls) > 0 && j.issue > 0 {
			lost("something of it is shown, but no comment")
		}
	case info.State == queue.Dead && info.CrashesInRow >= 3:
		// Rightly so: three workers in a row died on it before it got on.
		v.buried++
		if len(s.comments) == 0 {
			lost("nobody was told that it was given up")
		}
	default:
		lost("it ended as %s: %s", info.State, info.Reason)
	}
}

// terminal reports whether a comment tells an end.
func terminal(body string) bool { return strings.Contains(body, "`/debug retry`") }

// sessionsOnGitHub collects what stands there, by session.
func (w *chaosWorld) sessionsOnGitHub() map[string]*shown {
	w.t.Helper()
	out := map[string]*shown{}
	of := func(id string) *shown {
		if out[id] == nil {
			out[id] = &shown{}
		}
		return out[id]
	}
	must := func(err error) {
		if err != nil {
			w.t.Fatal(err)
		}
	}
	comment := func(user, body string) {
		if id, ok := report.FindMarker(body); ok && user == w.app.BotLogin() {
			of(id).comments = append(of(id).comments, body)
		}
	}
	repos := map[string]bool{}
	for _, j := range w.jobs {
		if j.branch != "" {
			all, err := w.github.CommitComments(j.repo, j.job.SHA)
			must(err)
			for _, c := range all {
				comment(c.User, c.Body)
			}
		}
		repos[j.repo] = true
	}
	for repo := range repos {
		issues, err := w.github.Issues(repo)
		must(err)
		for _, i := range issues {
			all, err := w.github.Comments(repo, i.Number)
			must(err)
			for _, c := range all {
				comment(c.User, c.Body)
			}
		}
		checks, err := w.github.CheckRuns(repo)
		must(err)
		for _, c := range checks {
			if c.App == w.app.Slug {
				of(c.ExternalID).checks = append(of(c.ExternalID).checks, c)
			}
		}
		pulls, err := w.github.PullRequests(repo)
		must(err)
		for _, p := range pulls {
			id := strings.TrimPrefix(p.Head, handlers.FixBranches)
			of(id).pulls = append(of(id).pulls, p)
		}
		refs, err := w.github.Refs(repo)
		must(err)
		for ref := range refs {
			if id, ok := strings.CutPrefix(ref, handlers.FixBranches); ok {
				of(id).branches = append(of(id).branches, ref)
			}
		}
	}
	return out
}

// goesBack are the paths of what told its end in these calls, and told later
// that it runs.
func goesBack(calls []githubtest.Call) (paths []string) {
	ended := map[string]bool{} // by path
	for _, c := range calls {
		var body struct {
			Body   string `json:"body"`
			Status string `json:"status"`
		}
		if c.Method != "PATCH" || c.Status >= 300 || json.Unmarshal([]byte(c.Body), &body) != nil {
			continue
		}
		end, ok := terminal(body.Body), false
		switch {
		case strings.Contains(c.Route, "/comments/"):
			_, ok = report.FindMarker(body.Body)
		case strings.Contains(c.Route, "/check-runs/"):
			end, ok = body.Status == "completed", body.Status != ""
		}
		if ok && ended[c.Path] && !end {
			paths = append(paths, c.Path)
		}
		ended[c.Path] = ended[c.Path] || ok && end
	}
	return paths
}

// checkMachines looks for what is left on the machines.
func (w *chaosWorld) checkMachines(v *verdict) {
	seen := map[string]bool{}
	for _, m := range w.workers {
		if seen[m.world.home] {
			continue
		}
		seen[m.world.home] = true
		name := filepath.Base(m.world.home)
		leak := func(what string) { v.leaks = append(v.leaks, name+": "+what) }
		var left []string
		if !eventually(w.t, 10*1e9, "no process is left", func() bool { left = processesOf(w.t, m.world.home); return len(left) == 0 }) {
			leak("processes: " + strings.Join(left, "\n"))
		}
		list, err := session.List(filepath.Join(m.world.data, "sessions"))
		if err != nil {
			w.t.Fatal(err)
		}
		open := map[string]bool{} // kept on purpose
		for _, s := range list {
			if s.State == session.StateDone {
				continue
			}
			if open[s.ID] = w.buriedWithMore(m.world, s.ID); !open[s.ID] {
				leak(fmt.Sprintf("session %s stands at %q", s.ID, s.State))
			}
		}
		for _, what := range leftovers(m.world.data) {
			if id, file, ok := strings.Cut(strings.TrimPrefix(what, "left: sessions/"), "/"); ok && open[id] && strings.HasPrefix(file, "wave-") {
				continue
			}
			// A machine that got no job has nothing to look at.
			if !strings.Contains(what, "is empty") {
				leak(what)
			}
		}
		temporary, err := os.ReadDir(filepath.Join(m.world.home, "tmp"))
		if err != nil {
			w.t.Fatal(err)
		}
		for _, e := range temporary {
			leak("temporary: " + e.Name())
		}
	}
}

// buriedWithMore reports whether a session's job was buried with this folder
// holding a later state than the checkpoint: an operator's retry goes on from it,
// and it goes when the queue forgets the job.
func (w *chaosWorld) buriedWithMore(machine *world, id string) bool {
	w.t.Helper()
	dir := filepath.Join(machine.data, "sessions", id)
	k, err := readKept(filepath.Join(dir, jobFile))
	if err != nil {
		return false
	}
	q := machine.openQueue()
	info, err := q.Show(w.t.Context(), k.JobID)
	if err != nil || info.State != queue.Dead {
		return false
	}
	here, err := readSession(dir)
	if err != nil {
		return false
	}
	archive, err := q.LoadCheckpoint(w.t.Context(), k.JobID)
	if errors.Is(err, queue.ErrNotFound) {
		return true
	}
	if err != nil {
		w.t.Fatal(err)
	}
	kept, _, err := peek(archive)
	return err != nil || older(kept, &here)
}
