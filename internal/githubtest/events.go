package githubtest

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// eventPermission is what an installation must have to get an event.
var eventPermission = map[string]string{
	"issues": "issues", "issue_comment": "issues", "pull_request": "pull_requests", "pull_request_review": "pull_requests",
	"pull_request_review_comment": "pull_requests", "push": "contents", "commit_comment": "contents", "check_run": "checks", "check_suite": "checks",
	"workflow_run": "actions", "workflow_job": "actions", "status": "statuses", "fork": "metadata", "create": "contents", "delete": "contents",
	"repository": "metadata", "pull_request_review_thread": "pull_requests",
}

// hears says whether an event of a repository reaches an installation.
func (i *installation) hears(r *repository, event string, only *app) bool {
	if !i.covers(r) || !i.suspended.IsZero() || only != nil && i.app != only || !slices.Contains(i.events, event) {
		return false
	}
	return i.permissions[eventPermission[event]] != "" || event == "issue_comment" && i.permissions["pull_requests"] != ""
}

// heard says whether an event of a repository is delivered to anybody.
func (s *Server) heard(r *repository, event string, only *app) bool {
	return slices.ContainsFunc(s.installs, func(in *installation) bool { return in.app.WebhookURL != "" && in.hears(r, event, only) })
}

// emit sends an event of a repository to every App that subscribed to it and
// is installed there. only, when set, restricts it to one App.
func (s *Server) emit(r *repository, event, action string, sender *user, only *app, payload obj) {
	for _, in := range s.installs {
		if !in.hears(r, event, only) {
			continue
		}
		v := obj{"repository": s.eventRepoJSON(r), "sender": s.userJSON(sender), "installation": obj{"id": in.id, "node_id": nodeID("Installation", in.id)}}
		if action != "" {
			v["action"] = action
		}
		if r.owner.kind == "Organization" {
			v["organization"] = s.orgJSON(r.owner)
		}
		maps.Copy(v, payload)
		s.enqueue(in.app, event, action, in, r, v)
	}
}

// eventRepoJSON is the repository as webhooks carry it.
func (s *Server) eventRepoJSON(r *repository) obj {
	v := s.repoJSON(r)
	v["custom_properties"] = obj{}
	return v
}

func (s *Server) orgJSON(u *user) obj {
	o := s.api() + "/orgs/" + u.login
	return obj{
		"login": u.login, "id": u.id, "node_id": nodeID("Organization", u.id), "url": o, "repos_url": o + "/repos", "events_url": o + "/events",
		"hooks_url": o + "/hooks", "issues_url": o + "/issues", "members_url": o + "/members{/member}",
		"public_members_url": o + "/public_members{/member}", "avatar_url": fmt.Sprintf("%s/_avatars/%d", s.base, u.id), "description": nil,
	}
}

// eventIssueJSON is the issue as webhooks carry it.
func (s *Server) eventIssueJSON(r *repository, i *issue) obj {
	v := s.issueJSON(r, i)
	v["draft"] = i.pull != nil && i.pull.draft
	return v
}

func (s *Server) emitIssue(r *repository, i *issue, action string, u *user, extra obj) {
	payload := obj{"issue": s.eventIssueJSON(r, i)}
	maps.Copy(payload, extra)
	s.emit(r, "issues", action, u, nil, payload)
}

func (s *Server) emitComment(r *repository, i *issue, c *comment, action string, u *user, extra obj) {
	payload := obj{"issue": s.eventIssueJSON(r, i), "comment": s.commentJSON(r, i, c)}
	maps.Copy(payload, extra)
	s.emit(r, "issue_comment", action, u, nil, payload)
}

func (s *Server) emitPull(r *repository, i *issue, action string, u *user, extra obj) {
	payload := obj{"number": i.number, "pull_request": s.fullPullJSON(r, i)}
	maps.Copy(payload, extra)
	s.emit(r, "pull_request", action, u, nil, payload)
}

func (s *Server) emitReview(r *repository, i *issue, v *review, action string, u *user) {
	review := s.reviewJSON(r, i, v)
	review["state"] = strings.ToLower(v.state) // webhooks, unlike REST, have it in lower case
	review["body"] = orNull(v.body)
	s.emit(r, "pull_request_review", action, u, nil, obj{"review": review, "pull_request": s.pullJSON(r, i)})
}

func (s *Server) emitReviewComment(r *repository, i *issue, x *reviewComment, action string, u *user, extra obj) {
	comment := s.reviewCommentJSON(r, i, x)
	for _, key := range []string{"line", "position"} {
		if _, there := comment[key]; !there {
			comment[key] = nil
		}
	}
	payload := obj{"comment": comment, "pull_request": s.pullJSON(r, i)}
	maps.Copy(payload, extra)
	s.emit(r, "pull_request_review_comment", action, u, nil, payload)
}

func (s *Server) emitCheck(r *repository, c *checkRun, action string, u *user, extra obj) {
	run := s.checkJSON(r, c)
	st := s.suiteJSON(r, c.suite)
	for _, key := range []string{"repository", "head_commit", "latest_check_runs_count", "check_runs_url", "rerequestable", "runs_rerequestable"} {
		delete(st, key)
	}
	run["check_suite"] = st
	payload := obj{"check_run": run}
	maps.Copy(payload, extra)
	var only *app
	if action == "rerequested" || action == "requested_action" {
		only = c.suite.app // others do not hear of it
	}
	s.emit(r, "check_run", action, u, only, payload)
}

func (s *Server) emitSuite(r *repository, st *suite, action string, u *user) {
	v := s.suiteJSON(r, st)
	delete(v, "repository")
	var only *app
	if action != "completed" {
		only = st.app
	}
	s.emit(r, "check_suite", action, u, only, obj{"check_suite": v})
}

func (s *Server) emitRun(r *repository, w *run, action string, u *user) {
	wf := w.workflow
	html := s.webURL(r) + "/blob/" + r.defaultBranch + "/" + wf.path
	s.emit(r, "workflow_run", action, u, nil, obj{
		"workflow_run": s.runJSON(r, w, w.last()),
		"workflow": obj{
			"id": wf.id, "node_id": nodeID("Workflow", wf.id), "name": wf.name, "path": wf.path, "state": "active",
			"created_at": stamp(wf.created), "updated_at": stamp(wf.created), "html_url": html,
			"url":       fmt.Sprintf("%s/actions/workflows/%d", s.repoURL(r), wf.id),
			"badge_url": s.webURL(r) + "/workflows/" + url.PathEscape(wf.name) + "/badge.svg",
		},
	})
}

func (s *Server) emitPush(r *repository, p Push, u *user) {
	if !s.heard(r, "push", nil) {
		return // nobody hears what would take git long to tell
	}
	commits := []obj{}
	var head any
	if p.After != zeroSHA {
		var list []commitInfo
		if p.Before != zeroSHA {
			list, _ = s.between(r, p.Before, p.After)
		} else {
			list, _ = s.logCommits(r, "--reverse", "--max-count=2048", p.After, "--not", "--exclude="+p.Ref, "--branches", "--")
		}
		list = list[max(0, len(list)-2048):]
		for _, c := range list {
			commits = append(commits, s.pushCommitJSON(r, c))
		}
		if sha := s.resolve(r, p.After); sha != "" {
			if c, err := s.readCommit(r, sha); err == nil {
				head = s.pushCommitJSON(r, c)
			}
		}
	}
	// The repository of a push, and of no other event, has its times as Unix
	// seconds and its owner as a committer.
	repo := s.eventRepoJSON(r)
	owner := s.userJSON(r.owner)
	maps.Copy(owner, obj{"name": r.owner.login, "email": r.owner.email})
	maps.Copy(repo, obj{
		"url": s.webURL(r), "created_at": r.created.Unix(), "pushed_at": r.pushed.Unix(), "stargazers": 0, "master_branch": r.defaultBranch,
		"owner": owner,
	})
	s.emit(r, "push", "", u, nil, obj{
		"repository": repo,
		"ref":        p.Ref, "before": p.Before, "after": p.After, "created": p.Before == zeroSHA, "deleted": p.After == zeroSHA, "forced": p.Forced,
		"base_ref": nil, "compare": s.webURL(r) + "/compare/" + p.Before[:12] + "..." + p.After[:12], "commits": commits, "head_commit": head,
		"pusher": obj{"name": u.login, "email": u.email},
	})
}

// emitRef tells that a branch or tag was created or deleted.
func (s *Server) emitRef(r *repository, p Push, u *user) {
	kind, name := "branch", strings.TrimPrefix(p.Ref, "refs/heads/")
	if tag, isTag := strings.CutPrefix(p.Ref, "refs/tags/"); isTag {
		kind, name = "tag", tag
	}
	v := obj{"ref": name, "ref_type": kind, "pusher_type": "user"}
	switch {
	case p.Before == zeroSHA:
		maps.Copy(v, obj{"master_branch": r.defaultBranch, "description": orNull(r.description)})
		s.emit(r, "create", "", u, nil, v)
	case p.After == zeroSHA:
		s.emit(r, "delete", "", u, nil, v)
	}
}

func (s *Server) pushCommitJSON(r *repository, c commitInfo) obj {
	v := s.simpleCommitJSON(c)
	added, removed, modified := []string{}, []string{}, []string{}
	files, _ := s.gitOnce(r, "diff-tree", "-r", "-z", "--no-renames", "--name-status", c.firstParent(), c.sha, "--")
	tok := strings.Split(files, "\x00")
	for n := 0; n+1 < len(tok); n += 2 {
		switch tok[n] {
		case "A":
			added = append(added, tok[n+1])
		case "D":
			removed = append(removed, tok[n+1])
		default:
			modified = append(modified, tok[n+1])
		}
	}
	maps.Copy(v, obj{"distinct": true, "url": s.webURL(r) + "/commit/" + c.sha, "added": added, "removed": removed, "modified": modified})
	return v
}

// emitInstallation tells an App about one of its installations.
func (s *Server) emitInstallation(in *installation, action string, u *user) {
	repos := []obj{}
	for _, r := range s.repos {
		if in.covers(r) {
			repos = append(repos, obj{"id": r.id, "node_id": nodeID("Repository", r.id), "name": r.name, "full_name": r.fullName(), "private": r.private})
		}
	}
	payload := obj{"action": action, "installation": s.installationJSON(in), "repositories": repos, "requester": nil, "sender": s.userJSON(u)}
	s.enqueue(in.app, "installation", action, in, nil, payload)
}

// emitInstallationRepos tells an App which repositories came to one of its
// installations and which went.
func (s *Server) emitInstallationRepos(in *installation, action string, r *repository, u *user) {
	if !in.suspended.IsZero() {
		return
	}
	added, removed := []obj{}, []obj{}
	v := obj{"id": r.id, "node_id": nodeID("Repository", r.id), "name": r.name, "full_name": r.fullName(), "private": r.private}
	if action == "added" {
		added = append(added, v)
	} else {
		removed = append(removed, v)
	}
	s.enqueue(in.app, "installation_repositories", action, in, nil, obj{
		"action": action, "installation": s.installationJSON(in), "repository_selection": "selected", "repositories_added": added,
		"repositories_removed": removed, "requester": nil, "sender": s.userJSON(u),
	})
}

// Ping sends the ping event to an App.
func (s *Server) Ping(appID int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.appByID(appID)
	if a == nil {
		return fmt.Errorf("ping: no App %d", appID)
	}
	s.enqueue(a, "ping", "", nil, nil, obj{
		"zen": "Keep it logically awesome.", "hook_id": a.hookID,
		"hook": obj{
			"type": "App", "id": a.hookID, "name": "web", "active": true, "events": a.Events, "app_id": a.ID,
			"config":     obj{"content_type": "json", "url": a.WebhookURL, "insecure_ssl": "0", "secret": "********"},
			"updated_at": stamp(a.created), "created_at": stamp(a.created), "deliveries_url": s.api() + "/app/hook/deliveries",
		},
	})
	return nil
}
