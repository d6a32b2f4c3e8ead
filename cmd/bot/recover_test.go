package main

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"culprit/handlers"
	"culprit/internal/githubtest"
	"culprit/queue"
)

// redisClient connects to the bots' Redis.
func (w *world) redisClient() *redis.Client {
	w.t.Helper()
	opts, err := redis.ParseURL(w.redisURL)
	if err != nil {
		w.t.Fatal(err)
	}
	client := redis.NewClient(opts)
	w.t.Cleanup(func() { _ = client.Close() })
	return client
}

// commandQueue is what people asked for and nobody has looked at yet.
func (w *world) commandQueue() *queue.Queue {
	w.t.Helper()
	q, err := queue.Open(w.t.Context(), queue.Options{Redis: w.redisClient(), Prefix: commandsPrefix})
	if err != nil {
		w.t.Fatal(err)
	}
	return q
}

// labelled opens an issue, or takes the one with the number, and labels it.
func (w *world) labelled(title string) int {
	w.t.Helper()
	issue, err := w.github.OpenIssue(w.repo, "ada", title, "")
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.github.AddLabel(w.repo, issue.Number, "ada", "debug"); err != nil {
		w.t.Fatal(err)
	}
	return issue.Number
}

func (w *world) says(number int, login, text string) {
	w.t.Helper()
	if _, err := w.github.Comment(w.repo, number, login, text); err != nil {
		w.t.Fatal(err)
	}
}

// state is where the job about an issue is: that of the one that has not ended,
// else of one that has; empty: there is none. Two that have not ended are an
// error.
func (w *world) state(q *queue.Queue, issue int) queue.State {
	w.t.Helper()
	all, _, err := q.Find(w.t.Context(), queue.Filter{}, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	var open, ended queue.State
	for _, info := range all {
		r, err := handlers.DecodeRequest(info.Payload)
		if err != nil {
			w.t.Fatal(err)
		}
		switch {
		case r.Issue != issue:
		case info.State.Ended():
			ended = info.State
		case open != "":
			w.t.Errorf("#%d has two jobs: %s and %s", issue, open, info.State)
		default:
			open = info.State
		}
	}
	if open != "" {
		return open
	}
	return ended
}

const (
	listRoute    = "/app/hook/deliveries"
	payloadRoute = "/app/hook/deliveries/{delivery_id}"
)

// looks waits until failed deliveries were listed n times more, so that the
// looks in between are over.
func (w *world) looks(n int) {
	w.t.Helper()
	from := w.github.CountCalls("GET", listRoute)
	if !eventually(w.t, 30*time.Second, "failed deliveries are looked for", func() bool {
		return w.github.CountCalls("GET", listRoute) >= from+n+1
	}) {
		w.t.Fatalf("log:\n%s", w.log)
	}
}

// While nobody takes webhooks, issues are labelled, sessions stopped and asked
// for again. Two bots start, GitHub stumbles in the middle of it, an operator
// has some deliveries sent again, and each is handled exactly once, in the
// sense of when it happened.
func TestFailedDeliveriesAreRecoveredExactlyOnce(t *testing.T) {
	t.Parallel()
	var ago atomic.Int64 // GitHub's clock stands back by so much
	ago.Store(int64(40 * time.Minute))
	w := newWorldAt(t, realRedis(t, "pw-of-recovery").url, smallProject{commits: newSmallProject(t).commits[:1]}, func() time.Time {
		return time.Now().Add(-time.Duration(ago.Load()))
	})
	later := func() {
		w.delivered() // or rather not, but at this time
		ago.Add(-int64(2 * time.Minute))
	}
	w.deliverTo(nil)

	const many = 55
	var plain []int
	for i := range many {
		plain = append(plain, w.labelled(fmt.Sprintf("Issue %d", i)))
	}
	stopped, again, noRight := w.labelled("Stopped"), w.labelled("Asked for again"), w.labelled("Stopped by a stranger")
	closed := w.labelled("Closed")
	later()
	w.says(stopped, "ada", "/debug stop")
	w.says(again, "ada", "/debug stop")
	w.says(noRight, "mallory", "/debug stop")
	if err := w.github.CloseIssue(w.repo, closed, "ada"); err != nil {
		t.Fatal(err)
	}
	later()
	w.says(again, "ada", "/debug")
	w.delivered()
	ago.Store(0)
	failed := 0
	for _, d := range w.github.Deliveries(w.app.ID) {
		if d.Code != 502 {
			t.Fatalf("delivery %s %s was answered %d", d.Event, d.Action, d.Code)
		}
		failed++
	}

	// Two payloads cannot be had at first, and a list breaks off.
	w.github.Inject(githubtest.Fault{Status: 500, Skip: 30, Times: 6}.On("GET", payloadRoute))
	w.github.Inject(githubtest.Fault{Status: 502, Skip: 1, Times: 3}.On("GET", listRoute))
	first := w.launchWeb("--recover", "1s")
	w.launchWeb("--recover", "1s")
	w.deliverTo(first)
	for _, d := range w.github.Deliveries(w.app.ID)[:20] {
		if err := w.github.Redeliver(w.app.ID, d.ID); err != nil {
			t.Fatal(err)
		}
	}
	commands := w.commandQueue()
	const total = many + 4 + 4 // labels and comments
	if !eventually(t, 60*time.Second, "each wish is in the queue", func() bool {
		s, err := commands.Stats(t.Context())
		return err == nil && s.Totals["enqueued"] >= total
	}) {
		t.Fatalf("log:\n%s", w.log)
	}
	w.delivered()
	w.looks(2)
	reads := w.github.CountCalls("GET", payloadRoute)
	w.looks(3)
	if n := w.github.CountCalls("GET", payloadRoute); n != reads {
		t.Errorf("%d payloads were read again", n-reads)
	}
	// One read for each that may matter, the repeated ones, and what two
	// processes read at the same time at most: nothing, since one looks.
	matter := 0
	for _, d := range w.github.Deliveries(w.app.ID) {
		if !d.Redelivery && handlers.Matters(d.Event, d.Action) {
			matter++
		}
	}
	if reads > matter+6 || matter == failed {
		t.Errorf("%d payloads were read; %d of %d failed deliveries may matter", reads, matter, failed)
	}
	s, err := commands.Stats(t.Context())
	if err != nil || s.Totals["enqueued"] != total {
		t.Errorf("%d wishes were enqueued, %v; want %d", s.Totals["enqueued"], err, total)
	}

	// A worker looks at what they want; the sessions themselves wait.
	q := w.openQueue()
	if err := q.Pause(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.launch("--recover", "1h")
	if !eventually(t, 90*time.Second, "all wishes are granted or not", func() bool {
		s, err := commands.Stats(t.Context())
		return err == nil && s.Depth[queue.Queued]+s.Depth[queue.Running]+s.Depth[queue.Retrying]+s.Depth[queue.Snoozed] == 0
	}) {
		t.Fatalf("log:\n%s", w.log)
	}
	want := map[int]queue.State{stopped: queue.Cancelled, again: queue.Queued, noRight: queue.Queued}
	for _, n := range plain {
		want[n] = queue.Queued
	}
	for n, state := range want {
		if got := w.state(q, n); got != state {
			t.Errorf("the job of #%d is %q, want %s", n, got, state)
		}
	}
}

// While Redis is away the webhook answers 503. When it is back, what failed is
// found again.
func TestDeliveriesThatCameWhileRedisWasAwayAreRecovered(t *testing.T) {
	t.Parallel()
	r := realRedis(t, "pw-of-outage")
	w := newWorld(t, r.url, smallProject{commits: newSmallProject(t).commits[:1]})
	bot := w.launchWeb("--recover", "1s")
	w.deliverTo(bot)
	before := w.labelled("Before")
	w.delivered()
	r.stop()
	during := w.labelled("During")
	w.delivered()
	all := w.github.Deliveries(w.app.ID)
	if last := all[len(all)-1]; last.Code != 503 {
		t.Fatalf("without Redis the answer is %d, want 503", last.Code)
	}
	r.start()
	q := w.commandQueue()
	for _, n := range []int{before, during} {
		if !eventually(t, 60*time.Second, fmt.Sprintf("#%d has its job", n), func() bool { return w.state(q, n) == queue.Queued }) {
			t.Fatalf("log:\n%s", w.log)
		}
	}
	w.looks(2)
	if s, err := q.Stats(t.Context()); err != nil || s.Totals["enqueued"] != 2 {
		t.Errorf("%v jobs enqueued, %v", s.Totals["enqueued"], err)
	}
}

// A Redis that has lost everything brings the failed deliveries of three days
// back. What was worked on is known from GitHub, and is not worked on again.
func TestWhatWasRecoveredBeforeRedisLostAllIsNotDoneAgain(t *testing.T) {
	t.Parallel()
	var ago atomic.Int64
	ago.Store(int64(20 * time.Minute))
	p := newSmallProject(t)
	w := newWorldAt(t, realRedis(t, "pw-of-amnesia").url, p, func() time.Time { return time.Now().Add(-time.Duration(ago.Load())) })
	// Broken settings end each session at once, and say so.
	if _, err := w.github.CommitFile(w.repo, "ada", "main", handlers.SettingsFile, []byte("nonsense: [\n"), "Break the settings"); err != nil {
		t.Fatal(err)
	}
	w.delivered()
	w.deliverTo(nil)
	w.redCI("main", p.log)
	issue := w.labelled("Prices are wrong")
	w.delivered()
	ago.Store(0)
	bot := w.launch("--recover", "1s")
	done := func() bool { return len(w.comments()) >= 1 && w.completed() >= 2 && w.idle() }
	if !eventually(t, 60*time.Second, "both sessions end", done) {
		t.Fatalf("log:\n%s", w.log)
	}
	writes := len(w.github.Writes())
	bot.kill()
	// The bot's own user may not do this.
	opts, err := redis.ParseURL(strings.Replace(w.redisURL, "//culprit:", "//:", 1))
	if err != nil {
		t.Fatal(err)
	}
	admin := redis.NewClient(opts)
	defer admin.Close()
	if err := admin.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	bot = w.launch("--recover", "1s")
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	for _, want := range []string{"it was answered already", "the commit was investigated already"} {
		if w.log.await(ctx, bot.from, want, bot.done) == "" {
			t.Errorf("nobody says %q of #%d:\n%s", want, issue, w.log)
		}
	}
	if !eventually(t, 20*time.Second, "nothing is left to do", w.idle) {
		t.Fatalf("log:\n%s", w.log)
	}
	for _, c := range w.github.Writes()[writes:] {
		if c.Actor == w.app.BotLogin() && !strings.HasSuffix(c.Route, "/access_tokens") {
			t.Errorf("the bot wrote again: %s %s", c.Method, c.Path)
		}
	}
}
