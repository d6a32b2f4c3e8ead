package evidence

import (
	"strings"

	"culprit/internal/session"
)

// tox reads the verdicts of tox on its environments: versions 4
// ("  py311: FAIL code 1 (3.2=setup[2.1]+cmd[1.1] seconds)") and 3
// ("ERROR:   py27: commands failed"). They follow from what ran inside.
type tox struct{ out *collector }

func (t *tox) line(l line) bool {
	s := strings.TrimLeft(strings.TrimPrefix(l.text, "ERROR: "), " ")
	name, verdict, ok := strings.Cut(s, ": ")
	if !ok || name == "" || strings.ContainsAny(name, " \t/") {
		return false
	}
	switch {
	case strings.HasPrefix(verdict, "FAIL code ") && strings.Contains(verdict, "seconds"), verdict == "commands failed", verdict == "parallel child exit code 1":
		t.out.fail(session.Failure{Framework: "tox", Package: name, Kind: session.KindCommand, Message: verdict, From: l.from, To: l.to}, tertiary)
	case strings.HasPrefix(verdict, "could not install deps "), strings.HasPrefix(verdict, "InterpreterNotFound: "):
		t.out.fail(session.Failure{Framework: "tox", Package: name, Kind: session.KindDependency, Message: verdict, From: l.from, To: l.to}, secondary)
	default:
		return false
	}
	return true
}

func (t *tox) busy() bool { return false }

func (t *tox) end() {}
