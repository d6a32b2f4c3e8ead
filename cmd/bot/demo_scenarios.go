package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"culprit/internal/experiment"
	"culprit/internal/githubtest"
)

// scenario is one thing that the demo shows. play returns an error when it did
// not end as it should, judged by the state of GitHub.
type scenario struct {
	title string
	play  func(ctx context.Context, d *demo) error
}

var scenarios = []scenario{
	{"CI goes red on main", redCI},
	{"somebody labels an issue `debug`", labelledIssue},
	{"CI goes red because of a flaky test", flakyTest},
}

// testedByCI is what the project's CI runs: not everything.
const testedByCI = "go test ./duration ./slug ./cache"

// redCI: the CI of the newest commit fails; the culprit is 14 commits older.
func redCI(ctx context.Context, d *demo) error {
	log, exit, err := d.ci(ctx, "main", testedByCI)
	if err != nil {
		return err
	}
	if exit == 0 {
		return errors.New("the demo's CI does not fail")
	}
	run, err := d.complete("main", log, exit)
	if err != nil {
		return err
	}
	d.say("   %s exits %d on main; GitHub tells the bot", testedByCI, exit)
	check, err := d.await(ctx, run.SHA)
	if err != nil {
		return err
	}
	pr, err := d.fixFor(check)
	if err != nil {
		return err
	}
	d.show("the comment", d.commentOf(pr.Number))
	d.show("the pull request's diff", pr.Diff)
	if err := d.judge(check, "Root cause found", "Accept fractional seconds", d.commentOf(pr.Number)); err != nil {
		return err
	}
	return d.proven(ctx, pr, "go test ./duration", "duration/duration.go")
}

// labelledIssue: an issue quotes a failing test that CI does not run.
func labelledIssue(ctx context.Context, d *demo) error {
	output, exit, err := d.ci(ctx, "main", "go test ./money")
	if err != nil {
		return err
	}
	if exit == 0 {
		return errors.New("the demo's test of money does not fail")
	}
	body := "Since some weeks refunds of less than a dollar lose their sign. `go test ./money` shows it:\n\n```\n" + output + "```\n"
	issue, err := d.github.OpenIssue(demoRepo, "ada", "Refunds lose their sign", body)
	if err != nil {
		return err
	}
	if err := d.github.AddLabel(demoRepo, issue.Number, "ada", "debug"); err != nil {
		return err
	}
	d.say("   ada opens #%d and labels it debug; GitHub tells the bot", issue.Number)
	refs, err := d.github.Refs(demoRepo)
	if err != nil {
		return err
	}
	check, err := d.await(ctx, refs["main"])
	if err != nil {
		return err
	}
	comment := d.commentOf(issue.Number)
	d.show("the comment", comment)
	pr, err := d.fixFor(check)
	if err != nil {
		return err
	}
	d.show("the pull request", pr.Title+"\n\n"+pr.Body)
	d.show("the pull request's diff", pr.Diff)
	if err := d.judge(check, "Root cause found", "Write whole amounts without cents", comment); err != nil {
		return err
	}
	if !strings.Contains(pr.Body, fmt.Sprintf("Fixes #%d", issue.Number)) {
		return fmt.Errorf("the pull request does not say that it fixes #%d", issue.Number)
	}
	return d.proven(ctx, pr, "go test ./money", "money/money.go")
}

// flakyTest: a test of a pull request depends on the order of a map.
func flakyTest(ctx context.Context, d *demo) error {
	const branch = "weighted-cache"
	pull, err := d.github.OpenPull(demoRepo, "ada", githubtest.PullConfig{Title: "Choose a value to drop by weight", Head: branch, Base: "main"})
	if err != nil {
		return err
	}
	var log string
	exit, tries := 0, 0
	for ; exit == 0 && tries < 60; tries++ {
		if log, exit, err = d.ci(ctx, branch, "go test -count=1 ./cache"); err != nil {
			return err
		}
	}
	if exit == 0 {
		return fmt.Errorf("the flaky test passed %d times", tries)
	}
	run, err := d.complete(branch, log, exit)
	if err != nil {
		return err
	}
	d.say("   go test ./cache exits %d on %s, at try %d; GitHub tells the bot", exit, branch, tries)
	before, err := d.github.PullRequests(demoRepo)
	if err != nil {
		return err
	}
	check, err := d.await(ctx, run.SHA)
	if err != nil {
		return err
	}
	comment := d.commentOf(pull.Number)
	d.show("the comment", comment)
	if err := d.judge(check, "Flaky", "TestHeaviest", comment); err != nil {
		return err
	}
	after, err := d.github.PullRequests(demoRepo)
	if err != nil {
		return err
	}
	if len(after) != len(before) {
		return errors.New("a pull request was opened for a flaky test")
	}
	return nil
}

// complete makes the red CI run that GitHub tells the bot about.
func (d *demo) complete(branch, log string, exit int) (githubtest.Run, error) {
	return d.github.CompleteRun(githubtest.RunConfig{Repo: demoRepo, Branch: branch, Workflow: "CI", Actor: "ada", Jobs: []githubtest.Job{{
		Name: "test", Steps: []githubtest.Step{{Name: "Test", Run: testedByCI, Log: log, Conclusion: "failure", ExitCode: exit}},
	}}})
}

// mostSilence is how long a scenario may go without a line of progress.
const mostSilence = 3 * time.Minute

// await waits until the bot's check run on a commit is completed; of several
// sessions on the commit, for the newest.
func (d *demo) await(ctx context.Context, sha string) (githubtest.CheckRun, error) {
	seen := len(d.checks(sha, "completed"))
	silence := time.NewTimer(mostSilence)
	defer silence.Stop()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for last := ""; ; {
		if now := d.lastShown(); now != last {
			last = now
			silence.Reset(mostSilence)
		}
		if done := d.checks(sha, "completed"); len(done) > seen {
			return done[len(done)-1], nil
		}
		select {
		case <-ctx.Done():
			return githubtest.CheckRun{}, context.Cause(ctx)
		case <-silence.C:
			return githubtest.CheckRun{}, fmt.Errorf("no result on GitHub, and no progress for %s", mostSilence)
		case <-tick.C:
		}
	}
}

func (d *demo) checks(sha, status string) []githubtest.CheckRun {
	all, err := d.github.CheckRuns(demoRepo)
	if err != nil {
		return nil
	}
	var out []githubtest.CheckRun
	for _, c := range all {
		if c.App == d.bot.Slug && c.HeadSHA == sha && c.Status == status {
			out = append(out, c)
		}
	}
	return out
}

// fixFor is the one pull request of a session.
func (d *demo) fixFor(check githubtest.CheckRun) (githubtest.PullRequest, error) {
	all, err := d.github.PullRequests(demoRepo)
	if err != nil {
		return githubtest.PullRequest{}, err
	}
	var found []githubtest.PullRequest
	for _, pr := range all {
		if pr.User == d.bot.BotLogin() && strings.HasSuffix(pr.Head, check.ExternalID) {
			found = append(found, pr)
		}
	}
	if len(found) != 1 {
		return githubtest.PullRequest{}, fmt.Errorf("the session has %d fix pull requests, want 1; its check run says: %s", len(found), check.Title)
	}
	return found[0], nil
}

// commentOf is the bot's comment in a thread; empty unless there is just one.
func (d *demo) commentOf(number int) string {
	all, err := d.github.Comments(demoRepo, number)
	if err != nil {
		return ""
	}
	var own []string
	for _, c := range all {
		if c.User == d.bot.BotLogin() {
			own = append(own, c.Body)
		}
	}
	if len(own) != 1 {
		return ""
	}
	return own[0]
}

// judge holds what people see against what the scenario is.
func (d *demo) judge(check githubtest.CheckRun, verdict, names, comment string) error {
	switch {
	case comment == "":
		return errors.New("there is not exactly one comment")
	case check.Conclusion != "neutral":
		return fmt.Errorf("the check run concluded %q, want neutral", check.Conclusion)
	case !strings.Contains(check.Title, verdict):
		return fmt.Errorf("the check run says %q, want %q", check.Title, verdict)
	case !strings.Contains(comment, names):
		return fmt.Errorf("the comment does not name %q", names)
	}
	return nil
}

// proven runs the test on the pull request's branch: its own claim, checked
// from outside.
func (d *demo) proven(ctx context.Context, pr githubtest.PullRequest, command, file string) error {
	if strings.Count(pr.Diff, "diff --git ") != 1 || !strings.Contains(pr.Diff, "diff --git a/"+file) {
		return fmt.Errorf("the pull request changes more or else than %s", file)
	}
	if err := d.fetch(ctx); err != nil {
		return err
	}
	out, exit, err := d.ci(ctx, pr.HeadSHA, command)
	if err != nil {
		return err
	}
	if exit != 0 {
		return fmt.Errorf("%s fails on the pull request:\n%s", command, out)
	}
	d.say("   %s passes on the pull request", command)
	return nil
}

// show prints a text as a person would meet it, indented.
func (d *demo) show(what, text string) {
	d.say("   %s:", what)
	for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		d.say("   │ %s", line)
	}
}

func ciExecution(dir, command string) experiment.Execution {
	return experiment.Execution{Dir: dir, Script: command, Timeout: 2 * time.Minute}
}

// progressOf reads the line out of a log record of the worker.
func progressOf(record string) (string, bool) {
	if !strings.Contains(record, `msg=progress`) {
		return "", false
	}
	_, line, ok := strings.Cut(record, " line=")
	if !ok {
		return "", false
	}
	if text, err := strconv.Unquote(line); err == nil {
		return text, true
	}
	return line, true
}
