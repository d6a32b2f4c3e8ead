package webhookload

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"strconv"
	"strings"
	"time"

	"culprit/internal/githubtest"
)

// A source is a GitHub on loopback with an App, whose payloads the load is made
// of, and which the bot asks for the App's name when it starts.
type source struct {
	github    *githubtest.Server
	app       githubtest.App
	templates map[string]template // by event
}

// A template is a payload as githubtest sent it, and what to replace in it.
type template struct {
	body                      string
	org, repo, branch, sha    string
	installation, issueNumber string
}

// newSource lets a red run and a labelled issue happen, and keeps the payloads
// that lead to jobs.
func newSource(ctx context.Context, key *rsa.PrivateKey) (_ *source, err error) {
	gh, err := githubtest.New(githubtest.Options{})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, gh.Close())
		}
	}()
	const org, repo = "acme-corporation", "price-calculator"
	const full, branch = org + "/" + repo, "feature-rounding"
	s := &source{github: gh, templates: map[string]template{}}
	var sha string
	var install int64
	var issue githubtest.Issue
	for _, step := range []func() error{
		func() error { return gh.CreateOrg(org) },
		func() error { return gh.CreateRepo(githubtest.RepoConfig{Owner: org, Name: repo}) },
		func() error { return gh.SetPermission(full, "ada", "write") },
		func() error { return gh.AddLabelDefinition(full, "debug", "d73a4a", "let culprit look") },
		func() error {
			_, err := gh.CommitFile(full, "ada", "main", "go.mod", []byte("module prices\n"), "Begin")
			return err
		},
		func() (err error) {
			sha, err = gh.CommitFile(full, "ada", branch, "round.go", []byte("package prices\n"), "Round prices")
			return err
		},
		func() (err error) {
			// The address only makes deliveries be sent; nobody listens, and the
			// log of deliveries has their payloads.
			s.app, err = gh.CreateApp(githubtest.AppConfig{Name: "Culprit", Owner: org, Key: key, WebhookURL: "http://127.0.0.1:9/webhook", WebhookSecret: "bench-secret"})
			return err
		},
		func() (err error) { install, err = gh.Install(s.app.ID, org); return err },
		func() error {
			_, err := gh.CompleteRun(githubtest.RunConfig{Repo: full, Branch: branch, Workflow: "CI", Actor: "ada", Jobs: []githubtest.Job{{
				Name: "test", Steps: []githubtest.Step{{Name: "Test", Run: "go test ./...", Log: "--- FAIL: TestRound\n", Conclusion: "failure", ExitCode: 1}},
			}}})
			return err
		},
		func() (err error) {
			issue, err = gh.OpenIssue(full, "ada", "Prices are rounded down", "Since yesterday.\n\nExpected 1.25, got 1.24.")
			return err
		},
		func() error { return gh.AddLabel(full, issue.Number, "ada", "debug") },
		func() error { return gh.WaitDeliveries(ctx) },
	} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("make payloads: %w", err)
		}
	}
	wanted := map[string]string{"workflow_run": "completed", "check_suite": "completed", "check_run": "completed", "issues": "labeled"}
	for _, d := range gh.Deliveries(s.app.ID) {
		if d.Action == wanted[d.Event] && d.Action != "" {
			s.templates[d.Event] = template{
				body: string(d.Payload), org: org, repo: repo, branch: branch, sha: sha,
				installation: fmt.Sprintf(`"installation":{"id":%d,`, install), issueNumber: fmt.Sprintf(`"number":%d,`, issue.Number),
			}
		}
	}
	if len(s.templates) != len(wanted) {
		return nil, fmt.Errorf("make payloads: githubtest sent %d of %d kinds", len(s.templates), len(wanted))
	}
	return s, nil
}

// render fills a template for the nth commit: 50 organizations with an
// installation each, 200 repositories; each commit has a branch of its own, and
// each issue a number of its own.
func (t template) render(n int) []byte {
	repo := n % 200
	return []byte(strings.NewReplacer(
		t.org, fmt.Sprintf("organization-%03d", repo%50), t.repo, fmt.Sprintf("repository-%05d", repo),
		t.branch, fmt.Sprintf("feature-%08d", n), t.sha, fmt.Sprintf("%040x", sha1.Sum([]byte(strconv.Itoa(n)))),
		t.installation, fmt.Sprintf(`"installation":{"id":%d,`, 1000+repo%50), t.issueNumber, fmt.Sprintf(`"number":%d,`, 1+n),
	).Replace(t.body))
}

// A delivery is a signed payload. Its GUID is given when it is sent, since it
// is not signed.
type delivery struct {
	event string
	head  []byte // header lines from Content-Type on
	body  []byte
}

// mix is the order of events about one commit, and of the issues between them.
var mix = [...]string{"workflow_run", "check_suite", "check_run", "issues"}

// deliveries makes that many distinct ones.
func (s *source) deliveries(count int) []delivery {
	out := make([]delivery, count)
	for i := range out {
		event := mix[i%len(mix)]
		body := s.templates[event].render(i / len(mix))
		var head bytes.Buffer
		fmt.Fprintf(&head, "Content-Type: application/json\r\nX-GitHub-Event: %s\r\nX-Hub-Signature: sha1=%s\r\nX-Hub-Signature-256: sha256=%s\r\nContent-Length: %d\r\n\r\n",
			event, sign(sha1.New, s.app.WebhookSecret, body), sign(sha256.New, s.app.WebhookSecret, body), len(body))
		out[i] = delivery{event: event, head: head.Bytes(), body: body}
	}
	return out
}

func sign(h func() hash.Hash, secret string, body []byte) string {
	mac := hmac.New(h, []byte(secret))
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

// guids of one run: the same beginning, then a number.
type guids struct {
	prefix string
	first  int
}

func newGUIDs() guids {
	return guids{prefix: fmt.Sprintf("%08x-cc78-41e3-81ab-", uint32(time.Now().UnixNano()))}
}

func (g guids) at(i int) string { return fmt.Sprintf("%s%012d", g.prefix, g.first+i) }

// from begins to count at n.
func (g guids) from(n int) guids { return guids{prefix: g.prefix, first: n} }
