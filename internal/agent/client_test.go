package agent

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// tell lists the outcomes of the audit's lines.
func tell(r *rig) string {
	var out []string
	for _, l := range r.store.lines {
		out = append(out, l.Model+":"+l.Outcome)
	}
	return strings.Join(out, " ")
}

func TestFaultsOfTheServerAreTriedAgainOrGivenUp(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, fault string
		times       int
		want        End
		lines       string
		waited      time.Duration // the least of the first wait
	}{
		{"rate limit", "{status: 429, retry_after: '3'}", 1, Reported, "big:retried big:answered", 3 * time.Second},
		{"rate limit for an hour", "{status: 429, retry_after: '3600'}", 1, Reported, "big:retried spare:answered", 0},
		{"no money", "{status: 429, code: insufficient_quota}", 0, Faulted, "big:failed", 0},
		{"error 500", "{status: 500}", 2, Reported, "big:retried big:retried big:answered", 250 * time.Millisecond},
		{"error 500 for ever", "{status: 503}", 5, Reported, "big:retried big:retried big:retried big:retried big:retried spare:answered", 0},
		{"cut stream", "{cut: 2}", 1, Reported, "big:retried big:answered", 0},
		{"error in the stream", "{cut: 2, error: true}", 1, Reported, "big:retried big:answered", 0},
		{"bad JSON", "{garbage: '<html>'}", 1, Reported, "big:retried big:answered", 0},
		{"unknown model", "{status: 404, code: model_not_found}", 1, Reported, "big:failed spare:answered", 0},
		{"wrong key", "{status: 401}", 0, Faulted, "big:failed", 0},
		{"bad request", "{status: 400, message: 'something is wrong'}", 0, Faulted, "big:failed", 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			times := ""
			if c.times > 0 {
				times = ", times: " + string(rune('0'+c.times))
			}
			r := newRig(t, "rules:\n  - {name: fault"+times+", answer: {text: a text that is longer than two events}, fault: "+c.fault+"}"+reports)
			done := r.client.Run(t.Context(), r.task())
			if got := tell(r); done.End != c.want || got != c.lines {
				t.Errorf("%s: %v; %s", done.End, done.Err, got)
			}
			if c.waited > 0 && (len(r.waits) == 0 || r.waits[0] < c.waited || r.waits[0] > c.waited+30*time.Second) {
				t.Errorf("waited %v", r.waits)
			}
		})
	}
}

// A server that lacks something is used without it, and the next call does not
// try it again.
func TestAWeakerServerIsUsedWithoutWhatItLacks(t *testing.T) {
	t.Parallel()
	for _, lack := range []string{"parallel_tool_calls", "reasoning_effort", "streaming", "stream_options", "max_completion_tokens", "prompt_cache_key"} {
		t.Run(lack, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, "lacks: ["+lack+"]\nrules:"+reads+reports)
			r.client.set.Roles[High] = []Model{{Name: "big", Effort: "low"}}
			done := r.client.Run(t.Context(), r.task())
			if got := tell(r); done.End != Reported || got != "big:retried big:answered big:answered" {
				t.Errorf("%s: %v; %s", done.End, done.Err, got)
			}
			if l := r.store.lines[2]; l.Lacks != lack || l.TokensOut == 0 {
				t.Errorf("%+v", l)
			}
		})
	}
}

func TestAServerWithoutToolsIsAskedInWords(t *testing.T) {
	t.Parallel()
	for _, lacks := range []string{"tools", "tools, json_schema"} {
		r := newRig(t, "lacks: ["+lacks+`]
rules:
  - {name: reads, times: 1, when: {no_tools: true, system: "Answer with one JSON object.*read: Reads a file"}, answer: {text: 'Let me see. {"calls": [{"name": "read", "arguments": {"path": "a.go"}}]}'}}
  - {name: reports, when: {no_tools: true, last: "Result of read:.*content of a.go"}, answer: {text: '{"name": "report", "arguments": {"verdict": "refuted"}}'}}
`)
		done := r.client.Run(t.Context(), r.task())
		if done.End != Reported || string(done.Report) != `{"verdict": "refuted"}` {
			t.Errorf("without %s: %s: %v; %s", lacks, done.End, done.Err, tell(r))
		}
		if got := r.server.Requests()[len(r.server.Requests())-1].Format.Type; got != map[bool]string{true: "json_schema", false: "json_object"}[lacks == "tools"] {
			t.Errorf("without %s the format is %q", lacks, got)
		}
	}
}

func TestWhatServersSayIsUnderstood(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]ability{
		"registry.ollama.ai/library/phi3 does not support tools":                                                     withTools,
		`"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set`:                     withTools,
		"tools param requires --jinja flag":                                                                          withTools,
		"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.": "",
		"Unrecognized request argument supplied: parallel_tool_calls":                                                withParallel,
		"Unsupported value: 'reasoning_effort' does not support 'xhigh' with this model.":                            withEffort,
		"extra inputs are not permitted: prompt_cache_key":                                                           withCacheKey,
		"The model `x` does not exist":                                                                               "",
		"Invalid schema for function 'read'":                                                                         "",
		"litellm.UnsupportedParamsError: x does not support parameters: ['stream_options'], for model":               withUsage,
	} {
		used := map[ability]bool{withTools: true, withChoice: true, withParallel: true, withEffort: true, withCacheKey: true, withUsage: true, withStreaming: true}
		able := &abilities{}
		got, _ := able.learn(apiErrorOf(t, 400, message), used)
		if got != want {
			t.Errorf("%q: %q", message, got)
		}
	}
}

func TestACancelledRunEndsAtOnceAndLeavesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, "rules: [{answer: {text: x, hold: never}}]\n")
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan Done)
	go func() { ended <- r.client.Run(ctx, r.task()) }()
	for r.server.Waiting() == 0 {
		select {
		case d := <-ended:
			t.Fatalf("%+v", d)
		case <-time.After(time.Millisecond):
		}
	}
	why := errors.New("a newer push")
	cancel(why)
	if done := <-ended; done.End != Cancelled || !errors.Is(done.Err, why) {
		t.Errorf("%s: %v", done.End, done.Err)
	}
	if got := tell(r); got != "big:stopped" {
		t.Errorf("%s", got)
	}
}

func TestAReportAfterTheTimeIsLateAndDoesNotCount(t *testing.T) {
	t.Parallel()
	r := newRig(t, "rules: [{answer: {calls: [{name: report, arguments: {verdict: confirmed}}], hold: never}}]\n")
	task := r.task()
	task.Timeout = 50 * time.Millisecond
	done := r.client.Run(t.Context(), task)
	if done.End != OutOfTime || done.Report != nil {
		t.Errorf("%s: %s", done.End, done.Report)
	}
	if !done.End.Exhausted() {
		t.Error("out of time is not inconclusive")
	}
}

func TestAStreamThatStallsIsTriedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, "rules:\n  - {times: 1, answer: {text: x, hold: never}}"+reports)
	r.client.set.Stall = 400 * time.Millisecond
	done := r.client.Run(t.Context(), r.task())
	if got := tell(r); done.End != Reported || !strings.HasPrefix(got, "big:retried ") || !strings.HasSuffix(got, ":answered") {
		t.Errorf("%s: %v; %s", done.End, done.Err, got)
	}
}

func TestNearTheEndOfItsTimeTheModelIsAskedToReport(t *testing.T) {
	t.Parallel()
	r := newRig(t, "rules:\n  - {times: 1, answer: {calls: [{name: read, arguments: {path: a.go}}]}}\n  - {when: {last: Your time is nearly over}, answer: {calls: [{name: report, arguments: {verdict: inconclusive}}]}}\n")
	now, n := time.Now(), 0
	r.client.set.Now = func() time.Time { n++; return now.Add(time.Duration(n) * 20 * time.Minute) }
	done := r.client.Run(t.Context(), r.task())
	if done.End != Reported {
		t.Errorf("%s: %v", done.End, done.Err)
	}
}

func TestAConversationThatIsTooLongForTheModelIsShortened(t *testing.T) {
	t.Parallel()
	r := newRig(t, "context: 3300\nrules:\n"+
		"  - {when: {turn: 1}, answer: {calls: [{name: read, arguments: {path: a, size: 6000}}]}}\n"+
		"  - {when: {turn: 2}, answer: {calls: [{name: read, arguments: {path: b, size: 6000}}]}}\n"+reports)
	done := r.client.Run(t.Context(), r.task())
	if done.End != Reported {
		t.Errorf("%s: %v; %s", done.End, done.Err, tell(r))
	}
	task := r.task()
	task.First = strings.Repeat("too long ", 2000)
	if done := r.client.Run(t.Context(), task); done.End != OutOfContext {
		t.Errorf("%s: %v", done.End, done.Err)
	}
}
