package toolchain_test

import (
	"testing"

	"culprit/internal/toolchain"
)

// Whatever two states of a dependency file hold: nothing panics, and no
// move leaves the file as it is.
func FuzzMoves(f *testing.F) {
	f.Add(true, oldMod, newMod)
	f.Add(false, "a==1.0 \\\n  --hash=sha256:00\nb~=2 # x\n", "A==1.1;python_version>'3'\nc\n")
	f.Add(true, "require a v1", "require (\n a v1 // indirect\n)")
	f.Fuzz(func(t *testing.T, goMod bool, old, new string) {
		file := "requirements.txt"
		if goMod {
			file = "go.mod"
		}
		moves, ok := toolchain.Moves(file, []byte(old), []byte(new))
		if !ok {
			t.Fatal("the format is known")
		}
		if same := toolchain.Carry(file, []byte(old), nil); string(same) != old {
			t.Fatalf("without a move %q becomes %q", old, same)
		}
		toolchain.Carry(file, []byte(old), moves)
		for _, m := range moves {
			m.Versions()
			if m.New != "" {
				m.Release("v1.2.3")
			}
		}
	})
}
