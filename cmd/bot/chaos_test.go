package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"culprit/internal/githubtest"
)

// Workers are killed, paused beyond their lease and die at the worst moments,
// and Redis is killed and started again: every job ends once and is told once,
// and nothing is left behind.
//
// `make chaos` runs it at length: CHAOS_JOBS, CHAOS_RUNS, CHAOS_SEED.
func TestChaosLosesNothingAndDoesNothingTwice(t *testing.T) {
	t.Parallel()
	jobs, runs, seed := number(t, "CHAOS_JOBS", 4), number(t, "CHAOS_RUNS", 1), uint64(number(t, "CHAOS_SEED", 0))
	for n := range runs {
		s := seed + uint64(n)
		if seed == 0 {
			s = uint64(time.Now().UnixNano()) % 1e9
		}
		t.Run(fmt.Sprintf("seed %d", s), func(t *testing.T) {
			w := newChaosWorld(t, chaosPlan{
				seed: s, jobs: jobs, repos: min(16, jobs), lease: 4 * time.Second, every: 3500 * time.Millisecond,
				faults: ".01,.005,.02", limit: time.Minute + time.Duration(jobs)*3*time.Second,
			})
			if dir := os.Getenv("CHAOS_LOGS"); dir != "" {
				t.Cleanup(func() { w.keepLogs(t, filepath.Join(dir, strconv.FormatUint(s, 10))) })
			}
			began := time.Now()
			w.direct()
			w.rest()
			v := w.check()
			for _, what := range v.all() {
				t.Error(what)
			}
			t.Log(w.summary(v, time.Since(began)))
		})
	}
}

// The checks can fail: when GitHub hides the comments that are there already, a
// worker that died after it commented leaves a second one to the next.
func TestChaosFindsACommentThatIsMadeTwice(t *testing.T) {
	t.Parallel()
	const comments = "/repos/{owner}/{repo}/issues/{issue_number}/comments"
	var found []string
	w := newChaosWorld(t, chaosPlan{
		seed: 3, jobs: 2, repos: 2, lease: 2 * time.Second, every: time.Hour, faults: "0,0,.4", limit: 2 * time.Minute,
		lie: []githubtest.Fault{
			githubtest.Fault{Status: 200, Body: "[]"}.On("GET", comments),
			githubtest.Fault{Status: 404}.On("GET", "/repos/{owner}/{repo}/issues/comments/{comment_id}"),
		},
		enough: func(w *chaosWorld) bool {
			for id, s := range w.sessionsOnGitHub() {
				if len(s.comments) > 1 {
					found = append(found, id)
				}
			}
			return len(found) > 0
		},
	})
	w.direct()
	if len(found) == 0 {
		t.Error("no second comment was found")
	}
}

// summary is one line of figures.
func (w *chaosWorld) summary(v *verdict, took time.Duration) string {
	ctx, cancel := w.context()
	defer cancel()
	stats, err := w.queue.Stats(ctx)
	if err != nil {
		w.t.Error(err)
	}
	return fmt.Sprintf("chaos: %d jobs, %d kills, %d pauses, %d Redis restarts, %d claims, %d crashes, %d leases lost, %d buried; %d duplicates, %d lost, %d leaks; %s, seed %d",
		len(w.jobs), w.count.kills, w.count.pauses, w.count.redis, stats.Totals["claimed"], stats.Totals["crashed"], w.count.lost, v.buried,
		len(v.duplicates), len(v.lost), len(v.leaks), took.Round(time.Second/10), w.plan.seed)
}

// keepLogs writes down what the workers said and what was written on GitHub.
func (w *chaosWorld) keepLogs(t *testing.T, dir string) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Error(err)
		return
	}
	var writes strings.Builder
	for _, c := range w.github.Calls() {
		if c.Write() {
			fmt.Fprintf(&writes, "%s %s %s %d %.300q\n", c.Time.Format("15:04:05.000"), c.Method, c.Path, c.Status, c.Body)
		}
	}
	texts := map[string]string{"writes.txt": writes.String()}
	for _, m := range w.workers {
		texts[m.name+".log"] = m.log.String()
	}
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Error(err)
		}
	}
}

// number reads a variable.
func number(t *testing.T, name string, def int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return def
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		t.Fatalf("%s=%q is no number", name, text)
	}
	return n
}
