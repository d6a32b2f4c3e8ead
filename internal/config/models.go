package config

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"culprit/internal/agent/roster"
)

// Models are the settings of models. Without one for the role high there are
// none, and everything is done by experiment.
type Models struct {
	BaseURL string // empty: the library's default, OpenAI's own
	APIKey  string
	Roles   map[roster.Role][]roster.Model
	Prices  roster.Prices
	Context int // tokens that the models can take
	// Candidates are the fixes of one cause that are written and proven at most.
	Candidates int
	// Limits of one session, and of a repository and an installation by the
	// day (UTC).
	Session, Repository, Installation Spend
}

// Spend is a limit on what models may use; 0: none.
type Spend struct {
	Tokens int64
	Micros int64 // money, in millionths of the currency's unit
}

// Configured reports whether there is a model.
func (m Models) Configured() bool { return len(m.Roles[roster.High]) > 0 }

// modelSettings are rows of the table.
var modelSettings = []setting{
	{env: "OPENAI_BASE_URL", help: "root of the server that has the models, with its version, such as http://127.0.0.1:11434/v1; without it OpenAI's own",
		set: func(c *Config, v string) error { return modelURL(&c.Models, v) }},
	{env: "OPENAI_API_KEY", help: "key for that server", secret: true,
		set: func(c *Config, v string) error { c.Models.APIKey = v; return nil }},
	{flag: "model-high", env: "CULPRIT_MODEL_HIGH", help: "model that investigates and fixes, NAME or NAME@EFFORT; further ones after commas are its fallbacks; without it no model is asked",
		set: role(roster.High)},
	{flag: "model-judge", env: "CULPRIT_MODEL_JUDGE", help: "model that tries to break what was found and weighs it, best of another maker; default: that of model-high",
		set: role(roster.Judge)},
	{flag: "model-context", env: "CULPRIT_MODEL_CONTEXT", def: "128000", help: "tokens that the models can take at a time",
		set: number(func(c *Config) *int { return &c.Models.Context }, 4_000, 10_000_000)},
	{flag: "fix-candidates", env: "CULPRIT_FIX_CANDIDATES", def: "2", help: "fixes of one cause that a model writes at most; each is proven, and the best is proposed; 1: the first that holds",
		set: number(func(c *Config) *int { return &c.Models.Candidates }, 1, 5)},
	{flag: "model-prices", env: "CULPRIT_MODEL_PRICES", help: "MODEL=IN/CACHED/OUT, several after commas: what a million tokens cost, in a currency of your choice",
		set: func(c *Config, v string) (err error) { c.Models.Prices, err = roster.ReadPrices(v); return err }},
	{flag: "model-session-tokens", env: "CULPRIT_MODEL_SESSION_TOKENS", def: "3000000", help: "most tokens of one session; 0: no limit",
		set: tokens(func(c *Config) *Spend { return &c.Models.Session })},
	{flag: "model-session-cost", env: "CULPRIT_MODEL_SESSION_COST", def: "0", help: "most money of one session, in the currency of the prices; 0: no limit",
		set: money(func(c *Config) *Spend { return &c.Models.Session })},
	{flag: "model-repository-tokens", env: "CULPRIT_MODEL_REPOSITORY_TOKENS", def: "0", help: "most tokens of one repository in a day (UTC), over all workers; 0: no limit",
		set: tokens(func(c *Config) *Spend { return &c.Models.Repository })},
	{flag: "model-repository-cost", env: "CULPRIT_MODEL_REPOSITORY_COST", def: "0", help: "most money of one repository in a day; 0: no limit",
		set: money(func(c *Config) *Spend { return &c.Models.Repository })},
	{flag: "model-installation-tokens", env: "CULPRIT_MODEL_INSTALLATION_TOKENS", def: "0", help: "most tokens of one installation in a day; 0: no limit",
		set: tokens(func(c *Config) *Spend { return &c.Models.Installation })},
	{flag: "model-installation-cost", env: "CULPRIT_MODEL_INSTALLATION_COST", def: "0", help: "most money of one installation in a day; 0: no limit",
		set: money(func(c *Config) *Spend { return &c.Models.Installation })},
}

// LoadModels reads the settings of models from the environment alone, for
// commands that need nothing else of a Config.
func LoadModels(lookup func(string) (string, bool)) (Models, error) {
	var c Config
	var problems []error
	for _, s := range modelSettings {
		value, from := s.def, "default"
		if v, ok := lookup(s.env); ok && v != "" {
			value, from = v, s.env
		}
		if value == "" {
			continue
		}
		if err := s.set(&c, value); err != nil {
			problems = append(problems, s.problem(from, value, err))
		}
	}
	problems = append(problems, c.Models.missing()...)
	return c.Models, errors.Join(problems...)
}

// missing checks what belongs together.
func (m Models) missing() []error {
	if !m.Configured() {
		return nil
	}
	var out []error
	if m.BaseURL == "" && m.APIKey == "" {
		out = append(out, errors.New("a model is set, but not where it is: set OPENAI_API_KEY for OpenAI's own server, or OPENAI_BASE_URL"))
	}
	if m.Session.Micros+m.Repository.Micros+m.Installation.Micros > 0 {
		var without []string
		for _, models := range m.Roles {
			for _, x := range models {
				if _, ok := m.Prices[x.Name]; !ok && !slices.Contains(without, x.Name) {
					without = append(without, x.Name)
				}
			}
		}
		if slices.Sort(without); len(without) > 0 {
			out = append(out, fmt.Errorf("a limit on money needs the price of each model: add %s to CULPRIT_MODEL_PRICES", strings.Join(without, ", ")))
		}
	}
	return out
}

func role(r roster.Role) func(*Config, string) error {
	return func(c *Config, v string) error {
		models, err := roster.ReadModels(v)
		if err != nil {
			return err
		}
		if c.Models.Roles == nil {
			c.Models.Roles = map[roster.Role][]roster.Model{}
		}
		c.Models.Roles[r] = models
		return nil
	}
}

func tokens(field func(*Config) *Spend) func(*Config, string) error {
	return func(c *Config, v string) error {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil || n < 0 {
			return errors.New("want a number of tokens, or 0")
		}
		field(c).Tokens = n
		return nil
	}
}

func money(field func(*Config) *Spend) func(*Config, string) error {
	return func(c *Config, v string) error {
		x, err := strconv.ParseFloat(v, 64)
		if err != nil || x < 0 || x > 1e9 {
			return errors.New("want an amount such as 2.50, or 0")
		}
		field(c).Micros = int64(x * 1_000_000)
		return nil
	}
}

// modelURL takes http only where the way is short: this machine, a private
// network, a name without a domain as clusters give them.
func modelURL(m *Models, v string) error {
	u, err := url.Parse(v)
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") || u.User != nil {
		return errors.New("want an address such as https://api.example.com/v1")
	}
	if u.Scheme == "http" && !near(u.Hostname()) {
		return errors.New("code and keys are not sent over plain http to another network: use https")
	}
	m.BaseURL = strings.TrimRight(v, "/")
	return nil
}

func near(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast()
	}
	for _, suffix := range []string{".local", ".internal", ".svc", ".lan", ".localhost"} {
		if strings.HasSuffix(host, suffix) {
			return true
		}
	}
	return !strings.Contains(host, ".")
}
