package githubtest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Commit statuses: how CI systems reported before check runs, and many still
// do.

var statusRoutes = []*route{
	{method: "POST", path: "/repos/{owner}/{repo}/statuses/{sha}", access: accessRepo, needs: "statuses:write", role: "write", handle: createStatus},
	{method: "GET", path: "/repos/{owner}/{repo}/commits/{ref}/statuses", access: accessRepo, needs: "statuses:read", handle: listStatuses},
	{method: "GET", path: "/repos/{owner}/{repo}/commits/{ref}/status", access: accessRepo, needs: "statuses:read", handle: getStatus},
}

type commitStatus struct {
	id          int64
	sha         string
	state       string // error, failure, pending, success
	context     string
	description string
	target      string
	creator     *user
	created     time.Time
}

// StatusConfig is a commit status to set.
type StatusConfig struct {
	Repo        string
	SHA         string // the default branch's head when empty
	State       string // error, failure, pending, success
	Context     string // "default"
	Description string
	TargetURL   string
	Login       string // who sets it; the owner when empty
}

// SetStatus sets a commit status as a CI system does, and sends the status
// event.
func (s *Server) SetStatus(cfg StatusConfig) error {
	return s.withRepo(cfg.Repo, func(r *repository) error {
		if cfg.SHA == "" {
			cfg.SHA = "refs/heads/" + r.defaultBranch
		}
		sha := s.resolve(r, cfg.SHA)
		if sha == "" || !slices.Contains(statusStates, cfg.State) {
			return fmt.Errorf("set a status: no commit %q or no state %q", cfg.SHA, cfg.State)
		}
		u := r.owner
		if cfg.Login != "" {
			u = s.userOrNew(cfg.Login)
		}
		s.addStatus(r, &commitStatus{sha: sha, state: cfg.State, context: cfg.Context, description: cfg.Description, target: cfg.TargetURL, creator: u})
		return nil
	})
}

var statusStates = []string{"error", "failure", "pending", "success"}

func (s *Server) addStatus(r *repository, st *commitStatus) {
	st.id, st.created = s.id(), s.now()
	if st.context == "" {
		st.context = "default"
	}
	r.statuses = append(r.statuses, st)
	s.emitStatus(r, st)
}

func (s *Server) statusJSON(r *repository, st *commitStatus) obj {
	return obj{
		"url": s.repoURL(r) + "/statuses/" + st.sha, "avatar_url": s.userJSON(st.creator)["avatar_url"], "id": st.id,
		"node_id": nodeID("StatusContext", st.id), "state": st.state, "description": orNull(st.description), "target_url": orNull(st.target),
		"context": st.context, "created_at": stamp(st.created), "updated_at": stamp(st.created),
	}
}

func (s *Server) emitStatus(r *repository, st *commitStatus) {
	if !s.heard(r, "status", nil) {
		return
	}
	info, err := s.readCommit(r, st.sha)
	if err != nil {
		return
	}
	branches := []obj{}
	refs, _ := s.listRefs(r, "refs/heads")
	for _, ref := range sortedKeys(refs) {
		// GitHub names at most ten branches that contain the commit.
		if len(branches) < 10 && (refs[ref] == st.sha || s.isAncestor(r, st.sha, refs[ref])) {
			name := strings.TrimPrefix(ref, "refs/heads/")
			branches = append(branches, obj{
				"name": name, "commit": obj{"sha": refs[ref], "url": s.repoURL(r) + "/commits/" + refs[ref]}, "protected": r.isProtected(name),
			})
		}
	}
	s.emit(r, "status", "", st.creator, nil, obj{
		"id": st.id, "sha": st.sha, "name": r.fullName(), "target_url": orNull(st.target), "avatar_url": s.userJSON(st.creator)["avatar_url"],
		"context": st.context, "description": orNull(st.description), "state": st.state, "commit": s.commitJSON(r, info), "branches": branches,
		"created_at": stamp(st.created), "updated_at": stamp(st.created),
	})
}

func createStatus(c *call) reply {
	var req struct {
		State, Context, Description string
		TargetURL                   string `json:"target_url"`
	}
	if bad := c.decode(&req, "state"); bad != nil {
		return *bad
	}
	sha := c.param("sha")
	switch {
	case !fullSHA(sha) || c.s.resolve(c.repo, sha) == "":
		return fail(http.StatusUnprocessableEntity, "No commit found for SHA: "+sha)
	case !slices.Contains(statusStates, req.State):
		return invalid(fieldError{Resource: "Status", Code: "custom", Field: "state", Message: "state is not included in the list"})
	case utf8.RuneCountInString(req.Description) > 140:
		return invalid(fieldError{Resource: "Status", Code: "custom", Field: "description", Message: "description is too long (maximum is 140 characters)"})
	}
	st := &commitStatus{
		sha: sha, state: req.State, context: req.Context, description: req.Description, target: req.TargetURL, creator: c.who.user(),
	}
	c.s.addStatus(c.repo, st)
	v := c.s.statusJSON(c.repo, st)
	v["creator"] = c.s.userJSON(st.creator)
	return c.created(v)
}

// statusesOf are the statuses of a commit, newest first.
func (r *repository) statusesOf(sha string) []*commitStatus {
	var out []*commitStatus
	for _, st := range slices.Backward(r.statuses) {
		if st.sha == sha {
			out = append(out, st)
		}
	}
	return out
}

func listStatuses(c *call) reply {
	sha := c.s.resolve(c.repo, c.param("ref"))
	if sha == "" {
		return fail(http.StatusNotFound, "No commit found for SHA: "+c.param("ref"))
	}
	return ok(listJSON(c, c.repo.statusesOf(sha), func(st *commitStatus) obj {
		v := c.s.statusJSON(c.repo, st)
		v["creator"] = c.s.userJSON(st.creator)
		return v
	}))
}

// getStatus combines the newest status of each context: failure when one
// failed, pending when one is pending or there are none, success otherwise.
func getStatus(c *call) reply {
	sha := c.s.resolve(c.repo, c.param("ref"))
	if sha == "" {
		return fail(http.StatusNotFound, "No commit found for SHA: "+c.param("ref"))
	}
	seen, states := map[string]bool{}, map[string]bool{}
	var latest []*commitStatus
	for _, st := range c.repo.statusesOf(sha) {
		if !seen[st.context] {
			seen[st.context], states[st.state] = true, true
			latest = append(latest, st)
		}
	}
	state := "success"
	switch {
	case states["failure"] || states["error"]:
		state = "failure"
	case states["pending"] || len(latest) == 0:
		state = "pending"
	}
	u := c.s.repoURL(c.repo) + "/commits/" + sha
	return ok(obj{
		"state": state, "statuses": listJSON(c, latest, func(st *commitStatus) obj { return c.s.statusJSON(c.repo, st) }), "sha": sha,
		"total_count": len(latest), "repository": c.s.minimalRepoJSON(c.repo), "commit_url": u, "url": u + "/status",
	})
}
