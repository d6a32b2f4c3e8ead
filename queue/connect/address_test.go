package connect

import (
	"reflect"
	"strings"
	"testing"
)

func TestAddressesAreReadAsWritten(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Address{
		"redis://localhost":                             {Kind: Single, Hosts: []string{"localhost:6379"}},
		"redis://:p%40ss@r.example:7000/3?pool_size=50": {Kind: Single, Hosts: []string{"r.example:7000"}, Password: "p@ss", DB: 3, PoolSize: 50},
		"redis://u:p@ss@[::1]:7000/":                    {Kind: Single, Hosts: []string{"[::1]:7000"}, Username: "u", Password: "p@ss"},
		"redis://[::1]":                                 {Kind: Single, Hosts: []string{"[::1]:6379"}},
		"rediss://bot:pw@r.example?tls_server_name=x.y": {Kind: Single, TLS: true, Hosts: []string{"r.example:6379"}, Username: "bot", Password: "pw", ServerName: "x.y"},
		"unix://:pw@/run/redis.sock?db=2":               {Kind: Single, Path: "/run/redis.sock", Password: "pw", DB: 2},
		"redis+sentinel://u:p@a,b:5000,c/main/4?sentinel_user=s&sentinel_password=q": {
			Kind: Sentinel, Hosts: []string{"a:26379", "b:5000", "c:26379"}, Username: "u", Password: "p",
			Master: "main", DB: 4, SentinelUsername: "s", SentinelPassword: "q"},
		"rediss+cluster://u:p@a:7000,b:7001": {Kind: Cluster, TLS: true, Hosts: []string{"a:7000", "b:7001"}, Username: "u", Password: "p"},
	} {
		got, err := Parse(text)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %+v, %v\nwant %+v", text, got, err, want)
		}
		for _, secret := range got.Secrets() {
			if strings.Contains(got.String(), secret) {
				t.Errorf("%s is shown as %s", text, got)
			}
		}
	}
}

func TestBadAddressesAreRefusedWithoutBeingShown(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"":                                       "begin",
		"hush-hush":                              "begin",
		"http://:hush-hush@localhost":            "begin",
		"redis://":                               "host",
		"redis://:hush-hush@":                    "host",
		"redis://:hush-hush@a:port":              "host",
		"redis://:hush-hush@a:70000":             "host",
		"redis://:hush-hush@a,b":                 "redis+sentinel",
		"redis://:hush-hush@a/main":              "database",
		"redis://:hush-hush@a/1/2":               "database",
		"redis://:hush-hush@a?skip_verify=yes":   "skip_verify",
		"redis://:hush-hush@a?db=1&db=2":         "db",
		"redis://:hush-hush@a?pool_size=0":       "pool_size",
		"redis://:hush-hush@a?tls_server_name=x": "rediss",
		"redis://:hush-hush%zz@a":                "%XX",
		"redis://:hush-hush#@a":                  "%",
		"redis://a?sentinel_password=hush-hush":  "redis+sentinel",
		"unix://:hush-hush@localhost/run/s":      "path",
		"unix://:hush-hush@":                     "path",
		"redis+sentinel://:hush-hush@a,b":        "master",
		"redis+sentinel://:hush-hush@a,,b/m":     "host",
		"redis+cluster://:hush-hush@a/1":         "database 0",
		"redis+cluster://:hush-hush@a?db=1":      "database 0",
	} {
		_, err := Parse(text)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: got %v, want it to say %q", text, err, says)
			continue
		}
		what, _, _ := strings.Cut(err.Error(), "; want ")
		if strings.Contains(what, "hush") {
			t.Errorf("the error shows the password: %v", err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, form := range Forms {
		f.Add(form)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := Parse(text)
		if err == nil && a.Path == "" && len(a.Hosts) == 0 {
			t.Errorf("%q leads nowhere: %+v", text, a)
		}
	})
}

func TestCertificatesThatCannotBeUsedAreNamed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text  string
		files Files
		says  string
	}{
		{"redis://a", Files{CA: "x"}, "rediss"},
		{"rediss://a", Files{CA: "testdata/nothing.pem"}, "nothing.pem"},
		{"rediss://a", Files{CA: "address.go"}, "no certificate"},
		{"rediss://a", Files{Cert: "address.go"}, "certificate and key"},
	} {
		a, err := Parse(tt.text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Open(a, tt.files); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%+v: got %v, want it to say %q", tt.files, err, tt.says)
		}
	}
}
