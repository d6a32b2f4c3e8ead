// Package workflow reads a GitHub Actions workflow file as the runner would,
// and says what of it can be done on this machine: the commands that came
// before the failing step, the failing step's own command with its folder,
// shell and environment, and a list of what differs here (QD3, DB2, BX4).
//
// It is pure. A repository's files come through Query.Read, what this machine
// has through Query.Here. Everything that it reads is hostile: sizes, nesting,
// aliases and the number of matrix combinations are bounded, and bad input ends
// in a Difference, never in a panic. It runs nothing. The scripts that it
// returns are the repository's own text and belong into the sandbox.
//
// It is honest. An expression is evaluated only where its value is known from
// the file, the matrix or the run; anything else (secrets, outputs of actions,
// variables of the repository) is unknown, and what depends on it is left out
// and listed. Actions of others are not run: the well-known ones that install a
// tool become a comparison of versions, the rest a difference. Nothing is
// dropped in silence except steps that only check or publish, because they
// prepare nothing.
//
// The file is parsed by actionlint's parser. It stays at v1.7.7: later
// releases are built on a pre-release of go.yaml.in/yaml/v4 whose interface
// changed before v4.0.0. What v1.7.7 does not know, YAML anchors, is resolved
// before.
package workflow
