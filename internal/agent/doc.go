// Package agent lets a language model work on one task of a session: look for
// the cause of a failure, or make a fix, with tools and within limits.
//
// What a model says is a claim, never a fact. The package brings it to the
// point where it can be checked: a report in a fixed form, held against its
// schema, from a worker that reports exactly once (QD8). Whether the quoted
// lines are there and the claimed runs were made is looked up by CheckQuotes
// and by the pipeline, and what does not match is struck.
//
// The parts, from the bottom:
//
//   - Client speaks to any OpenAI-compatible server. It streams, retries with
//     its own policy, falls back to the next model of a role, finds out what a
//     server cannot do and goes on without it (ability.go), and writes one line
//     for every call (DB9).
//   - Budget is asked before each call and told after it. At the limit the work
//     ends with what it has.
//   - Run is the tool loop: a conversation whose beginning never changes, so
//     that providers' caches hit; tool output that is capped, paged and dropped
//     when it is old; and an end for every way in which a model can go on for
//     ever or stop without a word.
//   - Investigator and Fixer are what the pipeline sees.
//
// Everything that comes from the repository, from logs or from people stands
// in marked blocks with a random boundary (data.go) and never in instructions.
// Everything that is sent or stored passes the redactor first (BX5). No tool
// holds a credential, and nothing here starts a program.
package agent
