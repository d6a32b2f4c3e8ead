package strictyaml

import (
	"reflect"
	"strings"
	"testing"
)

type crate struct {
	Line   Line
	Name   string  `yaml:"name" doc:"What it is called." example:"a"`
	Weight int     `yaml:"weight" min:"1" max:"9" doc:"Kilograms." example:"3"`
	Parts  []crate `yaml:"parts" max:"2"`
	hidden string
}

func TestEntriesOfAListKnowTheirLine(t *testing.T) {
	t.Parallel()
	var got crate
	if problems := Read([]byte("name: a\nparts:\n  - name: b\n    weight: 2\n  - weight: 3\n"), 1<<10, &got); len(problems) > 0 {
		t.Fatal(problems)
	}
	want := crate{Line: 1, Name: "a", Parts: []crate{{Line: 3, Name: "b", Weight: 2}, {Line: 5, Weight: 3}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestProblemsInAListNameTheEntryAndComeInOrder(t *testing.T) {
	t.Parallel()
	var got crate
	problems := Read([]byte("parts:\n  - name: ''\n    weight: 10\n  - nam: b\n\"\": x\n"), 1<<10, &got)
	var lines []string
	for _, p := range problems {
		lines = append(lines, p.String())
	}
	want := []string{
		"line 2: parts[0].name: want a text of 1 to 1024 bytes",
		"line 3: parts[0].weight: want a whole number from 1 to 9",
		`line 4: parts[1]."nam": is not a setting; there are name, weight, parts`,
		`line 5: "": is not a setting; there are name, weight, parts`,
	}
	if !reflect.DeepEqual(lines, want) || got.hidden != "" {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
}

func TestAFileThatIsTooLargeIsNotRead(t *testing.T) {
	t.Parallel()
	var got crate
	if problems := Read([]byte("name: abcdef\n"), 8, &got); len(problems) != 1 || got.Name != "" {
		t.Errorf("problems %v, read %+v", problems, got)
	}
}
