package workflow

import (
	"errors"
	"path"
	"slices"
	"strings"

	"culprit/internal/session"
)

// Query says what is looked for, and where.
type Query struct {
	Files []string                          // all paths of the commit
	Read  func(path string) ([]byte, error) // of the same commit

	// Workflow is the file's path as the run names it; empty when no run is
	// known, and all workflows are looked at.
	Workflow string
	// Job is the job's name as CI shows it ("test (ubuntu-latest, 1.22)"), or
	// its ID in the file; empty when nothing says which job failed.
	Job string
	// Steps are the names of the job's red steps, as CI shows them.
	Steps []string
	// Command is the first line of the failing step's script, as logs show it.
	Command string
	// IsTest reports whether a script runs tests. It finds the failing step
	// where nothing else does, and must not be nil.
	IsTest func(s Step) bool

	// Event started the run ("push"); empty when it is not known. What Commit,
	// Branch and PullRequest say of the github context depends on it: of a pull
	// request CI tests a merge that only GitHub has.
	Event       string
	Commit      string // the full ID of the failing commit
	Branch      string // that it was pushed to, without refs/heads/
	PullRequest int    // 0: none is known
	// GitHub are the properties of the github context that are known whatever
	// the event: "repository", "actor" …
	GitHub map[string]string
	Here   Machine
}

// Machine is what this machine has.
type Machine struct {
	OS   string // "linux", as runtime.GOOS has it
	Arch string // "amd64"
	Name string // "Debian GNU/Linux 12"; empty: OS
	// Version of an installed program ("go", "node"), "" when it is not there.
	// Nil: no versions are compared.
	Version func(program string) string
}

// Recipe is what one job of a workflow does up to the step that failed.
type Recipe struct {
	Workflow string // path of the file
	Job      string // as CI shows it
	Setup    []Step // what came before and can be done here
	Test     *Step  // nil when the failing step cannot be run here
	// Why says why Test is nil, after "because": "the failing step is the
	// action x/y, which is not run here".
	Why string
	// Guessed is set when nothing said which job failed.
	Guessed     bool
	Differences []session.Difference
}

// Step is one script of a job, with all expressions filled in.
type Step struct {
	Name  string
	Run   string
	Shell string   // "bash", "sh" or "python"
	Dir   string   // folder of the repository, "." for its root
	Env   []string // "K=V" of workflow, job and step, in the order of the file
}

// Bounds of the work that a hostile repository can cause.
const (
	maxRecipes = 4   // offered when no job is named, or several have the name
	maxFiles   = 100 // workflow files
	maxReads   = 300 // of called workflows and actions, each time that one is used
	maxWalks   = 64  // jobs whose steps are looked at
)

// Find reads the repository's workflows and returns what the job in question
// does. Where several jobs may be meant they come in order of likelihood, the
// plainest first. problems lists what could not be read.
func Find(q Query) (recipes []Recipe, problems []session.Difference) {
	r := reader{Query: q, held: make(map[string]bool, len(q.Files))}
	for _, f := range q.Files {
		r.held[f] = true
	}
	var jobs []instance
	for _, p := range r.workflows() {
		found, err := r.jobs(p)
		if err != nil {
			problems = append(problems, session.Difference{Kind: session.DiffWorkflow, There: "the workflow " + p, Here: "not understood: " + err.Error()})
			continue
		}
		jobs = append(jobs, found...)
	}
	if q.Job != "" {
		named := closest(jobs, q.Job)
		if len(named) == 0 {
			if len(jobs) > 0 || q.Workflow != "" {
				problems = append(problems, session.Difference{Kind: session.DiffWorkflow, There: "the job " + q.Job, Here: "not found in the workflow files of this commit"})
			}
			return nil, problems
		}
		for _, j := range named[:min(len(named), maxRecipes)] {
			recipes = append(recipes, r.recipe(j, true))
		}
		if len(named) > 1 {
			for i := range recipes {
				recipes[i].Differences = append(recipes[i].Differences, session.Difference{
					Kind: session.DiffWorkflow, There: "one of several jobs with the name " + q.Job, Here: "the first that shows the failure is taken",
				})
			}
		}
		return recipes, problems
	}
	return r.guess(jobs), problems
}

// guess offers the jobs that run tests: those that this machine can do first.
func (r *reader) guess(jobs []instance) []Recipe {
	var out []Recipe
	seen := map[string]bool{}
	for _, j := range jobs[:min(len(jobs), maxWalks)] {
		x := r.recipe(j, false)
		if x.Test == nil {
			continue
		}
		x.Guessed = true
		key := strings.Join(append([]string{x.Test.Run, x.Test.Dir}, x.Test.Env...), "\x00")
		if !seen[key] {
			seen[key] = true
			out = append(out, x)
		}
	}
	slices.SortStableFunc(out, func(a, b Recipe) int { return blocking(a) - blocking(b) })
	return out[:min(len(out), maxRecipes)]
}

func blocking(x Recipe) int {
	n := 0
	for _, d := range x.Differences {
		if d.Blocks {
			n++
		}
	}
	return n
}

type reader struct {
	Query
	held  map[string]bool
	reads int
	work  int // see maxWork
}

// workflows are the files to look at.
func (r *reader) workflows() []string {
	if p, _, _ := strings.Cut(r.Workflow, "@"); p != "" {
		return []string{p}
	}
	var out []string
	for _, f := range r.Files {
		if path.Dir(f) == ".github/workflows" && (path.Ext(f) == ".yml" || path.Ext(f) == ".yaml") {
			out = append(out, f)
		}
	}
	slices.Sort(out)
	return out[:min(len(out), maxFiles)]
}

// read gets a file of the commit; what the commit does not have is not asked
// for.
func (r *reader) read(p string) ([]byte, error) {
	if !r.held[p] {
		return nil, errNotThere
	}
	if r.reads++; r.reads > maxFiles+maxReads {
		return nil, errors.New("too many files call one another")
	}
	return r.Read(p)
}
