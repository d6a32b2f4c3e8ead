package workflow

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/rhysd/actionlint"

	"culprit/internal/session"
)

var errNotThere = errors.New("this commit does not have it")

// instance is one job as CI runs it: with its values of the matrix, and inside
// of the workflows that call it.
type instance struct {
	path     string
	workflow *file
	job      *actionlint.Job
	scope    scope
	names    []string // as CI may show it, the likeliest first
	open     []unknown
}

// maxCalls is how deep workflows call one another; GitHub's own limit.
const maxCalls = 4

// jobs are all jobs of a workflow file, those of the workflows that it calls
// among them.
func (r *reader) jobs(p string) ([]instance, error) {
	data, err := r.read(p)
	if err != nil {
		return nil, err
	}
	w, err := parse(data)
	if err != nil {
		return nil, err
	}
	if r.Job == "" && !startsByItself(w) {
		return nil, nil
	}
	return r.expand(p, w, r.root(w), nil, 0), nil
}

// startsByItself leaves workflows out that a change of the code does not start.
func startsByItself(w *file) bool {
	return slices.ContainsFunc(w.On, func(e actionlint.Event) bool {
		switch e.EventName() {
		case "push", "pull_request", "pull_request_target", "merge_group":
			return true
		}
		return false
	})
}

// root are the contexts of a workflow that nobody calls.
func (r *reader) root(w *file) scope {
	github := map[string]any{
		"workspace": ".", "server_url": "https://github.com", "api_url": "https://api.github.com", "repository_owner": "",
	}
	for k, v := range r.GitHub {
		github[strings.ToLower(k)] = v
	}
	if w.Name != nil {
		github["workflow"] = w.Name.Value
	}
	for k, v := range github {
		if v == "" {
			delete(github, k) // not known
		}
	}
	for k, v := range r.started(w) {
		github[k] = v
	}
	return scope{
		contexts: map[string]value{
			"github": github, "runner": map[string]any{"os": "Linux", "arch": "X64", "temp": "/tmp", "tool_cache": "/opt/hostedtoolcache", "environment": "github-hosted", "debug": ""},
			"env": map[string]any{}, "matrix": map[string]any{}, "inputs": map[string]any{}, "strategy": map[string]any{"fail-fast": true},
			"job": map[string]any{"status": "success"}, "steps": map[string]any{}, "needs": map[string]any{}, "secrets": map[string]any{}, "vars": map[string]any{},
		},
		work: &r.work,
		open: map[string]bool{"github": true, "job": true, "steps": true, "needs": true, "secrets": true, "vars": true, "strategy": true},
	}
}

// started are the properties of the github context that depend on what started
// the run. A workflow that only one event starts tells it itself.
func (r *reader) started(w *file) map[string]any {
	event := r.Event
	var events []string
	for _, e := range w.On {
		if name := e.EventName(); name != "workflow_call" {
			events = append(events, name)
		}
	}
	if event == "" && len(events) == 1 {
		event = events[0]
	}
	out := map[string]any{}
	set := func(name, text string) {
		if text != "" {
			out[name] = text
		}
	}
	set("event_name", event)
	switch event {
	case "push":
		out["head_ref"], out["base_ref"] = "", "" // which this event does not have
		set("sha", r.Commit)
		if r.Branch != "" {
			out["ref"], out["ref_name"] = "refs/heads/"+r.Branch, r.Branch
		}
	case "pull_request":
		set("head_ref", r.Branch)
		if r.PullRequest > 0 {
			out["ref"], out["ref_name"] = fmt.Sprintf("refs/pull/%d/merge", r.PullRequest), fmt.Sprintf("%d/merge", r.PullRequest)
		}
	case "pull_request_target":
		set("head_ref", r.Branch)
	}
	return out
}

func (r *reader) expand(p string, w *file, s scope, callers []string, depth int) []instance {
	var out []instance
	ids := make([]*actionlint.Job, 0, len(w.Jobs))
	for _, j := range w.Jobs {
		if j != nil && j.ID != nil {
			ids = append(ids, j)
		}
	}
	slices.SortFunc(ids, func(a, b *actionlint.Job) int {
		return cmp.Or(before(a.ID, b.ID), strings.Compare(a.ID.Value, b.ID.Value))
	})
	for _, j := range ids {
		var m *actionlint.Matrix
		if j.Strategy != nil {
			m = j.Strategy.Matrix
		}
		list, open := w.combinations(m, s, segments(r.Job, depth))
		for _, c := range list {
			if len(out) >= 4*maxCombinations {
				return out
			}
			in := s.with("matrix", c.values)
			if len(open) > 0 {
				in.open = with(s.open, "matrix")
			}
			names := join2(callers, shown(j, in, c))
			if j.WorkflowCall != nil {
				out = append(out, r.called(p, w, j, in, names, depth)...)
				continue
			}
			out = append(out, instance{path: p, workflow: w, job: j, scope: in, names: names, open: open})
		}
	}
	return out
}

func with(open map[string]bool, name string) map[string]bool {
	out := map[string]bool{name: true}
	for k, v := range open {
		out[k] = v
	}
	return out
}

// called are the jobs of a workflow that a job calls. One of another
// repository stays a job without steps.
func (r *reader) called(p string, w *file, j *actionlint.Job, s scope, names []string, depth int) []instance {
	opaque := []instance{{path: p, workflow: w, job: j, scope: s, names: names}}
	if j.WorkflowCall.Uses == nil || depth+1 >= maxCalls {
		return opaque
	}
	uses, local := strings.CutPrefix(j.WorkflowCall.Uses.Value, "./")
	if !local {
		return opaque
	}
	data, err := r.read(path.Clean(uses))
	if err != nil {
		return opaque
	}
	callee, err := parse(data)
	if err != nil {
		return opaque
	}
	given := map[string]value{}
	for k, in := range j.WorkflowCall.Inputs {
		if in.Value != nil {
			given[strings.ToLower(k)] = s.whole(in.Value.Value)
		}
	}
	inputs := map[string]any{}
	if e, ok := callee.FindWorkflowCallEvent(); ok {
		for _, in := range e.Inputs {
			id := strings.ToLower(in.ID)
			inputs[id] = nil
			if in.Default != nil {
				inputs[id] = typed(s.whole(in.Default.Value), in.Type)
			}
			if v, ok := given[id]; ok {
				inputs[id] = typed(v, in.Type)
			}
		}
	}
	inner := r.root(callee).with("inputs", inputs).with("github", s.contexts["github"]) // the caller's
	return r.expand(path.Clean(uses), callee, inner, names, depth+1)
}

// typed gives an input the type that the workflow declares.
func typed(v value, t actionlint.WorkflowCallEventInputType) value {
	text, is := v.(string)
	switch {
	case !is:
		return v
	case t == actionlint.WorkflowCallEventInputTypeBoolean:
		return text == "true"
	case t == actionlint.WorkflowCallEventInputTypeNumber:
		return toNumber(text)
	}
	return v
}

// shown are the names that CI may give a job: its own, with the matrix's values
// behind it where the name has no expression.
func shown(j *actionlint.Job, s scope, c combination) []string {
	base, expression := j.ID.Value, false
	if j.Name != nil && strings.TrimSpace(j.Name.Value) != "" {
		text, _ := s.text(j.Name.Value)
		base, expression = strings.TrimSpace(text), j.Name.ContainsExpression()
	}
	var out []string
	for _, n := range []int{len(c.names), c.assigned} {
		if seg := c.segments(n); len(seg) > 0 {
			out = append(out, base+" ("+strings.Join(seg, ", ")+")")
		}
	}
	if expression || len(out) == 0 {
		return append([]string{base}, out...)
	}
	return append(out, base, j.ID.Value)
}

// join2 puts the names of calling jobs before a job's: "build / test".
func join2(callers, names []string) []string {
	if len(callers) == 0 {
		return names
	}
	var out []string
	for _, c := range callers {
		for _, n := range names {
			out = append(out, c+" / "+n)
		}
	}
	return out[:min(len(out), 64)]
}

// segments are the matrix values in the name of a job, of the caller at that
// depth: "a (x) / b (1, 2)" has x at depth 0.
func segments(name string, depth int) []string {
	parts := strings.Split(name, " / ")
	if depth >= len(parts) {
		return nil
	}
	_, inner, ok := strings.Cut(parts[depth], " (")
	if !ok || !strings.HasSuffix(inner, ")") {
		return nil
	}
	return strings.Split(strings.TrimSuffix(inner, ")"), ", ")
}

// closest are the jobs whose name is the one that is looked for: exactly, else
// with the values of the matrix left out, else as its ID in the file.
func closest(jobs []instance, name string) []instance {
	name = strings.TrimSpace(name)
	cut, isCut := strings.CutSuffix(name, "...") // long names are cut
	var best []instance
	rank := 1 << 30
	for _, j := range jobs {
		at := slices.IndexFunc(j.names, func(n string) bool {
			return strings.EqualFold(n, name) || isCut && len(cut) > 20 && strings.HasPrefix(n, cut)
		})
		if at < 0 {
			continue
		}
		switch {
		case at < rank:
			best, rank = []instance{j}, at
		case at == rank:
			best = append(best, j)
		}
	}
	return best
}

// recipe walks through the job's steps. named tells that this is the job that
// failed, not only one that may be.
func (r *reader) recipe(j instance, named bool) Recipe {
	w := &walk{reader: r, job: j, scope: j.scope, named: named, out: Recipe{Workflow: j.path, Job: j.names[0]}}
	if named && r.Job != "" && !strings.EqualFold(r.Job, j.job.ID.Value) {
		w.out.Job = r.Job
	}
	for _, u := range j.open {
		w.differ(session.Difference{Kind: session.DiffExpression, There: u.why, Here: "known to GitHub alone"})
	}
	w.run()
	return w.out
}
