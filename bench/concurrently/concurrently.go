// Package concurrently spreads numbered pieces of work over goroutines, as each
// side of a comparison is loaded.
package concurrently

import "sync"

// Do calls do for each n below count. Worker w of 0 to workers-1 has the
// numbers w, w+workers, w+2*workers and so on, one after the other, and stops at
// its first error. Do returns when all workers have ended, with one of their
// errors.
func Do(workers, count int, do func(worker, n int) error) error {
	var wg sync.WaitGroup
	failed := make(chan error, workers)
	for w := range workers {
		wg.Go(func() {
			for n := w; n < count; n += workers {
				if err := do(w, n); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(failed)
	return <-failed
}
