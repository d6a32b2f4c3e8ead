package agent

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/openai/openai-go/v3"
)

// Retrying: half a second doubled each time, between half of that and all of
// it, at most maxBackoff. What the server asks for (Retry-After) is kept, up
// to maxRetryAfter; a server that asks for more is given up.
const (
	firstBackoff  = 500 * time.Millisecond
	maxBackoff    = 20 * time.Second
	maxRetryAfter = 2 * time.Minute
	maxAttempts   = 5
)

// errCut means that an answer ended before its end.
var errCut = errors.New("the answer was cut off")

// errStalled means that a stream brought nothing for too long.
var errStalled = errors.New("the model stopped in the middle of its answer")

// again says whether a failed call is worth another attempt, and after what
// time. n counts attempts from 1.
func again(err error, n int, now time.Time) (time.Duration, bool) {
	if n >= maxAttempts || !transient(err) {
		return 0, false
	}
	backoff := min(firstBackoff<<(n-1), maxBackoff)
	backoff = backoff/2 + rand.N(backoff/2)
	var api *openai.Error
	if errors.As(err, &api) && api.Response != nil {
		if asked, ok := retryAfter(api.Response.Header, now); ok {
			if asked > maxRetryAfter {
				return 0, false
			}
			// A little later than asked: everybody else was told the same.
			return asked + backoff/4, true
		}
	}
	return backoff, true
}

// transient tells errors that may pass from those that will not.
func transient(err error) bool {
	var api *openai.Error
	if errors.As(err, &api) {
		switch {
		case api.Code == "insufficient_quota":
			return false // money is short, not time
		case api.StatusCode == http.StatusRequestTimeout, api.StatusCode == http.StatusConflict, api.StatusCode == http.StatusTooManyRequests:
			return true
		}
		return api.StatusCode >= 500
	}
	var limit *LimitError
	// All else lies between here and the model: a connection that broke, a
	// stream that was cut, a gateway's page in place of an answer.
	return !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, errTooLong) && !errors.As(err, &limit)
}

// errGarbled means that what came is not what the API sends: a gateway's error
// page, half a document.
var errGarbled = errors.New("the server's answer is not what the API sends")

// retryAfter reads the wait that a server asks for.
func retryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms >= 0 {
		return time.Duration(ms * float64(time.Millisecond)), true
	}
	v := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(v, 64); err == nil && s >= 0 {
		return time.Duration(s * float64(time.Second)), true
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(0, at.Sub(now)), true
	}
	return 0, false
}

// nextModel says whether the fault lies with the model, so that the next one
// of the role is worth a try.
func nextModel(err error) bool {
	var api *openai.Error
	if errors.As(err, &api) {
		return api.StatusCode == http.StatusNotFound || api.StatusCode == http.StatusForbidden || api.Code == "model_not_found" || transient(err)
	}
	return transient(err)
}
