package workflow

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// Not parallel: it counts what this process allocates.
func TestEachLineThatHandsAVariableOnCostsTheSame(t *testing.T) {
	made := func(lines int) uint64 {
		q := one(head+"    steps:\n      - run: |\n"+numbered(lines, "          echo V%d=1 >> $GITHUB_ENV\n")+"      - run: go test\n", "test")
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		recipes, _ := Find(q)
		runtime.ReadMemStats(&after)
		if len(recipes) != 1 || recipes[0].Test == nil || len(recipes[0].Test.Env) != min(lines, maxVariables) {
			t.Fatalf("%d lines: %+v", lines, recipes)
		}
		if said := fmt.Sprint(recipes[0].Differences); strings.Contains(said, "more than 1000 variables") != (lines > maxVariables) {
			t.Errorf("%d lines: %.500s", lines, said)
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	few, many, most := made(maxVariables/4), made(maxVariables), made(10*maxVariables)
	if many > 6*few || most > 12*many {
		t.Errorf("%d bytes for %d lines, %d for %d, %d for %d", few, maxVariables/4, many, maxVariables, most, 10*maxVariables)
	}
}
