package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
)

// What a round pushed stays when the round is not brought to its end, and what
// it did not push is taken back, and not said to be applied.
func TestARoundThatIsCutShortLeavesTheFixThatTheBranchHolds(t *testing.T) {
	t.Parallel()
	old, made := &Fix{Task: "FIX-H1", Strategy: "the old one"}, &Fix{Task: "FIX-H1", Strategy: "the new one"}
	for name, c := range map[string]struct {
		round  Round
		state  string
		cut    bool
		fix    *Fix
		answer []ReplyKind
	}{
		"before the proof":      {Round{Way: BySuggestion}, "confirm", true, old, []ReplyKind{ReplyOutdated, ReplyCutShort}},
		"before the push":       {Round{Way: BySuggestion, Proved: true}, "publish", true, old, []ReplyKind{ReplyOutdated, ReplyCutShort}},
		"after the push":        {Round{Way: BySuggestion, Proved: true, Commit: "c1"}, "publish", true, made, []ReplyKind{ReplyOutdated, ReplyApplied}},
		"it has ended":          {Round{Way: BySuggestion, Proved: true, Commit: "c1"}, StateDone, false, made, []ReplyKind{ReplyOutdated, ReplyApplied}},
		"nothing was to be run": {Round{}, "publish", false, made, []ReplyKind{ReplyOutdated, ""}},
	} {
		r := c.round
		r.Fix = old
		r.Remarks = []Remark{{Answer: Reply{Kind: ReplyOutdated}}, {}}
		if r.Proved {
			r.Remarks[1].Answer.Kind = ReplyApplied
		}
		s := &Session{State: c.state, Fix: made, Fixes: map[string]*Fix{"FIX-H1": made}, Review: &Review{Rounds: []Round{r}}}
		if got := s.CutShort("stopped by ada"); got != c.cut {
			t.Errorf("%s: cut short is %v, want %v", name, got, c.cut)
		}
		if s.Fix != c.fix || s.Fixes["FIX-H1"] != c.fix || c.cut && (!s.Done() || s.Result != ResultFixed) {
			t.Errorf("%s: the fix is %q, the session %s, %s", name, s.Fix.Strategy, s.State, s.Result)
		}
		for i, m := range s.Round().Remarks {
			if m.Answer.Kind != c.answer[i] {
				t.Errorf("%s: remark %d is answered %q, want %q", name, i, m.Answer.Kind, c.answer[i])
			}
		}
		if c.cut && s.Round().Commit == "" && s.Round().Proved {
			t.Errorf("%s: the round still waits for its push", name)
		}
	}
}

func TestARemarkRepeatsOnlyWhatWasLookedAt(t *testing.T) {
	t.Parallel()
	text := "x"
	suggestion := Remark{ID: "line-2", Kind: RemarkLine, Path: "a.go", Suggestion: &text}
	review := Remark{ID: "review-2", Kind: RemarkReview, Text: "No.  Another"}
	for name, c := range map[string]struct {
		before Remark
		answer ReplyKind
		head   string
		now    Remark
		want   bool
	}{
		"a suggestion that was refused":           {suggestion, ReplyRefused, "h", suggestion, true},
		"a request, in other letters":             {Remark{Kind: RemarkReview, Text: "no. another"}, ReplyNoOther, "h", review, true},
		"the branch is another":                   {suggestion, ReplyRefused, "older", suggestion, false},
		"one of somebody who may not":             {suggestion, ReplyNoWrite, "h", suggestion, false},
		"one whose round was stopped":             {review, ReplyCutShort, "h", review, false},
		"one that came while the branch moved":    {suggestion, ReplyMoved, "h", suggestion, false},
		"a request of another kind, same letters": {Remark{Kind: RemarkLine, Text: "No. Another"}, ReplyWords, "h", review, false},
	} {
		c.before.ID, c.before.Answer.Kind = "earlier", c.answer
		v := &Review{Rounds: []Round{{Head: c.head, Remarks: []Remark{c.before}}}}
		if got := v.Repeats(c.now, "h"); got != c.want {
			t.Errorf("%s: repeats is %v, want %v", name, got, c.want)
		}
	}
	itself := Remark{ID: "review-2", Kind: RemarkReview}
	if (&Review{Rounds: []Round{{Head: "h", Remarks: []Remark{itself}}}}).Repeats(itself, "h") {
		t.Error("a remark repeats itself")
	}
}

func TestAnArchiveIsPackedAgainWithAnotherState(t *testing.T) {
	t.Parallel()
	a, b := open(t), open(t)
	s := &Session{Schema: SchemaVersion, ID: "20261130-debug-x", State: "revise", Tasks: []Task{{ID: "H1", Wave: 1, Status: Pending}}}
	if err := errors.Join(a.Save(s), a.Write("verify.sh", []byte("true\n"))); err != nil {
		t.Fatal(err)
	}
	archive, err := a.Pack()
	if err != nil {
		t.Fatal(err)
	}
	s.State, s.Reason = StateDone, "secret"
	archive, err = Repack(archive, s, func(data []byte) []byte { return bytes.ReplaceAll(data, []byte("secret"), []byte("[REDACTED]")) })
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Unpack(archive); err != nil {
		t.Fatal(err)
	}
	got, err := b.Load()
	if err != nil || got.State != StateDone || got.Reason != "[REDACTED]" || len(got.Tasks) != 1 {
		t.Errorf("restored as %+v: %v", got, err)
	}
	if data, err := b.Read("verify.sh"); err != nil || string(data) != "true\n" {
		t.Errorf("the other files are %q: %v", data, err)
	}
	for name, torn := range map[string][]byte{"torn": archive[:700], "no archive": []byte("no archive at all")} {
		if _, err := Repack(torn, s, same); err == nil {
			t.Errorf("%s: packed again", name)
		}
	}
	if data, err := PackedFile(archive, "session.json"); err != nil || !json.Valid(data) {
		t.Errorf("session.json is %q: %v", data, err)
	}
}
