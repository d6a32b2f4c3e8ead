package embedded_test

import (
	"net"
	"testing"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"culprit/queue/embedded"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestServerIsForThisProcessAlone(t *testing.T) {
	t.Parallel()
	s, err := embedded.Start()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Client().Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	opts := s.Options()
	opts.Password = ""
	stranger := redis.NewClient(opts)
	if err := stranger.Get(t.Context(), "k").Err(); err == nil {
		t.Error("a stranger without the password was served")
	}
	_ = stranger.Close()
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if conn, err := net.Dial("tcp", opts.Addr); err == nil {
		_ = conn.Close()
		t.Error("listens after Close")
	}
}
