package agent

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"strings"
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
	synthesizePrompt  = "synthesize.v1.md"
	fixPrompt         = "fix.v1.md"
)

// prompt reads files of instructions as one. What several kinds of work have in
// common comes first.
func prompt(names ...string) (Prompt, error) {
	var text []byte
	for _, name := range names {
		part, err := files.ReadFile("prompts/" + name)
		if err != nil {
			return Prompt{}, err
		}
		text = append(text, part...)
	}
	sum := sha256.Sum256(text)
	return Prompt{File: strings.Join(names, "+"), Text: string(text), Hash: hex.EncodeToString(sum[:6])}, nil
}
