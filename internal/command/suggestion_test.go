package command

import (
	"testing"
)

func TestASuggestionIsTheBlockThatGitHubOffersToApply(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		comment, want string
		found         bool
	}{
		"one":             {"Better so:\n\n```suggestion\n\treturn 1\n```\n", "\treturn 1\n", true},
		"as browsers say": {"```suggestion\r\na\r\nb\r\n```\r\nthanks", "a\nb\n", true},
		"empty":           {"```suggestion\n```", "", true},
		"with code in it": {"````suggestion\n```go\nx\n```\n````", "```go\nx\n```\n", true},
		"tildes":          {"~~~suggestion\nx\n~~~", "x\n", true},
		"in a quote":      {"> ```suggestion\n> x\n> ```", "", false},
		"hidden":          {"<!--\n```suggestion\nx\n```\n-->", "", false},
		"other code":      {"```go\nsuggestion\n```", "", false},
		"two":             {"```suggestion\na\n```\n\n```suggestion\nb\n```", "", false},
		"words":           {"my suggestion is to leave it", "", false},
	} {
		if got, found := Suggestion(c.comment); got != c.want || found != c.found {
			t.Errorf("%s: %q, %v, want %q, %v", name, got, found, c.want, c.found)
		}
	}
}
