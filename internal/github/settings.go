package github

import (
	"context"
	"errors"
	"fmt"

	gh "github.com/google/go-github/v62/github"
)

// SettingsCheckName is the name of the check run about a repository's settings
// file (GH9).
const SettingsCheckName = "culprit settings"

// File reads a file of the repository at a revision. It is nil without an
// error when there is no such file, and an error that matches ErrRefused when
// it has more than most bytes or is no file.
func (r *Repo) File(ctx context.Context, rev, path string, most int) ([]byte, error) {
	file, folder, _, err := r.read.Repositories.GetContents(ctx, r.Owner, r.Name, path, &gh.RepositoryContentGetOptions{Ref: rev})
	if err := r.wrap("read "+path, err); err != nil {
		if err = r.ifGone(ctx, err); errors.Is(err, ErrNotFound) {
			return nil, nil
		}
		return nil, err
	}
	refuse := func(what string) error {
		return &Error{Op: "read " + path + " in " + r.FullName(), Message: what, kind: ErrRefused}
	}
	if folder != nil || file.GetType() != "file" {
		return nil, refuse("it is not a file")
	}
	if file.GetSize() > most {
		return nil, refuse(fmt.Sprintf("it has %d bytes; at most %d are read", file.GetSize(), most))
	}
	text, err := file.GetContent()
	if err != nil {
		return nil, refuse("its content cannot be read: " + err.Error())
	}
	return []byte(text), nil
}

// SettingsReport is what is shown at a commit that changed the settings file.
type SettingsReport struct {
	SHA     string
	Check   CheckRunText
	Comment string // on the commit; "" for none
	// Mine tells whether a comment of the App is that comment.
	Mine func(body string) bool
	// Fence is asked before each write, as PublisherConfig.Fence.
	Fence func(context.Context) error
}

// ReportSettings shows the report: one check run and at most one comment,
// however often it is called.
func (r *Repo) ReportSettings(ctx context.Context, rep SettingsReport) error {
	id := "settings-" + rep.SHA
	there, err := r.checkRuns(ctx, rep.SHA, gh.ListCheckRunsOptions{
		CheckName: gh.String(SettingsCheckName), Filter: gh.String("all"), AppID: gh.Int64(r.app.cfg.AppID),
	})
	if err != nil {
		return err
	}
	done := false
	for _, c := range there {
		done = done || c.GetExternalID() == id
	}
	if !done {
		if err := rep.Fence(ctx); err != nil {
			return fmt.Errorf("%w: %w", ErrFenced, err)
		}
		var annotations []*gh.CheckRunAnnotation
		for _, a := range rep.Check.Annotations[:min(len(rep.Check.Annotations), annotationBatch)] {
			annotations = append(annotations, a.forGitHub(r.app.redact))
		}
		_, _, err := r.write.Checks.CreateCheckRun(ctx, r.Owner, r.Name, gh.CreateCheckRunOptions{
			Name: SettingsCheckName, HeadSHA: rep.SHA, ExternalID: &id, Status: gh.String("completed"), Conclusion: gh.String(rep.Check.conclusion()),
			CompletedAt: &gh.Timestamp{Time: r.app.now().UTC()}, Output: rep.Check.output(annotations),
		})
		if err := r.wrap("create check run", err); err != nil {
			return err
		}
	}
	if rep.Comment == "" {
		return nil
	}
	place := commitThread{r, rep.SHA}
	own, err := place.list(ctx, r.app.now())
	if err != nil {
		return err
	}
	for _, c := range own {
		if rep.Mine(c.body) {
			return nil
		}
	}
	if err := rep.Fence(ctx); err != nil {
		return fmt.Errorf("%w: %w", ErrFenced, err)
	}
	_, err = place.create(ctx, r.app.redact(rep.Comment))
	return err
}
