package workflow

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/rhysd/actionlint"

	"culprit/internal/session"
)

// variable of the environment. One whose value is not known stands in the list
// too: it hides an older one of its name, from expressions and from commands.
type variable struct {
	name  string // anyName: some variables, nobody knows which
	value value  // text or unknown
	given bool   // commands get it
}

// anyName stands for variables that a step may have set.
const anyName = ""

// environ adds the variables of a level to those before it, which stay as they
// are. blocks tells that the failing command sees them.
func (w *walk) environ(list []variable, level *actionlint.Env, blocks bool) []variable {
	if level == nil {
		return list
	}
	list = slices.Clone(list)
	if level.Expression != nil {
		w.missing([]unknown{{why: level.Expression.Value}}, "the environment", blocks)
		return append(list, variable{name: anyName})
	}
	vars := make([]*actionlint.EnvVar, 0, len(level.Vars))
	for _, v := range level.Vars {
		if v != nil && v.Name != nil {
			vars = append(vars, v)
		}
	}
	slices.SortFunc(vars, func(a, b *actionlint.EnvVar) int { return before(a.Name, b.Name) })
	outer := w.scope
	defer func() { w.scope = outer }()
	seen := map[string]any{} // the same in the loop: expressions see what stands above
	for k, x := range asObject(outer.contexts["env"]) {
		seen[k] = x
	}
	w.scope = outer.with("env", seen)
	for _, v := range vars {
		var text value = ""
		if v.Value != nil {
			filled, open := w.scope.text(v.Value.Value)
			w.missing(open, "the variable "+v.Name.Value, blocks)
			if text = filled; len(open) > 0 {
				text = open[0]
			}
		}
		n := w.variable(v.Name.Value, text)
		list = w.put(list, n)
		seen[strings.ToLower(n.name)] = visible(n)
	}
	return list
}

// variable makes one of a name and a value. This machine sets some itself.
func (w *walk) variable(name string, v value) variable {
	text, known := v.(string)
	if known && reserved(name) {
		w.differ(session.Difference{Kind: session.DiffVariable, There: name + "=" + brief(text), Here: "set by this machine"})
		return variable{name: name, value: unknown{why: "env." + name}}
	}
	return variable{name: name, value: v, given: known && validName(name) && !strings.ContainsRune(text, 0)}
}

// visible is what an expression sees of a variable.
func visible(v variable) value {
	if _, is := v.value.(unknown); is {
		return unknown{why: "env." + v.name}
	}
	return v.value
}

// put sets a variable in a list that belongs to the caller.
func (w *walk) put(list []variable, v variable) []variable {
	bytes := size(v.value)
	list = slices.DeleteFunc(list, func(old variable) bool { return old.name == v.name })
	for _, old := range list {
		bytes += len(old.name) + size(old.value)
	}
	if len(list) >= maxVariables || bytes > maxEnvironment {
		w.differ(session.Difference{
			Kind: session.DiffVariable, There: fmt.Sprintf("more than %d variables or %d KiB of them", maxVariables, maxEnvironment>>10), Here: "those over it are left out", Blocks: true,
		})
		return list
	}
	return append(list, v)
}

// hand sets variables for the steps that follow. Contexts are made anew once,
// for all that a script hands on.
func (w *walk) hand(values []variable) {
	if len(values) == 0 {
		return
	}
	w.env = slices.Clone(w.env)
	for _, v := range values {
		w.env = w.put(w.env, w.variable(v.name, v.value))
	}
	w.see(w.over)
}

// see sets what expressions see: what steps handed on, below the variables of a
// step.
func (w *walk) see(over []variable) {
	env, open := map[string]any{}, false
	for _, list := range [][]variable{w.env, over} {
		for _, v := range list {
			if v.name == anyName {
				open = true
				continue
			}
			env[strings.ToLower(v.name)] = visible(v)
		}
	}
	w.scope = w.scope.with("env", env)
	if open && !w.scope.open["env"] {
		w.scope.open = with(w.scope.open, "env")
	}
}

// given are the variables as a command gets them, "K=V".
func (w *walk) given(over []variable) []string {
	list := slices.Clone(w.env)
	for _, v := range over {
		list = append(slices.DeleteFunc(list, func(old variable) bool { return old.name == v.name }), v)
	}
	var out []string
	for _, v := range list {
		if text, ok := v.value.(string); ok && v.given {
			out = append(out, v.name+"="+text)
		}
	}
	return out
}

// handed are the variables that a script prints, for the file that hands them
// to later steps.
var handed = regexp.MustCompile(`(?:echo|printf)\s+(?:-\S+\s+)*["']?([A-Za-z_]\w*)(?:=|<<)`)

// forget makes unknown what a script hands on. Its plain lines are read after.
func (w *walk) forget(script string) {
	if !strings.Contains(script, "GITHUB_ENV") {
		return
	}
	names := handed.FindAllStringSubmatch(script, maxVariables)
	list := slices.Clone(w.env)
	for _, m := range names {
		list = w.put(list, variable{name: m[1], value: unknown{why: "env." + m[1]}})
	}
	if len(names) == 0 {
		list = w.put(list, variable{name: anyName})
	}
	w.env = list
	w.see(w.over)
}

func asObject(v value) map[string]any {
	object, _ := v.(map[string]any)
	return object
}

func added(v value, name, text string) map[string]any {
	out := map[string]any{}
	for k, x := range asObject(v) {
		out[k] = x
	}
	out[strings.ToLower(name)] = text
	return out
}

// reserved variables belong to the machine: folders, caches, the runner's own
// files, and what makes a program load other code.
func reserved(name string) bool {
	switch name {
	case "PATH", "HOME", "PWD", "TMPDIR", "USER", "SHELL", "IFS", "ENV", "BASH_ENV", "GOCACHE", "GOMODCACHE", "GOPATH", "GOROOT", "GOPROXY", "GOTOOLCHAIN",
		"CARGO_HOME", "RUSTUP_HOME", "PIP_CACHE_DIR", "npm_config_cache", "NPM_CONFIG_CACHE", "JAVA_HOME":
		return true
	}
	for _, p := range []string{"LD_", "DYLD_", "GITHUB_", "RUNNER_", "ACTIONS_", "CULPRIT_", "BASH_FUNC_"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

func validName(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}
