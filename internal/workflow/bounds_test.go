package workflow

import (
	"fmt"
	"strings"
	"testing"
)

// Each of these makes a value of megabytes out of a file of a few kilobytes,
// and would make one of any size out of a few more.
func TestValuesDoNotGrowWithoutEnd(t *testing.T) {
	t.Parallel()
	const levels = 18 // 64 bytes become 16 MiB
	doubled := func(first, each string) string {
		var b strings.Builder
		fmt.Fprintf(&b, "    env:\n      A0: %q\n", first)
		for i := range levels {
			fmt.Fprintf(&b, "      A%d: %s\n", i+1, strings.ReplaceAll(each, "A", fmt.Sprintf("env.A%d", i)))
		}
		return b.String() + fmt.Sprintf("    steps: [{run: 'go test ${{ env.A%d }}'}]\n", levels)
	}
	long := strings.Repeat("x", 64)
	nested := strings.Repeat("[", 3000) + strings.Repeat("]", 3000)
	for name, tt := range map[string]struct{ text, want string }{
		"one text twice":      {doubled(long, "${{ A }}${{ A }}"), "a value of more than 64 KiB in the variable A"},
		"format":              {doubled(long, "${{ format('{0}{0}', A) }}"), "a value of more than 64 KiB in the variable A"},
		"toJSON of a text":    {doubled(strings.Repeat(`"`, 64), "${{ toJSON(A) }}"), "a value of more than 64 KiB in the variable A"},
		"format in format":    {"    env: {A: \"${{ " + strings.Repeat("format('{0}{0}{0}{0}', ", 12) + "'" + long + "'" + strings.Repeat(")", 12) + " }}\"}\n    steps: [{run: 'go test ${{ env.A }}'}]\n", "a value of more than 64 KiB in the variable A"},
		"join with a long":    {"    env: {L: \"" + strings.Repeat("[1,1,1,1],", 100) + "\", S: \"" + strings.Repeat("y", 50_000) + "\", A: \"${{ join(fromJSON(format('[{0}1]', env.L)), env.S) }}\"}\n    steps: [{run: 'go test ${{ env.A }}'}]\n", "a value of more than 64 KiB in the variable A"},
		"toJSON of a nesting": {"    env: {L: \"" + nested + "\", A: \"${{ toJSON(fromJSON(env.L)) }}\"}\n    steps: [{run: 'go test ${{ env.A }}'}]\n", "fromJSON() of a text that nests deeper than 100 in the variable A"},
		"a script":            {"    env: {A: \"" + strings.Repeat("z", 40_000) + "\"}\n    steps: [{run: 'go test ${{ env.A }} ${{ env.A }}'}]\n", "a value of more than 64 KiB in the step"},
		"many variables":      {"    env:\n" + numbered(3000, "      V%[1]d: \"%[1]d\"\n") + "    steps: [{run: 'go test'}]\n", "more than 1000 variables or 256 KiB of them"},
		"large variables":     {"    env:\n      A: \"" + strings.Repeat("w", 50_000) + "\"\n" + numbered(20, "      V%d: \"${{ env.A }}\"\n") + "    steps: [{run: 'go test'}]\n", "more than 1000 variables or 256 KiB of them"},
		"many steps":          {"    steps:\n" + numbered(3000, "      - {id: s%[1]d, run: 'make a%[1]d'}\n") + "      - run: go test\n", "3001 steps in one job"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			recipes, problems := Find(one(head+tt.text, "test"))
			if len(recipes) != 1 {
				t.Fatalf("%d recipes, %v", len(recipes), problems)
			}
			bytes, said := 0, ""
			for _, s := range append(recipes[0].Setup, steps(recipes[0].Test)...) {
				bytes += len(s.Run) + len(strings.Join(s.Env, ""))
			}
			for _, d := range recipes[0].Differences {
				said += d.String() + "\n"
			}
			if bytes > maxEnvironment+maxValue || len(said) > 4096 || !strings.Contains(said, tt.want) {
				t.Errorf("%d bytes; %.1000s", bytes, said)
			}
		})
	}
}

func numbered(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// Values within the bounds of one may be more than the bounds of all.
func TestAllExpressionsTogetherAreBounded(t *testing.T) {
	t.Parallel()
	large := "    env: {A: \"" + strings.Repeat("v", 60_000) + "\"}\n"
	q := one(head+large+"    steps:\n"+numbered(900, "      - {id: s%d, name: \"${{ contains(env.A, format('{0}', env.A)) && contains(env.A, env.A) }}\", run: make, if: \"endsWith(env.A, env.A)\"}\n")+"      - run: go test\n", "test")
	q.Steps = []string{"none of them"}
	recipes, _ := Find(q)
	if len(recipes) != 1 {
		t.Fatalf("%d recipes", len(recipes))
	}
	said := fmt.Sprint(recipes[0].Differences)
	if want := "expressions that make more than 64 MiB"; !strings.Contains(said, want) {
		t.Errorf("%.500s; want %q", said, want)
	}
}

// Each line of a script may be a difference.
func TestDifferencesAreBounded(t *testing.T) {
	t.Parallel()
	recipes, _ := Find(one(head+"    steps:\n      - run: |\n"+numbered(2*maxDifferences, "          sudo make a%d\n")+"      - run: go test\n", "test"))
	if len(recipes) != 1 {
		t.Fatalf("%d recipes", len(recipes))
	}
	list := recipes[0].Differences
	if last := list[len(list)-1]; len(list) != maxDifferences+1 || !last.Blocks || !strings.Contains(last.String(), "more than 500 differences") {
		t.Errorf("%d differences, the last %+v", len(list), last)
	}
}
