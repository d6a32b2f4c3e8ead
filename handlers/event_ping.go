package handlers

// decidePing answers GitHub's test of a new webhook.
func decidePing(Rules, string, []byte) (Decision, error) {
	return ignore("pong: the webhook is set up"), nil
}
