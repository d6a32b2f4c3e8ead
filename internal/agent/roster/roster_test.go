package roster_test

import (
	"testing"

	"culprit/internal/agent/roster"
)

func TestPricesAndModelsAreRead(t *testing.T) {
	t.Parallel()
	p, err := roster.ReadPrices("big=2/0.5/8, local:7b=0/0/0")
	if err != nil || p["big"] != (roster.Price{2, 0.5, 8}) {
		t.Fatal(p, err)
	}
	if got := p.Cost("big", 1_000_000, 400_000, 100_000); got != 2_200_000 {
		t.Errorf("cost %d", got)
	}
	for _, bad := range []string{"", "big", "big=1/2", "big=1/2/x", "big=1/-2/3", "=1/2/3"} {
		if _, err := roster.ReadPrices(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
	m, err := roster.ReadModels("gpt-5@high, vendor/model@20250101,qwen3:8b")
	if err != nil || len(m) != 3 || m[0] != (roster.Model{"gpt-5", "high"}) || m[1] != (roster.Model{"vendor/model@20250101", ""}) {
		t.Errorf("%+v %v", m, err)
	}
	for _, bad := range []string{"", " , ", "two words"} {
		if _, err := roster.ReadModels(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}
