// Package eval replays bugs whose cause and fix are known and counts how often
// the product is right (feature BX6): was the failure reproduced, is the commit
// that was named the one that broke it, does the root cause point at the lines
// that the real fix changed, was a fix proved, does it pass a test that the
// session never saw, and what did it take.
//
// A manifest lists the cases; Load reads it strictly. Run takes each case to a
// Runner, judges what came out against what is known, and appends one line of
// JSON per case at once, so that a killed run goes on where it was. A case is
// skipped when a line of it is there that was made from the same case (its text
// and the files it names), by the same program and with the same settings.
//
// What is claimed and wrong is told apart from what is not claimed: "no" and
// "none" are different answers, since a wrong culprit costs people more than
// none. A case that could not be run, such as one whose repository cannot be
// had, is "not run" with the reason; it counts neither as right nor as wrong. A
// session that broke counts as a case in which nothing was found.
//
// The shares of a summary carry exact 95 % intervals (package
// experiment/rate): ten cases say little, and the table shows how little.
//
// The package itself starts nothing. What keeps the truth from the session is
// the Runner's work: see cmd/bot and checkout.Mirror.Excerpt.
package eval
