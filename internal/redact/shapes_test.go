package redact

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"culprit/internal/requiretest"
)

// fake makes a token out of two halves, so that no scanner of this repository
// takes it for one.
func fake(prefix, tail string) string { return prefix + tail }

const mixed = "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA1bC3dE5fG7hJ9kL0mN2pQ4rS6tU8vW0xY1zA3bC5dE7"

func TestKnownShapesAreTaken(t *testing.T) {
	t.Parallel()
	r := New()
	jwt := fake("eyJ", "hbGciOiJIUzI1NiJ9."+"eyJzdWIiOiIxMjM0NTY3ODkwIn0"+"."+mixed[:43])
	for kind, tokens := range map[string][]string{
		"github-token":  {fake("ghp_", mixed[:36]), fake("gho_", mixed[:36]), fake("ghu_", mixed[:36]), fake("ghs_", mixed[:36]), fake("github_pat_", mixed[:22]+"_"+mixed[:59]), fake("ghs_", "12345_") + jwt},
		"aws-key-id":    {fake("AKIA", "Q3EXAMPL2Y7ZABCD"), fake("ASIA", "Q3EXAMPL2Y7ZABCD")},
		"slack-token":   {fake("xoxb-", "123456789012-1234567890123-"+mixed[:24]), fake("xapp-", "1-A0123-456-"+mixed[:20])},
		"jwt":           {jwt},
		"openai-key":    {fake("sk-", mixed[:20]+"T3Bl"+"bkFJ"+mixed[:20])},
		"api-key":       {fake("sk-", "proj-"+mixed[:48]), fake("sk-", "ant-api03-"+mixed[:64])},
		"npm-token":     {fake("npm_", mixed[:36])},
		"gitlab-token":  {fake("glpat-", mixed[:20])},
		"google-key":    {fake("AIza", mixed[:35])},
		"stripe-key":    {fake("sk_live_", mixed[:24]), fake("rk_test_", mixed[:24])},
		"sendgrid-key":  {fake("SG.", mixed[:22]+"."+mixed[:43])},
		"slack-webhook": {fake("https://hooks.slack.com/services/", "T00000000/B00000000/"+mixed[:24])},
	} {
		for _, token := range tokens {
			for _, text := range []string{token, "x=" + token + ";", "\"" + token + "\"", `{"log":"a\n` + token + `\n"}`, "\x1b[31m" + token + "\x1b[0m", "?t=%20" + token + "&"} {
				out := r.String(text)
				if strings.Contains(out, token[len(token)-12:]) || !strings.Contains(out, "[REDACTED:") {
					t.Errorf("%s is left in %q", kind, out)
				}
				if text == token && kind != "slack-webhook" && out != "[REDACTED:"+kind+"]" {
					t.Errorf("%q became %q, want kind %s", text, out, kind)
				}
			}
		}
	}
	for text, want := range map[string]string{
		"git clone https://me:" + mixed[:10] + "@example.com/r.git":                    "git clone https://me:[REDACTED:url-password]@example.com/r.git",
		"https://" + mixed[:30] + "@example.com/r":                                     "https://[REDACTED:url-token]@example.com/r",
		"postgres://app:p%40ss1@db:5432/x":                                             "postgres://app:[REDACTED:url-password]@db:5432/x",
		"Authorization: Bearer " + mixed[:30]:                                          "Authorization: Bearer [REDACTED:authorization]",
		"AUTHORIZATION: basic " + "eDp5MTIzNDU2Nzg5":                                   "AUTHORIZATION: basic [REDACTED:basic-auth]",
		`"authorization": "token ` + mixed[:30] + `"`:                                  `"authorization": "token [REDACTED:authorization]"`,
		"aws_secret_access_key = " + mixed[:40]:                                        "aws_secret_access_key = [REDACTED:aws-secret]",
		`"SecretAccessKey":"` + mixed[:40] + `"`:                                       `"SecretAccessKey":"[REDACTED:aws-secret]"`,
		"DEPLOY_TOKEN=" + mixed[:24] + " make":                                         "DEPLOY_TOKEN=[REDACTED:env] make",
		"//registry.npmjs.org/:_authToken=" + mixed[:20]:                               "//registry.npmjs.org/:_authToken=[REDACTED:npm-token]",
		"DefaultEndpointsProtocol=https;AccountKey=" + mixed + mixed[:9] + "==;Suffix": "DefaultEndpointsProtocol=https;AccountKey=[REDACTED:azure-key];Suffix",
	} {
		if out := r.String(text); out != want {
			t.Errorf("%q became %q, want %q", text, out, want)
		}
	}
}

func TestOrdinaryTextIsLeftAlone(t *testing.T) {
	t.Parallel()
	r := New()
	for _, text := range []string{
		"commit 3f2a91c0b5d4e6f7a8b9c0d1e2f3a4b5c6d7e8f9",
		"id: 123e4567-e89b-12d3-a456-426614174000",
		"github.com/a/b v1.2.3 h1:3vn0zUpxMxy1rFqL5XUxUVf1Zs0lCQvzBwp5q1i2Y0I=",
		"sha512-9YmQ8ZxkE4VtJ2sTgW0a7nLrPq3uBdXc6FhKoGi1MzNeRwSyTpUvAxCjDlHkIbQm==",
		`integrity="sha384-oqVuAfXRKap7fdgcCY5uykM6+R9GqQ8K/uxy9rx7HNQlGYl1kPzQho1wx4JwY8wC"`,
		"FROM alpine@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
		"class=\"sk-circle-fade-dot task-list-item-checkbox\"", "disk-1234567890abcdefghijklmn", "Authorization: Bearer <token>",
		"http://user:password@example.com/", `fmt.Sprintf("https://%s:%s@%s", user, pass, host)`, "https://$USER:$PASS@host/", "http://localhost:8080/a@b",
		"req.Header.Set(\"Authorization\", \"Bearer \"+installationAccessToken)", "export GITHUB_TOKEN=$(cat token)", "API_KEY=os.environ[\"API_KEY\"]",
		"const begin = \"-----BEGIN RSA PRIVATE " + "KEY-----\"\nvar thisIsALongIdentifierThatIsNoKeyAtAllButLong int\nconst end = \"-----END RSA PRIVATE " + "KEY-----\"\n",
		"npm_config_registry=https://registry.npmjs.org/", "xoxo-kisses-and-hugs", "eyJust.a.word", "AKIAlonelyword",
	} {
		if out := r.String(text); out != text {
			t.Errorf("%q became %q", text, out)
		}
	}
}

// TestFalsePositivesOnGoSources counts what is taken from the sources of Go's
// standard library, some hundred megabytes of code, tests and test data
// without any secret of anyone. `make check` has it read all of them
// (CULPRIT_ALL_SOURCES=1); else it takes a part.
func TestFalsePositivesOnGoSources(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("skipped: -short reads no large body of code")
	}
	requiretest.Program(t, "go")
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	r := New()
	every, allowed := 32, 15
	if os.Getenv("CULPRIT_ALL_SOURCES") != "" {
		every, allowed = 1, 60
	}
	count := map[string]int{}
	var size, files, met int
	var seen []string
	err = filepath.WalkDir(filepath.Join(strings.TrimSpace(string(root)), "src"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if met++; met%every != 0 {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		size, files = size+len(text), files+1
		for _, s := range r.automaton().spans(text) {
			count[s.kind]++
			if s.kind != "private-key" && len(seen) < 50 {
				seen = append(seen, filepath.Base(path)+": "+s.kind+" "+string(text[max(0, s.from-30):min(len(text), s.to+10)]))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for kind, n := range count {
		// The keys of the tests of crypto/tls and crypto/x509 are private keys
		// in every respect.
		if kind != "private-key" {
			total += n
		}
	}
	t.Logf("%d false positives in %d files, %d MB: %v\n%s", total, files, size>>20, count, strings.Join(seen, "\n"))
	if total > allowed {
		t.Errorf("%d false positives, at most %d are allowed", total, allowed)
	}
}
