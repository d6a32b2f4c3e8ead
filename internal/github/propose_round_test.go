package github_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"culprit/internal/github"
	"culprit/internal/session"
)

// What a round of the review made is pushed and told where it can be; else the
// pull request stays as it is, and the round knows why.
func TestARoundOfTheReviewIsPushedOrTheRoundSaysWhyNot(t *testing.T) {
	t.Parallel()
	pushed := func(context.Context, github.Push) (string, error) { return "c0ffee", nil }
	for name, tt := range map[string]struct {
		meanwhile func(w *world, number int) error
		push      func(context.Context, github.Push) (string, error)
		commit    bool
		refused   string
	}{
		"nothing happened": {push: pushed, commit: true},
		"the branch that failed is gone, and with it the pull request": {
			meanwhile: func(w *world, _ int) error { return w.gh.DeleteBranch(full, "ann", "topic") }, push: pushed, refused: "the pull request was closed meanwhile",
		},
		"it was retargeted, and the branch that failed is gone": {
			meanwhile: func(w *world, n int) error {
				req, err := http.NewRequestWithContext(w.t.Context(), http.MethodPatch, fmt.Sprintf("%s/repos/%s/pulls/%d", strings.TrimRight(w.gh.APIURL(), "/"), full, n), strings.NewReader(`{"base":"main"}`))
				if err != nil {
					return err
				}
				req.Header.Set("Authorization", "Bearer "+w.gh.UserToken("ann"))
				resp, err := http.DefaultClient.Do(req)
				if err != nil {
					return err
				}
				if resp.Body.Close(); resp.StatusCode != http.StatusOK {
					return fmt.Errorf("retarget: %s", resp.Status)
				}
				return w.gh.DeleteBranch(full, "ann", "topic")
			}, push: pushed, commit: true,
		},
		"the branch has moved": {push: func(context.Context, github.Push) (string, error) { return "", nil }},
		"the push is refused": {push: func(context.Context, github.Push) (string, error) {
			return "", fmt.Errorf("%w: GH013", github.ErrRefused)
		}, refused: "the repository refused the push (GH013)"},
		"it was closed": {meanwhile: func(w *world, n int) error { return w.gh.CloseIssue(full, n, "ann") }, push: pushed, refused: "the pull request was closed meanwhile"},
		"it was merged": {meanwhile: func(w *world, n int) error { _, err := w.gh.MergePull(full, n, "ann"); return err }, push: pushed, refused: "the pull request was merged meanwhile"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			check(t, w.gh.SetPermission(full, "ann", "write"))
			check(t, w.gh.CreateBranch(full, "ann", "topic", w.head))
			s := w.ciSession("topic")
			check(t, w.publisher().Propose(t.Context(), s))
			first := s.Published.FixCommit
			s.Review = &session.Review{Rounds: []session.Round{{N: 1, Way: session.BySuggestion, Began: time.Unix(1, 0), Head: first, Patch: "change", Proved: true, Refused: "an earlier try"}}}
			s.State = "round" // the body says so
			if tt.meanwhile != nil {
				check(t, tt.meanwhile(w, s.Published.PR))
			}
			p := w.publisher(func(c *github.PublisherConfig) {
				c.Push = func(ctx context.Context, p github.Push) (string, error) {
					if p.Onto != first || p.Branch != s.Published.Branch || p.Patch != "change" {
						t.Errorf("pushes %+v", p)
					}
					return tt.push(ctx, p)
				}
			})
			check(t, p.Propose(t.Context(), s))
			r, body := s.Round(), must(w.gh.PullRequests(full))(t)[0].Body
			if (r.Commit != "") != tt.commit || r.Refused != tt.refused || (s.Published.FixCommit != first) != tt.commit {
				t.Errorf("round %+v, published %+v", r, s.Published)
			}
			if strings.HasPrefix(body, "proof of round") != tt.commit || len(s.NotChecked) > 0 {
				t.Errorf("the body is %q, notes %q", body, s.NotChecked)
			}
		})
	}
}
