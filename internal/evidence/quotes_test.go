package evidence

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"culprit/internal/session"
)

func TestQuotesThatAreNotThereAreStruck(t *testing.T) {
	t.Parallel()
	read := func(path string) ([]byte, error) {
		switch path {
		case "cart.go":
			return []byte("package cart\n\nfunc Total() int {\n\tsum  :=  1\n\tsum++\n\treturn sum\n}\n\n\n\n\n\n\n\n\n\nvar last = 1\n"), nil
		case "locked":
			return nil, errors.New("the disk is gone")
		}
		return nil, fs.ErrNotExist
	}
	for name, c := range map[string]struct {
		q    Quote
		line int // where it is kept; 0: struck
		why  string
	}{
		"as it stands":     {Quote{Path: "cart.go", Line: 4, Text: "sum := 1"}, 4, ""},
		"a part of a line": {Quote{Path: "cart.go", Line: 3, Text: "Total() int"}, 3, ""},
		"over lines":       {Quote{Path: "cart.go", Line: 4, Text: "sum := 1\n sum++"}, 4, ""},
		"some lines off":   {Quote{Path: "cart.go", Line: 1, Text: "return sum"}, 6, ""},
		"far away":         {Quote{Path: "cart.go", Line: 1, Text: "var last = 1"}, 0, `reads "package cart"`},
		"another text":     {Quote{Path: "cart.go", Line: 4, Text: "sum := 2"}, 0, `reads "sum  :=  1"`},
		"another file":     {Quote{Path: "shop.go", Line: 4, Text: "sum := 1"}, 0, "no such file"},
		"beyond its end":   {Quote{Path: "cart.go", Line: 400, Text: "sum := 1"}, 0, "has 18 lines"},
		"nothing":          {Quote{Path: "cart.go", Line: 7, Text: " } "}, 0, "quotes nothing"},
		"no line":          {Quote{Path: "cart.go", Text: "nowhere at all"}, 0, "has 18 lines"},
	} {
		kept, struck, err := CheckQuotes([]Quote{c.q}, read)
		switch {
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case c.line > 0 && (len(kept) != 1 || kept[0].Line != c.line):
			t.Errorf("%s: kept %v, struck %v", name, kept, struck)
		case c.line == 0 && (len(struck) != 1 || !strings.Contains(struck[0].Why, c.why)):
			t.Errorf("%s: kept %v, struck %v", name, kept, struck)
		}
	}
	if _, _, err := CheckQuotes([]Quote{{Path: "locked", Line: 1, Text: "anything"}}, read); err == nil {
		t.Error("a file that cannot be read is taken for one that is not there")
	}
}

func TestRunsThatWereNotMadeAreStruck(t *testing.T) {
	t.Parallel()
	record := []session.Entry{
		{Phase: "experiment", Source: "logs/a.log", Outcome: session.FailedSame},
		{Phase: "diagnosis", Source: "logs/b.log", Outcome: session.Passed},
	}
	kept, struck := CheckClaims([]Claim{
		{Log: "logs/a.log", Outcome: session.FailedSame}, {Log: "logs/a.log", Outcome: session.Passed},
		{Log: "logs/b.log", Outcome: session.Passed}, {Log: "", Outcome: session.Passed},
	}, record)
	if len(kept) != 1 || len(struck) != 3 || !strings.Contains(struck[0].Why, "its outcome was fail") || !strings.Contains(struck[1].Why, "no such run") {
		t.Errorf("kept %v, struck %v", kept, struck)
	}
}
