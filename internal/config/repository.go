package config

import (
	"slices"

	"culprit/internal/strictyaml"
)

// RepositoryFile is where a repository keeps its settings. It is read from the
// default branch only, which people with write access decide about (GH8, GH9).
const RepositoryFile = ".github/culprit.yml"

// Repository is the content of RepositoryFile. The zero value is a repository
// that sets nothing. The tags are the whole table: they name each setting,
// explain it, and say what it may be. Reading, checking, the JSON Schema and
// docs/repository.md are made from them.
type Repository struct {
	Test  string `yaml:"test" max:"4096" doc:"Command that runs the failing tests, where they are not found by themselves. Runs in the sandbox at the root of the repository." example:"make test"`
	Setup string `yaml:"setup" max:"4096" doc:"Command that prepares a fresh checkout (install dependencies, generate code). Only set-up may use the network." example:"npm ci"`
	Mode  string `yaml:"mode" enum:"quick,full,deep" doc:"How much is looked at when the label or command does not say." example:"quick"`

	CI     RepositoryCI     `yaml:"ci" doc:"What red CI starts by itself."`
	Limits RepositoryLimits `yaml:"limits" doc:"Limits of one session. They can only lower those of the operator."`
	Fix    RepositoryFix    `yaml:"fix" doc:"Fix pull requests."`
}

// RepositoryCI says which red CI starts a session.
type RepositoryCI struct {
	Enabled  *bool    `yaml:"enabled" doc:"false: red CI starts nothing; the label and the commands still do." example:"true"`
	Branches []string `yaml:"branches" max:"50" doc:"Branches whose red CI starts a session, as patterns with *, ** and ?. Without it, all do." example:"[main, release/*]"`
}

// RepositoryLimits lower the operator's limits.
type RepositoryLimits struct {
	Runs        int      `yaml:"runs" min:"1" max:"1000000" doc:"Most experiment runs." example:"200"`
	Concurrency int      `yaml:"concurrency" min:"1" max:"64" doc:"Hypotheses tested at a time." example:"2"`
	Timeout     Duration `yaml:"timeout" doc:"Longest time of a session." example:"1h"`
	RunTimeout  Duration `yaml:"run_timeout" doc:"Longest time of one run of the test command." example:"5m"`
}

// RepositoryFix says how fixes are offered.
type RepositoryFix struct {
	Enabled   *bool    `yaml:"enabled" doc:"false: the root cause is reported, and no pull request is opened." example:"true"`
	Draft     string   `yaml:"draft" enum:"auto,always" doc:"auto: a draft unless confidence is high. always: a draft." example:"always"`
	SignOff   *bool    `yaml:"sign_off" doc:"true: commits carry Signed-off-by of the App, as the Developer Certificate of Origin asks. false: they do not. Without it they do where the repository wants it: by the settings of the DCO App, by a required check named DCO or a rule about commit messages, or by its CONTRIBUTING file." example:"true"`
	Protected []string `yaml:"protected" max:"200" doc:"Paths that no fix may touch, as patterns, beside the built-in ones (workflows, CODEOWNERS, this file …)." example:"[\"migrations/**\", \"**/*.pb.go\"]"`
}

// A Duration is written as 90s, 10m or 2h.
type Duration = strictyaml.Duration

// A Problem is one thing that is wrong with a settings file.
type Problem = strictyaml.Problem

// MaxRepositoryFile is the largest settings file that is read, in bytes.
const MaxRepositoryFile = 64 << 10

// ReadRepository reads a settings file over what base sets: an organisation's
// defaults, then the repository's own. Lists replace, except for protected
// paths, which add up. All problems are reported at once; with any, the result
// must not be used.
func ReadRepository(data []byte, base Repository) (Repository, []Problem) {
	out := base
	if problems := strictyaml.Read(data, MaxRepositoryFile, &out); len(problems) > 0 {
		return base, problems
	}
	for _, p := range base.Fix.Protected {
		if !slices.Contains(out.Fix.Protected, p) {
			out.Fix.Protected = append(slices.Clip(out.Fix.Protected), p)
		}
	}
	return out, nil
}

// RepositorySchema is the JSON Schema of RepositoryFile, for editors.
func RepositorySchema() []byte { return strictyaml.Schema[Repository]("Culprit: " + RepositoryFile) }

// RepositoryMarkdown is the table of docs/repository.md.
func RepositoryMarkdown() string { return strictyaml.Markdown[Repository]() }

// CISessions reports whether red CI of a branch starts a session.
func (r Repository) CISessions(branch string, match func(pattern, branch string) bool) (why string, ok bool) {
	if r.CI.Enabled != nil && !*r.CI.Enabled {
		return "ci.enabled is false in " + RepositoryFile, false
	}
	if len(r.CI.Branches) == 0 {
		return "", true
	}
	for _, p := range r.CI.Branches {
		if match(p, branch) {
			return "", true
		}
	}
	return "ci.branches in " + RepositoryFile + " does not name " + branch, false
}
