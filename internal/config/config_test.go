package config

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite docs/configuration.md")

const key = "-----BEGIN RSA PRIVATE KEY-----\nnot a real one\n-----END RSA PRIVATE KEY-----"

func env(pairs ...string) func(string) (string, bool) {
	m := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return func(name string) (string, bool) { v, ok := m[name]; return v, ok }
}

func complete(more ...string) func(string) (string, bool) {
	return env(append([]string{"GITHUB_APP_ID", "7", "GITHUB_APP_PRIVATE_KEY", key, "GITHUB_WEBHOOK_SECRET", "one,two"}, more...)...)
}

func TestAFlagBeatsTheEnvironmentAndThatTheDefault(t *testing.T) {
	t.Parallel()
	c, err := Load(Serve, []string{"--jobs", "3", "--work"}, complete("CULPRIT_JOBS", "2", "CULPRIT_LEASE", "45s"))
	if err != nil {
		t.Fatal(err)
	}
	if c.Jobs != 3 || c.Lease != 45*time.Second || c.Addr != ":8080" || !c.Work || c.AppID != 7 || len(c.WebhookSecrets) != 2 || !filepath.IsAbs(c.Data) {
		t.Errorf("got %+v", c)
	}
}

func TestAllProblemsAreReportedAtOnceAndNoSecretIsShown(t *testing.T) {
	t.Parallel()
	_, err := Load(Serve, []string{"--jobs", "many", "stray"}, env(
		"GITHUB_APP_ID", "x", "GITHUB_APP_PRIVATE_KEY", "hush-hush", "CULPRIT_SANDBOX", "maybe", "REDIS_URL", "redis://:hush-hush@", "GITHUB_API_URL", "http://github.example"))
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"--jobs", "stray", "GITHUB_APP_ID", "GITHUB_APP_PRIVATE_KEY", "CULPRIT_SANDBOX", "REDIS_URL", "plain http", "GITHUB_WEBHOOK_SECRET"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not name %s: %v", want, err)
		}
	}
	if strings.Contains(err.Error(), "hush-hush") {
		t.Error("the error shows a secret")
	}
}

func TestWorkNeedsTheQueueThatServeFills(t *testing.T) {
	t.Parallel()
	if _, err := Load(Work, nil, complete()); err == nil || !strings.Contains(err.Error(), "REDIS_URL") {
		t.Errorf("got %v", err)
	}
	if _, err := Load(Work, []string{"--addr", ":1"}, complete("REDIS_URL", "redis://localhost")); err == nil {
		t.Error("work takes a flag of serve")
	}
}

func TestUnknownFlagIsAnError(t *testing.T) {
	t.Parallel()
	if _, err := Load(Serve, []string{"--colour"}, complete()); err == nil {
		t.Error("no error")
	}
}

func TestTheDocumentHasTheTable(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "docs", "configuration.md")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, _, ok := strings.Cut(string(data), "the table -->\n")
	if !ok {
		t.Fatal("the document has lost its marker")
	}
	_, tail, ok := strings.Cut(string(data), "<!-- end of the table -->\n")
	if !ok {
		t.Fatal("the document has lost the marker of the table's end")
	}
	want := head + "the table -->\n\n" + Markdown() + "\n<!-- end of the table -->\n" + tail
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(data) != want {
		t.Error("docs/configuration.md is out of date: go test ./internal/config -update")
	}
}
