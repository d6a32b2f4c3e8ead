package workflow

import (
	"errors"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/rhysd/actionlint"
	yaml "go.yaml.in/yaml/v4"

	"culprit/internal/session"
)

// before does a step that came before the failing one.
func (w *walk) before(st *actionlint.Step) {
	switch x := st.Exec.(type) {
	case *actionlint.ExecRun:
		w.prepares(st, x)
	case *actionlint.ExecAction:
		if x.Uses == nil {
			return
		}
		used, err := w.composite(x)
		switch {
		case err == nil && w.depth < maxActions:
			w.inside(st, x, used, false, func() {
				// The failing step lies behind this action, not in it.
				for _, st := range within(w, used.steps, "the action "+brief(x.Uses.Value)) {
					if st != nil && st.Exec != nil {
						w.past(st)
					}
				}
			})
		case strings.HasPrefix(x.Uses.Value, "./"):
			w.differ(session.Difference{Kind: session.DiffAction, There: "the action " + brief(x.Uses.Value) + " of the repository", Here: "not done: " + err.Error()})
		default:
			w.uses(x)
		}
	}
}

// Kinds of script, by the programs that they call.
var (
	system = regexp.MustCompile(`(?m)(?:^|[;&|(]|\bsudo\s+(?:-\S+\s+)*)\s*(?:sudo|apt|apt-get|brew|choco|yum|dnf|apk|pacman|snap|systemctl|service|docker|docker-compose|podman)\s`)
	checks = regexp.MustCompile(`\b(?:lint|vet|gofmt|fmt|format|tests?|check|coverage|codecov|coveralls|typecheck|audit|clippy|shellcheck|mypy|flake8|ruff|eslint|prettier|bench|pytest|tox|jest|vitest|mocha|rspec|tsc|actionlint|git\b.*\bdiff|gh|curl -\S*F)\b`)
	makes  = regexp.MustCompile(`\b(?:install|download|ci|restore|sync|fetch|build|compile|generate|gen|setup|bootstrap|deps|dependencies|vendor|protoc|migrate|init|prepare|mkdir|cp|mv|tar|unzip|export|GITHUB_ENV|GITHUB_PATH|get|add)\b`)
	// handing is a line that hands a plain value to later steps.
	handing = regexp.MustCompile(`^echo\s+(?:"([A-Za-z_]\w*)=([^"$` + "`" + `\\]*)"|'([A-Za-z_]\w*)=([^']*)'|([A-Za-z_]\w*)=([^\s"'$` + "`" + `\\;&|<>]*))\s*>>\s*"?\$\{?GITHUB_ENV\}?"?$`)
)

// comments are lines of a script that say what it is for.
var comments = regexp.MustCompile(`(?m)^\s*#.*$`)

func onlyChecks(script string) bool {
	return checks.MatchString(script) && !makes.MatchString(script)
}

// prepares keeps a script that prepares something, line by line where some of
// its lines cannot be done here.
func (w *walk) prepares(st *actionlint.Step, x *actionlint.ExecRun) {
	if x.Run == nil || onlyChecks(comments.ReplaceAllString(x.Run.Value, "")) {
		return // it leaves nothing behind
	}
	s, ok := w.script(st, x, false)
	w.forget(x.Run.Value)
	if !ok {
		return // listed already
	}
	lines := []string{s.Run}
	if Flat(s.Run) {
		lines = strings.Split(strings.ReplaceAll(s.Run, "\\\n", " "), "\n")
	}
	var kept []string
	var values []variable // of one name the last
	at := map[string]int{}
	for _, l := range lines {
		t := strings.TrimSpace(l)
		if m := handing.FindStringSubmatch(t); m != nil {
			name, text := m[1]+m[3]+m[5], m[2]+m[4]+m[6]
			if i, again := at[name]; again {
				values[i].value = text
			} else if len(values) <= maxVariables { // one more, to be told of
				at[name] = len(values)
				values = append(values, variable{name: name, value: text})
			}
			continue
		}
		switch {
		case t == "" || strings.HasPrefix(t, "#") || len(lines) > 1 && onlyChecks(t):
		case system.MatchString(t + " "):
			w.differ(session.Difference{Kind: session.DiffSystem, There: "“" + brief(t) + "”", Here: "the system is as it is"})
		case strings.Contains(t, "GITHUB_ENV") || strings.Contains(t, "GITHUB_PATH"):
			w.differ(session.Difference{Kind: session.DiffVariable, There: "“" + brief(t) + "”", Here: "its value is not carried to the test"})
		case strings.Contains(t, "GITHUB_OUTPUT") || strings.Contains(t, "GITHUB_STEP_SUMMARY"):
		default:
			kept = append(kept, l)
		}
	}
	w.hand(values)
	if len(kept) == 0 {
		return
	}
	s.Run = strings.Join(kept, "\n")
	w.out.Setup = append(w.out.Setup, s)
}

// control are the words that make a line depend on others.
var control = regexp.MustCompile(`(?m)^\s*(?:if|then|else|elif|fi|for|while|until|do|done|case|esac|function|trap|set|\{|\}|\w+\s*\(\))(?:\s|;|$)|<<|["']\s*$`)

// Flat reports whether each line of a script is a command of its own, so that
// some of them may be taken alone.
func Flat(script string) bool {
	return !control.MatchString(script) || !strings.Contains(strings.TrimSpace(script), "\n")
}

// action is "owner/name/path" in lower case, and the version behind it.
func action(uses string) (name, version string) {
	name, version, _ = strings.Cut(strings.TrimSpace(uses), "@")
	return strings.ToLower(name), version
}

// uses does what can be done for an action of others: nothing, or a comparison
// of versions.
func (w *walk) uses(x *actionlint.ExecAction) {
	name, version := action(x.Uses.Value)
	input := func(key string) string {
		if in := x.Inputs[key]; in != nil && in.Value != nil {
			text, _ := w.scope.text(in.Value.Value)
			return strings.TrimSpace(text)
		}
		return ""
	}
	switch tool, isTool := tools[name]; {
	case name == "actions/checkout":
		w.checkout(input)
	case isTool:
		asked := ""
		for _, key := range tool.inputs {
			if asked == "" {
				asked = input(key)
			}
		}
		for _, key := range tool.files {
			if file := input(key); asked == "" && file != "" {
				asked = w.versionFrom(path.Clean(file), tool.tool)
			}
		}
		if asked == "" && name == "dtolnay/rust-toolchain" {
			asked = version
		}
		w.compare(tool.tool, tool.name, asked)
	case harmless[name]:
	case strings.HasPrefix(name, "docker://"):
		w.differ(session.Difference{Kind: session.DiffContainer, There: "a step in the image " + strings.TrimPrefix(x.Uses.Value, "docker://"), Here: "images are not run"})
	default:
		w.differ(session.Difference{Kind: session.DiffAction, There: "the action " + brief(x.Uses.Value), Here: "actions of others are not run"})
		w.env = w.put(slices.Clone(w.env), variable{name: anyName})
		w.see(w.over)
	}
}

// compare sets the version that CI installs against the one that is here.
func (w *walk) compare(program, name, asked string) {
	if w.Here.Version == nil || asked == "" {
		return
	}
	have := w.Here.Version(program)
	if have == "" {
		w.differ(session.Difference{Kind: session.DiffTool, There: name + " " + brief(asked), Here: "no " + name, Blocks: true})
		return
	}
	known := false
	for a := range strings.FieldsSeq(asked) {
		fits, ok := satisfies(a, have)
		if fits {
			return
		}
		known = known || ok
	}
	if known || strings.HasPrefix(asked, "nightly") || strings.HasPrefix(asked, "beta") || strings.Contains(asked, "pypy") {
		w.differ(session.Difference{Kind: session.DiffTool, There: name + " " + brief(asked), Here: have})
	}
}

// versionFrom reads a version out of go.mod, .nvmrc, .python-version,
// .tool-versions and the like; "" when it says none that is understood.
func (w *walk) versionFrom(file, program string) string {
	if path.Ext(file) == ".json" || path.Ext(file) == ".toml" {
		return ""
	}
	data, err := w.read(file)
	if err != nil || len(data) > maxFile {
		return ""
	}
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		switch {
		case len(f) == 0 || strings.HasPrefix(f[0], "#"):
		case path.Base(file) == "go.mod":
			if f[0] == "go" && len(f) == 2 {
				return f[1]
			}
		case path.Base(file) == ".tool-versions":
			if len(f) > 1 && (f[0] == program || f[0]+"3" == program || f[0] == program+"js" || f[0] == program+"lang") {
				return f[1]
			}
		default:
			return f[0]
		}
	}
	return ""
}

// checkout lists what a checkout of CI has that this one has not.
func (w *walk) checkout(input func(string) string) {
	if repo := input("repository"); repo != "" && !strings.EqualFold(repo, w.GitHub["repository"]) {
		w.differ(session.Difference{Kind: session.DiffCheckout, There: "a checkout of " + brief(repo), Here: "no other repository is fetched"})
		return
	}
	if p := input("path"); p != "" {
		w.root = path.Clean("./" + p)
	}
	if s := input("submodules"); s == "true" || s == "recursive" {
		w.differ(session.Difference{Kind: session.DiffCheckout, There: "with submodules", Here: "without", Blocks: w.held[".gitmodules"]})
	}
	if input("lfs") == "true" {
		w.differ(session.Difference{Kind: session.DiffCheckout, There: "with the files of Git LFS", Here: "their pointers alone", Blocks: true})
	}
	if input("fetch-depth") == "0" || input("fetch-tags") == "true" {
		w.differ(session.Difference{Kind: session.DiffCheckout, There: "with the history", Here: "tests see no git metadata"})
	}
}

// composite is an action of the repository itself.
type composite struct {
	dir      string
	steps    []*actionlint.Step
	defaults map[string]string // of its inputs
}

// composite reads the action that a step uses.
func (w *walk) composite(x *actionlint.ExecAction) (composite, error) {
	if x.Uses == nil {
		return composite{}, errNotThere
	}
	dir, local := strings.CutPrefix(x.Uses.Value, "./")
	if !local {
		return composite{}, errNotThere
	}
	if rel, ok := strings.CutPrefix(path.Clean(dir)+"/", w.root+"/"); ok && w.root != "." && w.root != "" {
		dir = rel
	}
	file := path.Join(dir, "action.yml")
	if !w.held[file] {
		file = path.Join(dir, "action.yaml")
	}
	data, err := w.read(file)
	if err != nil {
		return composite{}, err
	}
	steps, defaults, err := parseAction(data)
	if err != nil {
		return composite{}, err
	}
	return composite{dir: path.Dir(file), steps: steps, defaults: defaults}, nil
}

// inputs are the contexts that the steps of an action see, from those of the
// step that uses it.
func (w *walk) inputs(x *actionlint.ExecAction, used composite) scope {
	inputs := map[string]any{}
	for k, v := range used.defaults {
		inputs[k] = asText(w.scope.whole(v))
	}
	for k, in := range x.Inputs {
		if in != nil && in.Value != nil {
			inputs[strings.ToLower(k)] = asText(w.scope.whole(in.Value.Value))
		}
	}
	s := w.scope.with("inputs", inputs)
	if github, ok := s.contexts["github"].(map[string]any); ok {
		s = s.with("github", added(github, "action_path", used.dir))
	}
	return s
}

// asText is what an action's inputs are, whatever the expression gave.
func asText(v value) value {
	if _, is := v.(unknown); is {
		return v
	}
	return toText(v)
}

// parseAction reads the steps of a composite action. They have the form of a
// job's steps, so they are parsed as those of a job that is made for it.
func parseAction(data []byte) (steps []*actionlint.Step, defaults map[string]string, err error) {
	doc, _, err := load(data)
	if err != nil {
		return nil, nil, err
	}
	if len(doc.Content) == 0 {
		return nil, nil, errors.New("it is empty")
	}
	runs := child(doc.Content[0], "runs")
	using, list := child(runs, "using"), child(runs, "steps")
	if using == nil || using.Value != "composite" || list == nil {
		return nil, nil, errors.New("it is no composite action")
	}
	defaults = map[string]string{}
	if in := child(doc.Content[0], "inputs"); in != nil {
		for i := 0; i+1 < len(in.Content); i += 2 {
			text := ""
			if d := child(in.Content[i+1], "default"); d != nil {
				text = d.Value
			}
			defaults[strings.ToLower(in.Content[i].Value)] = text
		}
	}
	scalar := func(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: s} }
	mapping := func(c ...*yaml.Node) *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode, Content: c} }
	text, err := dump(mapping(
		scalar("on"), scalar("push"),
		scalar("jobs"), mapping(scalar("action"), mapping(scalar("runs-on"), scalar("any"), scalar("steps"), list)),
	))
	if err != nil {
		return nil, nil, err
	}
	wf, err := parse(text)
	if err != nil {
		return nil, nil, err
	}
	if j := wf.Jobs["action"]; j != nil {
		steps = j.Steps
	}
	return steps, defaults, nil
}

// child is the value of a key; nil when there is none.
func child(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}
