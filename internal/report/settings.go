package report

import (
	"fmt"
	"strings"
)

// A SettingsProblem is one thing that is wrong with a repository's settings.
type SettingsProblem struct {
	Line int
	Text string
}

// Settings is the check run of a commit that changed the settings file (GH9).
func Settings(file string, problems []SettingsProblem) CheckRunText {
	if len(problems) == 0 {
		return CheckRunText{Title: "The settings are valid", Summary: code(file) + " is valid and in use.", Conclusion: "success"}
	}
	c := CheckRunText{
		Title: fmt.Sprintf("%s in the settings", count(len(problems), "problem")), Conclusion: "failure",
		Summary: settingsProblems(problems),
	}
	for _, p := range problems[:min(len(problems), maxAnnotations)] {
		c.Annotations = append(c.Annotations, Annotation{
			Path: file, Start: p.Line, End: p.Line, Level: "failure", Title: "Not a valid setting", Message: cut(plain(p.Text), 2000),
		})
	}
	return c
}

// SettingsComment is the comment on the commit that broke the settings file.
func SettingsComment(file, sha string, problems []SettingsProblem) string {
	return Marker(settingsMarker(sha)) + "\n### " + count(len(problems), "problem") + " in " + code(file) + "\n" + settingsProblems(problems)
}

// IsSettingsComment reports whether SettingsComment wrote a comment about that
// commit.
func IsSettingsComment(comment, sha string) bool {
	id, ok := FindMarker(comment)
	return ok && id == settingsMarker(sha)
}

// settingsMarker tells the comment about the settings of a commit from those
// of sessions.
func settingsMarker(sha string) string { return "settings-" + sha }

// shownProblems bounds the list in a comment.
const shownProblems = 20

func settingsProblems(problems []SettingsProblem) string {
	var b strings.Builder
	for i, p := range problems {
		if i == shownProblems {
			fmt.Fprintf(&b, "- and %d more\n", len(problems)-i)
			break
		}
		fmt.Fprintf(&b, "- line %d: %s\n", p.Line, code(cut(p.Text, 300)))
	}
	return b.String() + "\nUntil they are mended, no session of this repository runs. `bot config` checks the file on your machine; what can be set is in docs/repository.md.\n"
}
