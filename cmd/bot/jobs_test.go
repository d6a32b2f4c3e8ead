package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"

	"github.com/redis/go-redis/v9"

	"culprit/handlers"
	"culprit/internal/session"
	"culprit/queue"
)

// operator is somebody with a terminal and REDIS_URL, and a queue of whose
// workers the test plays the part.
type operator struct {
	*queue.Queue
	t        *testing.T
	url      string
	commands *queue.Queue
}

func newOperator(t *testing.T) *operator {
	t.Helper()
	url := realRedis(t, "pw-of-an-operator").url
	opts, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(opts)
	t.Cleanup(func() { _ = client.Close() })
	q, err := queue.Open(t.Context(), queue.Options{Redis: client, Limits: queue.Limits{Repository: -1, Installation: -1}})
	if err != nil {
		t.Fatal(err)
	}
	commands, err := queue.Open(t.Context(), queue.Options{Redis: client, Prefix: commandsPrefix})
	if err != nil {
		t.Fatal(err)
	}
	return &operator{q, t, url, commands}
}

func (o *operator) command(args ...string) *exec.Cmd {
	o.t.Helper()
	program, err := exec.LookPath("bot") // TestMain put it there
	if err != nil {
		o.t.Fatal(err)
	}
	cmd := exec.CommandContext(o.t.Context(), program, append([]string{"jobs"}, args...)...)
	cmd.Env = []string{"REDIS_URL=" + o.url} // nothing else is needed
	return cmd
}

// run is `bot jobs ARGS`, which must exit with the code and print nothing that
// steers a terminal.
func (o *operator) run(code int, args ...string) (stdout, stderr string) {
	o.t.Helper()
	var out, errs bytes.Buffer
	cmd := o.command(args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if e := (*exec.ExitError)(nil); err != nil && !errors.As(err, &e) {
		o.t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != code {
		o.t.Errorf("bot jobs %s exits %d, want %d\n%s%s", strings.Join(args, " "), got, code, out.String(), errs.String())
	}
	for _, r := range out.String() + errs.String() {
		if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
			o.t.Errorf("bot jobs %s prints %U:\n%q", strings.Join(args, " "), r, out.String()+errs.String())
			break
		}
	}
	return out.String(), errs.String()
}

func (o *operator) must(err error) {
	o.t.Helper()
	if err != nil {
		o.t.Fatal(err)
	}
}

func (o *operator) enqueue(owner, repo string, installation int64, p queue.Priority, sha string) string {
	o.t.Helper()
	r, err := o.Enqueue(o.t.Context(), queue.Job{
		Delivery: "d-" + repo + sha, Key: repo + sha, Ref: owner + "/" + repo + "@refs/heads/main", SHA: sha,
		Repository: owner + "/" + repo, Installation: fmt.Sprint(installation), Priority: p,
		Payload: handlers.Request{Kind: handlers.KindCI, Trigger: "workflow_run", Installation: installation, Owner: owner, Repo: repo, SHA: sha, Ref: "main", Run: 77, Actor: "ada"}.Encode(),
	})
	o.must(err)
	return r.ID
}

func (o *operator) claim() *queue.Claim {
	o.t.Helper()
	c, err := o.Claim(o.t.Context(), "worker-1")
	o.must(err)
	return c
}

// hostile is what repository content could bring into a line of progress.
const hostile = "\x1b]0;owned\x07\x1b[2J\u009b31m\u202egnp.exe\r\nsecond line"

// zoo makes one job of each state and returns their IDs.
func (o *operator) zoo() map[queue.State]string {
	o.t.Helper()
	ctx, ids := o.t.Context(), map[queue.State]string{}
	end := map[queue.State]func(c *queue.Claim) error{
		queue.Done: func(c *queue.Claim) error { return c.Complete(ctx, "session 20261130-debug-x: fixed") },
		queue.Dead: func(c *queue.Claim) error {
			_, err := c.Fail(ctx, errors.New("no access to the repository "+hostile), queue.Permanent, 0)
			return err
		},
		queue.Retrying: func(c *queue.Claim) error {
			_, err := c.Fail(ctx, errors.New("GitHub answers 502"), queue.Transient, time.Hour)
			return err
		},
		queue.Snoozed: func(c *queue.Claim) error {
			_, err := c.Snooze(ctx, time.Now().Add(90*time.Minute), "GitHub's rate limit")
			return err
		},
		queue.Running: func(c *queue.Claim) error { _, err := c.Progress(ctx, "wave 1 "+hostile); return err },
	}
	for _, s := range []queue.State{queue.Done, queue.Dead, queue.Retrying, queue.Snoozed, queue.Running} {
		ids[s] = o.enqueue("acme", string(s), 1, queue.PriorityCI, strings.Repeat("a", 40))
		c := o.claim()
		if c.ID != ids[s] {
			o.t.Fatalf("claimed %s, want %s", c.ID, ids[s])
		}
		o.must(end[s](c))
	}
	ids[queue.Cancelled] = o.enqueue("acme", "cancelled", 2, queue.PriorityIssue, strings.Repeat("b", 40))
	_, err := o.Cancel(ctx, ids[queue.Cancelled], "the issue was closed")
	o.must(err)
	ids[queue.Superseded] = o.enqueue("acme", "queued", 2, queue.PriorityCI, strings.Repeat("c", 40))
	ids[queue.Queued] = o.enqueue("acme", "queued", 2, queue.PriorityPerson, strings.Repeat("d", 40))
	return ids
}

func TestJobsListShowsATableForPeopleAndJSONForMachines(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	if out, note := o.run(exitOK, "list"); out != "" || !strings.Contains(note, "no jobs") {
		t.Errorf("an empty queue is listed as %q, %q", out, note)
	}
	ids := o.zoo()
	out, note := o.run(exitOK, "list", "--state", "all")
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(lines) != 9 || !strings.HasPrefix(lines[0], "ID ") {
		t.Fatalf("want a header and eight lines:\n%s", out)
	}
	for _, name := range []string{"STATE", "FOR", "REPOSITORY", "ABOUT", "AGE", "IN STATE", "TRIES", "DETAIL"} {
		at := strings.Index(lines[0], name)
		for _, line := range lines[1:] {
			if at < 2 || line[at-2:at] != "  " || line[at] == ' ' {
				t.Errorf("column %s is not aligned at %d:\n%s", name, at, out)
			}
		}
	}
	for state, want := range map[queue.State]string{
		queue.Running: "wave 1", queue.Queued: "person", queue.Retrying: `due in \d+m: GitHub answers 502`, queue.Snoozed: `due in (89|90)m: GitHub's rate limit`,
		queue.Dead: "no access to the repository", queue.Cancelled: "the issue was closed", queue.Superseded: "by " + ids[queue.Queued], queue.Done: "fixed",
	} {
		if !regexp.MustCompile(`(?m)^` + ids[state] + ` +` + string(state) + ` .*` + want).MatchString(out) {
			t.Errorf("the %s job is not told with %q:\n%s", state, want, out)
		}
	}
	if !strings.Contains(out, "run 77 main@aaaaaaaa") {
		t.Errorf("what the jobs are about is not told:\n%s", out)
	}
	if !strings.Contains(note, "1 running, 1 queued, 1 retrying, 1 snoozed, 1 dead, 1 cancelled, 1 superseded, 1 done") {
		t.Errorf("the whole is not told: %s", note)
	}

	all := []queue.State{queue.Running, queue.Queued, queue.Retrying, queue.Snoozed, queue.Dead, queue.Cancelled, queue.Superseded, queue.Done}
	for _, tt := range []struct {
		args []string
		want []queue.State
	}{
		{nil, all[:5]},
		{[]string{"--state", "all"}, all},
		{[]string{"--state", "dead"}, []queue.State{queue.Dead}},
		{[]string{"--state", "dead,done", "--state", "queued"}, []queue.State{queue.Dead, queue.Done, queue.Queued}},
		{[]string{"--repository", "acme/queued", "--state", "all"}, []queue.State{queue.Queued, queue.Superseded}},
		{[]string{"--installation", "2"}, []queue.State{queue.Queued}},
		{[]string{"--limit", "2"}, all[:2]},
		{[]string{"--repository", "acme/none"}, nil},
	} {
		out, _ := o.run(exitOK, append([]string{"list", "--json"}, tt.args...)...)
		var got []jobView
		if err := json.Unmarshal([]byte(out), &got); err != nil || got == nil {
			t.Fatalf("list --json %v: %v:\n%s", tt.args, err, out)
		}
		if len(got) != len(tt.want) {
			t.Errorf("list %v: got %d jobs, want %v", tt.args, len(got), tt.want)
			continue
		}
		for i, s := range tt.want {
			if got[i].ID != ids[s] || got[i].State != s || got[i].EnqueuedAt.IsZero() || got[i].Request == nil {
				t.Errorf("list %v: job %d is %+v, want the %s one", tt.args, i, got[i], s)
			}
		}
	}
	if _, note := o.run(exitOK, "list", "--limit", "2"); !strings.Contains(note, "3 more are not shown") {
		t.Errorf("what is left out is not told: %s", note)
	}
}

func TestJobsShowTellsAllThatIsKnownAndWhatToDo(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	ids := o.zoo()
	for state, want := range map[queue.State][]string{
		queue.Running:    {"worker        worker-1", "lease ends", "progress      wave 1", "on worker-1", "bot jobs cancel ID"},
		queue.Queued:     {"priority      person", "bot jobs cancel ID", "asked by      workflow_run by ada"},
		queue.Retrying:   {"due", "failures      1, and 0 crashed", "GitHub answers 502", "bot jobs retry ID"},
		queue.Snoozed:    {"due", "GitHub's rate limit", "bot jobs retry ID"},
		queue.Dead:       {"reason        no access", "people told   not yet", "bot jobs retry ID"},
		queue.Cancelled:  {"reason        the issue was closed", "bot jobs retry ID"},
		queue.Superseded: {"superseded by " + ids[queue.Queued]},
		queue.Done:       {"summary       session 20261130-debug-x: fixed", "nothing is to be done"},
	} {
		out, _ := o.run(exitOK, "show", ids[state])
		for _, text := range append(want, "Job ID is "+string(state), "delivery      d-", "commit        ", "History", "queued") {
			if !strings.Contains(out, strings.ReplaceAll(text, "ID", ids[state])) {
				t.Errorf("the %s job's sheet lacks %q:\n%s", state, text, out)
			}
		}
	}
	if len(nextSteps) != len(queue.States()) {
		t.Errorf("there are next steps for %d of %d states", len(nextSteps), len(queue.States()))
	}

	// The session is in the checkpoint, as the worker leaves it.
	folder, err := session.OpenFolder(filepath.Join(t.TempDir(), "20261130-debug-y"), func(b []byte) []byte { return b })
	o.must(err)
	defer folder.Close()
	o.must(folder.Save(&session.Session{ID: "20261130-debug-y", Schema: session.SchemaVersion, State: "investigate", Published: session.Published{CommentURL: "https://github.example/c/1"}}))
	archive, err := folder.Pack()
	o.must(err)
	id := o.enqueue("acme", "resumed", 3, queue.PriorityPerson, strings.Repeat("e", 40))
	_, err = o.Cancel(t.Context(), ids[queue.Queued], "")
	o.must(err)
	c := o.claim()
	_, err = c.Checkpoint(t.Context(), archive, 1)
	o.must(err)
	_, err = c.Release(t.Context())
	o.must(err)
	out, _ := o.run(exitOK, "show", id)
	for _, text := range []string{"session       20261130-debug-y, stage investigate", "comment       https://github.example/c/1", "given back by worker-1"} {
		if !strings.Contains(out, text) {
			t.Errorf("the sheet lacks %q:\n%s", text, out)
		}
	}
	out, _ = o.run(exitOK, "show", id, "--json")
	var v jobView
	if err := json.Unmarshal([]byte(out), &v); err != nil || v.Session == nil || v.Session.ID != "20261130-debug-y" || len(v.History) != 3 || v.History[1].Why != "worker-1" {
		t.Errorf("show --json: %v: %+v", err, v)
	}
}

func TestJobsAreRetriedAndCancelledByIDAndBySelection(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	ids := o.zoo()
	state := func(id string, want queue.State) {
		t.Helper()
		info, err := o.Show(t.Context(), id)
		o.must(err)
		if info.State != want {
			t.Errorf("job %s is %s, want %s", id, info.State, want)
		}
	}
	if out, _ := o.run(exitOK, "retry", "--state", "dead", "--repository", "acme/dead", "--dry-run"); !strings.Contains(out, "is dead, would be changed") {
		t.Errorf("dry run says %q", out)
	}
	state(ids[queue.Dead], queue.Dead)
	out, _ := o.run(exitOK, "retry", "--repository", "acme/dead")
	if out != ids[queue.Dead]+"  queued again\n" {
		t.Errorf("retry says %q", out)
	}
	state(ids[queue.Dead], queue.Queued)
	state(ids[queue.Cancelled], queue.Cancelled)

	// One that cannot be done does not keep the others from being done.
	const unknown = "000000000000000000"
	out, note := o.run(exitUsage, "retry", unknown, ids[queue.Running], ids[queue.Snoozed], ids[queue.Retrying])
	if !strings.Contains(note, unknown+"  there is no such job") || !strings.Contains(note, ids[queue.Running]+"  not possible: it is running") || strings.Count(out, "queued again") != 2 {
		t.Errorf("retry says %q and %q", out, note)
	}
	state(ids[queue.Snoozed], queue.Queued)
	state(ids[queue.Retrying], queue.Queued)
	if _, note := o.run(exitUsage, "retry", ids[queue.Running], "--json"); note != "" {
		t.Errorf("with --json retry says %q", note)
	}

	out, _ = o.run(exitOK, "cancel", ids[queue.Running], ids[queue.Snoozed], ids[queue.Done], "--reason", "budget spent", "--json")
	var got []changed
	if err := json.Unmarshal([]byte(out), &got); err != nil || len(got) != 3 || got[0].State != queue.Running || got[1].State != queue.Cancelled || got[2].State != queue.Done {
		t.Errorf("cancel says %v: %s", err, out)
	}
	if info, err := o.Show(t.Context(), ids[queue.Running]); err != nil || info.Stop != queue.SignalCancel || info.Reason != "budget spent" {
		t.Errorf("the running job was asked %q for %q (%v)", info.Stop, info.Reason, err)
	}
	out, note = o.run(exitOK, "cancel", "--installation", "1", "--state", "queued", "--limit", "1")
	if strings.Count(out, "cancelled") != 1 || !strings.Contains(note, "1 more are selected and left alone") {
		t.Errorf("cancel says %q and %q", out, note)
	}
	o.run(exitOK, "cancel", "--installation", "1")
	left, _, err := o.Find(t.Context(), queue.Filter{States: []queue.State{queue.Queued, queue.Retrying, queue.Snoozed}}, 0)
	o.must(err)
	if len(left) != 1 || left[0].ID != ids[queue.Queued] {
		t.Errorf("left waiting: %+v, want just that of the other installation", left)
	}
	// A job of the queue of commands is found by its ID, or when that is named.
	r, err := o.commands.Enqueue(t.Context(), queue.Job{Repository: "acme/asked"})
	o.must(err)
	if out, _ := o.run(exitOK, "show", r.ID); !strings.Contains(out, "acme/asked") {
		t.Errorf("a command is shown as %q", out)
	}
	if out, _ := o.run(exitOK, "list", "--queue", "commands"); !strings.Contains(out, r.ID) || strings.Contains(out, ids[queue.Queued]) {
		t.Errorf("commands are listed as %q", out)
	}
	if out, _ := o.run(exitOK, "cancel", r.ID, ids[queue.Superseded]); !strings.Contains(out, r.ID+"  cancelled") || !strings.Contains(out, "had ended before") {
		t.Errorf("cancel says %q", out)
	}
	if _, note := o.run(exitOK, "cancel", "--installation", "9"); !strings.Contains(note, "no job is selected") {
		t.Errorf("cancel of nothing says %q", note)
	}
}

func TestJobsDrainWaitsForRunningJobsAndStaysPaused(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enqueue("acme", "one", 1, queue.PriorityCI, strings.Repeat("a", 40))
	o.enqueue("acme", "two", 1, queue.PriorityCI, strings.Repeat("a", 40))
	c := o.claim()

	if _, note := o.run(exitStopped, "drain", "--timeout", "1ms"); !strings.Contains(note, "not drained after 1ms") {
		t.Errorf("drain says %q", note)
	}
	o.run(exitOK, "resume")

	cmd := o.command("drain", "--timeout", "1m")
	var out bytes.Buffer
	cmd.Stdout = &out
	stderr, err := cmd.StderrPipe()
	o.must(err)
	o.must(cmd.Start())
	line, err := bufio.NewReader(stderr).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "waiting for 1 running: "+c.ID+" (acme/one on worker-1)") {
		t.Errorf("drain says %q (%v)", line, err)
	}
	if _, err := o.Claim(t.Context(), "worker-2"); !errors.Is(err, queue.ErrEmpty) {
		t.Errorf("a job is claimed while the queue drains: %v", err)
	}
	o.must(c.Complete(t.Context(), ""))
	_, _ = io.Copy(io.Discard, stderr)
	if err := cmd.Wait(); err != nil || !strings.HasPrefix(out.String(), "drained: no job runs") {
		t.Errorf("drain ends with %v and says %q", err, out.String())
	}
	if _, err := o.Claim(t.Context(), "worker-2"); !errors.Is(err, queue.ErrEmpty) {
		t.Errorf("a job is claimed after the drain: %v", err)
	}
	if s, err := o.commands.Stats(t.Context()); err != nil || !s.Paused {
		t.Errorf("the queue of commands is not paused (%v)", err)
	}
	if _, note := o.run(exitOK, "list"); !strings.Contains(note, "the queue is paused") {
		t.Errorf("list does not tell the pause: %q", note)
	}
	if out, _ := o.run(exitOK, "resume"); out != "resumed: 1 waiting, 0 running\n" {
		t.Errorf("resume says %q", out)
	}
	c = o.claim()
	if out, _ := o.run(exitOK, "pause"); !strings.Contains(out, "1 runs on") {
		t.Errorf("pause says %q", out)
	}

	// Ctrl-C ends the waiting, not the pause.
	cmd = o.command("drain")
	stderr, err = cmd.StderrPipe()
	o.must(err)
	o.must(cmd.Start())
	lines := bufio.NewReader(stderr)
	if _, err := lines.ReadString('\n'); err != nil {
		t.Error(err)
	}
	o.must(cmd.Process.Signal(syscall.SIGINT))
	rest, _ := io.ReadAll(lines)
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitStopped || !strings.Contains(string(rest), "interrupted; nobody claims jobs") {
		t.Errorf("an interrupted drain exits %d and says %q", code, rest)
	}
	o.must(c.Complete(t.Context(), ""))
}

func TestJobsSaysWhatIsWrongWithACommandLine(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	const id = "000000000000000000"
	for _, tt := range []struct {
		args []string
		code int
		says string
	}{
		{nil, exitUsage, "usage: bot jobs VERB"},
		{[]string{"drop"}, exitUsage, `unknown verb "drop"`},
		{[]string{"list", "extra"}, exitUsage, "takes no argument"},
		{[]string{"list", "--state", "lost"}, exitUsage, "want running, queued, retrying"},
		{[]string{"list", "--queue", "all"}, exitUsage, "want sessions or commands"},
		{[]string{"list", "--limit", "-1"}, exitUsage, "want 0 or more"},
		{[]string{"list", "--colour"}, exitUsage, "unknown flag"},
		{[]string{"show"}, exitUsage, "give one job ID"},
		{[]string{"show", "../../etc/passwd"}, exitUsage, "is not a job ID"},
		{[]string{"show", id}, exitUsage, "there is no job " + id},
		{[]string{"retry"}, exitUsage, "say which jobs"},
		{[]string{"cancel", id, "--state", "queued"}, exitUsage, "not both"},
		{[]string{"drain", "--timeout", "soon"}, exitUsage, "--timeout"},
	} {
		out, note := o.run(tt.code, tt.args...)
		if out != "" || !strings.Contains(note, tt.says) {
			t.Errorf("bot jobs %v says %q and %q, want %q", tt.args, out, note, tt.says)
		}
	}
	for _, v := range jobsVerbs() {
		if out, _ := o.run(exitOK, v.name, "--help"); !strings.Contains(out, "usage: bot jobs "+v.name) || !strings.Contains(out, "Exit codes") {
			t.Errorf("help of %s: %s", v.name, out)
		}
	}
	for url, says := range map[string]string{
		"":                           "REDIS_URL is not set",
		"http://:hush@localhost":     "REDIS_URL cannot be read",
		"redis://:hush@127.0.0.1:1/": "Redis does not answer",
	} {
		o.url = url
		if _, note := o.run(exitUsage, "list"); !strings.Contains(note, says) || !strings.Contains(note, "what to do") || strings.Contains(note, "hush") {
			t.Errorf("with REDIS_URL %q it says %q, want %q", url, note, says)
		}
	}
}
