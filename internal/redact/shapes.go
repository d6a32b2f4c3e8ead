package redact

import (
	"bytes"
	"encoding/base64"
	"math"
	"regexp"
	"strings"
	"sync"
)

// shape is the form of a well-known kind of token.
type shape struct {
	kind  string
	hints []string // one of them, of two bytes or more, stands in every text that re matches: the fast way out
	re    *regexp.Regexp
	group int // the part of re that is the secret
	// word: the token must not be the end of a longer word.
	word bool
	ok   func(token []byte) bool // more that must hold; nil means nothing
}

// shapes by kind. No expression may match a line end, a backslash that is not
// part of an escape, or the square bracket that begins a marker.
var shapes = []shape{
	// https://docs.github.com/en/authentication/keeping-your-account-and-data-secure/about-authentication-to-github#githubs-token-formats
	{kind: "github-token", hints: []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"}, re: regexp.MustCompile(`gh[pousr]_[A-Za-z0-9]{30,}(?:[._-][A-Za-z0-9_-]+)*`)},
	{kind: "github-token", hints: []string{"ghs_"}, re: regexp.MustCompile(`ghs_[0-9]+_eyJ[A-Za-z0-9_.-]{20,}`)},
	{kind: "github-token", hints: []string{"github_pat_"}, re: regexp.MustCompile(`github_pat_[A-Za-z0-9_]{22,}`)},
	// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html
	{kind: "aws-key-id", hints: []string{"AKIA", "ASIA", "ABIA", "ACCA"}, re: regexp.MustCompile(`((?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16})(?:[^A-Za-z0-9+/=_]|$)`), group: 1, word: true},
	{kind: "aws-secret", hints: []string{"ecret", "ECRET", "aws_key", "AWS_KEY"}, group: 1, ok: isRandom,
		re: regexp.MustCompile(`(?i)(?:aws_?)?(?:secret_?access_?key|secret_?key|aws_?key|aws_?secret)\\?["']?\s{0,8}(?::=|=>|[:=])\s{0,8}\\?["']?((?:[A-Za-z0-9+=]|\\?/){40})(?:[^A-Za-z0-9+/=]|$)`)},
	{kind: "slack-token", hints: []string{"xox", "xapp-"}, re: regexp.MustCompile(`(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,}`), word: true, ok: hasDigit},
	{kind: "slack-webhook", hints: []string{"hooks.slack.com"}, re: regexp.MustCompile(`hooks\.slack\.com\\?/(?:services|workflows|triggers)\\?/([A-Za-z0-9+/\\]{20,})`), group: 1},
	{kind: "jwt", hints: []string{"eyJ"}, re: regexp.MustCompile(`eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}`), word: true},
	{kind: "openai-key", hints: []string{"T3BlbkFJ"}, re: regexp.MustCompile(`sk-[A-Za-z0-9_-]{16,}T3BlbkFJ[A-Za-z0-9_-]{16,}`)},
	{kind: "api-key", hints: []string{"sk-"}, re: regexp.MustCompile(`sk-(?:proj-|svcacct-|admin-|ant-[a-z0-9]{2,8}-|or-v1-)?[A-Za-z0-9_-]{20,}`), word: true, ok: isRandom},
	{kind: "npm-token", hints: []string{"npm_"}, re: regexp.MustCompile(`npm_[A-Za-z0-9]{36}`), word: true},
	{kind: "npm-token", hints: []string{"_authToken"}, re: regexp.MustCompile(`_authToken\s?=\s?\\?"?([A-Za-z0-9._~+/=-]{8,})`), group: 1, ok: hasDigit},
	{kind: "gitlab-token", hints: []string{"glpat-", "gldt-", "glrt-", "glptt-", "glcbt-"}, re: regexp.MustCompile(`(?:glpat|gldt|glrt|glptt|glcbt)-[A-Za-z0-9_.-]{20,}`), word: true},
	{kind: "google-key", hints: []string{"AIza"}, re: regexp.MustCompile(`AIza[A-Za-z0-9_-]{35}`), word: true},
	{kind: "google-token", hints: []string{"ya29.", "GOCSPX-"}, re: regexp.MustCompile(`(?:ya29\.|GOCSPX-)[A-Za-z0-9_-]{20,}`), word: true},
	{kind: "stripe-key", hints: []string{"_live_", "_test_"}, re: regexp.MustCompile(`(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}`), word: true, ok: hasDigit},
	{kind: "webhook-secret", hints: []string{"whsec_"}, re: regexp.MustCompile(`whsec_[A-Za-z0-9+/=]{20,}`), word: true},
	{kind: "pypi-token", hints: []string{"pypi-AgE"}, re: regexp.MustCompile(`pypi-AgE[A-Za-z0-9_-]{40,}`)},
	{kind: "docker-token", hints: []string{"dckr_pat_"}, re: regexp.MustCompile(`dckr_pat_[A-Za-z0-9_-]{20,}`)},
	{kind: "huggingface-token", hints: []string{"hf_"}, re: regexp.MustCompile(`hf_[A-Za-z0-9]{34,}`), word: true},
	{kind: "sendgrid-key", hints: []string{"SG."}, re: regexp.MustCompile(`SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}`), word: true},
	{kind: "digitalocean-token", hints: []string{"_v1_"}, re: regexp.MustCompile(`do[opr]_v1_[a-f0-9]{64}`), word: true},
	{kind: "rubygems-key", hints: []string{"rubygems_"}, re: regexp.MustCompile(`rubygems_[a-f0-9]{48}`), word: true},
	{kind: "azure-key", hints: []string{"AccountKey="}, re: regexp.MustCompile(`AccountKey=((?:[A-Za-z0-9+]|\\?/){40,}={0,2})`), group: 1},
	{kind: "age-key", hints: []string{"AGE-SECRET-KEY-1"}, re: regexp.MustCompile(`AGE-SECRET-KEY-1[A-Z0-9]{40,}`)},
	{kind: "vault-token", hints: []string{"hvs.", "hvb."}, re: regexp.MustCompile(`hv[sb]\.[A-Za-z0-9_-]{24,}`), word: true},

	{kind: "basic-auth", hints: []string{"asic ", "ASIC "}, group: 1, ok: isBasic,
		re: regexp.MustCompile(`(?i)authorization\\?["']?\s{0,4}[:=]\s{0,4}\\?["']?basic\s+([A-Za-z0-9+/_-]{6,}={0,2})`)},
	{kind: "authorization", hints: []string{"uthorization", "UTHORIZATION"}, group: 1, ok: isRandom,
		re: regexp.MustCompile(`(?i)authorization\\?["']?\s{0,4}[:=]\s{0,4}\\?["']?(?:(?:bearer|token|bot|digest|key|apikey)\s+)?([A-Za-z0-9._~+/=-]{16,})`)},
	{kind: "authorization", hints: []string{"earer ", "EARER "}, group: 1, ok: isRandom, re: regexp.MustCompile(`(?i)bearer\s+([A-Za-z0-9._~+/=-]{20,})`)},
	{kind: "api-key", hints: []string{"-key", "-Key", "-KEY", "-token", "-Token", "-TOKEN"}, group: 1, ok: isRandom,
		re: regexp.MustCompile(`(?i)(?:x-api-key|private-token|x-auth-token|x-vault-token|job-token|x-goog-api-key)\\?["']?\s{0,4}[:=]\s{0,4}\\?["']?([A-Za-z0-9._~+/=-]{16,})`)},
	{kind: "url-password", hints: []string{"://"}, group: 1, ok: notPlaceholder,
		re: regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]{1,20}:\\?/\\?/[^\s/:@"'<>\\\[\]{}()|,]{0,256}:((?:[^\s/@"'<>\\\[\]{}()|,]|\\["bfnrtu]){1,256})@[A-Za-z0-9\[]`)},
	{kind: "url-token", hints: []string{"://"}, group: 1, ok: isRandom,
		re: regexp.MustCompile(`:\\?/\\?/([A-Za-z0-9_-]{20,256})(?::x-oauth-basic)?@[A-Za-z0-9]`)},
	{kind: "env", hints: []string{"TOKEN", "SECRET", "PASSW", "KEY", "CREDENTIAL"}, group: 1, ok: isRandom, word: true,
		re: regexp.MustCompile(`[A-Z][A-Z0-9_]{0,60}(?:TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|ACCESS_KEY|PRIVATE_KEY|CREDENTIALS?)[A-Z0-9_]{0,20}=\\?["']?([A-Za-z0-9._~+/=@:!#%^*-]{12,})`)},
}

// shapesIn are the places of everything that has a known shape.
func shapesIn(b []byte) []span {
	out := keysIn(b)
	hinted := hintsIn(b)
	for i := range shapes {
		s := &shapes[i]
		if hinted&(1<<i) == 0 {
			continue
		}
		for at := 0; at < len(b); {
			m := s.re.FindSubmatchIndex(b[at:])
			if m == nil {
				break
			}
			from, to := at+m[2*s.group], at+m[2*s.group+1]
			begin := at + m[0]
			// Both ways on skip what cannot hold a token either, so that the
			// time stays linear in hostile text.
			if s.word && !startsToken(b, begin) {
				for at = begin + 1; at < len(b) && isWord(b[at]); at++ {
				}
				continue
			}
			if s.ok != nil && !s.ok(b[from:to]) {
				at = to
				continue
			}
			out = append(out, span{from, to, s.kind})
			at = to
		}
	}
	return out
}

// hint is a text that makes a shape worth looking for.
type hint struct {
	text  string
	shape int
}

// hintTable finds hints by their first two bytes: table holds positions in
// list, from 1.
type hintTable struct {
	table [1 << 16]uint8
	list  [][]hint
}

var hints = sync.OnceValue(func() *hintTable {
	t := &hintTable{list: make([][]hint, 1)}
	for i, s := range shapes {
		for _, h := range s.hints {
			at := &t.table[int(h[0])<<8|int(h[1])]
			if *at == 0 {
				*at = uint8(len(t.list))
				t.list = append(t.list, nil)
			}
			t.list[*at] = append(t.list[*at], hint{h, i})
		}
	}
	return t
})

// hintsIn has bit i set when a hint of shapes[i] stands in b.
func hintsIn(b []byte) (found uint64) {
	t := hints()
	for i := 0; i+1 < len(b); i++ {
		n := t.table[int(b[i])<<8|int(b[i+1])]
		if n == 0 {
			continue
		}
		for _, h := range t.list[n] {
			if found&(1<<h.shape) == 0 && len(b)-i >= len(h.text) && string(b[i:i+len(h.text)]) == h.text {
				found |= 1 << h.shape
			}
		}
	}
	return found
}

// escapeEnd matches what ends in a letter or digit and is none: escapes of
// JSON, C and URLs, and colours of a terminal.
var escapeEnd = regexp.MustCompile(`(?:\\[nrtbfv0]|\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|%[0-9a-fA-F]{2}|\[[0-9;]{0,12}m)$`)

// startsToken reports whether no word goes on across position i.
func startsToken(b []byte, i int) bool {
	if i == 0 || !isWord(b[i-1]) {
		// A slash or plus before it: the middle of base64.
		return i == 0 || (b[i-1] != '+' && (b[i-1] != '/' || i == 1 || !isWord(b[i-2]) || i < 24 || !isBase64(b[i-24:i])))
	}
	return escapeEnd.Match(b[max(0, i-16):i])
}

func isBase64(b []byte) bool {
	for _, c := range b {
		if (!isWord(c) || c == '_') && c != '+' && c != '/' {
			return false
		}
	}
	return true
}

func hasDigit(token []byte) bool { return bytes.ContainsAny(token, "0123456789") }

// isRandom tells a random string from words and identifiers: letters and
// digits, mixed, and many different ones.
func isRandom(token []byte) bool {
	var count [256]int
	letters, digits, changes := 0, 0, 0
	kind := 0
	for _, c := range token {
		count[c]++
		k := 0
		switch {
		case c >= '0' && c <= '9':
			digits++
			k = 1
		case c >= 'a' && c <= 'z':
			letters++
			k = 2
		case c >= 'A' && c <= 'Z':
			letters++
			k = 3
		}
		if k != kind {
			changes++
		}
		kind = k
	}
	if letters == 0 || digits < 2 || changes < 4 {
		return false
	}
	entropy := 0.0
	for _, n := range count {
		if n > 0 {
			p := float64(n) / float64(len(token))
			entropy -= p * math.Log2(p)
		}
	}
	return entropy >= 3
}

// isBasic reports whether the token is base64 of user:password.
func isBasic(token []byte) bool {
	trimmed := strings.TrimRight(strings.NewReplacer("-", "+", "_", "/").Replace(string(token)), "=")
	plain, err := base64.RawStdEncoding.DecodeString(trimmed)
	return err == nil && bytes.Contains(plain, []byte(":"))
}

// notPlaceholder tells a password in a URL from what documentation and format
// strings have in its place.
func notPlaceholder(token []byte) bool {
	switch s := strings.ToLower(string(token)); s {
	case "password", "passwd", "pass", "pwd", "secret", "token", "x-oauth-basic":
		return false
	default:
		return strings.Trim(s, "*x.") != "" && !strings.ContainsAny(s[:1], "$%*")
	}
}
