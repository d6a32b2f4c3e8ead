package redact

import (
	"bytes"
	"regexp"
)

var (
	keyBegin = regexp.MustCompile(`-----BEGIN (?:[A-Z0-9]{1,16} ){0,4}PRIVATE KEY(?: BLOCK)?-----`)
	keyEnd   = regexp.MustCompile(`-----END (?:[A-Z0-9]{1,16} ){0,4}PRIVATE KEY(?: BLOCK)?-----`)
	// keyBody is a line of a key, with slashes as some JSON has them.
	keyBody = regexp.MustCompile(`(?:[A-Za-z0-9+]|\\?/){40,}={0,2}`)
)

// maxKey is the longest private key that is looked for as a whole, in bytes.
const maxKey = 32 << 10

// keysIn are the private keys in PEM form, from BEGIN to END whatever stands
// between (logs put times before each line). Where END is missing, it is the
// lines that have the form of a key's body.
func keysIn(b []byte) []span {
	var out []span
	for at := 0; at < len(b); {
		m := keyBegin.FindIndex(b[at:])
		if m == nil {
			break
		}
		from, body := at+m[0], at+m[1]
		end := keyEnd.FindIndex(b[body:min(len(b), body+maxKey)])
		to := body
		if end != nil {
			to = body + end[1]
			// Code that looks for keys names both marks, and has no body.
			if next := keyBegin.FindIndex(b[body:to]); next != nil || len(bodyLines(b[body:to])) == 0 {
				to = body
			}
		}
		if to == body {
			to = keyLines(b, body)
		}
		if to > body {
			out = append(out, span{from, to, "private-key"})
		}
		at = to
	}
	return out
}

// bodyLines are the places in b that have the form of a key's body and are no
// long identifiers.
func bodyLines(b []byte) [][]int {
	var out [][]int
	for _, m := range keyBody.FindAllIndex(b, -1) {
		if isRandom(b[m[0]:m[1]]) {
			out = append(out, m)
		}
	}
	return out
}

// keyLines is the end of the body lines that follow a BEGIN without END.
func keyLines(b []byte, body int) int {
	to := body
	for at, first := body, true; at < len(b); first = false {
		end := len(b)
		if i := bytes.IndexByte(b[at:], '\n'); i >= 0 {
			end = at + i
		}
		line := b[at:end]
		if all := bodyLines(line); len(all) > 0 {
			to = at + all[len(all)-1][1]
		} else if !first {
			break
		}
		at = end + 1
	}
	return to
}

// openKey is where a private key begins whose END may still come; len(b) when
// there is none.
func openKey(b []byte) int {
	all := keyBegin.FindAllIndex(b, -1)
	if len(all) == 0 {
		return len(b)
	}
	last := all[len(all)-1]
	if len(b)-last[1] > maxKey || keyEnd.Match(b[last[1]:]) {
		return len(b)
	}
	return last[0]
}
