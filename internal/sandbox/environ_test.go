package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestOnlyNamedSettingsPassAndLoseTheirPasswords(t *testing.T) {
	t.Parallel()
	host := []string{
		"GITHUB_TOKEN=ghs_x", "REDIS_URL=redis://:pw@h", "OPENAI_API_KEY=sk-x", "CULPRIT_PRIVATE_KEY=pem", "NPM_TOKEN=x", "NODE_AUTH_TOKEN=x", "AWS_SECRET_ACCESS_KEY=x",
		"GOPROXY=https://user:pw@proxy.example/go,direct", "HTTPS_PROXY=user:pw@proxy.example:3128", "NO_PROXY=localhost,.example",
		"PIP_EXTRA_INDEX_URL=https://a:pw@one.example/simple https://two.example/simple", "npm_config_registry=https://r.example/npm/", "http_proxy=http://pw@@x",
		"JAVA_HOME=/usr/lib/jvm/x",
	}
	tools := toolchains{path: "/usr/bin"}
	env := environ(host, Command{Network: true, Env: map[string]string{"TZ": "Asia/Seoul"}}, tools, "/h", "/t", "/src")
	for name, want := range map[string]string{
		"GOPROXY": "https://proxy.example/go,direct", "HTTPS_PROXY": "proxy.example:3128", "NO_PROXY": "localhost,.example", "TZ": "Asia/Seoul",
		"PIP_EXTRA_INDEX_URL": "https://one.example/simple https://two.example/simple", "npm_config_registry": "https://r.example/npm/", "http_proxy": "http://x",
		"PATH": "/usr/bin", "HOME": "/h", "TMPDIR": "/t", "JAVA_HOME": "/usr/lib/jvm/x",
		"GITHUB_TOKEN": "", "REDIS_URL": "", "OPENAI_API_KEY": "", "CULPRIT_PRIVATE_KEY": "", "NPM_TOKEN": "", "NODE_AUTH_TOKEN": "", "AWS_SECRET_ACCESS_KEY": "",
	} {
		if got := lookup(env, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if strings.Contains(strings.Join(env, "\n"), "pw") {
		t.Errorf("a password passed: %q", env)
	}
	without := environ(host, Command{}, tools, "/h", "/t", "/src")
	if lookup(without, "GOPROXY") != "off" || lookup(without, "HTTPS_PROXY") != "" || lookup(without, "npm_config_registry") != "" {
		t.Errorf("settings of the network pass without it: %q", without)
	}
}

func TestFilesThatSettingsNameAreShownButNoHome(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "ca.pem"), "x")
	got := settingPaths([]string{"PIP_FIND_LINKS=" + dir, "SSL_CERT_FILE=" + filepath.Join(dir, "ca.pem"), "PIP_CERT=/etc/ssl/x.pem", "CURL_CA_BUNDLE=/root", "SSL_CERT_DIR=/home", "NODE_EXTRA_CA_CERTS=relative"})
	if want := []string{dir, filepath.Join(dir, "ca.pem")}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func FuzzWithoutUserinfo(f *testing.F) {
	f.Add("https://user:pw@h/x,direct")
	f.Add("u:p@h:1|http://@@")
	f.Fuzz(func(t *testing.T, value string) {
		for _, word := range strings.FieldsFunc(withoutUserinfo(value), func(r rune) bool { return strings.ContainsRune(",| \t\n", r) }) {
			if strings.Contains(word, "@") {
				t.Errorf("%q became %q", value, word)
			}
		}
	})
}

func TestToolchainsAreFoundAndHomesAreNotShown(t *testing.T) {
	t.Parallel()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(base, "me")
	for _, file := range []string{
		"me/.pyenv/shims/python3", "me/.cargo/bin/cargo", "me/.cargo/credentials.toml", "me/.rustup/settings.toml", "me/go/bin/tool", "me/go/pkg/mod/x", "me/.local/bin/x",
		"me/.local/share/secret", "me/.nvm/versions/node/v22/bin/node", "me/.nvm/versions/node/v22/lib/x", "me/bin/own", "me/lib/x", "me/.ssh/id",
		"opt/jdk/bin/java", "opt/jdk/lib/x", "opt/app/bin/app", "opt/app/config/key.pem", "shims/node",
	} {
		write(t, filepath.Join(base, file), "x")
	}
	if err := os.Symlink(filepath.Join(base, "opt/jdk/bin/java"), filepath.Join(base, "shims/java")); err != nil {
		t.Fatal(err)
	}
	path := []string{}
	for _, dir := range []string{"me/.pyenv/shims", "me/.cargo/bin", "me/go/bin", "me/.local/bin", "me/.nvm/versions/node/v22/bin", "me/bin", "opt/app/bin", "shims", "missing"} {
		path = append(path, filepath.Join(base, dir))
	}
	path = append(path, "relative", "", "/usr/bin")
	got := discover([]string{"HOME=" + home, "PATH=" + strings.Join(path, ":")}, nil)
	want := []string{
		"me/.cargo/bin", "me/.local/bin", "me/.nvm/versions/node/v22", "me/.pyenv", "me/.rustup", "me/bin", "me/go/bin", "opt/app/bin", "opt/jdk", "shims",
	}
	for i := range want {
		want[i] = filepath.Join(base, want[i])
	}
	if !slices.Equal(got.roots, want) {
		t.Errorf("roots\n%q, want\n%q", got.roots, want)
	}
	if strings.Contains(got.path, "relative") || strings.Contains(got.path, "missing") || got.rustup != filepath.Join(home, ".rustup") {
		t.Errorf("%+v", got)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
