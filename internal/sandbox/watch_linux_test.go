package sandbox

import "testing"

func TestStatIsReadWhateverTheCommandIsCalled(t *testing.T) {
	t.Parallel()
	const rest = " S 7 8 9 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 3 0 12345 1000000 77 18446744073709551615 1 1"
	for _, name := range []string{"(sh)", "(a b) R 1 1 1)", "())", "(\n)"} {
		s, ok := parseStat(42, []byte("42 "+name+rest))
		if !ok || s.parent != 7 || s.group != 8 || s.session != 9 || s.threads != 3 || s.started != "12345" || s.pages != 77 || s.state != 'S' {
			t.Errorf("%q: %+v %v", name, s, ok)
		}
	}
	for _, bad := range []string{"", "42", "42 (sh) S 1", ")"} {
		if _, ok := parseStat(1, []byte(bad)); ok {
			t.Errorf("took %q", bad)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("1 (x) S 1 1 1"))
	f.Fuzz(func(t *testing.T, data []byte) { parseStat(1, data) })
}
