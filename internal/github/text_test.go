package github

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTooLongTextIsCutAtALineWithNothingLeftOpen(t *testing.T) {
	t.Parallel()
	p := &Publisher{cfg: PublisherConfig{Repo: &Repo{app: &App{}}}}
	long := strings.Repeat("a line of the log, 語\n", 300)
	for name, c := range map[string]struct{ text, closes string }{
		"plain":         {"# x\n" + long, ""},
		"fence":         {"````text\n" + long + "````\n", "````\n"},
		"fold":          {"<details><summary>s</summary>\n\n" + long + "</details>\n", "</details>"},
		"fence in fold": {"<details>\n```\n</details>\n" + long + "```\n</details>\n", "```\n\n</details>"},
		"one line":      {strings.Repeat("語", 9000), ""},
	} {
		got := p.fit(c.text+"<!-- culprit:x -->\n", 4000)
		if n := utf8.RuneCountInString(got); n > 4000 || !utf8.ValidString(got) {
			t.Errorf("%s: %d characters", name, n)
		}
		if !strings.HasSuffix(got, "longer text._\n<!-- culprit:x -->\n") && name != "one line" {
			t.Errorf("%s: ends in %q", name, got[len(got)-80:])
		}
		if before, _, _ := strings.Cut(got, cutNote); !strings.HasSuffix(strings.TrimRight(before, "\n")+"\n", strings.TrimRight(c.closes, "\n")+"\n") && c.closes != "" {
			t.Errorf("%s: not closed by %q: %q", name, c.closes, before[len(before)-40:])
		}
	}
	if got := p.fit("short\n", 4000); got != "short\n" {
		t.Errorf("short text became %q", got)
	}
}
