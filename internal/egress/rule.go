package egress

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
)

// A Rule allows a host: "name", "*.domain" (its sub-domains) or "*" on ports 80
// and 443 with a public address, or "name:port" with any address.
type Rule struct {
	host string
	port string // empty: 80 and 443, public addresses only
}

// ParseRule reads a rule; the error says what is wrong with it.
func ParseRule(s string) (Rule, error) {
	r := Rule{host: strings.ToLower(strings.TrimSpace(s))}
	if host, port, err := net.SplitHostPort(r.host); err == nil {
		if n, err := net.LookupPort("tcp", port); err != nil || n == 0 || strings.Contains(host, "*") {
			return Rule{}, fmt.Errorf("%q: want NAME, *.DOMAIN, * or NAME:PORT", s)
		}
		r.host, r.port = host, port
	}
	if rest, ok := strings.CutPrefix(r.host, "*"); ok && rest != "" && rest[0] != '.' && !strings.Contains(rest, "*") {
		return Rule{}, fmt.Errorf("%q would allow every host whose name ends so, those of others too: want %q for the sub-domains, %q for the host", s, "*."+rest, rest)
	}
	name := strings.TrimPrefix(strings.TrimPrefix(r.host, "*"), ".")
	if r.host == "" || strings.ContainsAny(name, "*/@ ?#%") || name == "" && r.host != "*" || strings.HasPrefix(r.host, ".") {
		return Rule{}, fmt.Errorf("%q: want NAME, *.DOMAIN, * or NAME:PORT", s)
	}
	r.host = strings.TrimSuffix(r.host, ".")
	return r, nil
}

func (r Rule) matches(host, port string) bool {
	if r.port != "" {
		return host == r.host && port == r.port
	}
	if port != "80" && port != "443" {
		return false
	}
	if domain, ok := strings.CutPrefix(r.host, "*"); ok {
		return strings.HasSuffix(host, domain)
	}
	return host == r.host
}

// A target is what a request wants to reach, and a rule allows.
type target struct {
	host, port string
	private    bool // its address need not be public
}

func (t target) String() string { return net.JoinHostPort(t.host, t.port) }

// allow finds the rule for an address. An address that is no name is checked at
// once: where the operator has a proxy, nobody looks it up here.
func (p *Proxy) allow(address string) (target, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return target{}, fmt.Errorf("%w: %q is no HOST:PORT", ErrRefused, address)
	}
	t := target{host: strings.TrimSuffix(strings.ToLower(host), "."), port: port}
	allowed := false
	for _, r := range p.opts.Rules {
		if r.matches(t.host, port) {
			allowed, t.private = true, t.private || r.port != ""
		}
	}
	if !allowed {
		return t, fmt.Errorf("%s: %w: name it in CULPRIT_SETUP_HOSTS", t, ErrRefused)
	}
	if a, err := netip.ParseAddr(t.host); err == nil {
		if !t.private && !public(a) {
			return t, fmt.Errorf("%s: %w: its address is not public", t.host, ErrRefused)
		}
	} else if numeric(t.host) {
		return t, fmt.Errorf("%s: %w: want the address with its four numbers", t.host, ErrRefused)
	}
	return t, nil
}

// numeric reports whether a host is one of the many ways in which resolvers
// take an address (127.1, 0x7f000001, 017700000001): its last label is a number
// (WHATWG URL, "ends in a number").
func numeric(host string) bool {
	last := host[strings.LastIndex(host, ".")+1:]
	digits, hex := strings.CutPrefix(last, "0x")
	valid := "0123456789"
	if hex {
		valid += "abcdef"
	}
	return (hex || digits != "") && strings.Trim(digits, valid) == ""
}

// notPublic are ranges beyond what netip itself knows (RFC 6890 and others):
// carrier-grade NAT, protocol assignments, documentation, benchmarks, reserved,
// NAT64 and 6to4, in which an IPv4 address may hide.
var notPublic = func() (out []netip.Prefix) {
	for _, s := range []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
		"64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "fec0::/10",
	} {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}()

// public reports whether an address is one of the internet.
func public(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	return a.IsGlobalUnicast() && !a.IsPrivate() && !slices.ContainsFunc(notPublic, func(p netip.Prefix) bool { return p.Contains(a) })
}
