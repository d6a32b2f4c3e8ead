package github_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"slices"
	"testing"

	"culprit/internal/github"
)

func pemOf(key *rsa.PrivateKey) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
}

// While a key is rotated GitHub knows one of two: the bot goes on whichever it is.
func TestEitherOfTwoKeysSignsTheAppIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	good := w.app.PrivateKeyPEM()
	for name, keys := range map[string][]byte{
		"only":         good,
		"good first":   slices.Concat(good, pemOf(other)),
		"good second":  slices.Concat(pemOf(other), []byte("\n"), good),
		"with comment": slices.Concat([]byte("# rotated on Monday\n"), pemOf(other), good),
	} {
		t.Run(name, func(t *testing.T) {
			app, err := github.New(github.Config{BaseURL: w.gh.APIURL(), AppID: w.app.ID, PrivateKey: keys, Transport: w.tr})
			if err != nil {
				t.Fatal(err)
			}
			// A token first: it is asked for by another way than the App's own calls.
			repo, err := app.Repo(t.Context(), w.inst, "octo", "calc")
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := repo.GitCredential(t.Context(), true); err != nil {
				t.Error(err)
			}
			if reg, err := app.Registration(t.Context()); err != nil || reg.Slug != w.app.Slug {
				t.Errorf("registration %+v, %v", reg, err)
			}
		})
	}
	app, err := github.New(github.Config{BaseURL: w.gh.APIURL(), AppID: w.app.ID, PrivateKey: slices.Concat(pemOf(other), pemOf(other)), Transport: w.tr})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := app.Repo(t.Context(), w.inst, "octo", "calc"); !errors.Is(err, github.ErrForbidden) {
		t.Errorf("two keys that GitHub does not know: %v", err)
	}
	for name, keys := range map[string][]byte{
		"none": nil, "three": slices.Concat(good, good, good), "text after": slices.Concat(good, []byte("x")),
		"no key": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")}),
	} {
		if _, err := github.New(github.Config{AppID: 1, PrivateKey: keys}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestTheRegistrationIsHeldAgainstWhatTheAppNeeds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	reg, err := w.client.Registration(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	reg.Permissions["checks"], reg.Permissions["actions"] = "read", "write"
	delete(reg.Permissions, "issues")
	reg.Events = slices.DeleteFunc(reg.Events, func(e string) bool { return e == "push" || e == "repository" })
	want := []string{"event push", "event repository", "permission checks=write", "permission issues=write"}
	if got := reg.Lacks(); !slices.Equal(got, want) {
		t.Errorf("lacks %q, want %q", got, want)
	}
	reg.Permissions, reg.Events = github.Permissions(), github.Events()
	if got := reg.Lacks(); got != nil {
		t.Errorf("a whole registration lacks %q", got)
	}
}
