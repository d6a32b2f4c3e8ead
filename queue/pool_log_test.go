package queue_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"culprit/queue"
)

// A person who follows a delivery through the log finds every line about its
// job, from claim to report.
func TestPoolNamesJobAndDeliveryInEachLineAboutAJob(t *testing.T) {
	t.Parallel()
	r := newRig(t, time.Minute)
	id := r.enqueue(queue.Job{Delivery: "guid-1"})
	var log bytes.Buffer // read after the pool ended
	told := make(chan struct{})
	stop := r.start(queue.PoolOptions{
		Log:     slog.New(slog.NewJSONHandler(&log, nil)),
		Handler: queue.HandlerFunc(func(context.Context, *queue.Claim) queue.Outcome { panic("boom") }),
		Report:  func(context.Context, *queue.Report) error { return nil },
		Observe: func(e queue.Event) {
			if e.Kind == queue.EventReported {
				close(told)
			}
		},
	})
	<-told
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for dec := json.NewDecoder(&log); dec.More(); {
		var line map[string]any
		if err := dec.Decode(&line); err != nil {
			t.Fatal(err)
		}
		seen[line["msg"].(string)]++
		if line["job"] != id || line["delivery"] != "guid-1" {
			t.Errorf("not told whom it is about: %v", line)
		}
	}
	if seen["job claimed"] != 3 || seen["handler panicked"] != 3 || seen["job left this worker"] != 3 || seen["reported the end of a job"] != 1 {
		t.Errorf("lines: %v", seen)
	}
}
