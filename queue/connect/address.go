package connect

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// A Kind of Redis decides how its clients find the server that takes writes.
type Kind string

// The kinds.
const (
	Single   Kind = "single node"
	Sentinel Kind = "sentinel"
	Cluster  Kind = "cluster"
)

// An Address says where a Redis is and who connects. Parse makes it.
type Address struct {
	Kind  Kind
	TLS   bool
	Hosts []string // HOST:PORT of the node, of Sentinels, or of nodes of the Cluster
	Path  string   // of the socket, instead of Hosts

	Username, Password                 string // of the ACL user
	SentinelUsername, SentinelPassword string
	Master                             string // the name under which Sentinels know it
	DB                                 int
	ServerName                         string // in certificates; empty: the host that is connected to
	PoolSize                           int    // connections at most; 0: ten per CPU
}

// schemes of addresses.
var schemes = map[string]Address{
	"redis":           {Kind: Single},
	"rediss":          {Kind: Single, TLS: true},
	"unix":            {Kind: Single},
	"redis+sentinel":  {Kind: Sentinel},
	"rediss+sentinel": {Kind: Sentinel, TLS: true},
	"redis+cluster":   {Kind: Cluster},
	"rediss+cluster":  {Kind: Cluster, TLS: true},
}

// Forms are the addresses that Parse takes, for help and errors.
var Forms = []string{
	"redis://[USER:PASSWORD@]HOST[:PORT][/DB]",
	"unix://[USER:PASSWORD@]/PATH/TO/SOCKET[?db=DB]",
	"redis+sentinel://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]...]/MASTER[/DB]",
	"redis+cluster://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]...]",
	"and rediss in place of redis for TLS",
}

// parameters that may follow the "?", and how they are read.
var parameters = map[string]func(*Address, string) error{
	"db":                func(a *Address, v string) (err error) { a.DB, err = number(v, 0, 1<<20); return err },
	"pool_size":         func(a *Address, v string) (err error) { a.PoolSize, err = number(v, 1, 1<<16); return err },
	"tls_server_name":   func(a *Address, v string) error { a.ServerName = v; return nil },
	"sentinel_user":     func(a *Address, v string) error { a.SentinelUsername = v; return nil },
	"sentinel_password": func(a *Address, v string) error { a.SentinelPassword = v; return nil },
}

// Parse reads an address. Errors do not repeat it, because it holds a password.
func Parse(text string) (Address, error) {
	a, err := parse(strings.TrimSpace(text))
	if err != nil {
		return Address{}, fmt.Errorf("read the address of Redis: %w; want %s", err, strings.Join(Forms, ", "))
	}
	return a, nil
}

func parse(text string) (Address, error) {
	scheme, rest, ok := strings.Cut(text, "://")
	a, known := schemes[scheme]
	if !ok || !known {
		return a, errors.New("it does not begin with redis://, rediss:// or another known scheme")
	}
	// Several hosts are no URL, so they are taken out before it is read.
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	at := strings.LastIndexByte(rest[:end], '@') + 1
	hosts := rest[at:end]
	u, err := url.Parse(scheme + "://" + rest[:at] + "host" + rest[end:])
	if err != nil {
		return a, errors.New("its user, password or path is malformed: write special characters as %XX")
	}
	if u.User != nil {
		a.Username = u.User.Username()
		a.Password, _ = u.User.Password()
	}
	if u.Fragment != "" || strings.Contains(rest, "#") {
		return a, errors.New(`it has a "#": write it as %23`)
	}
	if scheme == "unix" {
		a.Path = u.Path
		if hosts != "" || len(u.Path) < 2 {
			return a, errors.New("a unix address needs the full path of the socket")
		}
	} else if err := a.takeHosts(hosts); err != nil {
		return a, err
	} else if err := a.takePath(u.Path); err != nil {
		return a, err
	}
	return a, a.takeParameters(u)
}

func (a *Address) takeHosts(list string) error {
	port := "6379"
	if a.Kind == Sentinel {
		port = "26379"
	}
	for h := range strings.SplitSeq(list, ",") {
		host, p, err := net.SplitHostPort(h)
		if err != nil {
			host, p = strings.Trim(h, "[]"), port
		}
		if _, err := number(p, 1, 65535); err != nil || host == "" || strings.ContainsAny(host, " []@") {
			return errors.New("a host is missing or malformed")
		}
		a.Hosts = append(a.Hosts, net.JoinHostPort(host, p))
	}
	if a.Kind == Single && len(a.Hosts) > 1 {
		return errors.New("a single node has one host: use redis+sentinel:// or redis+cluster://")
	}
	return nil
}

func (a *Address) takePath(path string) error {
	parts := strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
	if a.Kind == Sentinel {
		if len(parts) == 0 {
			return errors.New("the name of the master is missing")
		}
		a.Master, parts = parts[0], parts[1:]
	}
	if len(parts) == 0 {
		return nil
	}
	if a.Kind == Cluster {
		return errors.New("a Cluster has only database 0")
	}
	db, err := number(parts[0], 0, 1<<20)
	if err != nil || len(parts) > 1 {
		return errors.New("its path is not the number of a database")
	}
	a.DB = db
	return nil
}

func (a *Address) takeParameters(u *url.URL) error {
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return errors.New("its parameters are malformed: write special characters as %XX")
	}
	for name, values := range query {
		set, ok := parameters[name]
		if !ok {
			return fmt.Errorf("%q is not one of its parameters", name)
		}
		if len(values) > 1 || set(a, values[0]) != nil {
			return fmt.Errorf("parameter %s has no such value, or two", name)
		}
	}
	switch {
	case a.Kind == Cluster && a.DB != 0:
		return errors.New("a Cluster has only database 0")
	case a.Kind != Sentinel && a.SentinelUsername+a.SentinelPassword != "":
		return errors.New("it has a user or password for Sentinels, but is not of redis+sentinel://")
	case !a.TLS && a.ServerName != "":
		return errors.New("tls_server_name needs rediss")
	}
	return nil
}

func number(text string, low, high int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("want a number from %d to %d", low, high)
	}
	return n, nil
}

// String is the address without user and passwords, for logs.
func (a Address) String() string {
	where := strings.Join(a.Hosts, ",")
	if a.Path != "" {
		where = a.Path
	}
	if a.Master != "" {
		where += "/" + a.Master
	}
	if a.Kind == Single {
		return where
	}
	return string(a.Kind) + " " + where
}

// Secrets are what must not be shown of it.
func (a Address) Secrets() []string {
	return slices.DeleteFunc([]string{a.Password, a.SentinelPassword}, func(s string) bool { return s == "" })
}
