package config_test

import (
	"strings"
	"testing"

	"culprit/internal/agent/roster"
	"culprit/internal/config"
)

func from(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := env[name]; return v, ok }
}

func TestModelsAreReadAndCheckedTogether(t *testing.T) {
	t.Parallel()
	m, err := config.LoadModels(from(map[string]string{
		"OPENAI_BASE_URL": "http://vllm:8000/v1/", "CULPRIT_MODEL_HIGH": "big@high,spare", "CULPRIT_MODEL_PRICES": "big=2/0.5/8,spare=1/1/1",
		"CULPRIT_MODEL_SESSION_COST": "2.5",
	}))
	if err != nil || !m.Configured() || m.BaseURL != "http://vllm:8000/v1" || m.Session != (config.Spend{Tokens: 3_000_000, Micros: 2_500_000}) || m.Context != 128_000 {
		t.Errorf("%+v %v", m, err)
	}
	if got := m.Roles[roster.High]; len(got) != 2 || got[0] != (roster.Model{Name: "big", Effort: "high"}) {
		t.Errorf("%+v", got)
	}
	// A key alone, which many people have in their environment, asks no model.
	if m, err := config.LoadModels(from(map[string]string{"OPENAI_API_KEY": "k"})); err != nil || m.Configured() {
		t.Errorf("%+v %v", m, err)
	}
	for name, c := range map[string]struct {
		env  map[string]string
		want string
	}{
		"nowhere":       {map[string]string{"CULPRIT_MODEL_HIGH": "big"}, "set OPENAI_API_KEY"},
		"no price":      {map[string]string{"CULPRIT_MODEL_HIGH": "big", "OPENAI_API_KEY": "k", "CULPRIT_MODEL_REPOSITORY_COST": "1"}, "add big to CULPRIT_MODEL_PRICES"},
		"plain http":    {map[string]string{"OPENAI_BASE_URL": "http://api.example.com/v1"}, "use https"},
		"no address":    {map[string]string{"OPENAI_BASE_URL": "localhost"}, "want an address"},
		"bad price":     {map[string]string{"CULPRIT_MODEL_PRICES": "big"}, "MODEL=IN/CACHED/OUT"},
		"bad model":     {map[string]string{"CULPRIT_MODEL_HIGH": "a b"}, "no name of a model"},
		"bad tokens":    {map[string]string{"CULPRIT_MODEL_SESSION_TOKENS": "many"}, "want a number of tokens"},
		"small context": {map[string]string{"CULPRIT_MODEL_CONTEXT": "10"}, "4000"},
	} {
		if _, err := config.LoadModels(from(c.env)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
