package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"culprit/internal/githubtest"
	"culprit/internal/session"
)

// A cause is one row of the table in docs/security.md, or a case of it.
type cause struct {
	name string
	min  string // least permission; empty: write
	// act does what the row says and returns the thread and the comment, if
	// there are any.
	act func(o *office) (thread int, comment int64)

	session  bool   // whether one is begun
	reaction string // on the comment
	says     string // in the one answer; empty: the bot says nothing
	why      string // in what the worker notes
}

func comment(login, body string) func(o *office) (int, int64) {
	return func(o *office) (int, int64) { n := o.issue(); return n, o.say(n, login, body) }
}

func label(login, name string) func(o *office) (int, int64) {
	return func(o *office) (int, int64) {
		n := o.issue()
		o.must(o.github.AddLabel(officeRepo, n, login, name))
		return n, 0
	}
}

func red(cfg func(o *office) githubtest.RunConfig) func(o *office) (int, int64) {
	return func(o *office) (int, int64) {
		c := cfg(o)
		c.Repo, c.Jobs = officeRepo, []githubtest.Job{{Name: "test", Conclusion: "failure"}}
		_, err := o.github.CompleteRun(c)
		o.must(err)
		return 0, 0
	}
}

var causes = []cause{
	{name: "CI of a branch", session: true, act: red(func(*office) githubtest.RunConfig { return githubtest.RunConfig{Branch: "main"} })},
	{name: "CI of a branch that a stranger set off", session: true, act: red(func(*office) githubtest.RunConfig { return githubtest.RunConfig{Branch: "main", Actor: "mallory"} })},
	{name: "CI of a fork", act: red(func(o *office) githubtest.RunConfig {
		pr, fork := o.forkPull("fay")
		return githubtest.RunConfig{HeadRepo: fork, SHA: pr.HeadSHA, Branch: "main", Event: "pull_request", Actor: "fay"}
	})},
	{name: "CI of a fix branch", why: "own fix branches", act: red(func(o *office) githubtest.RunConfig {
		o.must(o.github.CreateBranch(officeRepo, "wanda", "culprit/fix-1", o.main))
		o.commit("culprit/fix-1", "wanda")
		return githubtest.RunConfig{Branch: "culprit/fix-1"}
	})},
	{name: "red status of a branch", session: true, act: func(o *office) (int, int64) {
		o.must(o.github.SetStatus(githubtest.StatusConfig{Repo: officeRepo, State: "failure", Context: "ci/other"}))
		return 0, 0
	}},
	{name: "red status of a fork", act: func(o *office) (int, int64) {
		pr, _ := o.forkPull("fred")
		o.must(o.github.SetStatus(githubtest.StatusConfig{Repo: officeRepo, SHA: pr.HeadSHA, State: "failure", Context: "ci/other"}))
		return 0, 0
	}},

	{name: "command with write", session: true, reaction: "eyes", act: comment("wanda", "/debug")},
	{name: "command with maintain", session: true, reaction: "eyes", act: comment("mia", "/debug retry")},
	{name: "command of an administrator", session: true, reaction: "eyes", act: comment("ada", "/debug --mode quick")},
	{name: "label with write", session: true, act: label("wanda", "debug")},
	{name: "label with a mode", session: true, act: label("wanda", "debug:deep")},
	{name: "label on a pull request", session: true, act: func(o *office) (int, int64) {
		pr := o.pull("wanda")
		o.must(o.github.AddLabel(officeRepo, pr.Number, "wanda", "debug"))
		return pr.Number, 0
	}},
	{name: "label that is taken off at once", why: "label was taken off", act: func(o *office) (int, int64) {
		n, _ := label("wanda", "debug")(o)
		o.must(o.github.RemoveLabel(officeRepo, n, "wanda", "debug"))
		return n, 0
	}},

	{name: "command with read", reaction: "-1", why: "rita has the permission read", act: comment("rita", "/debug")},
	{name: "command with triage", reaction: "-1", act: comment("tria", "/debug")},
	{name: "command of a stranger", reaction: "-1", act: comment("stranger", "/debug")},
	{name: "mistake of a stranger", reaction: "-1", act: comment("stranger", "/debug --colour")},
	{name: "stop by a stranger", reaction: "-1", act: comment("stranger", "/debug stop")},
	{name: "question of a stranger", reaction: "-1", act: comment("stranger", "/debug help")},
	{name: "answer of a stranger", reaction: "-1", act: comment("stranger", "/debug answer 'make evil'")},
	{name: "auto-test by a stranger", reaction: "-1", act: comment("stranger", "/autotest")},
	{name: "command with write where maintain is needed", min: "maintain", reaction: "-1", act: comment("wanda", "/debug")},
	{name: "command with triage where that is enough", min: "triage", session: true, reaction: "eyes", act: comment("tria", "/debug")},
	{name: "command with read where triage is enough", min: "triage", reaction: "-1", act: comment("rita", "/debug")},
	{name: "label with triage", why: "tria has the permission triage", act: label("tria", "debug")},
	{name: "author of a pull request in the repository, who may read", reaction: "-1", act: func(o *office) (int, int64) {
		pr := o.pull("rita")
		return pr.Number, o.say(pr.Number, "rita", "/debug")
	}},
	{name: "somebody who lost the permission", reaction: "-1", act: func(o *office) (int, int64) {
		o.must(o.github.SetPermission(officeRepo, "leo", "write"))
		n, c := comment("leo", "/debug")(o)
		o.must(o.github.SetPermission(officeRepo, "leo", "read"))
		return n, c
	}},
	{name: "somebody who loses the permission while the job waits", reaction: "eyes", why: "lia has the permission read", act: func(o *office) (int, int64) {
		o.must(o.github.SetPermission(officeRepo, "lia", "write"))
		n, c := comment("lia", "/debug")(o)
		o.obey()
		o.must(o.github.SetPermission(officeRepo, "lia", "read"))
		return n, c
	}},

	{name: "first-time contributor on the own fork", reaction: "-1", act: func(o *office) (int, int64) {
		pr, _ := o.forkPull("frank")
		return pr.Number, o.say(pr.Number, "frank", "/debug")
	}},
	{name: "command with write on a fork", session: true, reaction: "eyes", act: func(o *office) (int, int64) {
		pr, _ := o.forkPull("flora")
		o.wait(2 * time.Second)
		return pr.Number, o.say(pr.Number, "wanda", "/debug")
	}},
	{name: "command on a fork that was pushed to since", says: "was pushed to after this command", act: func(o *office) (int, int64) {
		pr, fork := o.forkPull("fiona")
		o.wait(2 * time.Second)
		c := o.say(pr.Number, "wanda", "/debug")
		o.wait(2 * time.Second)
		o.commit(fork+":main", "fiona")
		return pr.Number, c
	}},
	{name: "label with write on a fork", session: true, act: func(o *office) (int, int64) {
		pr, fork := o.forkPull("felix")
		o.must(o.github.AddLabel(officeRepo, pr.Number, "wanda", "debug"))
		o.commit(fork+":main", "felix") // not this one
		return pr.Number, 0
	}},
	{name: "command with triage on a fork, where triage is enough", min: "triage", says: "write permission", act: func(o *office) (int, int64) {
		pr, _ := o.forkPull("fern")
		o.wait(2 * time.Second)
		return pr.Number, o.say(pr.Number, "tria", "/debug")
	}},

	{name: "command of a bot", act: comment("helper[bot]", "/debug")},
	{name: "command of GitHub Actions", act: comment("github-actions[bot]", "/debug")},
	{name: "command of the App", act: func(o *office) (int, int64) {
		_, c := comment("culprit[bot]", "/debug")(o)
		return 0, c // what stands in the thread is the App's own comment
	}},
	{name: "label of GitHub Actions", act: label("github-actions[bot]", "debug")},
	{name: "quoted command", act: comment("wanda", "> /debug\n\nNo.")},
	{name: "command in code", act: comment("wanda", "```\n/debug\n```")},
	{name: "hidden command", act: comment("wanda", "<!--\n/debug\n-->")},
	{name: "command that somebody else changed meanwhile", why: "changed since", act: func(o *office) (int, int64) {
		n, c := comment("wanda", "/debug --test 'make test'")(o)
		o.must(o.github.EditComment(officeRepo, n, c, "stranger", "/debug --test 'make evil'"))
		return n, c
	}, reaction: "-1"},
	{name: "command of somebody else that is brought back", act: func(o *office) (int, int64) {
		// An edit by somebody who may, of a comment by somebody who may not: what
		// counts is who asks, and the command was asked for by nobody who may.
		n, c := comment("stranger", "/debug")(o)
		o.must(o.github.EditComment(officeRepo, n, c, "wanda", "Fixed the typo.\n\n/debug"))
		return n, c
	}, reaction: "-1"},
	{name: "command on a closed issue", says: "is closed", act: func(o *office) (int, int64) {
		n := o.issue()
		o.must(o.github.CloseIssue(officeRepo, n, "ada"))
		return n, o.say(n, "wanda", "/debug")
	}},
	{name: "command in a locked thread", session: true, reaction: "eyes", act: func(o *office) (int, int64) {
		n, c := comment("wanda", "/debug")(o)
		o.must(o.github.LockIssue(officeRepo, n, true))
		return n, c
	}},
}

func TestWhoCanCauseWhat(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	for _, c := range causes {
		o.worker.cfg.MinPermission = c.min
		thread, id := c.act(o)
		notes, sessions := o.settle()
		begun := 0
		for _, d := range sessions {
			notes = append(notes, d.why)
			if d.session != nil {
				begun++
			}
		}
		if (begun == 1) != c.session || begun > 1 || !strings.Contains(strings.Join(notes, "; "), c.why) {
			t.Errorf("%s: %d sessions begun, noted %q", c.name, begun, notes)
		}
		if id > 0 {
			if got := o.reaction("issues", id); got != c.reaction {
				t.Errorf("%s: reaction %q, want %q; noted %q", c.name, got, c.reaction, notes)
			}
		}
		if thread > 0 {
			if said := o.said(thread); (len(said) == 1) != (c.says != "") || len(said) > 1 || !strings.Contains(strings.Join(said, ""), c.says) {
				t.Errorf("%s: the bot says %q, want %q", c.name, said, c.says)
			}
		}
	}
}

// A person's command may reach code of a fork, but only the code that was there
// to be looked at.
func TestAForksCodeIsPinned(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	pr, fork := o.forkPull("mallory")
	o.wait(2 * time.Second)
	o.say(pr.Number, "wanda", "/debug")
	o.obey()
	o.wait(2 * time.Second)
	o.commit(fork+":main", "mallory") // after the command, before the session
	_, sessions := o.settle()
	if len(sessions) != 1 || sessions[0].session == nil || sessions[0].session.Source.SHA != pr.HeadSHA || sessions[0].session.Source.Ref != "" {
		t.Fatalf("sessions are %+v, want one of %s", sessions, pr.HeadSHA)
	}
	// Its red CI shows a button, and whoever may can press it for that commit.
	o.must(o.github.AddLabel(officeRepo, pr.Number, "wanda", "debug"))
	o.commit(fork+":main", "mallory")
	_, sessions = o.settle()
	all, err := o.github.PullRequests(officeRepo)
	o.must(err)
	if len(sessions) != 1 || sessions[0].session == nil || sessions[0].session.Source.SHA == all[0].HeadSHA {
		t.Fatalf("sessions are %+v, want one of the commit before %s", sessions, all[0].HeadSHA)
	}
}

// Somebody who may not cannot take the place of somebody who may.
func TestARefusedCommandTakesNothingAway(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	n := o.issue()
	o.must(o.github.AddLabel(officeRepo, n, "wanda", "debug:quick"))
	o.obey() // a session's job waits
	o.say(n, "stranger", "/debug")
	o.say(n, "stranger", "/debug stop")
	_, sessions := o.settle()
	if len(sessions) != 1 || sessions[0].session == nil || sessions[0].request.Actor != "wanda" || sessions[0].session.Mode != "quick" {
		t.Errorf("sessions are %+v, want that of the label", sessions)
	}
}

func TestAnArchivedRepositoryIsLeftAlone(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	n := o.issue()
	c := o.say(n, "wanda", "/debug")
	o.must(o.github.AddLabel(officeRepo, n, "wanda", "debug"))
	_, _ = red(func(*office) githubtest.RunConfig { return githubtest.RunConfig{Branch: "main"} })(o)
	o.must(o.github.ArchiveRepo(officeRepo, true))
	_, sessions := o.settle()
	if slices.ContainsFunc(sessions, func(d decided) bool { return d.session != nil }) || o.reaction("issues", c) != "" || len(o.said(n)) > 0 {
		t.Errorf("sessions are %+v, reaction %q, said %q", sessions, o.reaction("issues", c), o.said(n))
	}
}

// Buttons are for the same people as commands.
func TestButtonsNeedPermissionToo(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	check := o.show("20261130-debug-x", session.Source{SHA: o.main, Ref: "main"}).Published.CheckRun
	for _, press := range []func(login string) error{
		func(login string) error { return o.github.RequestAction(officeRepo, check, login, "retry") },
		func(login string) error { return o.github.Rerequest(officeRepo, check, login) },
	} {
		for login, may := range map[string]bool{"tria": false, "stranger": false, "wanda": true, "helper[bot]": false} {
			o.must(press(login))
			_, sessions := o.settle()
			if (len(sessions) == 1 && sessions[0].session != nil) != may || len(sessions) > 1 {
				t.Errorf("%s presses a button: %+v", login, sessions)
			}
		}
	}
}
