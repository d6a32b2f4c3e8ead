// Package report turns a session into every text that a person reads: the
// comment, the check run, the pull request and its commit, the reports of the
// session folder, the terminal's verdict, the JSON for machines, and the two
// scripts by which a reviewer re-runs the proof.
//
// Its contract:
//
//   - The first line says what happened and how sure it is. The facts are the
//     same in every text, because all are drawn from one view of the session.
//   - Nothing is claimed that the session does not hold. What was not checked
//     is said.
//   - Foreign text (names of tests and branches, messages, subjects, issues)
//     is shown and never obeyed: it cannot format, mention, close, link, hide
//     or run anything. See text.go.
//   - A text for GitHub has at most MaxText characters. What is too long is cut
//     at a row or a line with a note, so that tables and fences stay whole.
//
// Texts are templates in templates/, with goldens in testdata: one case is one
// JSON file with a session, and adding a case needs no Go.
package report
