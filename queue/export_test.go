package queue

// Enqueueing tells how many calls of Enqueue's script are under way, and how many
// jobs wait for them.
func (q *Queue) Enqueueing() (calls, waiting int) {
	q.enqueues.mu.Lock()
	defer q.enqueues.mu.Unlock()
	return q.enqueues.calls, len(q.enqueues.waiting)
}
