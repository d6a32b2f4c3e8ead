// Package streamfacts shows on a real Redis what
// docs/adr/0001-queue-on-redis-by-our-own-lua.md says of Redis Streams as a
// queue:
//
//	go test -v ./streamfacts
package streamfacts
