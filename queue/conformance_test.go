package queue_test

import (
	"testing"

	"go.uber.org/goleak"

	"culprit/queue/queuetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformanceOnRedis(t *testing.T) {
	t.Parallel()
	queuetest.Run(t, queuetest.Real(t))
}

func TestConformanceOnEmbedded(t *testing.T) {
	t.Parallel()
	queuetest.Run(t, queuetest.Embedded(t))
}
