package github

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	gh "github.com/google/go-github/v62/github"
)

// KeepDeliveries is how long GitHub shows the deliveries of an App and sends
// them again (docs.github.com, "Redelivering webhooks"; Enterprise Server keeps
// them for 7 days).
const KeepDeliveries = 72 * time.Hour

// A HookDelivery is one attempt of GitHub to deliver a webhook to the App.
type HookDelivery struct {
	ID         int64  // of the attempt
	GUID       string // of the event: redeliveries have the same
	Event      string
	Action     string // empty for events without
	Code       int    // what the receiver answered; 502 and 504 stand for no connection and no answer in time
	Redelivery bool
	Delivered  time.Time
}

// Failed reports whether the attempt did not reach its receiver, or was
// refused. GitHub counts a redirect as delivered.
func (d HookDelivery) Failed() bool { return d.Code < 200 || d.Code > 399 }

// FailedDeliveries calls see for each failed delivery of the App's webhook since
// the given time, newest first (GH3). An Enterprise Server that does not know
// the filter lists all, so that they are looked through here too.
func (a *App) FailedDeliveries(ctx context.Context, since time.Time, see func(HookDelivery)) error {
	cursor := ""
	for {
		q := url.Values{"per_page": {"100"}, "status": {"failure"}}
		if cursor != "" {
			q.Set("cursor", cursor)
		}
		req, err := a.client.NewRequest("GET", "app/hook/deliveries?"+q.Encode(), nil)
		if err != nil {
			return fmt.Errorf("list the App's deliveries: %w", err)
		}
		var page []*gh.HookDelivery
		resp, err := a.client.Do(ctx, req, &page)
		if err := a.wrap("list the App's deliveries", err); err != nil {
			return err
		}
		for _, d := range page {
			if d.GetDeliveredAt().Before(since) {
				return nil
			}
			out := HookDelivery{
				ID: d.GetID(), GUID: d.GetGUID(), Event: d.GetEvent(), Action: d.GetAction(), Code: d.GetStatusCode(),
				Redelivery: d.GetRedelivery(), Delivered: d.GetDeliveredAt().Time,
			}
			if out.Failed() {
				see(out)
			}
		}
		if resp.Cursor == "" || resp.Cursor == cursor {
			return nil
		}
		cursor = resp.Cursor
	}
}

// DeliveryPayload reads what a delivery carried. It came over a connection that
// is signed in with the App's key, which proves its origin better than the
// signature of a webhook would. ErrNotFound: GitHub does not keep it any more.
func (a *App) DeliveryPayload(ctx context.Context, id int64) (json.RawMessage, error) {
	op := fmt.Sprintf("read delivery %d", id)
	if err := validID(op, id); err != nil {
		return nil, err
	}
	d, _, err := a.client.Apps.GetHookDelivery(ctx, id)
	if err := a.wrap(op, err); err != nil {
		return nil, err
	}
	payload := d.GetRequest().GetRawPayload()
	if len(payload) == 0 || string(payload) == "null" {
		return nil, &Error{Op: op, Message: "it has no payload", kind: ErrNotFound}
	}
	return payload, nil
}
