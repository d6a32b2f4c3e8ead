package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/bradleyfalzon/ghinstallation/v2"
	gh "github.com/google/go-github/v62/github"
)

// What an error means to the caller. An *Error matches one of them with
// errors.Is.
var (
	// ErrGone: the repository was deleted or blocked, or the installation was
	// removed, suspended or does not cover it. Trying again is useless.
	ErrGone = errors.New("repository or installation is gone")
	// ErrForbidden: the App lacks a permission, or GitHub does not accept its
	// key. A person must change something.
	ErrForbidden = errors.New("GitHub does not allow it")
	// ErrTransient: GitHub or the way to it is broken for now.
	ErrTransient = errors.New("GitHub cannot be reached right now")
	// ErrNotFound: one thing in a repository (issue, run, branch) is not there.
	ErrNotFound = errors.New("not found")
	// ErrRefused: GitHub refuses the request as it is (409, 422, a locked
	// issue); the same request will be refused again.
	ErrRefused = errors.New("GitHub refuses the request")
	// ErrExpired: logs are no longer kept.
	ErrExpired = errors.New("no longer kept by GitHub")
)

// An Error is a call that failed. Its text is fit for logs; it never holds a
// token or a signed address.
type Error struct {
	Op         string // "open pull request in octo/calc"
	Status     int    // HTTP status, 0 when there was no answer
	Message    string // GitHub's words, or the cause
	Permission string // what the App lacks, as "issues=write", when GitHub says it

	kind  error
	cause error // only what is safe to print
}

func (e *Error) Error() string {
	s := e.Op + ": "
	if e.Status != 0 {
		s += fmt.Sprintf("GitHub answers %d: ", e.Status)
	}
	s += e.Message
	if e.Permission != "" {
		s += ": give the App the permission " + e.Permission
	}
	return s
}

// Is matches the kind of the error.
func (e *Error) Is(target error) bool { return target == e.kind }

// Unwrap returns the end of a context, or another cause that is safe to print.
func (e *Error) Unwrap() error { return e.cause }

// A RateLimitError says that GitHub wants no more calls for some time. It
// matches ErrTransient too.
type RateLimitError struct {
	Op         string
	RetryAfter time.Duration // at least one second
	Secondary  bool
}

func (e *RateLimitError) Error() string {
	kind := "rate limit"
	if e.Secondary {
		kind = "secondary rate limit"
	}
	return fmt.Sprintf("%s: %s of GitHub reached: try again in %s", e.Op, kind, e.RetryAfter.Round(time.Second))
}

// Is matches ErrTransient.
func (e *RateLimitError) Is(target error) bool { return target == ErrTransient }

// RetryAfter returns how long GitHub wants to be left alone, or 0 when err is
// not about a rate limit.
func RetryAfter(err error) time.Duration {
	if e := (*RateLimitError)(nil); errors.As(err, &e) {
		return e.RetryAfter
	}
	return 0
}

// wrap classifies an error of go-github, ghinstallation or net/http.
func (a *App) wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	var (
		own       *Error
		ownLimit  *RateLimitError
		primary   *gh.RateLimitError
		secondary *gh.AbuseRateLimitError
		response  *gh.ErrorResponse
		refresh   *ghinstallation.HTTPError
	)
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &ownLimit):
		return ownLimit
	case errors.As(err, &primary):
		return &RateLimitError{Op: op, RetryAfter: atLeast(primary.Rate.Reset.Sub(a.now()))}
	case errors.As(err, &secondary):
		wait := time.Minute
		if secondary.RetryAfter != nil {
			wait = *secondary.RetryAfter
		}
		return &RateLimitError{Op: op, RetryAfter: atLeast(wait), Secondary: true}
	case errors.As(err, &response) && response.Response != nil:
		message := response.Message
		for _, e := range response.Errors {
			message = strings.Trim(message+"; "+strings.TrimSpace(e.Field+" "+e.Code+" "+e.Message), "; ")
		}
		return a.status(op, response.Response, message)
	case errors.As(err, &refresh) && refresh.Response == nil:
		err = refresh.RootCause
	}
	if ctxErr := contextError(err); ctxErr != nil {
		return &Error{Op: op, Message: "interrupted: " + ctxErr.Error(), kind: ErrTransient, cause: ctxErr}
	}
	// A url.Error repeats the address, which may be a signed one.
	if u := (*url.Error)(nil); errors.As(err, &u) {
		err = u.Err
	}
	return &Error{Op: op, Message: a.clean(err.Error()), kind: ErrTransient}
}

// contextError returns the plain error of a context that ended.
func contextError(err error) error {
	switch {
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case errors.Is(err, context.DeadlineExceeded):
		return context.DeadlineExceeded
	}
	return nil
}

// status classifies an answer by its status, headers and message.
func (a *App) status(op string, r *http.Response, message string) error {
	e := &Error{Op: op, Status: r.StatusCode, Message: a.clean(message)}
	if e.Message == "" {
		e.Message = http.StatusText(r.StatusCode)
	}
	lower := strings.ToLower(message)
	says := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(lower, p) {
				return true
			}
		}
		return false
	}
	switch code := r.StatusCode; {
	case code == http.StatusTooManyRequests, code == http.StatusForbidden && (r.Header.Get("Retry-After") != "" || says("rate limit")):
		return &RateLimitError{Op: op, RetryAfter: a.limitOf(r), Secondary: r.Header.Get("X-RateLimit-Remaining") != "0"}
	case code == http.StatusUnauthorized && says("json web token", "jwt", "assertion", "integration"):
		e.kind = ErrForbidden
		e.Message += ": check the App ID, the private key and this machine's clock"
	case code == http.StatusUnauthorized:
		e.kind = ErrTransient // a fresh token is asked for next time
	case code == http.StatusUnavailableForLegalReasons, code == http.StatusForbidden && says("suspended", "access blocked"):
		e.kind = ErrGone
	case code == http.StatusForbidden && says("locked"):
		e.kind = ErrRefused
	case code == http.StatusForbidden:
		e.kind = ErrForbidden
		e.Permission = permission(r.Header.Get("X-Accepted-GitHub-Permissions"))
	case code == http.StatusNotFound:
		e.kind = ErrNotFound
	case code == http.StatusGone:
		e.kind = ErrNotFound
	case code == http.StatusConflict, code == http.StatusUnprocessableEntity, code == http.StatusBadRequest,
		code == http.StatusRequestEntityTooLarge, code == http.StatusMethodNotAllowed:
		e.kind = ErrRefused
	default:
		e.kind = ErrTransient
	}
	return e
}

// limitOf reads how long to wait from the headers of a limited answer.
func (a *App) limitOf(r *http.Response) time.Duration {
	if s, err := strconv.Atoi(r.Header.Get("Retry-After")); err == nil {
		return atLeast(time.Duration(s) * time.Second)
	}
	if s, err := strconv.ParseInt(r.Header.Get("X-RateLimit-Reset"), 10, 64); err == nil && r.Header.Get("X-RateLimit-Remaining") == "0" {
		return atLeast(time.Unix(s, 0).Sub(a.now()))
	}
	return time.Minute // GitHub's advice when it names no time
}

func atLeast(d time.Duration) time.Duration { return max(d, time.Second) }

// permission shortens "issues=write; pull_requests=write", GitHub's list of
// alternatives, to what a person reads.
func permission(header string) string {
	if len(header) > 200 {
		return ""
	}
	return strings.ReplaceAll(header, ";", " or")
}

// clean makes one short line of a message from outside.
func (a *App) clean(s string) string {
	s = strings.Join(strings.Fields(a.redact(s)), " ")
	if len(s) > 300 {
		s = strings.ToValidUTF8(s[:300], "") + " …"
	}
	return s
}
