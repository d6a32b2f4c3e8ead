package main

import (
	"context"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"culprit/internal/conformance"
	"culprit/internal/githubtest"
)

var (
	setupAddress  = regexp.MustCompile(`http://\S+/setup\?secret=\S+`)
	setupAction   = regexp.MustCompile(`action="([^"]+)"`)
	setupManifest = regexp.MustCompile(`name="manifest" value="([^"]+)"`)
)

// browse reads a page as a browser does.
func browse(t *testing.T, client *http.Client, address string) (status int, body string) {
	t.Helper()
	resp, err := client.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

// startSetup starts the command and returns the address that it prints.
func startSetup(t *testing.T, gh *githubtest.Server, dir string, args ...string) (bot *botProcess, address string) {
	t.Helper()
	log := newBotLog()
	web := strings.TrimSuffix(strings.TrimRight(gh.APIURL(), "/"), "/api/v3")
	all := append([]string{"setup", "--addr", "127.0.0.1:0", "--github", web, "--out", filepath.Join(dir, "culprit.env")}, args...)
	bot = spawn(t, log, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}, all...)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	address = setupAddress.FindString(log.await(ctx, 0, "/setup?secret=", bot.done))
	if address == "" {
		t.Fatalf("no address is printed:\n%s", log)
	}
	return bot, address
}

// A person opens the address, lets GitHub make the App, and comes back: the
// credentials are in files that only he can read, and they sign the bot in.
func TestSetUpMakesTheAppAndStoresItsCredentials(t *testing.T) {
	t.Parallel()
	gh := conformance.Start(t, githubtest.Options{})
	dir := t.TempDir()
	bot, address := startSetup(t, gh, dir, "--url", "https://culprit.example.org/", "--org", "acme", "--name", "Culprit of Acme")
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar}
	root, _, _ := strings.Cut(address, "?")
	if status, _ := browse(t, client, root); status != http.StatusForbidden {
		t.Errorf("the page without its secret answers %d", status)
	}
	if status, _ := browse(t, client, root+"/done?code=x&state="); status != http.StatusForbidden {
		t.Errorf("an answer that nobody waits for is taken: %d", status)
	}
	status, page := browse(t, client, address)
	action, manifest := setupAction.FindStringSubmatch(page), setupManifest.FindStringSubmatch(page)
	if status != http.StatusOK || action == nil || manifest == nil {
		t.Fatalf("page %d:\n%s", status, page)
	}
	resp, err := client.PostForm(html.UnescapeString(action[1]), url.Values{"manifest": {html.UnescapeString(manifest[1])}})
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK || !strings.Contains(string(body), "/apps/culprit-of-acme/installations/new") {
		t.Fatalf("after GitHub's redirect: %d\n%s", resp.StatusCode, body)
	}
	if code := awaitExit(t, bot); code != exitOK {
		t.Fatalf("exit code %d:\n%s", code, bot.log)
	}
	settings := map[string]string{}
	for _, name := range []string{"culprit.env", "culprit.pem"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Fatalf("%s: %v, %v", name, info, err)
		}
	}
	data, _ := os.ReadFile(filepath.Join(dir, "culprit.env"))
	for line := range strings.Lines(string(data)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		settings[name] = value
	}
	pem, _ := os.ReadFile(settings["GITHUB_APP_PRIVATE_KEY_FILE"])
	if strings.Contains(bot.log.String(), settings["GITHUB_WEBHOOK_SECRET"]) || strings.Contains(bot.log.String(), strings.Split(string(pem), "\n")[1]) {
		t.Error("a secret is printed")
	}

	// The credentials work, and nothing is missing.
	if err := gh.CreateRepo(githubtest.RepoConfig{Owner: "acme", Name: "prices"}); err != nil {
		t.Fatal(err)
	}
	var id int64
	if _, err := fmt.Sscan(settings["GITHUB_APP_ID"], &id); err != nil {
		t.Fatal(err)
	}
	if _, err := gh.Install(id, "acme"); err != nil {
		t.Fatal(err)
	}
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "CULPRIT_DATA=" + dir}
	for name, value := range settings {
		env = append(env, name+"="+value)
	}
	doctor := spawn(t, newBotLog(), env, "doctor", "--repo", "acme/prices")
	awaitExit(t, doctor)
	for _, want := range []string{"signed in as culprit-of-acme", "ok      permissions and events", "ok      installation"} {
		if !strings.Contains(doctor.log.String(), want) {
			t.Errorf("doctor does not say %q:\n%s", want, doctor.log)
		}
	}

	again := spawn(t, newBotLog(), env, "setup", "--url", "https://x.example", "--out", filepath.Join(dir, "culprit.env"))
	if code := awaitExit(t, again); code != exitUsage || !strings.Contains(again.log.String(), "exists already") {
		t.Errorf("a second set-up into the same files: exit %d\n%s", code, again.log)
	}
}

func awaitExit(t *testing.T, p *botProcess) int {
	t.Helper()
	limit := time.NewTimer(time.Minute)
	defer limit.Stop()
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode()
	case <-limit.C:
		t.Fatalf("the command does not end:\n%s", p.log)
		return -1
	}
}
