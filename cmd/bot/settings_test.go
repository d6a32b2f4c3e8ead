package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"culprit/handlers"
	"culprit/internal/config"
	"culprit/internal/session"
)

func TestTheEdgeAndTheWorkerMeanTheSameFile(t *testing.T) {
	t.Parallel()
	if handlers.SettingsFile != config.RepositoryFile {
		t.Errorf("handlers look at %q, the worker reads %q", handlers.SettingsFile, config.RepositoryFile)
	}
}

func TestRepositorySettingsNeverPassTheOperatorsLimits(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	s := &session.Session{Mode: session.Full, Flags: session.Flags{MaxRuns: 100, Concurrency: 4, Timeout: time.Hour, RunTimeout: time.Minute}}
	set := config.Repository{
		Test: "make test", Setup: "make deps", Mode: "quick",
		Limits: config.RepositoryLimits{Runs: 1000, Concurrency: 2, Timeout: config.Duration(2 * time.Hour), RunTimeout: config.Duration(time.Second)},
		Fix:    config.RepositoryFix{Enabled: &no, Draft: "always", SignOff: &yes, Protected: []string{"a"}},
	}
	apply(set, s, "")
	want := session.Flags{
		Test: "make test", Setup: "make deps", MaxRuns: 100, Concurrency: 2, Timeout: time.Hour, RunTimeout: time.Second,
		SkipFix: true, Draft: true, SignOff: true, SignOffSet: true, Protected: []string{"a"},
	}
	if !reflect.DeepEqual(s.Flags, want) || s.Mode != session.Quick {
		t.Errorf("mode %s, got  %+v\nwant %+v", s.Mode, s.Flags, want)
	}
	asked := &session.Session{Mode: session.Deep, Flags: session.Flags{Test: "mine"}}
	apply(set, asked, "deep")
	if asked.Mode != session.Deep || asked.Flags.Test != "mine" || asked.Flags.MaxRuns != 1000 {
		t.Errorf("what a person asked for is lost: mode %s, %+v", asked.Mode, asked.Flags)
	}
}

// push commits the settings file to a branch as a person does.
func (w *world) pushSettings(text string) string {
	w.t.Helper()
	sha, err := w.github.CommitFile(w.repo, "ada", "main", config.RepositoryFile, []byte(text), "Set up the bot")
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), 20*time.Second)
	defer cancel()
	if err := w.github.WaitDeliveries(ctx); err != nil {
		w.t.Fatal(err)
	}
	return sha
}

// A broken settings file is shown at its lines, comments once on the commit
// that broke it, and keeps sessions from running until it is mended.
func TestBrokenSettingsAreShownAndStopSessions(t *testing.T) {
	t.Parallel()
	p := newSmallProject(t)
	w := newWorld(t, someRedis(t).url, p)
	w.start("--mode", "quick")
	broken := w.pushSettings("test: python3 -m unittest\nmood: quick\n")
	settled := func(n int) bool { return len(w.checks()) >= n && w.completed() == len(w.checks()) && w.idle() }
	if !eventually(t, time.Minute, "the settings are checked", func() bool { return settled(1) }) {
		t.Fatalf("log:\n%s", w.log)
	}
	check := w.checks()[0]
	if check.Name != "culprit settings" || check.Conclusion != "failure" || check.HeadSHA != broken || len(check.Annotations) != 1 || check.Annotations[0].StartLine != 2 {
		t.Errorf("check run of the broken file: %+v", check)
	}
	said, err := w.github.CommitComments(w.repo, broken)
	if err != nil || len(said) != 1 || !strings.Contains(said[0].Body, "mood") {
		t.Errorf("comments on the commit: %+v, %v", said, err)
	}

	startByIssue(w, p)
	if !eventually(t, time.Minute, "the session ends", func() bool { return len(w.comments()) > 0 && settled(2) }) {
		t.Fatalf("log:\n%s", w.log)
	}
	if all := w.comments(); len(all) != 1 || !strings.Contains(all[0].Body, "not valid") || !strings.Contains(all[0].Body, "line 2") {
		t.Errorf("comments: %+v", all)
	}
	for _, dir := range w.sessions() {
		var s session.Session
		data, err := os.ReadFile(filepath.Join(dir, "session.json"))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &s); err != nil || s.Reproduction != nil || s.Result != session.ResultStopped {
			t.Errorf("session ran with broken settings: %s, %v", data, err)
		}
	}

	mended := w.pushSettings("ci: {branches: [release]}\n")
	if !eventually(t, time.Minute, "the settings are checked again", func() bool { return settled(3) }) {
		t.Fatalf("log:\n%s", w.log)
	}
	if c := w.checks(); c[len(c)-1].HeadSHA != mended || c[len(c)-1].Conclusion != "success" {
		t.Errorf("check run of the mended file: %+v", c[len(c)-1])
	}
	w.redCI("main", p.log)
	if !eventually(t, time.Minute, "the job ends", func() bool { return strings.Contains(w.log.String(), "does not name main") && w.idle() }) {
		t.Fatalf("log:\n%s", w.log)
	}
	if n := len(w.checks()); n != 3 {
		t.Errorf("red CI of a branch that is not named starts a session: %d check runs", n)
	}
}
