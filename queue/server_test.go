package queue

import (
	"strings"
	"testing"
)

func TestServerSettingsThatLoseJobsAreFound(t *testing.T) {
	t.Parallel()
	good := map[string]string{
		"redis_version": "7.0.15", "maxmemory_policy": "noeviction", "aof_enabled": "1", "aof_last_write_status": "ok",
	}
	for name, tc := range map[string]struct {
		fact, value string
		want        string // code, with ! when fatal
	}{
		"good":        {"redis_version", "7.0.15", ""},
		"newer":       {"redis_version", "8.2.1", ""},
		"old":         {"redis_version", "6.2.14", "version!"},
		"eviction":    {"maxmemory_policy", "allkeys-lru", "eviction!"},
		"lifetimes":   {"maxmemory_policy", "volatile-lru", "eviction"},
		"no file":     {"aof_enabled", "0", "persistence"},
		"disk full":   {"aof_last_write_status", "err", "persistence!"},
		"no version":  {"redis_version", "", ""},
		"odd version": {"redis_version", "unstable", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			facts := map[string]string{}
			for k, v := range good {
				facts[k] = v
			}
			facts[tc.fact] = tc.value
			var got []string
			for _, p := range judge(facts) {
				code := p.Code
				if p.Fatal {
					code += "!"
				}
				if p.What == "" || p.Do == "" {
					t.Errorf("%s does not say what to do", code)
				}
				got = append(got, code)
			}
			if strings.Join(got, " ") != tc.want {
				t.Fatalf("got %q, want %q", got, tc.want)
			}
		})
	}
}
