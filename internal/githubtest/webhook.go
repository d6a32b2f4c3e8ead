package githubtest

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // GitHub still sends the old header beside the new one
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"
)

// delivery is one attempt to deliver a webhook.
type delivery struct {
	Delivery
	app            *app
	installationID int64
	repositoryID   int64
	request        http.Header
	response       http.Header
	answer         string
	url            string
	finished       bool
}

// deliveryQueue hands deliveries to the sender, in order.
type deliveryQueue struct {
	mu      sync.Mutex
	cond    *sync.Cond
	waiting []*delivery
	busy    bool
	closed  bool
	held    bool
}

func newDeliveryQueue() *deliveryQueue {
	q := &deliveryQueue{}
	q.cond = sync.NewCond(&q.mu)
	return q
}

func (q *deliveryQueue) add(d *delivery) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, d)
	q.cond.Broadcast()
}

// next waits for a delivery; nil when the queue is closed.
func (q *deliveryQueue) next() *delivery {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.busy = false
	q.cond.Broadcast()
	for !q.closed && (q.held || len(q.waiting) == 0) {
		q.cond.Wait()
	}
	if q.closed {
		return nil
	}
	d := q.waiting[0]
	q.waiting, q.busy = q.waiting[1:], true
	return d
}

func (q *deliveryQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.cond.Broadcast()
}

// HoldDeliveries keeps webhooks back, or lets them go, in their order.
func (s *Server) HoldDeliveries(held bool) {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	s.queue.held = held
	s.queue.cond.Broadcast()
}

// WaitDeliveries waits until every webhook caused so far has been answered or
// has failed.
func (s *Server) WaitDeliveries(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() {
		s.queue.mu.Lock()
		defer s.queue.mu.Unlock()
		s.queue.cond.Broadcast()
	})
	defer stop()
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	for !s.queue.closed && ctx.Err() == nil && (s.queue.busy || len(s.queue.waiting) > 0) {
		s.queue.cond.Wait()
	}
	return ctx.Err()
}

// enqueue queues one event for one App.
func (s *Server) enqueue(a *app, event, action string, in *installation, r *repository, payload obj) {
	if a.WebhookURL == "" {
		return
	}
	d := &delivery{Delivery: Delivery{ID: s.id(), GUID: newGUID(), Event: event, Action: action, Payload: encodeJSON(payload)}, app: a}
	if in != nil {
		d.installationID = in.id
	}
	if r != nil {
		d.repositoryID = r.id
	}
	if s.opts.Observer != nil {
		s.opts.Observer.Sent(event, action, d.Payload)
	}
	a.deliveries = append(a.deliveries, d)
	s.queue.add(d)
}

// Redeliver sends a logged delivery again, with the same GUID.
func (s *Server) Redeliver(appID, deliveryID int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.appByID(appID)
	if a == nil || a.delivery(deliveryID) == nil {
		return fmt.Errorf("redeliver %d: App %d has no such delivery", deliveryID, appID)
	}
	s.redeliver(a.delivery(deliveryID))
	return nil
}

func (a *app) delivery(id int64) *delivery {
	for _, d := range a.deliveries {
		if d.ID == id && d.finished {
			return d
		}
	}
	return nil
}

// kept reports whether the API still shows a delivery.
func (d *delivery) kept(now time.Time) bool {
	return d.finished && now.Sub(d.Delivered) < keepDeliveries
}

func (s *Server) redeliver(old *delivery) {
	d := &delivery{
		Delivery: Delivery{
			ID: s.id(), GUID: old.GUID, Event: old.Event, Action: old.Action, Payload: old.Payload, Redelivery: true,
		},
		app: old.app, installationID: old.installationID, repositoryID: old.repositoryID,
	}
	old.app.deliveries = append(old.app.deliveries, d)
	s.queue.add(d)
}

// deliverQueued sends deliveries until the server closes.
func (s *Server) deliverQueued() {
	client := &http.Client{
		Timeout:   s.opts.WebhookTimeout,
		Transport: &http.Transport{Proxy: nil, DialContext: (&net.Dialer{Timeout: s.opts.WebhookTimeout}).DialContext},
		// GitHub does not follow redirects.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	defer client.CloseIdleConnections()
	for d := s.queue.next(); d != nil; d = s.queue.next() {
		s.deliver(client, d)
	}
}

func (s *Server) deliver(client *http.Client, d *delivery) {
	s.mu.Lock()
	d.url = d.app.WebhookURL
	d.Delivered = s.now()
	d.request = http.Header{
		"Accept": {"*/*"}, "Content-Type": {"application/json"}, "User-Agent": {"GitHub-Hookshot/c0de123"},
		"X-Github-Delivery": {d.GUID}, "X-Github-Event": {d.Event}, "X-Github-Hook-Id": {strconv.FormatInt(d.app.hookID, 10)},
		"X-Github-Hook-Installation-Target-Id":   {strconv.FormatInt(d.app.ID, 10)},
		"X-Github-Hook-Installation-Target-Type": {"integration"},
		"X-Hub-Signature":                        {"sha1=" + sign(sha1.New, d.app.WebhookSecret, d.Payload)},
		"X-Hub-Signature-256":                    {"sha256=" + sign(sha256.New, d.app.WebhookSecret, d.Payload)},
	}
	s.mu.Unlock()

	start := time.Now()
	status, code, header, answer := post(s.ctx, client, d)
	s.mu.Lock()
	defer s.mu.Unlock()
	d.Status, d.Code, d.response, d.answer, d.Duration, d.finished = status, code, header, answer, time.Since(start), true
	s.logf("webhook %s.%s to %s: %d %s", d.Event, d.Action, d.url, code, status)
}

// sign is the hex HMAC that proves a payload's origin.
func sign(h func() hash.Hash, secret string, payload []byte) string {
	mac := hmac.New(h, []byte(secret))
	mac.Write(payload)
	return hex.EncodeToString(mac.Sum(nil))
}

func post(ctx context.Context, client *http.Client, d *delivery) (status string, code int, header http.Header, answer string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.url, bytes.NewReader(d.Payload))
	if err != nil {
		return "failed to connect to host", http.StatusBadGateway, nil, err.Error()
	}
	req.Header = d.request.Clone()
	resp, err := client.Do(req)
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) || os.IsTimeout(err) {
			return "timed out", http.StatusGatewayTimeout, nil, ""
		}
		return "failed to connect to host", http.StatusBadGateway, nil, ""
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	status = http.StatusText(resp.StatusCode)
	if resp.StatusCode < 300 {
		status = "OK"
	}
	return status, resp.StatusCode, resp.Header, string(body)
}

func newGUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:])
}
