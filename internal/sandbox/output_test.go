package sandbox

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestCappedOutputKeepsHeadAndTail compares with the obvious way of doing it,
// for any way of splitting the output into writes.
func TestCappedOutputKeepsHeadAndTail(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Int64Range(0, 40).Draw(t, "limit")
		chunks := rapid.SliceOfN(rapid.StringN(0, 30, 60), 0, 12).Draw(t, "chunks")
		var got strings.Builder
		c := newCapped(&got, limit)
		for _, chunk := range chunks {
			if n, err := c.Write([]byte(chunk)); n != len(chunk) || err != nil {
				t.Fatalf("write: %d %v", n, err)
			}
		}
		c.finish()
		all := strings.Join(chunks, "")
		want := all
		if cut := int64(len(all)) - limit; cut > 0 {
			tail := limit / 2
			head := limit - tail
			want = all[:head] + fmt.Sprintf("\n[... %d bytes of output cut here ...]\n", cut) + all[int64(len(all))-tail:]
		}
		if got.String() != want || c.total != int64(len(all)) {
			t.Fatalf("limit %d: got %q, want %q", limit, got.String(), want)
		}
	})
}

func TestOutputWithoutLimitIsWhole(t *testing.T) {
	t.Parallel()
	var got strings.Builder
	c := newCapped(&got, -1)
	long := strings.Repeat("x", 1<<20)
	_, _ = c.Write([]byte(long))
	c.finish()
	if got.String() != long || c.cut != 0 {
		t.Errorf("%d bytes, %d cut", got.Len(), c.cut)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("gone") }

func TestAReaderThatWentAwayDoesNotStopTheCommand(t *testing.T) {
	t.Parallel()
	c := newCapped(broken{}, 10)
	if n, err := c.Write([]byte("some text that is long")); n != 22 || err != nil {
		t.Errorf("%d %v", n, err)
	}
	c.finish()
}
