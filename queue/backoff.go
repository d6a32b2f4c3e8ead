package queue

import (
	"math/rand/v2"
	"time"
)

// Backoff is the wait between attempts: Base, doubled with each failure up to
// Max, half of it random, so that jobs that failed together do not return
// together.
type Backoff struct {
	Base time.Duration // (10 s)
	Max  time.Duration // (15 min)
}

func (b Backoff) withDefaults() Backoff {
	setDefault(&b.Base, 10*time.Second)
	setDefault(&b.Max, 15*time.Minute)
	return b
}

// Delay before the attempt that follows the given number of failures (from 1).
// It is not shorter than retryAfter, which a server asked for (0: it did not);
// the random part then comes on top. random is in [0, 1).
func (b Backoff) Delay(failures int, retryAfter time.Duration, random float64) time.Duration {
	d := b.Base
	for i := 1; i < failures && d < b.Max; i++ {
		d *= 2
	}
	d = min(d, b.Max)
	d = d/2 + time.Duration(random*float64(d/2))
	if retryAfter > 0 && d < retryAfter {
		d = retryAfter + time.Duration(random*float64(b.Base))
	}
	return d
}

func (b Backoff) next(failures int, retryAfter time.Duration) time.Duration {
	return b.Delay(failures, retryAfter, rand.Float64()) // jitter needs no secrecy
}
