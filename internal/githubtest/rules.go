package githubtest

import (
	"net/http"
	"path"
	"strings"
)

// Rule is one rule of a repository's rulesets.
type Rule struct {
	// Branches is a pattern of branch names: "main", "release/*", "fix/**/*".
	Branches string
	// Creation keeps everybody from making such branches, by git and by REST.
	Creation bool
	// Checks are required status checks, and Message is a regular expression
	// for commit messages. Both are told by the API and not enforced here.
	Checks  []string
	Message string
}

// AddRule adds a rule to a repository.
func (s *Server) AddRule(repo string, rule Rule) error {
	return s.withRepo(repo, func(r *repository) error {
		r.rules = append(r.rules, rule)
		return nil
	})
}

// binds reports whether a rule is about a branch. As in GitHub's fnmatch, "**/"
// stands for any folders, and "*" for anything but a slash.
func (rule Rule) binds(branch string) bool {
	if ok, err := path.Match(rule.Branches, branch); ok && err == nil {
		return true
	}
	root, rest, deep := strings.Cut(rule.Branches, "**/")
	if !deep || !strings.HasPrefix(branch, root) {
		return false
	}
	ok, err := path.Match(rest, path.Base(branch))
	return ok && err == nil
}

// refusesCreation says why a branch may not be made; "" when it may.
func (r *repository) refusesCreation(branch string) string {
	for _, rule := range r.rules {
		if rule.Creation && rule.binds(branch) {
			return "Cannot create ref due to creations being restricted."
		}
	}
	return ""
}

// rulesEnv tells the hook of a repository which branches nobody makes, as
// patterns of the shell, in which "*" stands for slashes too.
func (r *repository) rulesEnv() string {
	var closed []string
	for _, rule := range r.rules {
		if rule.Creation {
			closed = append(closed, "refs/heads/"+strings.ReplaceAll(rule.Branches, "**/*", "*"))
		}
	}
	return "GITHUBTEST_UNMADE=" + strings.Join(closed, " ")
}

// rulesHook is the part of the update hook that refuses new branches by a rule.
const rulesHook = `
set -f
if [ -z "$(echo "$2" | tr -d 0)" ]; then
	for unmade in $GITHUBTEST_UNMADE; do
		case "$1" in $unmade)
			echo "error: GH013: Repository rule violations found for $1." >&2
			echo "- Cannot create ref due to creations being restricted." >&2
			exit 1 ;;
		esac
	done
fi
`

var ruleRoutes = []*route{
	{method: "GET", path: "/repos/{owner}/{repo}/rules/branches/{branch}", access: accessRepo, needs: "metadata:read", handle: branchRules},
}

func branchRules(c *call) reply {
	var all []obj
	for n, rule := range c.repo.rules {
		if !rule.binds(c.param("branch")) {
			continue
		}
		add := func(kind string, parameters obj) {
			v := obj{"type": kind, "ruleset_source_type": "Repository", "ruleset_source": c.repo.fullName(), "ruleset_id": n + 1}
			if parameters != nil {
				v["parameters"] = parameters
			}
			all = append(all, v)
		}
		if rule.Creation {
			add("creation", nil)
		}
		if len(rule.Checks) > 0 {
			var checks []obj
			for _, name := range rule.Checks {
				checks = append(checks, obj{"context": name})
			}
			add("required_status_checks", obj{"required_status_checks": checks, "strict_required_status_checks_policy": false})
		}
		if rule.Message != "" {
			add("commit_message_pattern", obj{"name": "", "negate": false, "operator": "regex", "pattern": rule.Message})
		}
	}
	return reply{status: http.StatusOK, body: listJSON(c, all, func(v obj) obj { return v })}
}
