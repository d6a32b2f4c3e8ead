package github

import (
	"crypto/rsa"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/bradleyfalzon/ghinstallation/v2"
	"github.com/golang-jwt/jwt/v4"
)

// keys are the App's private keys: the one in use, and while it is rotated the
// other. GitHub takes either until a person deletes one of them, so a bot that
// knows both has no moment without a valid key (GH10).
type keys struct {
	mu   sync.Mutex
	list []*rsa.PrivateKey
	at   int // the one that GitHub took last
}

// errKey says what a key must be; it never shows the key.
var errKey = errors.New("set up GitHub App: the private key is not an RSA key in PEM form: use the .pem file that GitHub gave when the key was made (two of them, one after the other, while the key is rotated)")

// parseKeys reads one or two keys in PEM form.
func parseKeys(data []byte) (*keys, error) {
	k := &keys{}
	for {
		block, rest := pem.Decode(data)
		if block == nil {
			break
		}
		key, err := jwt.ParseRSAPrivateKeyFromPEM(pem.EncodeToMemory(block))
		if err != nil {
			return nil, errKey
		}
		k.list, data = append(k.list, key), rest
	}
	if len(k.list) == 0 || len(k.list) > 2 || strings.TrimSpace(string(data)) != "" {
		return nil, errKey
	}
	return k, nil
}

// use returns the key to sign with, and its number for refused.
func (k *keys) use() (*rsa.PrivateKey, int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.list[k.at], k.at
}

// refused notes that GitHub did not take a key, and reports whether there is
// another to try.
func (k *keys) refused(n int) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.at == n {
		k.at = (n + 1) % len(k.list)
	}
	return k.at != n
}

// appTransport signs requests as the App itself, by the key that it names.
// Each user gets one of its own, since ghinstallation writes to it.
func (a *App) appTransport() (*ghinstallation.AppsTransport, int) {
	key, n := a.keys.use()
	t := ghinstallation.NewAppsTransportFromPrivateKey(a.tr, a.cfg.AppID, key)
	t.BaseURL = strings.TrimRight(a.base.String(), "/")
	return t, n
}

// signed signs as the App, and tries the other key when one is refused.
type signed struct{ app *App }

// RoundTrip implements http.RoundTripper.
func (s signed) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil && req.GetBody != nil {
		defer req.Body.Close() // its copies are sent
	}
	for tried := 1; ; tried++ {
		t, n := s.app.appTransport()
		out := req.Clone(req.Context())
		if req.GetBody != nil {
			body, err := req.GetBody()
			if err != nil {
				return nil, err
			}
			out.Body = body
		}
		resp, err := t.RoundTrip(out)
		again := err == nil && resp.StatusCode == http.StatusUnauthorized && (req.Body == nil || req.Body == http.NoBody || req.GetBody != nil)
		if !again || tried > 1 || !s.app.keys.refused(n) {
			return resp, err
		}
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
		resp.Body.Close()
	}
}
