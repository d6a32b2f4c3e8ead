package githubtest

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// identity is who a request comes from. The zero value is an anonymous one.
type identity struct {
	app   *app   // authenticated by JWT
	token *token // authenticated by an installation's or person's token
}

// user is the account that acts: a person or an App's bot. Nil for JWTs and
// anonymous requests.
func (w identity) user() *user {
	switch {
	case w.token == nil:
		return nil
	case w.token.inst != nil:
		return w.token.inst.app.bot
	}
	return w.token.user
}

// via is the App through which the identity acts, if any.
func (w identity) via() *app {
	if w.token != nil && w.token.inst != nil {
		return w.token.inst.app
	}
	return nil
}

func (w identity) name() string {
	switch u := w.user(); {
	case w.app != nil:
		return "app/" + w.app.Slug
	case u != nil:
		return u.login
	}
	return ""
}

// authenticate reads the Authorization header: a JWT or a token, as Bearer,
// token or basic password. A reply means that the credential is bad.
func (s *Server) authenticate(r *http.Request) (identity, *reply) {
	cred := ""
	if _, password, ok := r.BasicAuth(); ok {
		cred = password
	} else if kind, value, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok &&
		(strings.EqualFold(kind, "bearer") || strings.EqualFold(kind, "token")) {
		cred = strings.TrimSpace(value)
	}
	if cred == "" {
		return identity{}, nil
	}
	if strings.Count(cred, ".") == 2 {
		a, problem := s.verifyJWT(cred)
		if problem != "" {
			rep := fail(http.StatusUnauthorized, problem)
			return identity{}, &rep
		}
		return identity{app: a}, nil
	}
	t := s.tokens[cred]
	if t == nil || !t.expires.IsZero() && !s.opts.Now().Before(t.expires) {
		rep := fail(http.StatusUnauthorized, "Bad credentials")
		return identity{}, &rep
	}
	if t.inst != nil && !t.inst.suspended.IsZero() {
		rep := fail(http.StatusForbidden, "This installation has been suspended")
		return identity{token: t}, &rep
	}
	return identity{token: t}, nil
}

// verifyJWT checks an App's JSON web token as GitHub documents it: RS256 by
// the App's key, iss the App's ID, not issued in the future, and an exp at most
// ten minutes away. The problem is GitHub's message.
func (s *Server) verifyJWT(raw string) (*app, string) {
	const undecodable = "A JSON web token could not be decoded"
	parts := strings.Split(raw, ".")
	var header struct {
		Alg string `json:"alg"`
	}
	var claims struct {
		Iss json.RawMessage `json:"iss"`
		Iat *float64        `json:"iat"`
		Exp *float64        `json:"exp"`
	}
	if !decodePart(parts[0], &header) || !decodePart(parts[1], &claims) || header.Alg != "RS256" {
		return nil, undecodable
	}
	sig, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil {
		return nil, undecodable
	}
	id, err := strconv.ParseInt(strings.Trim(string(claims.Iss), `"`), 10, 64)
	if err != nil {
		return nil, "'Issuer' claim ('iss') must be an Integer"
	}
	a := s.appByID(id)
	if a == nil {
		return nil, "Integration not found"
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if rsa.VerifyPKCS1v15(&a.Key.PublicKey, crypto.SHA256, sum[:], sig) != nil {
		return nil, undecodable
	}
	now := float64(s.opts.Now().Unix())
	switch {
	case claims.Exp == nil:
		return nil, "Missing 'expiration' claim ('exp') in assertion"
	case claims.Iat == nil:
		return nil, "Missing 'issued at' claim ('iat') in assertion"
	case *claims.Iat > now:
		return nil, "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued"
	case *claims.Exp <= now:
		return nil, "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires"
	case *claims.Exp > now+(10*time.Minute).Seconds():
		return nil, "'Expiration time' claim ('exp') is too far in the future"
	}
	return a, ""
}

func decodePart(part string, v any) bool {
	b, err := base64.RawURLEncoding.DecodeString(part)
	return err == nil && json.Unmarshal(b, v) == nil
}

// roleRank orders the roles of a repository.
var roleRank = map[string]int{"none": 0, "read": 1, "triage": 2, "write": 3, "maintain": 4, "admin": 5}

// authorize decides whether the identity may do what the route does. It also
// finds the repository. A nil reply means yes.
func (s *Server) authorize(c *call) *reply {
	deny := func(status int, msg string) *reply { r := fail(status, msg); return &r }
	switch c.route.access {
	case accessAnyone:
		return nil
	case accessApp:
		if c.who.app == nil {
			return deny(http.StatusUnauthorized, "A JSON web token could not be decoded")
		}
		return nil
	case accessInstallation:
		if c.who.via() == nil {
			return deny(http.StatusForbidden, "You must authenticate with an installation access token in order to list repositories for an installation.")
		}
		return nil
	}
	c.repo = s.repo(c.param("owner") + "/" + c.param("repo"))
	reading := c.r.Method == http.MethodGet || c.r.Method == http.MethodHead
	if c.who.app != nil {
		return deny(http.StatusUnauthorized, "Bad credentials")
	}
	if c.repo == nil {
		return deny(http.StatusNotFound, "Not Found")
	}
	if t := c.who.token; t != nil && t.inst != nil {
		if !t.sees(c.repo) {
			if c.repo.private {
				return deny(http.StatusNotFound, "Not Found")
			}
			if reading {
				return nil
			}
			return deny(http.StatusForbidden, "Resource not accessible by integration")
		}
		if !t.may(c.route.needs) {
			c.header.Set("X-Accepted-GitHub-Permissions", strings.ReplaceAll(strings.ReplaceAll(c.route.needs, ":", "="), "|", "; "))
			return deny(http.StatusForbidden, "Resource not accessible by integration")
		}
	} else {
		u := c.who.user()
		role := c.repo.role(u)
		need := c.route.role
		if need == "" {
			need = "read"
		}
		switch {
		case roleRank[role] == 0 && (c.repo.private || u != nil):
			return deny(http.StatusNotFound, "Not Found")
		case u == nil && (!reading || need != "read"):
			return deny(http.StatusUnauthorized, "Requires authentication")
		case u != nil && roleRank[role] < roleRank[need]:
			return deny(http.StatusForbidden, "Must have "+need+" rights to Repository.")
		}
	}
	if c.repo.archived && !reading {
		return deny(http.StatusForbidden, "Repository was archived so is read-only.")
	}
	return nil
}

// sees says whether an installation's token reaches a repository.
func (t *token) sees(r *repository) bool {
	return t.inst.covers(r) && (t.repos == nil || t.repos[r.id])
}

// may says whether a token has one of the alternatives "name:level|…".
func (t *token) may(needs string) bool {
	if needs == "" {
		return true
	}
	for alt := range strings.SplitSeq(needs, "|") {
		name, level, _ := strings.Cut(alt, ":")
		have, granted := t.permissions[name], t.inst.permissions[name]
		if levelRank[have] >= levelRank[level] && levelRank[granted] >= levelRank[level] {
			return true
		}
	}
	return false
}

var levelRank = map[string]int{"": 0, "read": 1, "write": 2, "admin": 3}
