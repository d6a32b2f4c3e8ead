package evidence

import (
	"strings"

	"culprit/internal/session"
)

// world takes what is not the code's doing: memory, disk, network, registries,
// secrets, the runner, a person who cancelled; what package managers cannot
// resolve; and last of all the word of a runner or a build tool that a command
// failed. A phrase counts only where the tool that says it puts it, for tests
// talk about networks too.
type world struct{ out *collector }

// sign is a phrase and what it means. at is where the line must begin (blanks
// apart), empty for anywhere; has must be in it.
type sign struct {
	at, has string
	kind    session.Kind
	tier    tier
}

// worldSigns are all signs, in the order in which they are tried.
var worldSigns = append(append(append([]sign{}, environmentSigns...), dependencySigns...), commandSigns...)

// worldCues are the signs' own texts.
func worldCues() cues {
	c := cues{has: []string{": not found", ": command not found"}}
	for _, s := range worldSigns {
		if s.at != "" {
			c.starts = append(c.starts, s.at)
		} else {
			c.has = append(c.has, s.has)
		}
	}
	return c
}

func (w *world) line(l line) bool {
	s := strings.TrimLeft(l.text, " \t")
	for _, p := range worldSigns {
		if p.at != "" && !strings.HasPrefix(s, p.at) || p.has != "" && !strings.Contains(s, p.has) || p.at == "Killed" && len(s) > len("Killed") {
			continue
		}
		w.out.fail(session.Failure{Kind: p.kind, Message: s, From: l.from, To: l.to}, p.tier)
		return true
	}
	if l.marked && s != "" {
		w.out.fail(session.Failure{Kind: session.KindCommand, Message: s, From: l.from, To: l.to}, tertiary)
		return true
	}
	if strings.HasSuffix(s, ": not found") && shellPrefix(s) || strings.HasSuffix(s, ": command not found") {
		w.out.fail(session.Failure{Framework: "sh", Kind: session.KindDependency, Message: s, From: l.from, To: l.to}, secondary)
		return true
	}
	return false
}

// shellPrefix reports "sh: 1: jest: not found" and "/bin/sh: 1: …".
func shellPrefix(s string) bool {
	name, rest, ok := strings.Cut(s, ": ")
	return ok && (strings.HasSuffix(name, "sh") || strings.HasSuffix(name, ".sh")) && len(rest) > 3
}

func (w *world) busy() bool { return false }

func (w *world) end() {}
