// Package pipeline is the brain: which stages a session passes, what each of
// them decides, and what is durable before anything visible happens.
//
// A mode is a list of stages (the table in stages.go). A stage is one file: it
// reads and changes the session, asks the world through the small interfaces
// of ports.go, and returns a typed outcome: Advance, Rework, Ask or Stop. The
// runner alone moves from stage to stage: it saves the session before and
// after each, keeps time and budget, counts reworks, and publishes progress.
// Killing the process between any two instructions therefore loses at most the
// stage that was running, and its paid experiments are answered from the
// session's record when it runs again.
//
// The package does no I/O of its own and imports nothing that does; cmd/bot
// plugs the adapters in.
package pipeline
