package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"culprit/handlers"
	"culprit/internal/config"
	"culprit/internal/github"
	"culprit/internal/patch"
	"culprit/internal/report"
	"culprit/internal/session"
)

// settings reads what the repository sets on its default branch, over what its
// organisation's `.github` repository sets for all of them (GH9). Problems
// are an error that a person must mend: half-understood settings may forbid
// what would be done.
func (w *worker) settings(ctx context.Context, repo *github.Repo, installation int64) (config.Repository, error) {
	var set config.Repository
	if org, err := w.app.Repo(ctx, installation, repo.Owner, ".github"); err == nil && !strings.EqualFold(repo.Name, ".github") {
		if set, err = readSettings(ctx, org, org.DefaultBranch, set); err != nil {
			return set, err
		}
	} else if err != nil && !errors.Is(err, github.ErrGone) && !errors.Is(err, github.ErrForbidden) && !errors.Is(err, github.ErrRefused) {
		return set, err
	}
	return readSettings(ctx, repo, repo.DefaultBranch, set)
}

func readSettings(ctx context.Context, repo *github.Repo, rev string, base config.Repository) (config.Repository, error) {
	data, problems, err := settingsFile(ctx, repo, rev)
	if err != nil {
		return base, err
	}
	if len(problems) == 0 {
		base, problems = config.ReadRepository(data, base)
	}
	if len(problems) > 0 {
		return base, settingsError(repo.FullName(), problems)
	}
	return base, nil
}

// settingsFile is the file's content; one that cannot be taken as a file is a
// problem of its first line.
func settingsFile(ctx context.Context, repo *github.Repo, rev string) ([]byte, []config.Problem, error) {
	data, err := repo.File(ctx, rev, config.RepositoryFile, config.MaxRepositoryFile)
	var refused *github.Error
	if errors.Is(err, github.ErrRefused) && errors.As(err, &refused) {
		return nil, []config.Problem{{Line: 1, Text: refused.Message}}, nil
	}
	return data, nil, err
}

func settingsError(where string, problems []config.Problem) error {
	lines := make([]string, 0, len(problems))
	for _, p := range problems[:min(len(problems), 10)] {
		lines = append(lines, p.String())
	}
	return &session.UserError{
		Code: "settings", What: fmt.Sprintf("%s of %s is not valid: %s", config.RepositoryFile, where, strings.Join(lines, "; ")),
		Do: "mend it on the default branch (`bot config` checks it), then try again",
	}
}

// apply lets the repository's settings take effect on a new session. What a
// person asked for in this session (asked) goes before; the operator's limits
// are never passed.
func apply(set config.Repository, s *session.Session, asked string) {
	f := &s.Flags
	if f.Test == "" {
		f.Test = set.Test
	}
	if f.Setup == "" {
		f.Setup = set.Setup
	}
	if asked == "" && set.Mode != "" {
		s.Mode = session.Mode(set.Mode)
	}
	f.MaxRuns = lower(f.MaxRuns, set.Limits.Runs)
	f.Concurrency = lower(f.Concurrency, set.Limits.Concurrency)
	f.Timeout = lower(f.Timeout, time.Duration(set.Limits.Timeout))
	f.RunTimeout = lower(f.RunTimeout, time.Duration(set.Limits.RunTimeout))
	f.SkipFix = f.SkipFix || isSet(set.Fix.Enabled, false)
	f.Draft = f.Draft || set.Fix.Draft == "always"
	f.SignOff, f.SignOffSet = f.SignOff || isSet(set.Fix.SignOff, true), set.Fix.SignOff != nil
	f.Protected = set.Fix.Protected
}

// lower is the smaller of two limits; 0 is none.
func lower[T int | time.Duration](a, b T) T {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

func isSet(b *bool, to bool) bool { return b != nil && *b == to }

// matchBranch matches ci.branches.
func matchBranch(pattern, branch string) bool { return patch.Match(pattern, branch) }

// checkSettings shows at a commit of the default branch whether the settings
// file in it can be read.
func (w *worker) checkSettings(ctx context.Context, fence func(context.Context) error, repo *github.Repo, req handlers.Request) (string, error) {
	if repo.Archived {
		return "the repository is archived", nil
	}
	data, problems, err := settingsFile(ctx, repo, req.SHA)
	if err != nil {
		return "", err
	}
	if len(problems) == 0 {
		_, problems = config.ReadRepository(data, config.Repository{})
	}
	if data == nil && len(problems) == 0 {
		return "the settings file was removed", nil
	}
	shown := make([]report.SettingsProblem, 0, len(problems))
	for _, p := range problems {
		shown = append(shown, report.SettingsProblem(p))
	}
	out := github.SettingsReport{
		SHA: req.SHA, Check: checkRunText(report.Settings(config.RepositoryFile, shown)), Fence: fence,
		Mine: func(body string) bool { return report.IsSettingsComment(body, req.SHA) },
	}
	if len(problems) > 0 {
		out.Comment = report.SettingsComment(config.RepositoryFile, req.SHA, shown)
	}
	return fmt.Sprintf("settings at %s: %d problems", (session.Commit{SHA: req.SHA}).Short(), len(problems)), repo.ReportSettings(ctx, out)
}
