package checkout

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// Errors that a caller decides by. The wrapping error says what to do.
var (
	ErrNotRepository   = errors.New("not a git repository")
	ErrNoCommits       = errors.New("repository has no commits")
	ErrUnknownRevision = errors.New("unknown revision")
	ErrConflict        = errors.New("patch does not apply")
	ErrTooLarge        = errors.New("output is larger than allowed")
	ErrRejected        = errors.New("push was rejected")
	ErrAccess          = errors.New("access to the repository was refused")
	ErrNoChange        = errors.New("nothing changes")
)

// GitError is a git process that ended with an error. Its text is stripped of
// credentials and control characters.
type GitError struct {
	Operation string // "fetch"
	Exit      int
	Message   string
}

func (e *GitError) Error() string {
	if e.Message == "" {
		return fmt.Sprintf("git %s: exit code %d", e.Operation, e.Exit)
	}
	return fmt.Sprintf("git %s: %s", e.Operation, e.Message)
}

var userinfo = regexp.MustCompile(`://[^/\s@]*@`)

// clean makes foreign text fit for an error message: one line, no control
// characters, no user or password in URLs, none of the given secrets.
func clean(text string, secrets ...string) string {
	for _, s := range secrets {
		if s != "" {
			text = strings.ReplaceAll(text, s, "[redacted]")
		}
	}
	text = userinfo.ReplaceAllString(text, "://")
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.Map(func(r rune) rune {
			if !unicode.IsPrint(r) {
				return -1
			}
			return r
		}, strings.TrimSpace(line))
		if line != "" && !strings.HasPrefix(line, "hint:") {
			lines = append(lines, line)
		}
	}
	const most = 600
	out := strings.Join(lines, "; ")
	if len(out) > most {
		out = strings.ToValidUTF8(out[:most], "") + " …"
	}
	return out
}
