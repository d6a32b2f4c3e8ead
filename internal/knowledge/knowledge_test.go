package knowledge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"culprit/internal/knowledge"
	"culprit/internal/session"
)

func openRedis(t *testing.T) (*knowledge.Redis, *miniredis.Miniredis) {
	t.Helper()
	server := miniredis.RunT(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	t.Cleanup(func() { client.Close() })
	return knowledge.OpenRedis(client), server
}

// ended is a session of day n that ended with a result about the tests.
func ended(repo string, n int, r session.Result, tests ...string) *session.Session {
	s := &session.Session{
		ID: fmt.Sprintf("202611%02d-debug-x", n), State: session.StateDone, Result: r,
		Source: session.Source{Repository: repo, Path: "/" + repo}, UpdatedAt: time.Date(2026, 11, n, 0, 0, 0, 0, time.UTC),
	}
	for _, t := range tests {
		s.Symptom.Failures = append(s.Symptom.Failures, session.Failure{Test: t, Kind: session.KindTest})
	}
	if r == session.ResultFlaky {
		s.Flake = &session.Flake{Count: session.Count{Runs: 20, Failures: 3}, Suspected: "order"}
	}
	return s
}

// Both stores answer the same.
func TestWhatSessionsFoundOfATestIsRecalledInItsRepositoryAlone(t *testing.T) {
	t.Parallel()
	x, _ := openRedis(t)
	dir := t.TempDir()
	learn := func(s *session.Session) {
		t.Helper()
		for range 2 { // a killed worker does it again
			if err := x.Learn(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
		data, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(dir, s.ID), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, s.ID, "session.json"), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	learn(ended("o/r", 1, session.ResultFlaky, "TestA", "TestB"))
	learn(ended("o/r", 3, session.ResultFixed, "TestA"))
	learn(ended("o/r", 4, session.ResultStopped, "TestA"))
	learn(ended("o/r", 5, session.ResultDuplicate, "TestA"))
	learn(ended("o/other", 6, session.ResultFlaky, "TestA"))
	learn(ended("o/r", 7, session.ResultFlaky, "TestC"))
	if err := os.MkdirAll(filepath.Join(dir, "20261108-debug-torn"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "20261108-debug-torn", "session.json"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, recall := range map[string]func(context.Context, *session.Session) ([]session.Past, error){"redis": x.Recall, "folders": knowledge.Folders{Dir: dir}.Recall} {
		got, err := recall(t.Context(), ended("o/r", 9, "", "TestA"))
		if err != nil || len(got) != 2 {
			t.Fatalf("%s: %+v, %v", name, got, err)
		}
		if got[0].Result != session.ResultFixed || got[1].Result != session.ResultFlaky || got[1].Flake.Failures != 3 || got[1].Why != "order" {
			t.Errorf("%s: %+v", name, got)
		}
		if got, err := recall(t.Context(), ended("o/r", 7, "", "TestC")); err != nil || len(got) != 0 {
			t.Errorf("%s: a session recalls itself: %+v, %v", name, got, err)
		}
		if got, err := recall(t.Context(), ended("o/r", 9, "")); err != nil || len(got) != 0 {
			t.Errorf("%s: a session without a test recalls %+v, %v", name, got, err)
		}
	}
	if got, err := (knowledge.Folders{Dir: filepath.Join(dir, "none")}).Recall(t.Context(), ended("o/r", 9, "", "TestA")); err != nil || got != nil {
		t.Errorf("without a folder: %+v, %v", got, err)
	}
}

func TestTheHistoryOfATestIsBounded(t *testing.T) {
	t.Parallel()
	x, server := openRedis(t)
	for n := 1; n <= 28; n++ {
		if err := x.Learn(t.Context(), ended("o/r", n, session.ResultInconclusive, "TestA")); err != nil {
			t.Fatal(err)
		}
	}
	got, err := x.Recall(t.Context(), ended("o/r", 29, "", "TestA"))
	if err != nil || len(got) != 20 || got[0].At.Day() != 28 || got[19].At.Day() != 9 {
		t.Errorf("%d records: %+v, %v", len(got), got, err)
	}
	server.FastForward(knowledge.Keep + time.Hour)
	if keys := server.Keys(); len(keys) != 0 {
		t.Errorf("it is kept for ever: %v", keys)
	}
	server.Close()
	if _, err := x.Recall(t.Context(), ended("o/r", 29, "", "TestA")); err == nil {
		t.Error("an absent Redis is no error")
	}
}
