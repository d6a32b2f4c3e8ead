package agent

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
)

// Instructions are files, one for each kind of work, with their version in the
// name: docs/prompts.md says what each is for. They hold nothing of a session,
// so that they are the same bytes at the beginning of every request.
//
//go:embed prompts/*.md
var files embed.FS

// The files of instructions in use.
const (
	investigatePrompt = "investigate.v1.md"
	refutePrompt      = "refute.v1.md"
	fixPrompt         = "fix.v1.md"
)

// prompt reads a file of instructions.
func prompt(name string) (Prompt, error) {
	text, err := files.ReadFile("prompts/" + name)
	if err != nil {
		return Prompt{}, err
	}
	sum := sha256.Sum256(text)
	return Prompt{File: name, Text: string(text), Hash: hex.EncodeToString(sum[:6])}, nil
}
