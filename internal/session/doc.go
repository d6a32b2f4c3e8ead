// Package session is the domain of Culprit: what a debugging session knows,
// in plain types, and the folder that holds it.
//
// A session begins with a symptom (a red CI run, an issue, a failing command),
// reproduces it, tests hypotheses by experiment, and ends with an outcome that
// a person can check. Everything that is known stands in the session folder in
// formats that cat, jq, a spreadsheet and git diff can read; session.json and
// tasks.csv are the truth, and whoever holds the folder can go on with the
// session on another machine (CR22).
//
// The package imports the standard library only, and nothing of ours. Every
// other package speaks in its types; none of them is needed to read a folder.
//
// Times are UTC, durations are time.Duration (nanoseconds in JSON fields whose
// name ends in _ns, milliseconds where it ends in _ms), paths are relative to
// the repository root with forward slashes, locations are "path:line".
package session
