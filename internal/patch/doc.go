// Package patch reads, splits, recombines, writes and judges changes to files,
// as bytes and without touching a disk or calling git.
//
// Split turns the output of git diff into hunks, the unit in which the rest of
// the product thinks: the minimiser keeps and drops them, the fix reverts
// them, the report shows them. Apply puts any subset of one file's hunks onto
// the old side, Reverse takes any subset off the new side, and the two agree:
// applying a subset gives the same bytes as reversing its complement. There is
// no fuzz and no guessing; where a hunk's old lines are not what stands there,
// the answer is an error.
//
// Everything is bytes. Line ends, a missing newline at the end of a file and
// text that is no UTF-8 come out as they went in.
//
// Check is the policy that a change must pass before it may be published:
// which paths it may never touch, how large it may be, and the rule that a fix
// never deletes or weakens a test (GH6, CR15).
package patch
