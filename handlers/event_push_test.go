package handlers_test

import (
	"fmt"
	"testing"

	"culprit/handlers"
	"culprit/queue"
)

func TestAPushToTheDefaultBranchHasTheSettingsChecked(t *testing.T) {
	t.Parallel()
	body := func(ref, after, change, more string) []byte {
		return fmt.Appendf(nil, `{"ref":%q,"after":%q,"commits":[{"added":[],"removed":[],"modified":["x"]},{%s}],"sender":{"login":"ann","type":"User"},
			"installation":{"id":77},"repository":{"id":1296269,"name":"calc","owner":{"login":"octo","name":"octo"},"default_branch":"main"}%s}`, ref, after, change, more)
	}
	changed := `"modified":[".github/culprit.yml"]`
	for name, tt := range map[string]struct {
		body []byte
		job  bool
	}{
		"changed":        {body("refs/heads/main", sha, changed, ""), true},
		"added":          {body("refs/heads/main", sha, `"added":[".github/culprit.yml"]`, ""), true},
		"removed":        {body("refs/heads/main", sha, `"removed":[".github/culprit.yml"]`, ""), true},
		"another branch": {body("refs/heads/topic", sha, changed, ""), false},
		"a tag":          {body("refs/tags/main", sha, changed, ""), false},
		"another file":   {body("refs/heads/main", sha, `"modified":[".github/culprit.yaml"]`, ""), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := handlers.Decide(rules, "push", "d-1", tt.body)
			if err != nil {
				t.Fatal(err)
			}
			if !tt.job {
				if d.Job != nil || d.Cancels != nil || d.Reason == "" {
					t.Errorf("decision %+v, want none with a reason", d)
				}
				return
			}
			if d.Job == nil {
				t.Fatalf("no job: %s", d.Reason)
			}
			r, err := handlers.DecodeRequest(d.Job.Payload)
			if err != nil || r.Kind != handlers.KindSettings || r.SHA != sha || r.Owner != "octo" || r.Installation != 77 {
				t.Errorf("request %+v, %v", r, err)
			}
			if d.Job.Key != "octo/calc@"+sha+"/settings" || d.Job.Ref != "" || d.Job.Priority != queue.PriorityPerson {
				t.Errorf("job %+v: it must stand beside red CI of the commit, and supersede nothing", d.Job)
			}
		})
	}
	if _, err := handlers.Decide(rules, "push", "d-1", body("refs/heads/main", "no-sha", changed, "")); err == nil {
		t.Error("a push without a SHA is no error")
	}
}
