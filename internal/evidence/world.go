package evidence

import (
	"strings"

	"culprit/internal/session"
)

// world takes what is not the code's doing: memory, disk, network, registries,
// the runner, a person who cancelled; and last of all the runner's word that
// a step failed. A phrase counts only where the tool that says it puts it, for
// tests talk about networks too.
type world struct{ out *collector }

// sign is a phrase and what it means. at is where the line must begin, empty
// for anywhere; has must be in it.
type sign struct {
	at, has string
	kind    session.Kind
	tier    tier
}

var signs = []sign{
	{"The operation was canceled", "", session.KindCancelled, secondary},
	{"The runner has received a shutdown signal", "", session.KindEnvironment, secondary},
	{"The job running on runner ", "has exceeded the maximum execution time", session.KindTimeout, secondary},
	{"The hosted runner ", "lost communication with the server", session.KindEnvironment, secondary},
	{"The self-hosted runner", "lost communication with the server", session.KindEnvironment, secondary},
	{"The action ", "has timed out after", session.KindTimeout, secondary},
	{"Killed", "", session.KindEnvironment, secondary},
	{"Out of memory", "", session.KindEnvironment, secondary},
	{"", "JavaScript heap out of memory", session.KindEnvironment, secondary},
	{"", "No space left on device", session.KindEnvironment, secondary},
	{"", "no space left on device", session.KindEnvironment, secondary},
	{"", "ENOSPC: ", session.KindEnvironment, secondary},
	{"", "annot allocate memory", session.KindEnvironment, secondary},
	{"curl: (", "", session.KindEnvironment, secondary},
	{"fatal: unable to access ", "", session.KindEnvironment, secondary},
	{"fatal: Authentication failed for ", "", session.KindEnvironment, secondary},
	{"E: Failed to fetch ", "", session.KindEnvironment, secondary},
	{"E: Unable to locate package ", "", session.KindDependency, secondary},
	{"npm ", "code ETIMEDOUT", session.KindEnvironment, secondary},
	{"npm ", "code ECONNRESET", session.KindEnvironment, secondary},
	{"npm ", "code ECONNREFUSED", session.KindEnvironment, secondary},
	{"npm ", "code ENOTFOUND", session.KindEnvironment, secondary},
	{"npm ", "code EAI_AGAIN", session.KindEnvironment, secondary},
	{"npm ", "code E429", session.KindEnvironment, secondary},
	{"npm ", "code E50", session.KindEnvironment, secondary},
	{"npm ", "code E401", session.KindEnvironment, secondary},
	{"npm ", "code E403", session.KindEnvironment, secondary},
	{"npm ", "code ERESOLVE", session.KindDependency, secondary},
	{"npm ", "code E404", session.KindDependency, secondary},
	{"npm ", "code ETARGET", session.KindDependency, secondary},
	{"npm ", "code EUSAGE", session.KindDependency, secondary},
	{"npm ", "Missing script: ", session.KindDependency, secondary},
	{"npm ", "canceled due to missing packages", session.KindDependency, secondary},
	{"ERROR: No matching distribution found for ", "", session.KindDependency, secondary},
	{"ERROR: Could not find a version that satisfies ", "", session.KindDependency, secondary},
	{"ERROR: Could not install packages", "", session.KindEnvironment, secondary},
	{"ERROR: HTTP error ", "", session.KindEnvironment, secondary},
	{"error Couldn't find package ", "", session.KindDependency, secondary},
	{"error An unexpected error occurred: \"https://", "", session.KindEnvironment, secondary},
	{"ERR_PNPM_", "", session.KindDependency, secondary},
	{"", "toomanyrequests: ", session.KindEnvironment, secondary},
	{"Error response from daemon: ", "", session.KindEnvironment, secondary},
	{"failed to solve: ", "", session.KindBuild, secondary},
	{"", "certificate has expired", session.KindEnvironment, secondary},
	{"Bad credentials", "", session.KindEnvironment, secondary},
	{"Process completed with exit code 137", "", session.KindEnvironment, secondary},
}

// worldCues are the signs' own texts.
func worldCues() cues {
	c := cues{has: []string{": not found", ": command not found"}}
	for _, s := range signs {
		if s.at != "" {
			c.starts = append(c.starts, s.at)
		} else {
			c.has = append(c.has, s.has)
		}
	}
	return c
}

func (w *world) line(l line) bool {
	s := l.text
	for _, p := range signs {
		if p.at != "" && strings.HasPrefix(s, p.at) && strings.Contains(s, p.has) && (p.at != "Killed" || len(s) == len("Killed")) ||
			p.at == "" && strings.Contains(s, p.has) {
			w.add(p, l)
			return true
		}
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

func (w *world) add(p sign, l line) {
	w.out.fail(session.Failure{Kind: p.kind, Message: l.text, From: l.from, To: l.to}, p.tier)
}

func (w *world) busy() bool { return false }

func (w *world) end() {}
