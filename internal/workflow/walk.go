package workflow

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/rhysd/actionlint"

	"culprit/internal/session"
)

// walk goes through the steps of a job and collects what can be done here.
type walk struct {
	*reader
	job   instance
	scope scope
	named bool
	out   Recipe

	shell, dir string     // defaults of workflow and job
	env        []variable // of workflow and job, and what steps handed on
	over       []variable // of the steps that use the actions around this one
	root       string     // folder that the repository is checked out to, "." mostly
	depth      int        // of composite actions
}

// maxActions is how deep composite actions use one another.
const maxActions = 8

// differ lists a difference once. Nobody reads hundreds of them.
func (w *walk) differ(d session.Difference) {
	n := len(w.out.Differences)
	if n > maxDifferences || slices.Contains(w.out.Differences, d) {
		return
	}
	if n == maxDifferences {
		d = session.Difference{Kind: session.DiffWorkflow, There: fmt.Sprintf("more than %d differences", n), Here: "the others are not listed", Blocks: true}
	}
	w.out.Differences = append(w.out.Differences, d)
}

func (w *walk) run() {
	j := w.job.job
	w.root = "."
	w.runner(j)
	if j.WorkflowCall != nil {
		w.out.Why = "the job is a workflow of another repository, " + j.WorkflowCall.Uses.Value
		w.differ(session.Difference{Kind: session.DiffAction, There: "the workflow " + j.WorkflowCall.Uses.Value, Here: "not read", Blocks: true})
		return
	}
	for _, d := range []*actionlint.Defaults{w.job.workflow.Defaults, j.Defaults} {
		if d != nil && d.Run != nil {
			w.shell = w.textOr(d.Run.Shell, w.shell)
			w.dir = w.textOr(d.Run.WorkingDirectory, w.dir)
		}
	}
	levels := []*actionlint.Env{w.job.workflow.Env, nil, j.Env}
	if j.Container != nil {
		levels[1] = j.Container.Env
	}
	for _, level := range levels {
		w.env = w.environ(w.env, level, true)
		w.see(w.over)
	}
	if !w.steps(j.Steps) && w.out.Why == "" {
		w.out.Why = "which step failed is not known"
	}
}

func (w *walk) textOr(s *actionlint.String, otherwise string) string {
	if s == nil {
		return otherwise
	}
	t, missing := w.scope.text(s.Value)
	w.missing(missing, "a default of the job", false)
	return t
}

// missing lists what an expression needs and nobody here knows.
func (w *walk) missing(list []unknown, what string, blocks bool) {
	for _, u := range list {
		switch {
		case u.secret || u.why == "github.token":
			w.differ(session.Difference{Kind: session.DiffSecret, There: "the secret " + strings.ToUpper(strings.TrimPrefix(u.why, "secrets.")) + " in " + what, Here: "it is not known", Blocks: blocks})
		case u.over:
			w.differ(session.Difference{Kind: session.DiffExpression, There: u.why + " in " + what, Here: "not worked out", Blocks: blocks})
		default:
			w.differ(session.Difference{Kind: session.DiffExpression, There: u.why + " in " + what, Here: "known to GitHub alone", Blocks: blocks})
		}
	}
}

// steps does the steps before the failing one and takes that. done tells that
// the failing one was among them.
func (w *walk) steps(list []*actionlint.Step) (done bool) {
	list = within(w, list, "one job or action")
	target := w.locate(list)
	for i, st := range list {
		if st == nil || st.Exec == nil {
			continue
		}
		if i == target {
			w.failing(st)
			return true
		}
		w.past(st)
	}
	return false
}

// past does a step before the failing one, unless its condition keeps it out.
func (w *walk) past(st *actionlint.Step) {
	if st.If != nil {
		outer := w.scope
		if st.Env != nil {
			w.see(w.environ(w.over, st.Env, false))
		}
		v := w.scope.condition(st.If.Value)
		w.scope = outer
		if u, is := v.(unknown); is {
			w.differ(session.Difference{Kind: session.DiffCondition, There: title(st) + ", if " + brief(st.If.Value), Here: "done: " + u.why + " is not known"})
		} else if v != true {
			return
		}
	}
	w.before(st)
	w.ran(st)
}

// ran makes what a step leaves for later ones known as far as it is.
func (w *walk) ran(st *actionlint.Step) {
	if st.ID == nil {
		return
	}
	id := strings.ToLower(st.ID.Value)
	result := map[string]any{"outcome": "success", "conclusion": "success", "outputs": unknown{why: "steps." + id + ".outputs"}}
	if a, ok := st.Exec.(*actionlint.ExecAction); ok && a.Uses != nil {
		if name, _ := action(a.Uses.Value); name == "actions/cache" || name == "actions/cache/restore" {
			result["outputs"] = map[string]any{"cache-hit": ""} // here is no cache of GitHub's
		}
	}
	steps := map[string]any{}
	if old, ok := w.scope.contexts["steps"].(map[string]any); ok {
		for k, v := range old {
			steps[k] = v
		}
	}
	steps[id] = result
	w.scope = w.scope.with("steps", steps)
}

// locate finds the failing step: by its name, by its command, else the first
// that runs tests. It is -1 when none does.
func (w *walk) locate(list []*actionlint.Step) int {
	index := func(is func(*actionlint.Step) bool) int {
		return slices.IndexFunc(list, func(st *actionlint.Step) bool { return st != nil && st.Exec != nil && is(st) })
	}
	if w.named && w.depth == 0 {
		for _, red := range w.Steps {
			if i := index(func(st *actionlint.Step) bool { return w.isCalled(st, red) }); i >= 0 {
				return i
			}
		}
	}
	if command := firstLine(w.Command); w.named && command != "" {
		if i := index(func(st *actionlint.Step) bool {
			run, ok := st.Exec.(*actionlint.ExecRun)
			if !ok || run.Run == nil {
				return false
			}
			text, _ := w.scope.text(run.Run.Value)
			return firstLine(text) == command
		}); i >= 0 {
			return i
		}
	}
	if i := index(w.tests); i >= 0 {
		return i
	}
	if i := index(func(st *actionlint.Step) bool {
		run, ok := st.Exec.(*actionlint.ExecRun)
		return ok && run.Run != nil && mayTest.MatchString(run.Run.Value)
	}); i >= 0 || !w.named || w.depth > 0 || len(w.Steps) > 0 {
		return i
	}
	// Somebody named the job alone: what it is for comes last.
	for i := len(list) - 1; i >= 0; i-- {
		if list[i] == nil || list[i].Exec == nil {
			continue
		}
		if a, ok := list[i].Exec.(*actionlint.ExecAction); !ok || a.Uses != nil && !prepares(a.Uses.Value) {
			return i
		}
	}
	return -1
}

// prepares reports whether an action is one of those that are known to test
// nothing.
func prepares(uses string) bool {
	name, _ := action(uses)
	_, tool := tools[name]
	return tool || harmless[name] || name == "actions/checkout"
}

// mayTest is what a step that runs tests through a tool of its own may say.
var mayTest = regexp.MustCompile(`(?:^|[\s/:_-])(?:tests?|specs?|check|verify|nextest|e2e|integration)(?:$|[\s:;._-])`)

// tests reports whether a step, or one of the action that it uses, runs tests.
func (w *walk) tests(st *actionlint.Step) bool {
	switch x := st.Exec.(type) {
	case *actionlint.ExecRun:
		if x.Run == nil {
			return false
		}
		text, _ := w.scope.text(x.Run.Value)
		dir, _ := w.folder(x.WorkingDirectory)
		return w.IsTest(Step{Run: text, Dir: dir, Shell: "bash"})
	case *actionlint.ExecAction:
		used, err := w.composite(x)
		if err != nil || w.depth >= maxActions {
			return false
		}
		deeper := *w
		deeper.depth++
		return slices.ContainsFunc(used.steps, func(st *actionlint.Step) bool { return st != nil && st.Exec != nil && deeper.tests(st) })
	}
	return false
}

// isCalled compares a step with a name that CI shows.
func (w *walk) isCalled(st *actionlint.Step, name string) bool {
	if st.Name != nil && st.Name.Value != "" {
		text, _ := w.scope.text(st.Name.Value)
		return strings.EqualFold(strings.TrimSpace(text), strings.TrimSpace(name))
	}
	switch x := st.Exec.(type) {
	case *actionlint.ExecRun:
		if x.Run != nil {
			text, _ := w.scope.text(x.Run.Value)
			return "Run "+firstLine(text) == strings.TrimSpace(name)
		}
	case *actionlint.ExecAction:
		return x.Uses != nil && "Run "+x.Uses.Value == strings.TrimSpace(name)
	}
	return false
}

// failing takes the failing step, or says why it cannot be done here.
func (w *walk) failing(st *actionlint.Step) {
	switch x := st.Exec.(type) {
	case *actionlint.ExecRun:
		s, ok := w.script(st, x, true)
		if ok {
			w.out.Test = &s
			return
		}
		w.out.Why = "the failing step cannot be done here as it stands"
	case *actionlint.ExecAction:
		used, err := w.composite(x)
		if err == nil && w.depth < maxActions {
			w.inside(st, x, used, true, func() {
				if !w.steps(used.steps) && w.out.Why == "" {
					w.out.Why = "which step of the action " + x.Uses.Value + " failed is not known"
				}
			})
			return
		}
		uses := ""
		if x.Uses != nil {
			uses = x.Uses.Value
		}
		w.out.Why = "the failing step is the action " + uses + ", which is not run here"
		w.differ(session.Difference{Kind: session.DiffAction, There: "the action " + uses + ", the failing step,", Here: "actions of others are not run", Blocks: true})
	}
}

// inside runs f with the contexts of the composite action that a step uses, and
// with that step's variables, which its inputs see and which end with it.
func (w *walk) inside(st *actionlint.Step, x *actionlint.ExecAction, used composite, blocks bool, f func()) {
	outer, shell, dir, over := w.scope, w.shell, w.dir, w.over
	w.over = w.environ(w.over, st.Env, blocks)
	w.see(w.over)
	w.scope, w.shell, w.dir = w.inputs(x, used), "", ""
	w.depth++
	f()
	w.depth--
	w.scope, w.shell, w.dir, w.over = outer, shell, dir, over
	w.see(w.over)
}

// script fills a run step in.
func (w *walk) script(st *actionlint.Step, x *actionlint.ExecRun, blocks bool) (Step, bool) {
	if x.Run == nil {
		return Step{}, false
	}
	outer, env := w.scope, w.over
	defer func() { w.scope = outer }() // variables of a step end with it
	if st.Env != nil {
		env = w.environ(env, st.Env, blocks)
		w.see(env)
	}
	run, open := w.scope.text(x.Run.Value)
	w.missing(open, title(st), blocks)
	if len(open) > 0 || strings.ContainsRune(run, 0) {
		return Step{}, false
	}
	name := w.shell
	if x.Shell != nil {
		name, _ = w.scope.text(x.Shell.Value)
	}
	shell, ok := known(name, run)
	if !ok {
		w.differ(session.Difference{Kind: session.DiffShell, There: title(st) + " runs in " + brief(name), Here: "no such shell", Blocks: blocks})
		return Step{}, false
	}
	dir, ok := w.folder(x.WorkingDirectory)
	if !ok {
		w.differ(session.Difference{Kind: session.DiffCheckout, There: title(st) + " runs in a folder outside of the repository", Here: "there is the repository alone", Blocks: blocks})
		return Step{}, false
	}
	return Step{Name: title(st), Run: strings.TrimRight(run, "\n"), Shell: shell, Dir: dir, Env: w.given(env)}, true
}

// known maps the shell of a step to one that this machine has. PowerShell and
// cmd are the defaults on Windows; a single plain command is the same in all.
func known(name, run string) (string, bool) {
	program, _, _ := strings.Cut(strings.TrimSpace(name), " ")
	switch path.Base(program) {
	case "", ".", "bash":
		return "bash", true
	case "sh", "dash":
		return "sh", true
	case "python", "python3":
		return "python", true
	case "pwsh", "powershell", "cmd":
		return "bash", !strings.ContainsAny(strings.TrimSpace(run), "\n$%`{}@^;|&")
	}
	return "", false
}

// folder is a step's working directory as a path in the repository.
func (w *walk) folder(given *actionlint.String) (string, bool) {
	dir := w.dir
	if given != nil {
		text, open := w.scope.text(given.Value)
		if len(open) > 0 {
			return "", false
		}
		dir = text
	}
	dir = path.Clean("./" + strings.ReplaceAll(strings.TrimPrefix(dir, "./"), `\`, "/"))
	if w.root != "." {
		rel, ok := strings.CutPrefix(dir+"/", w.root+"/")
		if !ok {
			return "", false
		}
		dir = path.Clean("./" + rel)
	}
	return dir, dir != ".." && !strings.HasPrefix(dir, "../") && !strings.HasPrefix(dir, "/") && !strings.ContainsRune(dir, 0)
}

// title names a step for people.
func title(st *actionlint.Step) string {
	if st.Name != nil && strings.TrimSpace(st.Name.Value) != "" {
		return "the step “" + brief(st.Name.Value) + "”"
	}
	switch x := st.Exec.(type) {
	case *actionlint.ExecRun:
		if x.Run != nil {
			return "the step “" + brief(firstLine(comments.ReplaceAllString(x.Run.Value, ""))) + "”"
		}
	case *actionlint.ExecAction:
		if x.Uses != nil {
			return "the action " + brief(x.Uses.Value)
		}
	}
	return "a step"
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return strings.TrimSpace(s)
}

// brief shortens a text of the file for a sentence.
func brief(s string) string {
	r := []rune(oneLine(s))
	if len(r) > 80 {
		return string(r[:79]) + "…"
	}
	return string(r)
}
