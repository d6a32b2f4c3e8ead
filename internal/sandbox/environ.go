package sandbox

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The environment of a command is built from nothing. Only what is named here
// passes from the process's own environment, and only for commands with
// network: a bot's environment holds its keys, and a list of what to remove is
// never complete.

// settings pass with Command.Network. Values that are URLs lose their user and
// password: a registry that needs them must be reached through a proxy that
// adds them.
var settings = []string{
	"GOPROXY", "GOSUMDB", "GONOSUMDB", "GONOSUMCHECK", "GONOPROXY", "GOPRIVATE", "GOINSECURE", "GOVCS",
	"NPM_CONFIG_REGISTRY", "npm_config_registry", "NPM_CONFIG_CAFILE", "npm_config_cafile", "YARN_REGISTRY",
	"PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_CERT", "PIP_DEFAULT_TIMEOUT", "PIP_TRUSTED_HOST", "UV_INDEX_URL",
	"CARGO_HTTP_CAINFO", "CARGO_REGISTRIES_CRATES_IO_PROTOCOL",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS",
}

// settingFiles are those settings that may name a file or folder of the host,
// which is shown read-only then: certificates, and packages to install from.
var settingFiles = []string{
	"PIP_CERT", "PIP_FIND_LINKS", "NPM_CONFIG_CAFILE", "npm_config_cafile", "CARGO_HTTP_CAINFO", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE",
	"CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS",
}

// settingPaths returns the existing paths that settingFiles name. A whole home
// or top folder is never among them.
func settingPaths(host []string) []string {
	var out []string
	for _, name := range settingFiles {
		path := filepath.Clean(lookup(host, name))
		if !filepath.IsAbs(path) || strings.Count(path, "/") < 2 || isHome(path) || bindTarget(path) != nil {
			continue // what is below /usr or /etc is shown already, or must not be
		}
		if _, err := os.Stat(path); err == nil {
			out = append(out, path)
		}
	}
	return cleanList(out)
}

// always passes without network too: names of toolchain folders and what a
// compiler needs to be the same one as outside. None of them holds a secret.
var always = []string{"JAVA_HOME", "GOROOT", "GOTOOLCHAIN", "RUSTUP_TOOLCHAIN", "PYENV_VERSION"}

// goFlags for every command of Go: the tree carries no git metadata that a build
// could stamp, and a repeated run must run and not come from the test cache,
// also when the command was given and says nothing of it.
const goFlags = "-buildvcs=false -count=1"

// environ returns the scrubbed environment. home and tmp are the command's own
// folders as it sees them; path is its PATH.
func environ(host []string, cmd Command, t toolchains, home, tmp, workdir string) []string {
	env := map[string]string{
		"PATH": t.path, "HOME": home, "TMPDIR": tmp, "USER": "culprit", "LOGNAME": "culprit",
		"SHELL": "/bin/sh", "LANG": "C.UTF-8", "TZ": "UTC", "TERM": "dumb", "CI": "true", "PWD": workdir,
		"GOFLAGS": goFlags, "GOTELEMETRY": "off",
		// Progress bars and update checks only fill logs.
		"NO_COLOR": "1", "NPM_CONFIG_UPDATE_NOTIFIER": "false", "NPM_CONFIG_FUND": "false", "NPM_CONFIG_AUDIT": "false",
		"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PYTHONDONTWRITEBYTECODE": "1", "DO_NOT_TRACK": "1",
		"GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0",
	}
	if t.rustup != "" {
		env["RUSTUP_HOME"] = t.rustup
	}
	if t.pyenv != "" {
		env["PYENV_ROOT"] = t.pyenv
	}
	for _, name := range always {
		if value := lookup(host, name); value != "" {
			env[name] = value
		}
	}
	if !cmd.Network {
		env["GOPROXY"] = "off"
		env["NPM_CONFIG_OFFLINE"] = "true"
		env["PIP_NO_INDEX"] = "1"
		env["CARGO_NET_OFFLINE"] = "true"
	} else {
		if bundle := caBundle(); bundle != "" {
			env["NODE_EXTRA_CA_CERTS"] = bundle
		}
		for _, name := range settings {
			if value := lookup(host, name); value != "" {
				env[name] = withoutUserinfo(value)
			}
		}
		if cmd.proxy != "" {
			for _, name := range []string{"ALL_PROXY", "all_proxy"} {
				delete(env, name)
			}
			for name, value := range proxySettings(cmd.proxy) {
				env[name] = value
			}
		}
	}
	for name, value := range cmd.Env {
		if name == "GOFLAGS" {
			value = strings.TrimSpace(goFlags + " " + value) // the later one of two counts
		}
		env[name] = value
	}
	out := make([]string, 0, len(env))
	for name, value := range env {
		out = append(out, name+"="+value)
	}
	slices.Sort(out)
	return out
}

func lookup(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(env[i], name+"="); ok {
			return value
		}
	}
	return ""
}

// withoutUserinfo strips user and password from each URL of a setting: a list
// with commas, bars or spaces (GOPROXY, PIP_EXTRA_INDEX_URL). Whatever holds an
// "@" and cannot be understood is dropped, never passed on.
func withoutUserinfo(value string) string {
	if !strings.Contains(value, "@") {
		return value
	}
	var out strings.Builder
	rest := value
	for rest != "" {
		i := strings.IndexAny(rest, ",| \t\n")
		word, sep := rest, ""
		if i >= 0 {
			word, sep = rest[:i], rest[i:i+1]
		}
		rest = rest[len(word)+len(sep):]
		if strings.Contains(word, "@") {
			word = cleanURL(word)
		}
		out.WriteString(word + sep)
	}
	return out.String()
}

func cleanURL(word string) string {
	bare := !strings.Contains(word, "://")
	if bare {
		word = "http://" + word // proxies are also written user:password@host:port
	}
	u, err := url.Parse(word)
	if err != nil || u.Host == "" {
		return ""
	}
	u.User = nil
	if strings.Contains(u.Host+u.Path+u.RawQuery, "@") {
		return ""
	}
	if bare {
		return u.Host + u.Path
	}
	return u.String()
}

func caBundle() string {
	for _, path := range []string{"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"} {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}

// environment of this process, or the one that was given.
func (o Options) environ() []string {
	if o.Environ != nil {
		return o.Environ
	}
	return os.Environ()
}

func cleanList(paths []string) []string {
	var out []string
	for _, p := range paths {
		if p = filepath.Clean(p); !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}
