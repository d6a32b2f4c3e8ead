package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/tools/txtar"
)

// snoopingTest fails, and shows everything that a thief would look for: as it
// is, in base64 and in hexadecimal.
const snoopingTest = `import base64
import glob
import os
import unittest

from price import total

PLACES = ['/proc/self/environ', '/proc/1/environ', '/proc/*/environ', '/proc/*/cmdline', '/etc/shadow',
          '/src/.git/config', '/tmp/*', '/cache/*'] + HOMES


def loot():
    out = ['SNOOPED %s=%s' % kv for kv in sorted(os.environ.items())]
    for pattern in PLACES:
        for name in sorted(glob.glob(pattern))[:50]:
            try:
                with open(name, 'rb') as f:
                    data = f.read(20000)
            except OSError:
                continue
            out += ['SNOOPED ' + name, data.decode('latin-1'), base64.b64encode(data).decode(), data.hex()]
    return '\n'.join(out)


class TotalTest(unittest.TestCase):
    def test_with_discount(self):
        if 'AT_HOME' not in os.environ:
            print(loot())
        self.assertEqual(total([50, 50], discount=20), 80, 'SNOOPED ' + repr(sorted(os.environ.items())))
`

// secretFiles are what people have in their home.
var secretFiles = []string{".netrc", ".git-credentials", ".aws/credentials", ".ssh/id_rsa", ".config/gh/hosts.yml", ".docker/config.json", ".npmrc", ".pypirc"}

// A tap stands between the bot and GitHub and notes every credential.
type tap struct {
	mu   sync.Mutex
	seen map[string]string // secret → what it is
}

func (p *tap) note(secret, what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if secret != "" {
		p.seen[secret] = what
	}
}

// serve proxies a GitHub and returns the address to use instead.
func (p *tap) serve(t *testing.T, api string) string {
	t.Helper()
	target, err := url.Parse(api)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: target.Scheme, Host: target.Host})
			_, token, _ := strings.Cut(r.In.Header.Get("Authorization"), " ")
			p.note(token, "credential of a call")
		},
		ModifyResponse: func(r *http.Response) error {
			if !strings.HasSuffix(r.Request.URL.Path, "/access_tokens") {
				return nil
			}
			body, err := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			var answer struct{ Token string }
			if json.Unmarshal(body, &answer) == nil {
				p.note(answer.Token, "installation token")
			}
			return err
		},
	})
	t.Cleanup(s.Close)
	return s.URL + target.Path
}

// forms are the ways in which a secret may appear: as it is, in hexadecimal,
// and in base64 at each of the three alignments.
func forms(secret string) map[string]string {
	out := map[string]string{"raw": secret, "hex": hex.EncodeToString([]byte(secret))}
	for shift := range 3 {
		enc := base64.RawStdEncoding.EncodeToString(append(make([]byte, shift), secret...))
		// The first and the last characters depend on what stands beside.
		out[fmt.Sprintf("base64+%d", shift)] = enc[(shift*8+5)/6 : len(enc)-2]
	}
	return out
}

func TestFormsFindASecretHoweverItIsEncoded(t *testing.T) {
	t.Parallel()
	const secret = "installation-token-of-a-test"
	for before := range 4 {
		text := []byte("some text "[before:] + secret + " and more")
		for name, encoded := range map[string]string{
			"raw": string(text), "hex": hex.EncodeToString(text), "base64": base64.StdEncoding.EncodeToString(text),
		} {
			found := false
			for _, s := range forms(secret) {
				found = found || strings.Contains(encoded, s)
			}
			if !found {
				t.Errorf("a secret in %s after %d bytes is not found in %s", name, 10-before, encoded)
			}
		}
	}
}

// No secret of the run gets into what the run leaves or publishes, though the
// code under test looks for them and prints what it finds.
func TestNoSecretOfTheRunIsWrittenOrPublished(t *testing.T) {
	t.Parallel()
	planted := func(kind string) string { return kind + strings.ToLower(rand.Text()) }
	redisPassword, inLog := planted("redispw"), "ghp_"+rand.Text()+rand.Text()[:10]
	secrets := &tap{seen: map[string]string{redisPassword: "Redis password", inLog: "token in the CI log"}}
	homes := `[os.path.join(h, f) for h in (os.path.expanduser('~'), '/root', '/home/*') for f in ` + pyList(secretFiles) + `]`
	p := newSmallProject(t, txtar.File{Name: "test_price.py", Data: []byte(strings.Replace(snoopingTest, "HOMES", homes, 1))})
	if strings.Contains(p.log, "SNOOPED /") {
		t.Fatal("the log of CI must not show this machine")
	}
	p.log = "Authorization: token " + inLog + "\n" + p.log
	w := newWorld(t, realRedis(t, redisPassword).url, p)
	w.apiURL = secrets.serve(t, w.github.APIURL())
	secrets.note(w.app.WebhookSecret, "webhook secret")
	for i, line := range strings.Split(strings.TrimSpace(string(w.app.PrivateKeyPEM())), "\n") {
		if !strings.HasPrefix(line, "-----") && len(line) > 40 {
			secrets.note(line, fmt.Sprintf("private key, line %d", i))
		}
	}
	for _, name := range []string{"OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "NPM_TOKEN", "SOMETHING_ELSE"} {
		v := planted("env")
		secrets.note(v, name)
		w.env = append(w.env, name+"="+v)
	}
	for _, name := range secretFiles {
		v := planted("file")
		secrets.note(v, "~/"+name)
		path := filepath.Join(w.home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("secret "+v+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	bot := w.start("--mode", "quick")
	startByCI(w, p)
	if !eventually(t, 2*time.Minute, "the session ends", func() bool { return w.completed() > 0 && w.idle() }) {
		t.Fatalf("log:\n%s", w.log)
	}
	bot.terminate(t, 15*time.Second)
	if len(w.comments()) != 1 || len(w.pulls()) != 1 {
		t.Fatalf("%d comments and %d pull requests, want one each:\n%s", len(w.comments()), len(w.pulls()), w.log)
	}

	places := w.written()
	if n := strings.Count(places["session folder"], "SNOOPED"); n == 0 {
		t.Error("the thief's output is nowhere in the session folder: this test proves nothing")
	} else {
		t.Logf("the thief's output stands in the session folder: %d lines", n)
	}
	kinds := map[string]int{}
	for _, what := range secrets.seen {
		kinds[what]++
	}
	if kinds["installation token"] == 0 && kinds["credential of a call"] == 0 {
		t.Error("no token was seen on its way")
	}
	t.Logf("%d secrets: %v", len(secrets.seen), slices.Sorted(maps.Keys(kinds)))
	for _, place := range slices.Sorted(maps.Keys(places)) {
		text, count := places[place], 0
		for secret, what := range secrets.seen {
			for form, s := range forms(secret) {
				if n := strings.Count(text, s); n > 0 {
					count += n
					t.Errorf("%s: %s stands there %d times (%s)", place, what, n, form)
				}
			}
		}
		t.Logf("%-16s %8d bytes: %d secrets", place, len(text), count)
	}
}

// written is everything that a run leaves, by place.
func (w *world) written() map[string]string {
	t := w.t
	t.Helper()
	out := map[string]string{"bot log": w.log.String()}
	err := filepath.WalkDir(w.data, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		place := "data folder"
		if strings.HasPrefix(path, filepath.Join(w.data, "sessions")+"/") {
			place = "session folder"
		}
		out[place] += path + "\n" + string(data) + "\n"
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range w.comments() {
		out["comments"] += c.Body
	}
	for _, pr := range w.pulls() {
		out["pull requests"] += pr.Title + "\n" + pr.Body + "\n" + pr.Diff
	}
	for _, c := range w.checks() {
		out["check runs"] += fmt.Sprintf("%+v", c)
	}
	for _, c := range w.github.Calls() {
		if c.Write() {
			out["all writes"] += c.Body + "\n"
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	commits, err := exec.CommandContext(ctx, "git", "--git-dir="+w.github.GitDir(w.repo), "log", "-p", "--format=raw", "main.."+w.pulls()[0].Head).Output()
	if err != nil {
		t.Fatal(err)
	}
	out["pushed commits"] = string(commits)
	return out
}

func pyList(names []string) string {
	return "['" + strings.Join(names, "', '") + "']"
}
