package queue

import (
	"bytes"
	"testing"
)

func FuzzUnpackUndoesPack(f *testing.F) {
	f.Add([]byte(nil))
	f.Add(bytes.Repeat([]byte("a"), 1<<20))
	f.Fuzz(func(t *testing.T, state []byte) {
		packed, err := pack(state)
		if err != nil {
			t.Fatal(err)
		}
		got, err := unpack(packed)
		if err != nil || !bytes.Equal(got, state) {
			t.Fatalf("%d bytes came back as %d: %v", len(state), len(got), err)
		}
		_, _ = unpack(state) // must neither panic nor grow without bound
	})
}
