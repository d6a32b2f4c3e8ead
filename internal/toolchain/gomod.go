package toolchain

import (
	"fmt"
	"path"
	"sort"
	"strings"

	"culprit/internal/session"
)

// goMod is what is needed of a go.mod file. It is read by hand: the parser of
// golang.org/x/mod would be a dependency for four directives.
type goMod struct {
	module   string
	goLine   string   // "1.21"
	requires []string // "path version", comments cut
	replaces []string // "old => new"
}

// goModLine is a directive of a go.mod, also where it stands in a block.
type goModLine struct {
	at         int // index of its line
	verb, rest string
	comment    string // behind it, without the slashes
}

func goModLines(text string) []goModLine {
	var out []goModLine
	block := ""
	for i, raw := range strings.Split(text, "\n") {
		code, comment, _ := strings.Cut(raw, "//")
		line := strings.TrimSpace(code)
		verb, rest, _ := strings.Cut(line, " ")
		rest = strings.TrimSpace(rest)
		switch {
		case line == "":
			continue
		case line == ")":
			block = ""
			continue
		case block != "":
			verb, rest = block, line
		case rest == "(" || strings.HasSuffix(verb, "("):
			block = strings.TrimSuffix(verb, "(")
			continue
		}
		out = append(out, goModLine{i, verb, rest, strings.TrimSpace(comment)})
	}
	return out
}

func parseGoMod(text string) goMod {
	var m goMod
	for _, l := range goModLines(text) {
		switch l.verb {
		case "module":
			m.module = strings.Trim(l.rest, "\"`")
		case "go":
			m.goLine = l.rest
		case "require":
			m.requires = append(m.requires, l.rest)
		case "replace":
			m.replaces = append(m.replaces, l.rest)
		}
	}
	return m
}

// Go versions that a made module file names. Code from before modules means
// what the language was then (one variable for a whole loop, say), so the
// version is not today's.
const (
	goLineBefore = "1.21"
	// goLineVendored is older than the rule that a vendor folder is used and
	// must hold a modules.txt, which no folder from before modules has.
	goLineVendored = "1.13"
)

// goModInit is the set-up of code from before modules: it makes the module
// file that today's go command wants, outside of git. Requirements that cannot
// be had (-e) concern the packages that need them.
func goModInit(t *tree, k Kit) string {
	module, goLine := k.Module, goLineBefore
	if module == "" {
		module = "example.invalid/module"
	}
	if vendor := path.Join(k.Root, "vendor"); len(t.under(vendor)) > 0 && !t.has(path.Join(vendor, "modules.txt")) {
		goLine = goLineVendored
	}
	return Kit{Root: k.Root}.in("go mod init " + Quote(module) + " && go mod edit -go=" + goLine + " && go mod tidy -e")
}

// adaptGo makes the module file of a commit from before modules, out of the
// newer commit's. Its path is
// what the old code imports itself by, or the newer module's; requirements
// are copied only when the old code needs something from outside.
func adaptGo(old, newer *tree, k Kit) ([]session.Edit, string, bool) {
	file := path.Join(k.Root, "go.mod")
	if _, ok := old.up(k.Root, "go.mod"); ok {
		return nil, "", false
	}
	if !hasGoFiles(old, k.Root) {
		return nil, "", false
	}
	source, ok := newer.up(k.Root, "go.mod")
	if !ok {
		return nil, "", false // the set-up makes it, see goModInit
	}
	mod := parseGoMod(newer.read(source))
	module := mod.module
	if own := guessModule(old); own != "" && k.Root == "." {
		module = own
	}
	if module == "" {
		module = "example.invalid/module"
	}
	goLine := mod.goLine
	if goLine == "" {
		goLine = goLineBefore
	}
	text := fmt.Sprintf("module %s\n\ngo %s\n", module, goLine)
	note := "go.mod made for code from before modules: module " + module
	var edits []session.Edit
	if needed := goImports(old, k.Root, module); len(needed) > 0 {
		text += requirements(mod, path.Dir(source))
		note += ", requirements of the newer commit's go.mod"
		if sum := path.Join(path.Dir(source), "go.sum"); newer.has(sum) && !old.has(path.Join(k.Root, "go.sum")) {
			edits = append(edits, session.Edit{Path: path.Join(k.Root, "go.sum"), Content: []byte(newer.read(sum))})
		}
	}
	edits = append([]session.Edit{{Path: file, Content: []byte(text)}}, edits...)
	// A vendor folder from before modules has no modules.txt, and the go
	// command refuses it.
	if vendor := path.Join(k.Root, "vendor"); !old.has(path.Join(vendor, "modules.txt")) {
		for _, f := range old.under(vendor) {
			edits = append(edits, session.Edit{Path: f, Delete: true})
		}
		if n := len(old.under(vendor)); n > 0 {
			note += ", its vendor folder left out"
		}
	}
	return edits, note, true
}

// requirements copies the newer requirements, and the replacements that do
// not point into the tree.
func requirements(mod goMod, dir string) string {
	var b strings.Builder
	if len(mod.requires) > 0 {
		b.WriteString("\nrequire (\n")
		for _, r := range mod.requires {
			b.WriteString("\t" + r + "\n")
		}
		b.WriteString(")\n")
	}
	for _, r := range mod.replaces {
		if _, to, ok := strings.Cut(r, "=>"); ok && strings.HasPrefix(strings.TrimSpace(to), ".") {
			continue
		}
		b.WriteString("\nreplace " + r + "\n")
	}
	return b.String()
}

func hasGoFiles(t *tree, dir string) bool {
	for _, f := range t.under(dir) {
		if strings.HasSuffix(f, ".go") {
			return true
		}
	}
	return false
}

// guessModule finds the path by which the tree's packages import one another:
// an import whose end is a folder of the tree.
func guessModule(t *tree) string {
	votes := map[string]int{}
	seen := 0
	for _, f := range t.files {
		if !strings.HasSuffix(f, ".go") || within("vendor", f) || strings.Contains(f, "/vendor/") {
			continue
		}
		if seen++; seen > 2000 {
			break
		}
		for _, imp := range importsOf(t.read(f)) {
			first, _, _ := strings.Cut(imp, "/")
			if !strings.Contains(first, ".") {
				continue
			}
			for i := len(imp); i > 0; i = strings.LastIndexByte(imp[:i], '/') {
				dir := strings.TrimPrefix(imp[i:], "/")
				if dir == "" {
					continue
				}
				if hasPackage(t, dir) {
					votes[imp[:i]]++
				}
			}
		}
	}
	best := ""
	for m, n := range votes {
		if strings.Count(m, "/") > 0 && (n > votes[best] || n == votes[best] && (len(m) > len(best) || len(m) == len(best) && m < best)) {
			best = m
		}
	}
	return best
}

func hasPackage(t *tree, dir string) bool {
	for _, name := range t.dirs[dir] {
		if strings.HasSuffix(name, ".go") {
			return true
		}
	}
	return false
}

// goImports lists imports from outside the standard library and the module.
func goImports(t *tree, dir, module string) []string {
	set := map[string]bool{}
	for _, f := range t.under(dir) {
		if !strings.HasSuffix(f, ".go") || within(path.Join(dir, "vendor"), f) {
			continue
		}
		for _, imp := range importsOf(t.read(f)) {
			first, _, _ := strings.Cut(imp, "/")
			if strings.Contains(first, ".") && imp != module && !strings.HasPrefix(imp, module+"/") {
				set[imp] = true
			}
		}
	}
	out := make([]string, 0, len(set))
	for imp := range set {
		out = append(out, imp)
	}
	sort.Strings(out)
	return out
}

// importsOf reads a Go file's imports without parsing the rest.
func importsOf(src string) []string {
	var out []string
	block := false
	for line := range strings.Lines(src) {
		line = strings.TrimSpace(line)
		switch {
		case block && strings.HasPrefix(line, ")"):
			block = false
			continue
		case strings.HasPrefix(line, "import ("):
			block = true
			line = line[len("import ("):]
		case strings.HasPrefix(line, "import "):
		case block:
		case strings.HasPrefix(line, "func "), strings.HasPrefix(line, "type "), strings.HasPrefix(line, "var "), strings.HasPrefix(line, "const "):
			return out
		default:
			continue
		}
		if strings.HasPrefix(line, "//") {
			continue
		}
		if i := strings.IndexByte(line, '"'); i >= 0 {
			if j := strings.IndexByte(line[i+1:], '"'); j > 0 {
				out = append(out, line[i+1:i+1+j])
			}
		}
	}
	return out
}
