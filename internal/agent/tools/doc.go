// Package tools is what a model may do: look at the tree, ask git, run tests
// and experiments, read and write the board, and, for fixers only, edit. One
// file for each tool.
//
// A tool does what it says and nothing else, whatever the arguments are: files
// come from git's objects, so there is no folder that a path or a symbolic link
// could lead out of; commands run where the caller's interface runs them (the sandbox), never
// here. Every result is bounded and says what was cut. An error is written for
// the model: what was wrong and what to do instead.
//
// What a tool returns as Text may be hostile. The agent marks it as data.
package tools
