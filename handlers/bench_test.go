package handlers_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"culprit/handlers"
	"culprit/queue"
)

// instant is a queue that takes everything at once.
type instant struct{}

func (instant) Enqueue(context.Context, queue.Job) (queue.Receipt, error) {
	return queue.Receipt{ID: "01kdyak348ygt44mk0", Outcome: queue.Enqueued}, nil
}

func (instant) CancelMatching(context.Context, queue.Match, string) ([]string, error) {
	return nil, nil
}

// What an answer costs without Redis and without the network: a payload as large
// as GitHub's, of which a decision reads little.
func BenchmarkWebhook(b *testing.B) {
	small, err := os.ReadFile("testdata/workflow_run.completed.json")
	if err != nil {
		b.Fatal(err)
	}
	links := strings.Repeat(`"x_url":"https://api.github.com/repos/octo/prices/commits{/sha}",`, 300)
	body := append([]byte("{"+links), bytes.TrimPrefix(bytes.TrimSpace(small), []byte("{"))...)
	const secret = "of-the-benchmark"
	h, err := handlers.New(handlers.Config{
		Secrets: []string{secret},
		Intake:  handlers.Intake{Rules: handlers.Rules{AppID: 1}, Queue: instant{}, Commands: instant{}},
	})
	if err != nil {
		b.Fatal(err)
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	signature := "sha256=" + hex.EncodeToString(mac.Sum(nil))
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		r := httptest.NewRequest(http.MethodPost, "/webhook", bytes.NewReader(body))
		for name, value := range map[string]string{
			"X-Hub-Signature-256": signature, "X-GitHub-Event": "workflow_run", "Content-Type": "application/json",
			"X-GitHub-Delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958",
		} {
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != http.StatusAccepted {
			b.Fatalf("answered %d: %s", w.Code, w.Body)
		}
	}
}
