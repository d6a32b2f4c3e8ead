package main

import (
	"bufio"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// A delivery is what GitHub sent, and an attacker may have seen.
type delivery struct {
	header http.Header
	body   []byte
}

func sign(h func() hash.Hash, secret string, body []byte) string {
	m := hmac.New(h, []byte(secret))
	m.Write(body)
	return hex.EncodeToString(m.Sum(nil))
}

// request writes a delivery as it goes over the wire, with changes.
func (d delivery) request(change map[string]string, body []byte) string {
	h := map[string]string{"Host": "bot", "Content-Length": fmt.Sprint(len(body)), "Connection": "close"}
	for _, name := range []string{"Content-Type", "X-Github-Event", "X-Github-Delivery", "X-Hub-Signature-256"} {
		h[name] = d.header.Get(name)
	}
	for name, value := range change {
		h[name] = value
	}
	var out strings.Builder
	out.WriteString("POST /webhook HTTP/1.1\r\n")
	for name, value := range h {
		if value != "-" {
			fmt.Fprintf(&out, "%s: %s\r\n", name, value)
		}
	}
	return out.String() + "\r\n" + string(body)
}

// captured lets GitHub send one red run, and returns the delivery that would
// start a session, which nobody has got yet.
func captured(t *testing.T, w *world, p smallProject) delivery {
	t.Helper()
	got := make(chan delivery, 100)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- delivery{r.Header.Clone(), body}
	}))
	defer s.Close()
	if err := w.github.SetWebhook(w.app.ID, s.URL, w.app.WebhookSecret); err != nil {
		t.Fatal(err)
	}
	w.redCI("main", p.log)
	close(got)
	for d := range got {
		if d.header.Get("X-Github-Event") == "workflow_run" {
			return d
		}
	}
	t.Fatal("GitHub sent no workflow_run")
	return delivery{}
}

// An edgeAttempt is what somebody without the secret sends. The answer must be
// the status, or 0: the connection ends without one.
type edgeAttempt struct {
	name   string
	send   string
	status []int
}

func edgeAttempts(d delivery, secret string) []edgeAttempt {
	other := append(slices.Clone(d.body[:len(d.body)-1]), " }"...)
	deep := []byte(`{"action":` + strings.Repeat("[", 200_000) + strings.Repeat("]", 200_000) + "}")
	signed := func(body []byte) map[string]string {
		return map[string]string{"X-Hub-Signature-256": "sha256=" + sign(sha256.New, secret, body)}
	}
	set := func(name, value string) map[string]string { return map[string]string{name: value} }
	refused := []int{http.StatusUnauthorized}
	bad := []int{http.StatusBadRequest}
	return []edgeAttempt{
		{name: "no signature", send: d.request(set("X-Hub-Signature-256", "-"), d.body), status: refused},
		{name: "empty signature", send: d.request(set("X-Hub-Signature-256", ""), d.body), status: refused},
		{name: "signature by SHA-1", send: d.request(set("X-Hub-Signature-256", "sha1="+sign(sha1.New, secret, d.body)), d.body), status: refused},
		{name: "signature with another secret", send: d.request(set("X-Hub-Signature-256", "sha256="+sign(sha256.New, "guess", d.body)), d.body), status: refused},
		{name: "signature with an empty secret", send: d.request(set("X-Hub-Signature-256", "sha256="+sign(sha256.New, "", d.body)), d.body), status: refused},
		{name: "half a signature", send: d.request(set("X-Hub-Signature-256", d.header.Get("X-Hub-Signature-256")[:40]), d.body), status: refused},
		{name: "signature in no hexadecimal", send: d.request(set("X-Hub-Signature-256", "sha256="+strings.Repeat("z", 64)), d.body), status: refused},
		{name: "two signatures, the second one right", send: strings.Replace(d.request(nil, d.body), "POST /webhook HTTP/1.1\r\n", "POST /webhook HTTP/1.1\r\nX-Hub-Signature-256: sha256="+strings.Repeat("0", 64)+"\r\n", 1), status: []int{401, 202, 200}},
		{name: "right signature of another body", send: d.request(nil, other), status: refused},
		{name: "body in a compression that nobody asked for", send: d.request(set("Content-Encoding", "gzip"), other), status: refused},
		{name: "another type of content", send: d.request(set("Content-Type", "text/plain"), d.body), status: []int{415}},
		{name: "line break in the delivery's number", send: d.request(set("X-Github-Delivery", "x\\r\\n\x1b[2J"), d.body), status: bad},
		{name: "delivery's number of 60 kB", send: d.request(set("X-Github-Delivery", strings.Repeat("a", 60_000)), d.body), status: bad},
		{name: "event that is a path", send: d.request(set("X-Github-Event", "../../etc"), d.body), status: bad},
		{name: "nested 200,000 deep", send: d.request(signed(deep), deep), status: bad},
		{name: "not UTF-8", send: d.request(signed([]byte("{\"a\":\"\xff\xfe\"}")), []byte("{\"a\":\"\xff\xfe\"}")), status: bad},
		{name: "26 MB announced", send: d.request(set("Content-Length", "27000000"), nil), status: []int{413}},
		{name: "negative length", send: d.request(set("Content-Length", "-1"), nil), status: bad},
		{name: "length and chunks at once", send: d.request(set("Transfer-Encoding", "chunked"), []byte("0\r\n\r\nPOST /webhook HTTP/1.1\r\nHost: x\r\n\r\n")), status: []int{400, 401}},
		{name: "headers of 1 MB", send: "GET / HTTP/1.1\r\nHost: bot\r\n" + strings.Repeat("X-A: "+strings.Repeat("b", 1000)+"\r\n", 1000) + "\r\n", status: []int{431, 0}},
		{name: "headers that do not end", send: "POST /webhook HTTP/1.1\r\nHost: bot\r\nX-A: b", status: []int{408, 400, 0}},
		{name: "body that does not end", send: d.request(set("Content-Length", "1000"), []byte("{")), status: []int{400, 408, 0}},
		{name: "no HTTP", send: "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", status: []int{400, 0}},
		{name: "HTTP/2 without TLS", send: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", status: []int{400, 404, 405, 505, 0}},
		{name: "another method", send: "PUT /webhook HTTP/1.1\r\nHost: bot\r\nConnection: close\r\n\r\n", status: []int{405}},
		{name: "TRACE", send: "TRACE / HTTP/1.1\r\nHost: bot\r\nConnection: close\r\n\r\n", status: []int{405}},
		{name: "use as a proxy", send: "GET http://169.254.169.254/ HTTP/1.1\r\nHost: 169.254.169.254\r\nConnection: close\r\n\r\n", status: []int{200, 404}},
		{name: "tunnel", send: "CONNECT 127.0.0.1:6379 HTTP/1.1\r\nHost: bot\r\n\r\n", status: []int{404, 405, 400}},
		{name: "redirect to another site", send: "GET //evil.example/%2e%2e HTTP/1.1\r\nHost: bot\r\nConnection: close\r\n\r\n", status: []int{404}},
		{name: "files", send: "GET /../../etc/passwd HTTP/1.1\r\nHost: bot\r\nConnection: close\r\n\r\n", status: []int{404, 400}},
		{name: "metrics", send: "GET /metrics HTTP/1.1\r\nHost: bot\r\nConnection: close\r\n\r\n", status: []int{404}},
		{name: "profiles", send: "GET /debug/pprof/ HTTP/1.1\r\nHost: bot\r\nConnection: close\r\n\r\n", status: []int{404}},
		{name: "set-up pages", send: "GET /setup?secret=x HTTP/1.1\r\nHost: bot\r\nConnection: close\r\n\r\n", status: []int{404}},
	}
}

// Whoever has no secret starts nothing and keeps nobody from being served; and
// what was sent once counts once.
func TestAttacksAtTheEdge(t *testing.T) {
	t.Parallel()
	p := newSmallProject(t)
	w := newWorld(t, realRedis(t, "pw-of-a-test").url, p)
	d := captured(t, w, p)
	bot := w.launchWeb("--recover", "1h")
	jobs := func() (n int) {
		stats, err := w.openQueue().Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, depth := range stats.Depth {
			n += depth
		}
		return n
	}
	before := jobs() // deliveries that failed are recovered at start
	var table strings.Builder
	list := edgeAttempts(d, w.app.WebhookSecret)
	for _, a := range list {
		status := bot.exchange(t, a)
		if !slices.Contains(a.status, status) {
			t.Errorf("%s: answered %d, want one of %v", a.name, status, a.status)
		}
		if n := jobs(); n != before && a.name != "two signatures, the second one right" {
			t.Errorf("%s: there are %d jobs, and there were %d", a.name, n, before)
		}
		fmt.Fprintf(&table, "%-48s %d\n", a.name, status)
	}
	good := edgeAttempt{send: d.request(nil, d.body)}
	first := bot.exchange(t, good)
	after := jobs()
	for _, again := range []map[string]string{nil, {"X-Github-Delivery": "another-number"}} {
		bot.exchange(t, edgeAttempt{send: d.request(again, d.body)})
	}
	if n := jobs(); first/100 != 2 || n != after || n == 0 {
		t.Errorf("answered %d; %d jobs after the delivery, %d after it was sent again", first, after, n)
	}
	t.Logf("%d attempts at the edge, 2 replays\n%s", len(list), table.String())
}

// exchange sends bytes and returns the status, 0 when the connection ends
// without an answer.
func (p *botProcess) exchange(t *testing.T, a edgeAttempt) int {
	t.Helper()
	c, err := net.Dial("tcp", p.addr)
	if err != nil {
		t.Fatalf("%s: the bot is gone: %v", a.name, err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(40 * time.Second)); err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(c, a.send) // it may hang up in between
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		if ne := net.Error(nil); errors.As(err, &ne) && ne.Timeout() {
			t.Errorf("%s: the connection is held open", a.name)
		}
		return 0
	}
	defer resp.Body.Close()
	return resp.StatusCode
}
