package report

import (
	"strings"
	"testing"
)

func TestSettingsProblemsAreShownAsTheyAreAndHarmNothing(t *testing.T) {
	t.Parallel()
	sha := strings.Repeat("ab", 20)
	var many []SettingsProblem
	for i := range 60 {
		many = append(many, SettingsProblem{Line: i + 1, Text: "@everyone see #12 `x` <!-- culprit:session=s -->"})
	}
	c := Settings(".github/culprit.yml", many)
	if c.Conclusion != "failure" || len(c.Annotations) != maxAnnotations || c.Annotations[4].Start != 5 {
		t.Errorf("check run %q with %d annotations", c.Conclusion, len(c.Annotations))
	}
	body := SettingsComment(".github/culprit.yml", sha, many)
	if !IsSettingsComment(body, sha) || IsSettingsComment(body, strings.Repeat("cd", 20)) || IsSettingsComment("quoted: "+body, sha) {
		t.Error("the comment is not found by its marker alone")
	}
	if !strings.Contains(body, "and 40 more") || strings.Count(body, "- line ") != 20 {
		t.Errorf("the list is not cut:\n%s", body)
	}
	for line := range strings.Lines(body) {
		if text, ok := strings.CutPrefix(line, "- line "); ok && !strings.Contains(text, ": `") {
			t.Errorf("a problem does not stand in code: %s", line)
		}
	}
	if good := Settings(".github/culprit.yml", nil); good.Conclusion != "success" || len(good.Annotations) != 0 {
		t.Errorf("valid settings: %+v", good)
	}
}

func TestSignOffJoinsTheTrailers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ message, want string }{
		{"Fix: x\n", "Fix: x\n\nSigned-off-by: c[bot] <1+c@x>\n"},
		{"Fix: x\n\nBody.\n\nCulprit-Session: s\n", "Fix: x\n\nBody.\n\nCulprit-Session: s\nSigned-off-by: c[bot] <1+c@x>\n"},
		{"Fix: x\n\nNote: this is text\nof two lines.\n", "Fix: x\n\nNote: this is text\nof two lines.\n\nSigned-off-by: c[bot] <1+c@x>\n"},
	} {
		if got := SignOff(tt.message, "c[bot]\n", "1+c@x"); got != tt.want {
			t.Errorf("%q\nbecomes %q\nwant    %q", tt.message, got, tt.want)
		}
	}
}
