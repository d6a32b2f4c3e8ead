package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"culprit/handlers"
	"culprit/queue"
)

// A moment is when a life of the bot ends.
type moment struct {
	lines  int           // after so many different lines of progress of the whole session,
	jitter time.Duration // and so much later
}

// progressLines is about how many different lines a session of the small
// project prints in its quick mode, until it publishes.
const progressLines = 16

// moments spreads n random moments over a session.
func moments(r *rand.Rand, n int) []moment {
	out := make([]moment, n)
	for i := range out {
		low, high := i*progressLines/n, (i+1)*progressLines/n
		out[i] = moment{lines: low + r.IntN(high-low+1), jitter: time.Duration(r.IntN(400)) * time.Millisecond}
	}
	return out
}

// A worker that is killed at ten random moments of a session, and started
// again each time, does what one does that is left alone: one comment, one
// pull request, one check run, one consistent table, and nothing left behind.
func TestKilledAtTenRandomMomentsNothingIsLostOrRepeated(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		redis func(*testing.T) testRedis
		start func(*world, smallProject)
	}{
		{"red CI, redis-server", func(t *testing.T) testRedis { return realRedis(t, "pw-of-a-test") }, startByCI},
		{"labelled issue, embedded Redis", embeddedRedis, startByIssue},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			seed := uint64(time.Now().UnixNano())
			plan := moments(rand.New(rand.NewPCG(seed, 0)), 10)
			t.Logf("seed %d", seed)
			p := newSmallProject(t)
			w := newWorld(t, tt.redis(t).url, p)
			bot := w.start(killFlags...)
			tt.start(w, p)
			seen := map[string]bool{}
			for i, m := range plan {
				if i > 0 {
					bot = w.launch(killFlags...)
				}
				w.live(bot, seen, m)
				w.surviveOneMore()
				bot.kill()
				t.Logf("kill %d: after %d lines of progress and %s; on GitHub: %d comments, %d pull requests, %d check runs, %d completed",
					i+1, len(seen), m.jitter, len(w.comments()), len(w.pulls()), len(w.checks()), w.completed())
			}
			w.finish()
			w.mustBeWhole(p)
		})
	}
}

// surviveOneMore waits until one more crash does not bury the job: three in a
// row without progress between them do, and a slow machine gets no further
// between two kills.
func (w *world) surviveOneMore() {
	w.t.Helper()
	q := w.openQueue()
	eventually(w.t, 2*time.Minute, "the session makes progress", func() bool {
		jobs, _, err := q.Find(w.t.Context(), queue.Filter{}, 10)
		if err != nil {
			return false
		}
		for _, j := range jobs {
			if !j.State.Ended() && j.CrashesInRow >= 2 {
				return false
			}
		}
		return true
	})
}

// A kill is worst right after something became visible, before the bot could
// note it. So it is killed after the first write of each kind: check run,
// comment, label, branch, pull request and their changes.
func TestKilledAfterEachKindOfWriteNothingIsRepeated(t *testing.T) {
	t.Parallel()
	p := newSmallProject(t)
	w := newWorld(t, someRedis(t).url, p)
	// Nobody waits for the lease: the next life finds the session's folder.
	flags := []string{"--lease", "10m", "--mode", "quick"}
	bot := w.start(flags...)
	startByIssue(w, p)
	killedAt := map[string]bool{}
	for {
		kind := w.firstWrite(bot, killedAt)
		if kind == "" {
			break
		}
		bot.kill()
		killedAt[kind] = true
		t.Logf("killed after %s", kind)
		bot = w.launch(flags...)
	}
	bot.kill()
	w.finish()
	w.mustBeWhole(p)
	for _, must := range []string{"POST /repos/{owner}/{repo}/check-runs", "POST /repos/{owner}/{repo}/issues/{issue_number}/comments", "POST /repos/{owner}/{repo}/pulls"} {
		if !killedAt[must] {
			t.Errorf("the bot was never killed after %s: only after %v", must, killedAt)
		}
	}
}

// firstWrite waits for a write of a kind that is not among the known ones; it
// is empty when the session has ended.
func (w *world) firstWrite(bot *botProcess, known map[string]bool) string {
	w.t.Helper()
	limit := time.NewTimer(2 * time.Minute)
	defer limit.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for n := 0; ; {
		// People write too, but under other names.
		all := w.github.Writes()
		for _, c := range all[n:] {
			kind := c.Method + " " + c.Route
			if c.Actor == w.app.BotLogin() && !known[kind] && w.survivesAKill() {
				return kind
			}
		}
		n = len(all)
		select {
		case <-tick.C:
		case <-bot.done:
			w.t.Fatalf("the bot ended by itself: %v\n%s", bot.err, w.log)
		case <-limit.C:
			w.t.Fatalf("nothing goes on:\n%s", w.log)
		}
		if n == len(w.github.Writes()) && w.completed() > 0 && w.idle() {
			return ""
		}
	}
}

// A worker on another machine, with nothing of the first one's, takes over when
// the lease of the killed one ends, and goes on from what the queue keeps.
func TestAnotherMachineTakesOverByTheLease(t *testing.T) {
	t.Parallel()
	p := newSmallProject(t)
	w := newWorld(t, someRedis(t).url, p)
	bot := w.start(killFlags...)
	startByCI(w, p)
	w.live(bot, map[string]bool{}, moment{lines: 8})
	bot.kill()
	w.data = filepath.Join(t.TempDir(), "another")
	from := w.log.len()
	w.finish()
	w.mustBeWhole(p)
	lines, _ := w.log.since(from)
	var claims, opened []string
	for _, line := range lines {
		switch {
		case strings.Contains(line, `msg="job claimed"`):
			claims = append(claims, line)
		case strings.Contains(line, `msg="session opened"`):
			opened = append(opened, line)
		}
	}
	if len(claims) != 1 || !strings.Contains(claims[0], "crashes=1") {
		t.Errorf("want one claim after one crash, got %v", claims)
	}
	if len(opened) != 1 || strings.Contains(opened[0], "state=intake") || strings.Contains(opened[0], `state=""`) {
		t.Errorf("the session began anew: %v", opened)
	}
}

// A bot that is asked to stop gives its job back at once: the next one goes on
// where it stood, though the lease would hold for ten minutes, and no crash is
// counted.
func TestStoppedMidwayTheNextStartGoesOnAtOnce(t *testing.T) {
	t.Parallel()
	p := newSmallProject(t)
	w := newWorld(t, someRedis(t).url, p)
	flags := []string{"--lease", "10m", "--mode", "quick"}
	bot := w.start(flags...)
	startByCI(w, p)
	seen := map[string]bool{}
	for _, lines := range []int{5, 11} {
		w.live(bot, seen, moment{lines: lines})
		if w.completed() > 0 {
			t.Fatalf("the session ended before it could be stopped:\n%s", w.log)
		}
		if code := bot.terminate(t, 15*time.Second); code != exitOK {
			t.Fatalf("the bot exits %d after SIGTERM, want %d:\n%s", code, exitOK, w.log)
		}
		if left := processesOf(t, w.data); len(left) > 0 {
			t.Errorf("after a stop processes are left: %s", strings.Join(left, "\n"))
		}
		bot = w.launch(flags...)
	}
	if !eventually(t, 2*time.Minute, "the session ends", func() bool { return w.completed() > 0 && w.idle() }) {
		t.Fatalf("log:\n%s", w.log)
	}
	if code := bot.terminate(t, 15*time.Second); code != exitOK {
		t.Errorf("the bot exits %d after SIGTERM, want %d:\n%s", code, exitOK, w.log)
	}
	claims := 0
	lines, _ := w.log.since(0)
	for _, line := range lines {
		if strings.Contains(line, `msg="job claimed"`) {
			if claims++; !strings.Contains(line, "crashes=0") {
				t.Errorf("a stop counts as a crash: %s", line)
			}
		}
	}
	if claims != 3 {
		t.Errorf("the job was claimed %d times, want 3", claims)
	}
	w.mustBeWhole(p)
}

// survivesAKill reports whether one more kill leaves the job alive: three in a
// row without progress between them bury it, and rightly so.
func (w *world) survivesAKill() bool {
	w.t.Helper()
	for _, state := range queue.States() {
		if state.Ended() {
			continue
		}
		jobs, err := w.openQueue().List(w.t.Context(), state, 10)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, job := range jobs {
			if job.CrashesInRow >= 2 {
				return false
			}
		}
	}
	return true
}

// killFlags: a short lease, for kills before the session has a folder by which
// the next life knows that the last one is dead.
var killFlags = []string{"--lease", "4s", "--mode", "quick"}

func startByCI(w *world, p smallProject) { w.t.Helper(); w.redCI("main", p.log) }

func startByIssue(w *world, p smallProject) {
	w.t.Helper()
	issue, err := w.github.OpenIssue(w.repo, "ada", "Discounts are wrong", "`"+testCommand+"` says:\n\n```\n"+p.log+"```\n")
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.github.AddLabel(w.repo, issue.Number, "ada", "debug"); err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), 20*time.Second)
	defer cancel()
	if err := w.github.WaitDeliveries(ctx); err != nil {
		w.t.Fatal(err)
	}
}

// live returns when the moment has come; earlier when the session or the bot
// has ended.
func (w *world) live(bot *botProcess, seen map[string]bool, m moment) {
	w.t.Helper()
	limit := time.NewTimer(2 * time.Minute)
	defer limit.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	progressed := m.lines == 0
	for n := bot.from; ; {
		lines, more := w.log.since(n)
		n += len(lines)
		for _, line := range lines {
			if text, ok := progressOf(line); ok {
				seen[text], progressed = true, true
			}
		}
		if progressed && len(seen) >= m.lines && w.survivesAKill() || w.completed() > 0 {
			break
		}
		select {
		case <-more:
		case <-tick.C:
		case <-bot.done:
			w.t.Fatalf("the bot ended by itself: %v\n%s", bot.err, w.log)
		case <-limit.C:
			w.t.Fatalf("nothing goes on:\n%s", w.log)
		}
	}
	later := time.NewTimer(m.jitter)
	defer later.Stop()
	<-later.C
}

// finish starts a last bot, waits for the end of the session, and stops it as
// an operator does.
func (w *world) finish() {
	w.t.Helper()
	bot := w.launch(killFlags...)
	w.works(bot)
	if !eventually(w.t, 2*time.Minute, "the session ends", func() bool { return w.completed() > 0 && w.idle() }) {
		w.t.Fatalf("log:\n%s", w.log)
	}
	if code := bot.terminate(w.t, 15*time.Second); code != exitOK {
		w.t.Errorf("the bot exits %d after SIGTERM, want %d:\n%s", code, exitOK, w.log)
	}
}

// works waits until a bot takes jobs.
func (w *world) works(bot *botProcess) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 30*time.Second)
	defer cancel()
	if w.log.await(ctx, bot.from, `msg="taking jobs"`, bot.done) == "" {
		bot.dump()
		w.t.Fatalf("the bot does not take jobs:\n%s", w.log)
	}
}

// mustBeWhole checks everything that a session leaves.
func (w *world) mustBeWhole(p smallProject) {
	t := w.t
	t.Helper()
	comments, pulls, checks := w.comments(), w.pulls(), w.checks()
	if len(comments) != 1 || len(pulls) != 1 || len(checks) != 1 {
		for _, c := range w.github.Writes() {
			if c.Method != "PATCH" {
				t.Logf("write: %s %s %d by %s", c.Method, c.Path, c.Status, c.Actor)
			}
		}
		for _, c := range comments {
			t.Logf("comment:\n%s", c.Body)
		}
		t.Fatalf("%d comments, %d pull requests, %d check runs; want one of each; log:\n%s", len(comments), len(pulls), len(checks), w.log)
	}
	if c := checks[0]; c.Name != "culprit" || c.Status != "completed" || c.Conclusion != "neutral" || !strings.Contains(c.Title, "Root cause found") {
		t.Errorf("check run is %q, %s, %s: %s", c.Name, c.Status, c.Conclusion, c.Title)
	}
	if c := comments[0]; !strings.Contains(c.Body, "Root cause found") || !strings.Contains(c.Body, p.culprit) {
		t.Errorf("the comment does not tell the end:\n%s", c.Body)
	}
	pr := pulls[0]
	if strings.Count(pr.Diff, "diff --git ") != 1 || !strings.Contains(pr.Diff, "a/price.py") {
		t.Errorf("the pull request changes more or else than price.py:\n%s", pr.Diff)
	}
	if want := handlers.FixBranches + checks[0].ExternalID; pr.Head != want {
		t.Errorf("the pull request is of branch %q, want %q", pr.Head, want)
	}
	refs, err := w.github.Refs(w.repo)
	if err != nil {
		t.Fatal(err)
	}
	if len(refs) != 2 {
		t.Errorf("branches: %v, want main and the fix", refs)
	}
	issues, err := w.github.Issues(w.repo)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range issues {
		slices.Sort(i.Labels)
		if got, want := fmt.Sprint(i.Labels), "[debug debug:done]"; !i.Pull && got != want {
			t.Errorf("#%d has labels %s, want %s", i.Number, got, want)
		}
	}
	w.tablesAreConsistent(checks[0].ExternalID)
	w.nothingIsLeft()
}
