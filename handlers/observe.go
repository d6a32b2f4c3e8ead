package handlers

import (
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
)

// Answered is what became of a delivery. Event and Status are from closed lists,
// so that they can name metrics.
type Answered struct {
	Event  string // one that is used, "other", or "unsigned" when nobody knows who sent it
	Status string // an Outcome, "refused" (4xx) or "error" (5xx)
	Code   int    // HTTP status
	Took   time.Duration
}

// What the handler leaves in the context for observed.
const (
	eventKey  = "culprit.event"
	statusKey = "culprit.status"
)

// observed tells Observe of each delivery.
func (s *server) observed(next echo.HandlerFunc) echo.HandlerFunc {
	if s.Observe == nil {
		return next
	}
	return func(c echo.Context) error {
		began := time.Now()
		err := next(c)
		a := Answered{Event: "unsigned", Code: c.Response().Status, Took: time.Since(began)}
		if he := (*echo.HTTPError)(nil); errors.As(err, &he) {
			a.Code = he.Code
		} else if err != nil {
			a.Code = http.StatusInternalServerError
		}
		if event, ok := c.Get(eventKey).(string); ok {
			a.Event = "other"
			if _, used := deciders[event]; used {
				a.Event = event
			}
		}
		switch status, ok := c.Get(statusKey).(string); {
		case ok:
			a.Status = status
		case a.Code >= 500:
			a.Status = "error"
		default:
			a.Status = "refused"
		}
		s.Observe(a)
		return err
	}
}
