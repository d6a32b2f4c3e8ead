package githubtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"
	"unicode/utf8"
)

var checkRoutes = []*route{
	{method: "POST", path: "/repos/{owner}/{repo}/check-runs", access: accessRepo, needs: "checks:write", role: "write", handle: createCheck},
	{method: "GET", path: "/repos/{owner}/{repo}/check-runs/{check_run_id}", access: accessRepo, needs: "checks:read", handle: getCheck},
	{method: "PATCH", path: "/repos/{owner}/{repo}/check-runs/{check_run_id}", access: accessRepo, needs: "checks:write", role: "write", handle: patchCheck},
	{method: "POST", path: "/repos/{owner}/{repo}/check-runs/{check_run_id}/rerequest", access: accessRepo, needs: "checks:write", role: "write", handle: rerequestCheck},
	{method: "GET", path: "/repos/{owner}/{repo}/check-runs/{check_run_id}/annotations", access: accessRepo, needs: "checks:read", handle: listAnnotations},
	{method: "GET", path: "/repos/{owner}/{repo}/commits/{ref}/check-runs", access: accessRepo, needs: "checks:read", handle: listRefChecks},
	{method: "GET", path: "/repos/{owner}/{repo}/check-suites/{check_suite_id}/check-runs", access: accessRepo, needs: "checks:read", handle: listSuiteChecks},
}

func (s *Server) checkJSON(r *repository, c *checkRun) obj {
	u := fmt.Sprintf("%s/check-runs/%d", s.repoURL(r), c.id)
	html := fmt.Sprintf("%s/runs/%d", s.webURL(r), c.id)
	details := c.detailsURL
	if details == "" {
		details = html
	}
	return obj{
		"id": c.id, "node_id": nodeID("CheckRun", c.id), "head_sha": c.sha, "external_id": c.externalID, "url": u, "html_url": html,
		"details_url": details, "status": c.status, "conclusion": orNull(c.conclusion), "started_at": stamp(c.started),
		"completed_at": stamp(c.completed), "name": c.name, "check_suite": obj{"id": c.suite.id}, "app": s.appOrNull(c.suite.app),
		"pull_requests": s.pullsOf(r, c.sha),
		"output": obj{
			"title": c.title, "summary": c.summary, "text": c.text, "annotations_count": len(c.annotations), "annotations_url": u + "/annotations",
		},
	}
}

// checkRequest is the body of a create or update.
type checkRequest struct {
	Name        string
	HeadSHA     string  `json:"head_sha"`
	DetailsURL  *string `json:"details_url"`
	ExternalID  *string `json:"external_id"`
	Status      string
	StartedAt   *time.Time `json:"started_at"`
	Conclusion  string
	CompletedAt *time.Time `json:"completed_at"`
	Output      *struct {
		Title       *string
		Summary     *string
		Text        *string
		Annotations []Annotation
	}
	Actions *[]Action
}

var (
	checkStatuses    = []string{"", "queued", "in_progress", "completed", "waiting", "requested", "pending"}
	checkConclusions = []string{"", "action_required", "cancelled", "failure", "neutral", "success", "skipped", "stale", "timed_out"}
)

// problem says what GitHub's schema check refuses.
func (q *checkRequest) problem(creating bool) string {
	switch {
	case !slices.Contains(checkStatuses, q.Status):
		return fmt.Sprintf("For 'properties/status', %s is not a member of %q.", q.Status, checkStatuses[1:4])
	case !slices.Contains(checkConclusions, q.Conclusion):
		return fmt.Sprintf("For 'properties/conclusion', %s is not a member of %q.", q.Conclusion, checkConclusions[1:])
	case q.Conclusion == "stale":
		return "For 'properties/conclusion', stale can only be set by GitHub."
	case q.Status == "completed" && q.Conclusion == "":
		return `"conclusion" wasn't supplied.`
	}
	if q.Actions != nil {
		if n := len(*q.Actions); n > 3 {
			return fmt.Sprintf("No more than 3 items are allowed; %d were supplied.", n)
		}
		for _, a := range *q.Actions {
			for _, f := range []struct {
				name, value string
				limit       int
			}{{"label", a.Label, 20}, {"description", a.Description, 40}, {"identifier", a.Identifier, 20}} {
				if n := utf8.RuneCountInString(f.value); n == 0 || n > f.limit {
					return fmt.Sprintf("For 'properties/actions/items/properties/%s', between 1 and %d characters are allowed; %d were supplied.", f.name, f.limit, n)
				}
			}
		}
	}
	if q.Output == nil {
		return ""
	}
	o := q.Output
	switch {
	case o.Summary == nil:
		return `"summary" wasn't supplied.`
	case creating && o.Title == nil:
		return `"title" wasn't supplied.`
	case len(*o.Summary) > 65535:
		return fmt.Sprintf("For 'properties/summary', only 65535 characters are allowed; %d were supplied.", len(*o.Summary))
	case len(deref(o.Text)) > 65535:
		return fmt.Sprintf("For 'properties/text', only 65535 characters are allowed; %d were supplied.", len(*o.Text))
	case len(o.Annotations) > 50:
		return fmt.Sprintf("For 'properties/annotations', no more than 50 items are allowed; %d were supplied.", len(o.Annotations))
	}
	for _, a := range o.Annotations {
		switch {
		case a.Path == "" || a.StartLine == 0 || a.EndLine == 0 || a.Message == "":
			return "For 'properties/annotations/items', path, start_line, end_line, annotation_level and message are required."
		case !slices.Contains([]string{"notice", "warning", "failure"}, a.Level):
			return fmt.Sprintf("For 'properties/annotation_level', %s is not a member of [notice, warning, failure].", a.Level)
		case (a.StartColumn != nil || a.EndColumn != nil) && a.StartLine != a.EndLine:
			return "Columns can only be given when the annotation starts and ends on one line."
		case len(a.Message) > 64<<10 || len(a.RawDetails) > 64<<10 || utf8.RuneCountInString(a.Title) > 255:
			return "For 'properties/annotations/items', message and raw_details are limited to 64 KB and title to 255 characters."
		}
	}
	return ""
}

func createCheck(c *call) reply {
	if c.who.via() == nil {
		return fail(http.StatusForbidden, "You must authenticate via a GitHub App.")
	}
	var q checkRequest
	if bad := c.decode(&q, "name", "head_sha"); bad != nil {
		return *bad
	}
	if problem := q.problem(true); problem != "" {
		return invalidRequest(problem)
	}
	if q.Name == "" {
		return invalidRequest("For 'properties/name', the name must not be empty.")
	}
	sha := q.HeadSHA
	if !fullSHA(sha) || c.s.resolve(c.repo, sha) != sha {
		return fail(http.StatusUnprocessableEntity, "No commit found for SHA: "+sha)
	}
	st := c.s.suiteFor(c.repo, c.who.via(), sha)
	run := c.s.newCheck(c.repo, st, q.Name)
	c.s.applyCheck(run, &q)
	c.s.emitCheck(c.repo, run, "created", c.who.user(), nil)
	if run.status == "completed" {
		c.s.emitCheck(c.repo, run, "completed", c.who.user(), nil)
		c.s.suiteMayBeDone(c.repo, st, c.who.user())
	}
	return c.created(c.s.checkJSON(c.repo, run))
}

func (s *Server) newCheck(r *repository, st *suite, name string) *checkRun {
	run := &checkRun{id: s.id(), name: name, sha: st.sha, status: "queued", suite: st}
	r.checkRuns, st.runs, st.updated = append(r.checkRuns, run), append(st.runs, run), s.now()
	return run
}

// applyCheck writes the given fields. Annotations add to what is there.
func (s *Server) applyCheck(run *checkRun, q *checkRequest) {
	if q.Name != "" {
		run.name = q.Name
	}
	if q.DetailsURL != nil {
		run.detailsURL = *q.DetailsURL
	}
	if q.ExternalID != nil {
		run.externalID = *q.ExternalID
	}
	if q.Status != "" {
		run.status = q.Status
		if q.Status != "completed" {
			run.conclusion, run.completed = "", time.Time{}
		}
	}
	if run.started.IsZero() {
		run.started = s.now()
	}
	if q.StartedAt != nil {
		run.started = q.StartedAt.UTC()
	}
	if q.Conclusion != "" {
		run.status, run.conclusion, run.completed = "completed", q.Conclusion, s.now()
	}
	if q.CompletedAt != nil && run.status == "completed" {
		run.completed = q.CompletedAt.UTC()
	}
	if q.Output != nil {
		run.summary, run.text = q.Output.Summary, q.Output.Text
		if q.Output.Title != nil {
			run.title = q.Output.Title
		}
		run.annotations = append(run.annotations, q.Output.Annotations...)
	}
	if q.Actions != nil {
		run.actions = *q.Actions
	}
	run.suite.updated = s.now()
}

func (c *call) check() *checkRun {
	for _, run := range c.repo.checkRuns {
		if run.id == c.id("check_run_id") {
			return run
		}
	}
	return nil
}

func getCheck(c *call) reply {
	if run := c.check(); run != nil {
		return ok(c.s.checkJSON(c.repo, run))
	}
	return notFound()
}

func patchCheck(c *call) reply {
	run := c.check()
	switch {
	case run == nil:
		return notFound()
	case c.who.via() == nil:
		return fail(http.StatusForbidden, "You must authenticate via a GitHub App.")
	case run.suite.app != c.who.via():
		return fail(http.StatusForbidden, fmt.Sprintf("Invalid app_id `%d` - check run can only be modified by the GitHub App that created it.", c.who.via().ID))
	}
	var q checkRequest
	if bad := c.decode(&q); bad != nil {
		return *bad
	}
	if problem := q.problem(false); problem != "" {
		return invalidRequest(problem)
	}
	wasDone := run.status == "completed"
	c.s.applyCheck(run, &q)
	if run.status == "completed" && !wasDone {
		c.s.emitCheck(c.repo, run, "completed", c.who.user(), nil)
		c.s.suiteMayBeDone(c.repo, run.suite, c.who.user())
	}
	return ok(c.s.checkJSON(c.repo, run))
}

func listAnnotations(c *call) reply {
	run := c.check()
	if run == nil {
		return notFound()
	}
	return ok(listJSON(c, run.annotations, func(a Annotation) obj {
		var v obj
		_ = json.Unmarshal(encodeJSON(a), &v) // a round trip of our own encoding cannot fail
		v["blob_href"] = c.s.webURL(c.repo) + "/blob/" + run.sha + "/" + escapePath(a.Path)
		return v
	}))
}

// filterChecks applies the query of the list endpoints; filter=latest, the
// default, keeps the newest run of each name and suite.
func (c *call) filterChecks(runs []*checkRun) []*checkRun {
	latest := map[string]*checkRun{}
	key := func(r *checkRun) string { return fmt.Sprint(r.suite.id, "/", r.name) }
	for _, r := range runs {
		latest[key(r)] = r
	}
	return slices.DeleteFunc(slices.Clone(runs), func(r *checkRun) bool {
		name, status, app := c.query("check_name"), c.query("status"), c.query("app_id")
		return name != "" && r.name != name || status != "" && r.status != status ||
			app != "" && fmt.Sprint(r.suite.app.ID) != app || c.query("filter") != "all" && latest[key(r)] != r
	})
}

func (c *call) checkList(runs []*checkRun) reply {
	return countedJSON(c, "check_runs", c.filterChecks(runs), func(r *checkRun) obj { return c.s.checkJSON(c.repo, r) })
}

func listRefChecks(c *call) reply {
	sha := c.s.resolve(c.repo, c.param("ref"))
	if sha == "" {
		return fail(http.StatusUnprocessableEntity, "No commit found for SHA: "+c.param("ref"))
	}
	return c.checkList(slices.DeleteFunc(slices.Clone(c.repo.checkRuns), func(r *checkRun) bool { return r.sha != sha }))
}

func listSuiteChecks(c *call) reply {
	if st := c.suite(); st != nil {
		return c.checkList(st.runs)
	}
	return notFound()
}
