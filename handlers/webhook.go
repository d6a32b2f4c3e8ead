package handlers

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/labstack/echo/v4"
)

// webhook takes one delivery. The order of its steps is its security: size,
// signature, content type, headers, payload.
func (s *server) webhook(c echo.Context) error {
	r := c.Request()
	signature := r.Header.Get("X-Hub-Signature-256")
	if signature == "" {
		return echo.NewHTTPError(http.StatusUnauthorized, "X-Hub-Signature-256 is missing: set a secret in the App's webhook settings")
	}
	body, err := s.readBody(c)
	if err != nil {
		return err
	}
	if !signed(body, signature, s.Secrets) {
		return echo.NewHTTPError(http.StatusUnauthorized, "signature does not match: the webhook secret of the App and of this server differ")
	}
	payload, err := payloadOf(r.Header.Get("Content-Type"), body)
	if err != nil {
		return err
	}
	event, delivery := r.Header.Get("X-GitHub-Event"), r.Header.Get("X-GitHub-Delivery")
	if !token(event) || (delivery != "" && !token(delivery)) {
		return echo.NewHTTPError(http.StatusBadRequest, "X-GitHub-Event or X-GitHub-Delivery is missing or malformed")
	}
	c.Set(eventKey, event)
	log := s.Logger.With("event", event, "delivery", delivery)
	decision, err := Decide(s.Rules, event, delivery, payload)
	if err != nil {
		log.Warn("payload refused", "error", err)
		return echo.NewHTTPError(http.StatusBadRequest, "payload is not what GitHub sends for this event")
	}
	result, err := s.CarryOut(r.Context(), decision, time.Time{})
	if err != nil {
		// Not 2xx, so that the delivery counts as failed and is found again (GH3).
		log.Error("delivery is not taken", "error", err)
		return c.JSON(http.StatusServiceUnavailable, answer{Status: "error", Reason: "the queue is away: deliver again later"})
	}
	c.Set(statusKey, string(result.Outcome))
	code := http.StatusAccepted
	if result.Outcome == Ignored {
		code = http.StatusOK
	}
	log.Info("delivery", "status", result.Outcome, "reason", result.Reason, "job", result.Job)
	return c.JSON(code, answer{Status: string(result.Outcome), Reason: result.Reason, Job: result.Job})
}

// readBody reads at most MaxBody bytes.
func (s *server) readBody(c echo.Context) ([]byte, error) {
	tooLarge := echo.NewHTTPError(http.StatusRequestEntityTooLarge, "payload is larger than GitHub sends (25 MB)")
	r := c.Request()
	if r.ContentLength > s.MaxBody {
		return nil, tooLarge
	}
	size := r.ContentLength
	if size < 0 {
		size = s.MaxBody
	}
	if size > smallBody {
		if !s.large.TryAcquire(size) {
			return nil, echo.NewHTTPError(http.StatusServiceUnavailable, "too many large deliveries at a time: deliver again later")
		}
		defer s.large.Release(size)
	}
	var buf bytes.Buffer
	if r.ContentLength > 0 && size <= smallBody {
		buf.Grow(int(r.ContentLength) + bytes.MinRead) // at once; what is announced may not come
	}
	_, err := buf.ReadFrom(http.MaxBytesReader(c.Response(), r.Body, s.MaxBody))
	if over := (*http.MaxBytesError)(nil); errors.As(err, &over) {
		return nil, tooLarge
	}
	if err != nil {
		return nil, echo.NewHTTPError(http.StatusBadRequest, "payload ended early")
	}
	return buf.Bytes(), nil
}

// signed compares the signature with that of each secret, in time that tells
// nothing about either.
func signed(body []byte, header string, secrets []string) bool {
	sum, ok := strings.CutPrefix(header, "sha256=")
	if !ok {
		return false
	}
	got, err := hex.DecodeString(sum)
	if err != nil || len(got) != sha256.Size {
		return false
	}
	match := false
	for _, secret := range secrets {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write(body)
		match = hmac.Equal(mac.Sum(nil), got) || match
	}
	return match
}

// payloadOf takes the JSON out of a body: GitHub offers to send it as it is or
// as the field "payload" of a form.
func payloadOf(contentType string, body []byte) ([]byte, error) {
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		kind = ""
	}
	switch kind {
	case "application/json":
	case "application/x-www-form-urlencoded":
		form, err := url.ParseQuery(string(body))
		if err != nil || !form.Has("payload") {
			return nil, echo.NewHTTPError(http.StatusBadRequest, "form has no field payload")
		}
		body = []byte(form.Get("payload"))
	default:
		return nil, echo.NewHTTPError(http.StatusUnsupportedMediaType, "set the webhook's content type to application/json")
	}
	if !utf8.Valid(body) {
		return nil, echo.NewHTTPError(http.StatusBadRequest, "payload is not UTF-8")
	}
	return body, nil
}

// token reports whether a header is a plain short word, as GitHub's are: it
// goes into keys and logs.
func token(s string) bool {
	if s == "" || len(s) > 100 {
		return false
	}
	return !strings.ContainsFunc(s, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_'
	})
}
