package githubtest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Protection is the protection of a branch.
type Protection struct {
	// PullRequest demands that changes come by pull requests, and Reviews so
	// many approvals of people who may write, which implies it.
	PullRequest bool
	Reviews     int
	// Checks are the check runs and commit statuses that must be green.
	Checks []string
	// AllowForce and AllowDeletion lift what protection otherwise forbids.
	AllowForce    bool
	AllowDeletion bool
	// Admins holds administrators to it, too.
	Admins bool
}

// ProtectBranch protects a branch, whether it exists or not. Pushes that it
// forbids are refused as GitHub refuses them, by git and by REST.
func (s *Server) ProtectBranch(repo, branch string, p Protection) error {
	return s.withRepo(repo, func(r *repository) error {
		if r.protected == nil {
			r.protected = map[string]Protection{}
		}
		r.protected[branch] = p
		return nil
	})
}

// UnprotectBranch lifts the protection of a branch.
func (s *Server) UnprotectBranch(repo, branch string) error {
	return s.withRepo(repo, func(r *repository) error { delete(r.protected, branch); return nil })
}

// binding is the protection of a branch as far as it binds a user.
func (r *repository) binding(branch string, u *user) (Protection, bool) {
	p, found := r.protected[branch]
	if found && !p.Admins && r.role(u) == "admin" {
		return Protection{}, false
	}
	return p, found
}

func (r *repository) isProtected(branch string) bool {
	_, found := r.protected[branch]
	return found
}

// forbidsPush says why nobody whom it binds may push to the branch; "" when he
// may.
func (p Protection) forbidsPush() string {
	switch {
	case p.PullRequest || p.Reviews > 0:
		return "Changes must be made through a pull request."
	case len(p.Checks) == 1:
		return fmt.Sprintf("Required status check %q is expected.", p.Checks[0])
	case len(p.Checks) > 1:
		return fmt.Sprintf("%d of %d required status checks are expected.", len(p.Checks), len(p.Checks))
	}
	return ""
}

// forbidsMerge says why a pull request cannot be merged yet; "" when it can.
func (s *Server) forbidsMerge(r *repository, i *issue, u *user) string {
	p, found := r.binding(i.pull.baseRef, u)
	if !found {
		return ""
	}
	verdicts := map[*user]string{}
	for _, v := range i.pull.reviews {
		if v.state == "APPROVED" || v.state == "CHANGES_REQUESTED" || v.state == "DISMISSED" {
			verdicts[v.user] = v.state
		}
	}
	approvals := 0
	for who, state := range verdicts {
		if roleRank[r.role(who)] < roleRank["write"] {
			continue
		}
		if p.Reviews > 0 && state == "CHANGES_REQUESTED" {
			return "Changes have been requested."
		}
		if state == "APPROVED" {
			approvals++
		}
	}
	if approvals < p.Reviews {
		return fmt.Sprintf("At least %d approving review is required by reviewers with write access.", p.Reviews)
	}
	for _, name := range p.Checks {
		switch r.checkState(i.pull.headSHA, name) {
		case "success":
		case "failure":
			return fmt.Sprintf("Required status check %q is failing.", name)
		default:
			return fmt.Sprintf("Required status check %q is expected.", name)
		}
	}
	return ""
}

// checkState is success, failure or pending (of a check run or commit status),
// or "" when a commit has none of that name.
func (r *repository) checkState(sha, name string) string {
	state := ""
	for _, c := range r.checkRuns {
		switch {
		case c.sha != sha || c.name != name:
		case c.status != "completed":
			state = "pending"
		case slices.Contains([]string{"success", "neutral", "skipped"}, c.conclusion):
			state = "success"
		default:
			state = "failure"
		}
	}
	for _, st := range r.statuses {
		if st.sha == sha && st.context == name {
			state = strings.Replace(st.state, "error", "failure", 1)
		}
	}
	return state
}

// protectEnv tells the hook of a repository what a pusher may not do.
func (r *repository) protectEnv(u *user) []string {
	var closed, steady, kept []string
	for _, branch := range sortedKeys(r.protected) {
		p, found := r.binding(branch, u)
		if !found {
			continue
		}
		if p.forbidsPush() != "" {
			closed = append(closed, "refs/heads/"+branch)
		}
		if !p.AllowForce {
			steady = append(steady, "refs/heads/"+branch)
		}
		if !p.AllowDeletion {
			kept = append(kept, "refs/heads/"+branch)
		}
	}
	return []string{
		"GITHUBTEST_CLOSED=" + strings.Join(closed, " "), "GITHUBTEST_STEADY=" + strings.Join(steady, " "), "GITHUBTEST_KEPT=" + strings.Join(kept, " "),
		r.rulesEnv(),
	}
}

// protectHook is the part of the update hook that refuses pushes to protected
// branches, in GitHub's words.
const protectHook = `
refuse() {
	echo "error: GH006: Protected branch update failed for $ref." >&2
	echo "error: $1" >&2
	exit 1
}
ref=$1 gone=
case "$3" in *[!0]*) ;; *) gone=1 ;; esac
case " $GITHUBTEST_ONLY " in "  " | *" $1 "*) ;; *) echo "Permission to update $1 denied." >&2; exit 1 ;; esac
case " $GITHUBTEST_KEPT " in *" $1 "*) [ -z "$gone" ] || refuse "Cannot delete a protected branch" ;; esac
case " $GITHUBTEST_STEADY " in *" $1 "*)
	[ -n "$gone" ] || [ -z "$(echo "$2" | tr -d 0)" ] || git merge-base --is-ancestor "$2" "$3" || refuse "Cannot force-push to this branch" ;;
esac
case " $GITHUBTEST_CLOSED " in *" $1 "*) [ -n "$gone" ] || refuse "Changes must be made through a pull request." ;; esac
`

// refuseMove says why a REST call may not move a ref; sha is empty for a
// deletion.
func (c *call) refuseMove(ref, sha string) *reply {
	branch, isBranch := strings.CutPrefix(ref, "refs/heads/")
	old := c.s.refSHA(c.repo, ref)
	if why := c.repo.refusesCreation(branch); isBranch && old == "" && sha != "" && why != "" {
		r := fail(http.StatusUnprocessableEntity, "Repository rule violations found\n\n"+why)
		return &r
	}
	p, found := c.repo.binding(branch, c.who.user())
	if !isBranch || !found {
		return nil
	}
	why := ""
	switch {
	case sha == "":
		if !p.AllowDeletion {
			why = "Cannot delete a protected branch"
		}
	case old != "" && !p.AllowForce && !c.s.isAncestor(c.repo, old, sha):
		why = "Cannot force-push to a protected branch"
	default:
		why = p.forbidsPush()
	}
	if why == "" {
		return nil
	}
	r := fail(http.StatusUnprocessableEntity, why)
	return &r
}

var protectRoutes = []*route{
	{method: "GET", path: "/repos/{owner}/{repo}/branches/{branch}/protection", access: accessRepo, needs: "administration:read", role: "admin", handle: getProtection},
}

// protectionJSON is what everybody who may read a branch is told.
func (r *repository) protectionJSON(branch string) obj {
	p, found := r.protected[branch]
	level := "off"
	if len(p.Checks) > 0 {
		level = map[bool]string{true: "everyone", false: "non_admins"}[p.Admins]
	}
	return obj{"enabled": found, "required_status_checks": obj{"enforcement_level": level, "contexts": names(p.Checks), "checks": checkNames(p.Checks)}}
}

func names(list []string) []string { return append([]string{}, list...) }

func checkNames(list []string) []obj {
	out := []obj{}
	for _, name := range list {
		out = append(out, obj{"context": name, "app_id": nil})
	}
	return out
}

func getProtection(c *call) reply {
	branch := c.param("branch")
	p, found := c.repo.protected[branch]
	if !found {
		return fail(http.StatusNotFound, "Branch not protected")
	}
	u := c.s.repoURL(c.repo) + "/branches/" + escapePath(branch) + "/protection"
	v := obj{
		"url": u, "enforce_admins": obj{"url": u + "/enforce_admins", "enabled": p.Admins},
		"allow_force_pushes": obj{"enabled": p.AllowForce}, "allow_deletions": obj{"enabled": p.AllowDeletion},
		"required_linear_history": obj{"enabled": false}, "block_creations": obj{"enabled": false},
	}
	if len(p.Checks) > 0 {
		v["required_status_checks"] = obj{
			"url": u + "/required_status_checks", "strict": false, "contexts": names(p.Checks),
			"contexts_url": u + "/required_status_checks/contexts", "checks": checkNames(p.Checks),
		}
	}
	if p.PullRequest || p.Reviews > 0 {
		v["required_pull_request_reviews"] = obj{
			"url": u + "/required_pull_request_reviews", "dismiss_stale_reviews": false, "require_code_owner_reviews": false,
			"required_approving_review_count": p.Reviews, "require_last_push_approval": false,
		}
	}
	return ok(v)
}
