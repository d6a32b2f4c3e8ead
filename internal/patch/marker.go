package patch

import (
	"regexp"
	"strings"
)

// A marker is a piece of a line that no fix may bring into the repository. Found
// tells what a line has of it, in the form in which an old and a new line are
// held against each other: a fix may edit a line that has it already.
type marker struct {
	rule   Rule
	says   string
	found  func(line string) []string
	hidden bool // the line is not repeated in the message
	leaves bool // taking it away is no better than adding it
}

var markers = []marker{
	{rule: SecretAdded, says: "adds what looks like a credential", found: all(secrets), hidden: true},
	{rule: CheckSilenced, says: "silences a check", found: silences},
	{rule: CheckSilenced, says: "changes how much coverage is enough", found: all(enough), leaves: true},
	{rule: CheckSilenced, says: "makes a test command that tests nothing", found: idleTests},
	{rule: ErrorSwallowed, says: "swallows a failure", found: all(swallow)},
}

var (
	silence = regexp.MustCompile(`(?i)//\s*nolint|#\s*nosec|#\s*noqa|#\s*type:\s*ignore|#\s*pyright:\s*ignore|#\s*pylint:\s*disable|#\s*pragma:\s*no\s*cover|@ts-(?:ignore|nocheck|expect-error)|` +
		`eslint-disable|biome-ignore|prettier-ignore|(?:istanbul|c8|v8)\s+ignore|@SuppressWarnings|@Suppress\(|#!?\[allow\(|rubocop:disable|phpcs:ignore|#pragma\s+warning\s+disable|NOLINT|shellcheck\s+disable|noinspection`)
	swallow = regexp.MustCompile(`except(?:\s+\w+)?:\s*pass\b|catch\s*(?:\([^)]*\))?\s*\{\s*\}|\|\|\s*(?:true|:|exit 0)\s*(?:$|["'])|\bcontinue-on-error:\s*true|--passWithNoTests|` +
		`rescue\s*(?:=>\s*\w+)?\s*;?\s*nil\b|\bdefer\s+func\(\)\s*\{\s*(?:_\s*=\s*)?recover\(\)\s*\}\(\)`)
	// Settings that decide what counts as enough, with their number.
	enough = regexp.MustCompile(`(?i)(?:fail_under|fail-under|coverageThreshold|coverage_threshold|minimum_coverage|check-coverage|covered_?ratio)\W{0,8}[\d.]*`)
	// The commands of npm's test scripts, and those that do nothing.
	testScript = regexp.MustCompile(`"test(?::[\w:-]+)?"\s*:\s*"((?:[^"\\]|\\.)*)"`)
	idle       = regexp.MustCompile("^(?:true|:|exit 0|(?:echo|printf|sleep)\\b[^|&`$]*)?$")
)

// secrets are the shapes of credentials that a fix never adds. Their exact
// values are taken out of everything that is published elsewhere; this is about
// a key that a change would leave in the repository.
var secrets = regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----|\bAKIA[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{36}|\bgithub_pat_\w{30}|\bglpat-[\w-]{20}|` +
	`\bxox[baprs]-[\w-]{10}|\bAIza[\w-]{35}|\bsk-[\w-]{20}|\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.|://[^\s/:@"']+:[^\s/:@"'$\{]{6,}@`)

func all(re *regexp.Regexp) func(string) []string {
	return func(line string) []string { return re.FindAllString(line, -1) }
}

// silences finds what a line keeps a check from seeing, with all that the marker
// lists: one more name in a list silences more.
func silences(line string) []string {
	var out []string
	for _, at := range silence.FindAllStringIndex(line, -1) {
		rest := line[at[0]:]
		ends := "*/"
		if rest[0] == '@' && !strings.HasPrefix(strings.ToLower(rest), "@ts-") {
			ends = ")"
		} else if strings.HasPrefix(rest, "#[") || strings.HasPrefix(rest, "#![") {
			ends = "]"
		}
		rest, _, _ = strings.Cut(rest, ends)
		out = append(out, bare(rest))
	}
	return out
}

// idleTests finds test scripts that succeed without testing anything.
func idleTests(line string) []string {
	var out []string
	for _, m := range testScript.FindAllStringSubmatch(line, -1) {
		if isIdle(m[1]) {
			out = append(out, "test")
		}
	}
	return out
}

// isIdle reports whether what a shell returns for a script is decided by commands
// that do nothing.
func isIdle(script string) bool {
	verdict := true
	for list := range strings.SplitSeq(script, ";") {
		if list = strings.TrimSpace(list); list == "" && script != "" {
			continue
		}
		verdict = true
		for command := range strings.SplitSeq(list, "&&") {
			first, _, _ := strings.Cut(command, "||") // one that does nothing succeeds, and the rest is not run
			if first = strings.TrimSpace(first); !idle.MatchString(first) {
				verdict = false
				break
			}
			if first == "exit 0" {
				return true
			}
		}
	}
	return verdict
}

// fresh are the lines with a marker that the other side does not have in the
// same place: a line that carried one may be edited, and may not get another.
func fresh(lines, other []changedLine, m marker) []changedLine {
	type place struct {
		change int
		what   string
	}
	had := map[place]int{}
	for _, l := range other {
		for _, what := range m.found(l.text) {
			had[place{l.change, what}]++
		}
	}
	return filter(lines, func(l changedLine) bool {
		isNew := false
		for _, what := range m.found(l.text) {
			p := place{l.change, what}
			if had[p]--; had[p] < 0 {
				isNew = true
			}
		}
		return isNew
	})
}
