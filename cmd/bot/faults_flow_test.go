package main

import (
	"fmt"
	"slices"
	"strings"

	"culprit/internal/githubtest"
	"culprit/queue"
)

// A flow is one thing that people or CI do, with what must come of it. Together
// the flows make every call that the bot makes to GitHub between a webhook and
// its end.
type flow struct {
	name  string
	begin func(w *faultWorld) trace // in a repository of its own
}

// A trace is where the end of a flow is to be seen.
type trace struct {
	repo    string
	thread  int    // issue or pull request; 0: none
	sha     string // the commit that it is about
	session bool   // it makes one
	issue   bool   // that is about an issue, which gets labels
	fix     bool   // it ends with a fix
	answer  bool   // a comment is answered
	refused string // a call that GitHub refused as it was, however often
	missing string // a call that GitHub answered with 404, once or more
}

// flows come with those first that cost least: a call is tried in the first one
// that makes it.
var flows = []flow{
	{"question", func(w *faultWorld) trace {
		repo, _ := w.newRepo()
		i, err := w.github.OpenIssue(repo, "ada", "Question", "")
		w.must(err)
		_, err = w.github.Comment(repo, i.Number, "ada", "/debug help")
		w.must(err)
		return trace{repo: repo, thread: i.Number, answer: true}
	}},
	{"settings", func(w *faultWorld) trace {
		repo, _ := w.newRepo()
		sha, err := w.github.CommitFile(repo, "ada", "main", ".github/culprit.yml", []byte("no-such-setting: 1\n"), "Set")
		w.must(err)
		return trace{repo: repo, sha: sha}
	}},
	{"issue", func(w *faultWorld) trace {
		repo, head := w.newRepo()
		i, err := w.github.OpenIssue(repo, "ada", "It is "+endsCause, "The answer is wrong.")
		w.must(err)
		w.must(w.github.AddLabel(repo, i.Number, "ada", "debug"))
		return trace{repo: repo, thread: i.Number, sha: head, session: true, issue: true}
	}},
	{"commit", func(w *faultWorld) trace {
		repo, _ := w.newRepo()
		sha, _ := w.redBranch(repo, endsCause, false)
		return trace{repo: repo, sha: sha, session: true}
	}},
	{"pull request", func(w *faultWorld) trace {
		repo, _ := w.newRepo()
		sha, number := w.redBranch(repo, "topic", true)
		return trace{repo: repo, thread: number, sha: sha, session: true, fix: true}
	}},
}

// redBranch makes a branch with a commit of its own, maybe a pull request, and
// red CI.
func (w *faultWorld) redBranch(repo, branch string, pull bool) (sha string, number int) {
	w.t.Helper()
	refs, err := w.github.Refs(repo)
	w.must(err)
	w.must(w.github.CreateBranch(repo, "ada", branch, refs["main"]))
	sha, err = w.github.CommitFile(repo, "ada", branch, "note.txt", []byte(branch), "Note")
	w.must(err)
	if pull {
		pr, err := w.github.OpenPull(repo, "ada", githubtest.PullConfig{Title: branch, Head: branch, Base: "main"})
		w.must(err)
		number = pr.Number
	}
	_, err = w.github.CompleteRun(githubtest.RunConfig{Repo: repo, Branch: branch, Workflow: "CI", Actor: "ada", Jobs: []githubtest.Job{{
		Name: "test", Steps: []githubtest.Step{{Name: "Test", Run: "go test ./...", Log: "FAIL\tm.example/m\n", Conclusion: "failure", ExitCode: 1}},
	}}})
	w.must(err)
	return sha, number
}

// An ending is how a flow came out, in the words of the table.
type ending string

const (
	asWanted ending = "as wanted" // the result is shown
	told     ending = "told"      // it failed for good, and that is shown once
	refused  ending = "refused"   // what GitHub does not take is left out, and all else is shown
	notMade  ending = "not made"  // the call was not needed this time
	gone     ending = "gone"      // GitHub says that the repository is not there, and nothing was shown
)

// leftOut says what of a flow's end may be missing when a call is refused for
// good: its part is not shown, and everything else is.
var leftOut = map[string]struct{ edit, label, pull bool }{
	"PATCH /repos/{owner}/{repo}/issues/comments/{comment_id}":         {edit: true}, // the result stands in another comment
	"GET /repos/{owner}/{repo}/issues/{issue_number}/labels":           {label: true},
	"POST /repos/{owner}/{repo}/issues/{issue_number}/labels":          {label: true},
	"DELETE /repos/{owner}/{repo}/issues/{issue_number}/labels/{name}": {label: true},
	"POST /repos/{owner}/{repo}/labels":                                {label: true},
	"GET /repos/{owner}/{repo}/labels/{name}":                          {label: true},
	"POST /repos/{owner}/{repo}/pulls":                                 {pull: true},
}

// believed are reads whose 404 is an answer: nobody of that name, a comment that
// was deleted, no settings file, no branch. Then there is nothing to do, and
// nothing is shown.
var believed = []string{
	"GET /repos/{owner}/{repo}/collaborators/{username}/permission",
	"GET /repos/{owner}/{repo}/issues/comments/{comment_id}",
	"GET /repos/{owner}/{repo}/issues/{issue_number}",
	"GET /repos/{owner}/{repo}/contents/{path}",
	"GET /repos/{owner}/{repo}/git/ref/{ref}",
}

// look holds what is left of a flow against what must be there.
func (b *faultBot) look(x trace) (ending, []string) {
	b.t.Helper()
	sessions, commands := b.jobs()
	var wrong []string
	bad := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	end := asWanted
	for _, j := range append(sessions, commands...) {
		switch {
		case j.State == queue.Dead && j.Reported:
			end = told
		case j.State == queue.Done && strings.Contains(j.Summary, "is gone"):
			end = gone
		case j.State != queue.Done:
			bad("stuck: %s is %s, reported %t: %s", j.Key, j.State, j.Reported, j.Reason)
		}
	}
	if len(sessions) > 1 {
		bad("doubled: %d jobs", len(sessions))
	}
	comments, checks, fixes := b.shown(x)
	if slices.Contains(believed, x.missing) && len(comments)+len(checks)+fixes == 0 {
		end, x.issue = gone, false
	}
	once := func(n int, what string, needed bool) {
		if n > 1 {
			bad("doubled: %d %s", n, what)
		}
		if n == 0 && needed {
			bad("lost: no %s", what)
		}
	}
	if end == gone {
		once(min(len(comments)+len(checks), 1)*2, "parts that say for ever that it runs", false)
		return end, wrong
	}
	may := leftOut[x.refused]
	if may != (leftOut[""]) {
		end = refused
	}
	if may.edit && len(comments) == 2 {
		comments = slices.DeleteFunc(comments, func(c string) bool { return !terminal(c) })
	}
	once(len(comments), "comments", true)
	once(len(checks), "check runs", end != told && !x.answer)
	once(fixes, "fix pull requests", end == asWanted && x.fix)
	if may.pull && x.fix && fixes == 0 && !strings.Contains(strings.Join(comments, ""), "did not let the App open a pull request") {
		bad("lost: nobody is told why there is no pull request")
	}
	for _, c := range checks {
		if c.Status != "completed" {
			bad("stuck: the check run is %s", c.Status)
		}
	}
	if x.session && len(comments) == 1 {
		switch {
		case !terminal(comments[0]):
			bad("stuck: the comment says that it runs")
		case end == told != strings.Contains(comments[0], "Stopped"):
			bad("lost: it ended %s, and the comment says %q", end, strings.SplitN(comments[0], "\n", 3)[1])
		}
	}
	if x.issue {
		issue, err := b.github.Issue(x.repo, x.thread)
		b.must(err)
		if !may.label && (slices.Contains(issue.Labels, "debug:running") || !slices.Contains(issue.Labels, "debug:done")) {
			bad("stuck: labels are %v", issue.Labels)
		}
	}
	for _, path := range goesBack(b.calls()) {
		bad("doubled: %s told its end, and then that it runs", path)
	}
	return end, wrong
}

// shown is what the App shows in the repository of a flow, wherever it stands.
func (b *faultBot) shown(x trace) (comments []string, checks []githubtest.CheckRun, fixes int) {
	b.t.Helper()
	issues, err := b.github.Issues(x.repo)
	b.must(err)
	pulls, err := b.github.PullRequests(x.repo)
	b.must(err)
	threads := []int{}
	for _, i := range issues {
		threads = append(threads, i.Number)
	}
	for _, pr := range pulls {
		if threads = append(threads, pr.Number); pr.User == b.app.BotLogin() {
			fixes++
		}
	}
	slices.Sort(threads)
	for _, n := range slices.Compact(threads) {
		all, err := b.github.Comments(x.repo, n)
		b.must(err)
		for _, c := range all {
			if c.User == b.app.BotLogin() {
				comments = append(comments, c.Body)
			}
		}
	}
	if x.sha != "" {
		all, err := b.github.CommitComments(x.repo, x.sha)
		b.must(err)
		for _, c := range all {
			if c.User == b.app.BotLogin() {
				comments = append(comments, c.Body)
			}
		}
	}
	all, err := b.github.CheckRuns(x.repo)
	b.must(err)
	for _, c := range all {
		if c.App == b.app.Slug {
			checks = append(checks, c)
		}
	}
	return comments, checks, fixes
}

func (b *faultBot) calls() []githubtest.Call { return b.github.Calls()[b.from:] }
