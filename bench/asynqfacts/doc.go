// Package asynqfacts shows, on hibiken/asynq 0.26 and a real Redis, what
// docs/adr/0001-queue-on-redis-by-our-own-lua.md says of it. Each test is one
// statement, and fails when it is no longer true of the version in go.mod:
//
//	go test -v ./asynqfacts
//
// Waiting is cut short in one way: where a worker died, the end of its lease is
// set back in Redis by five minutes instead of waiting for it. Everything else
// is done by asynq itself.
package asynqfacts
