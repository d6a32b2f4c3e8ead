package experiment_test

import (
	"strings"
	"testing"

	"culprit/internal/session"
)

func TestSuspiciousLinesAreThoseOfTheFailingTestAlone(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	r.commit(map[string]string{
		"go.mod": "module example.com/app\n\ngo 1.21\n",
		"price/price.go": `package price

func Format(cents int) string {
	if cents < 0 {
		return "+" + Format(-cents)
	}
	if cents == 0 {
		return "0"
	}
	return digits(cents)
}

func digits(n int) string {
	out := ""
	for ; n > 0; n /= 10 {
		out = string(rune('0'+n%10)) + out
	}
	return out
}
`,
		"price/price_test.go": `package price

import "testing"

func TestFormat(t *testing.T) {
	for name, c := range map[string]struct{ in int; want string }{
		"one": {1, "1"}, "many (all)": {123, "123"}, "refund": {-5, "-5"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Format(c.in); got != c.want {
				t.Fatalf("%q", got)
			}
		})
	}
}

func TestZero(t *testing.T) {
	if Format(0) != "0" {
		t.Fatal()
	}
}
`,
	})
	failure := session.Failure{Framework: "go test", Package: "example.com/app/price", File: "price/price_test.go", Test: "TestFormat/refund", Line: 11, Kind: session.KindTest}
	l, s, p := openKit(t, r, failure, goCaches(t))
	lines, from, err := l.Suspicious(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if len(lines) == 0 || lines[0].File != "price/price.go" || lines[0].Line != 4 || lines[0].To != 6 || lines[0].Score != 1 || lines[0].Passing != 0 {
		t.Fatalf("%s: %+v", from, lines)
	}
	if from != "1 failing and 3 passing tests" || len(p.count) != 1 {
		t.Errorf("%s, %d commands", from, len(p.count))
	}
	for _, line := range lines[1:] {
		if line.Score >= 1 || line.Passing == 0 || strings.HasSuffix(line.File, "_test.go") {
			t.Errorf("%+v", line)
		}
	}
}
