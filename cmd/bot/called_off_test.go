package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"culprit/internal/githubtest"
	"culprit/queue"
)

// An offWorld is a world in which jobs are called off, each in a repository of
// its own.
type offWorld struct {
	*world
	red     string // the log of a red run
	partial int64  // the installation of an account that selected its repositories
	leaving int64  // the one of an account that uninstalls the App
}

// callingOff are the causes for which a job is called off (GH4, CR22).
var callingOff = []struct {
	cause string
	owner string
	ci    bool   // the job is of red CI on the branch topic, else of a label
	says  string // what people are told; empty: they cannot be told any more
	needs string // what must be visible for it
	do    func(w *offWorld, issue int) error
}{
	{"the issue is closed", "acme", false, "the issue was closed", "", func(w *offWorld, issue int) error { return w.github.CloseIssue(w.repo, issue, "ada") }},
	{"the label is taken off", "acme", false, "the label was taken off", "", func(w *offWorld, issue int) error { return w.github.RemoveLabel(w.repo, issue, "ada", "debug") }},
	{"a person stops it", "acme", false, "stopped by ada", "", func(w *offWorld, issue int) error {
		_, err := w.github.Comment(w.repo, issue, "ada", "/debug stop")
		return err
	}},
	{"the button stops it", "acme", true, "stopped by ada", "a check run", func(w *offWorld, _ int) error {
		return w.github.RequestAction(w.repo, w.checks()[0].ID, "ada", "stop")
	}},
	{"the branch is deleted", "acme", true, "the branch was deleted", "", func(w *offWorld, _ int) error { return w.github.DeleteBranch(w.repo, "ada", "topic") }},
	{"a newer commit is red", "acme", true, "newer commit", "", func(w *offWorld, _ int) error {
		if _, err := w.github.CommitFile(w.repo, "ada", "topic", "note.txt", []byte("newer"), "Note more"); err != nil {
			return err
		}
		w.redCI("topic", w.red)
		return nil
	}},
	{"the repository is archived", "acme", false, "", "", func(w *offWorld, _ int) error { return w.github.ArchiveRepo(w.repo, true) }},
	{"the repository is deleted", "acme", false, "", "", func(w *offWorld, _ int) error { return w.github.DeleteRepo(w.repo) }},
	{"the repository is taken from the App", "partial", false, "", "", func(w *offWorld, _ int) error { return w.github.RemoveRepository(w.partial, w.repo) }},
	{"the App is uninstalled", "leaving", true, "", "", func(w *offWorld, _ int) error { return w.github.Uninstall(w.leaving) }},
}

// In whatever state a job is, whoever may call it off: it ends, and what is
// visible of it says so, once.
func TestHoweverAJobIsCalledOffItEndsAndIsTold(t *testing.T) {
	t.Parallel()
	p := newSmallProject(t)
	many := []string{"--jobs", "20", "--jobs-per-installation", "20"}
	for _, in := range []struct {
		state queue.State
		fetch githubtest.Fault // what the clone meets, right after the session began
		args  []string
	}{
		{queue.Queued, githubtest.Fault{Latency: time.Hour}, []string{"--jobs", "1"}}, // behind one that hangs
		{queue.Running, githubtest.Fault{Latency: time.Hour}, many},
		{queue.Retrying, githubtest.Fault{Status: 500}, many},
	} {
		t.Run(string(in.state), func(t *testing.T) {
			t.Parallel()
			project := smallProject{commits: p.commits[:1], log: p.log}
			w := newOffWorld(t, project)
			w.github.Inject(in.fetch.On("GET", "/{owner}/{repo}.git/info/refs"))
			w.start(append(in.args, "--recover", "1s")...) // folders that nobody goes on with are removed
			q := w.openQueue()
			eventually := func(what string, is func() bool) {
				t.Helper()
				if !eventually(t, time.Minute, what, is) {
					t.Fatalf("log:\n%s", w.log)
				}
			}
			state := func(repo string) (ended, open []queue.State) {
				all, _, err := q.Find(t.Context(), queue.Filter{Repository: repo}, 0)
				if err != nil {
					t.Fatal(err)
				}
				for _, info := range all {
					if info.State.Ended() {
						ended = append(ended, info.State)
					} else {
						open = append(open, info.State)
					}
				}
				return ended, open
			}
			var first int
			if in.state == queue.Queued {
				first = w.labelled("It hangs")
				eventually("the first one runs", func() bool { _, open := state(w.repo); return slices.Equal(open, []queue.State{queue.Running}) })
			}
			visible := map[queue.State]int{queue.Running: 1, queue.Retrying: 1}[in.state]
			issues := make([]int, len(callingOff))
			at := func(i int) { w.repo = fmt.Sprintf("%s/c%d", callingOff[i].owner, i) }
			for i, c := range callingOff {
				at(i)
				if c.ci {
					w.redCI("topic", w.red)
				} else {
					issues[i] = w.labelled(c.cause)
				}
			}
			for i, c := range callingOff {
				at(i)
				eventually(c.cause+": the job is "+string(in.state), func() bool {
					_, open := state(w.repo)
					return slices.Equal(open, []queue.State{in.state}) && len(w.checks()) == visible
				})
			}
			done := func(c int) bool { return callingOff[c].needs == "" || visible > 0 }
			for i, c := range callingOff {
				if at(i); done(i) {
					if err := c.do(w, issues[i]); err != nil {
						t.Fatal(c.cause, err)
					}
				}
			}
			for i, c := range callingOff {
				at(i)
				eventually(c.cause+": its end", func() bool {
					ended, open := state(w.repo)
					if c.says == "newer commit" {
						return slices.Equal(ended, []queue.State{queue.Superseded}) && len(open) == 1
					}
					if c.says == "" && slices.Equal(ended, []queue.State{queue.Done}) && len(open) == 0 {
						return true // it met the closed door before it heard
					}
					return !done(i) || slices.Equal(ended, []queue.State{queue.Cancelled}) && len(open) == 0
				})
				if c.says == "" || visible == 0 {
					continue
				}
				told := func() (n int) {
					for _, run := range w.checks() {
						if run.Status == "completed" && run.Conclusion == "neutral" && strings.Contains(run.Title, "Stopped") && strings.Contains(run.Title+run.Summary, c.says) {
							n++
						}
					}
					return n
				}
				eventually(c.cause+": it is told", func() bool { return told() == 1 })
				if comments := w.comments(); !c.ci && (len(comments) != 1 || !strings.Contains(comments[0].Body, "Stopped")) {
					t.Errorf("%s: the comments are %+v", c.cause, comments)
				}
			}
			for i, c := range callingOff { // what came after, or could not be called off
				if at(i); c.says == "newer commit" || !done(i) {
					if err := w.github.DeleteBranch(w.repo, "ada", "topic"); err != nil {
						t.Fatal(err)
					}
				}
			}
			if w.repo = "acme/prices"; first > 0 {
				if err := w.github.CloseIssue(w.repo, first, "ada"); err != nil {
					t.Fatal(err)
				}
			}
			eventually("nothing waits or runs", w.idle)
			eventually("no session is left open", func() bool {
				return !slices.ContainsFunc(w.sessions(), func(dir string) bool { return !readDone(dir) })
			})
		})
	}
}

// newOffWorld makes a repository for each cause, with a branch "topic".
func newOffWorld(t *testing.T, p smallProject) *offWorld {
	t.Helper()
	w := &offWorld{world: newWorld(t, someRedis(t).url, p), red: p.log}
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ok(w.github.CreateOrg("partial"))
	ok(w.github.CreateOrg("leaving"))
	selected := map[string][]string{}
	for i, c := range callingOff {
		repo := fmt.Sprintf("%s/c%d", c.owner, i)
		w.makeRepo(repo, p)
		ok(w.github.SetPermission(repo, "ada", "write"))
		refs, err := w.github.Refs(repo)
		ok(err)
		ok(w.github.CreateBranch(repo, "ada", "topic", refs["main"]))
		_, err = w.github.CommitFile(repo, "ada", "topic", "note.txt", []byte("x"), "Note")
		ok(err)
		selected[c.owner] = append(selected[c.owner], repo)
	}
	var err error
	w.partial, err = w.github.Install(w.app.ID, "partial", selected["partial"]...)
	ok(err)
	w.leaving, err = w.github.Install(w.app.ID, "leaving")
	ok(err)
	return w
}
