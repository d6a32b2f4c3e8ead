package experiment

import (
	"fmt"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"culprit/internal/session"
)

// maxLog is how much of a run's output is kept, in bytes: half from its head
// and half from its tail, where runners say what failed.
const maxLog = 256 << 10

// record stores the output and one entry of the trail. The log comes first:
// an entry never names a log that is not there.
func (l *Lab) record(key string, t session.Trial, obs *session.Observation, runs int) error {
	obs.Output = capped(obs.Output, maxLog)
	l.mu.Lock()
	n := max(l.logs[key], len(l.recorded[key])) + 1
	l.logs[key] = n // repetitions that end at the same time have logs of their own
	l.mu.Unlock()
	name := fmt.Sprintf("run-%.8s-%s-%d.log", t.Rev, key[:12], n)
	if t.Task != "" {
		name = path.Base(t.Task) + "-" + name
	}
	obs.Log = "logs/" + name
	if err := l.Store.Write(obs.Log, []byte(obs.Output)); err != nil {
		return fmt.Errorf("record run: %w", err)
	}
	e := session.Entry{
		TS: l.opts.Now().UTC(), Phase: "experiment", Type: "run", Source: obs.Log, Note: obs.Adapted,
		Name: t.Name, Task: t.Task, Command: t.Command, Commit: t.Rev, Key: key, Outcome: obs.Outcome, Reason: obs.Reason,
		Exit: obs.Exit, TimedOut: obs.TimedOut, Runs: runs, DurationMS: obs.Duration.Milliseconds(),
	}
	if obs.Outcome == session.FailedSame {
		e.Failures = 1
	}
	if err := l.Store.Record(e); err != nil {
		return fmt.Errorf("record run: %w", err)
	}
	l.mu.Lock()
	l.recorded[key] = append(l.recorded[key], e)
	l.asked[key]++
	l.mu.Unlock()
	return nil
}

// replay answers from the record. The output is what was stored; if the log is
// gone, the outcome stands without it.
func (l *Lab) replay(e session.Entry) session.Observation {
	obs := session.Observation{
		Outcome: e.Outcome, Reason: e.Reason, Exit: e.Exit, TimedOut: e.TimedOut, Log: e.Source, Adapted: e.Note,
		Duration: time.Duration(e.DurationMS) * time.Millisecond, Cached: true,
	}
	if data, err := l.Store.Read(e.Source); err == nil {
		obs.Output = string(data)
		obs.Report = l.Language.Parse(obs.Output)
	}
	return obs
}

// capped cuts the middle out of s.
func capped(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	half := limit / 2
	return s[:half] + fmt.Sprintf("\n[… %d bytes left out …]\n", len(s)-2*half) + s[len(s)-half:]
}

// maxReason bounds what is quoted from a run, in bytes.
const maxReason = 200

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return clip(strings.TrimSpace(s), maxReason)
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return clip(strings.TrimSpace(s[strings.LastIndexByte(s, '\n')+1:]), maxReason)
}

// clip shortens s to at most n bytes, at a character's boundary.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	s = s[:n-len("…")]
	for len(s) > 0 && !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s + "…"
}

func orWord(s, other string) string {
	if s != "" {
		return s
	}
	return other
}
