package toolchain

import (
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"culprit/internal/session"
)

// Isolate cuts the files that carry a reproduction down to the tests that it is
// about. A test file of today often tests more than the code of then had, and
// would not compile there although the one test that matters would: the
// reproduction must travel, not the file (BX1). Kept are the named tests and
// what they reach, TestMain and init; a file of which nothing is needed is left
// alone. Only Go needs this: other runners load a test file's tests one by one.
//
// The answer is the files that became smaller. ok is false when none did.
func Isolate(files []session.Edit, tests []string) (smaller []session.Edit, note string, ok bool) {
	byDir := map[string][]session.Edit{}
	for _, f := range files {
		if strings.HasSuffix(f.Path, "_test.go") && !f.Delete {
			byDir[path.Dir(f.Path)] = append(byDir[path.Dir(f.Path)], f)
		}
	}
	wanted := map[string]bool{}
	for _, t := range tests {
		top, _, _ := strings.Cut(t, "/")
		wanted[top] = true
	}
	for _, group := range byDir {
		smaller = append(smaller, isolateGo(group, wanted)...)
	}
	slices.SortFunc(smaller, func(a, b session.Edit) int { return strings.Compare(a.Path, b.Path) })
	if len(smaller) == 0 {
		return nil, "", false
	}
	return smaller, "only the failing test was taken over, without the other tests of its file", true
}

var goTestName = regexp.MustCompile(`^(Test|Benchmark|Fuzz|Example)([^a-z]|$)`)

// goDecl is one top-level declaration of a test file.
type goDecl struct {
	file  int
	node  ast.Decl
	names []string // that it declares; methods under their type's
	root  bool     // kept whoever needs it
}

// isolateGo works on the test files of one package.
func isolateGo(files []session.Edit, wanted map[string]bool) []session.Edit {
	fset := token.NewFileSet()
	var parsed []*ast.File
	var decls []goDecl
	found := false
	for i, f := range files {
		file, err := parser.ParseFile(fset, f.Path, f.Content, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil // what does not parse is taken as it is
		}
		parsed = append(parsed, file)
		for _, d := range file.Decls {
			decl := declOf(i, d, wanted)
			found = found || decl.root && slices.ContainsFunc(decl.names, func(n string) bool { return wanted[n] })
			decls = append(decls, decl)
		}
	}
	if !found {
		return nil
	}
	keep := reachable(decls)
	var out []session.Edit
	for i, f := range files {
		var kept []ast.Decl
		dropped := 0
		for j, d := range decls {
			switch {
			case d.file != i:
			case keep[j]:
				kept = append(kept, d.node)
			default:
				dropped++
			}
		}
		if dropped == 0 || len(kept) == 0 {
			continue
		}
		if content, err := render(fset, parsed[i], kept); err == nil {
			f.Content = content
			out = append(out, f)
		}
	}
	return out
}

func declOf(file int, d ast.Decl, wanted map[string]bool) goDecl {
	out := goDecl{file: file, node: d}
	switch d := d.(type) {
	case *ast.FuncDecl:
		name := d.Name.Name
		switch {
		case d.Recv != nil && len(d.Recv.List) > 0:
			out.names = []string{receiver(d.Recv.List[0].Type)}
		case name == "init" || name == "TestMain":
			out.root = true
		case goTestName.MatchString(name):
			out.names, out.root = []string{name}, wanted[name]
		default:
			out.names = []string{name}
		}
	case *ast.GenDecl:
		if d.Tok == token.IMPORT {
			out.root = true
			return out
		}
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				out.names = append(out.names, s.Name.Name)
			case *ast.ValueSpec:
				for _, n := range s.Names {
					out.names = append(out.names, n.Name)
				}
			}
		}
	}
	return out
}

func receiver(t ast.Expr) string {
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

// reachable marks the declarations that the roots use, directly or not. A name
// counts as used wherever it stands: too much is kept rather than too little.
func reachable(decls []goDecl) []bool {
	byName := map[string][]int{}
	for i, d := range decls {
		for _, n := range d.names {
			byName[n] = append(byName[n], i)
		}
	}
	keep := make([]bool, len(decls))
	var queue []int
	add := func(i int) {
		if !keep[i] {
			keep[i] = true
			queue = append(queue, i)
		}
	}
	for i, d := range decls {
		if d.root {
			add(i)
		}
	}
	for len(queue) > 0 {
		d := decls[queue[0]]
		queue = queue[1:]
		ast.Inspect(d.node, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				for _, i := range byName[id.Name] {
					if f, isFunc := decls[i].node.(*ast.FuncDecl); !isFunc || f.Recv != nil || !goTestName.MatchString(f.Name.Name) {
						add(i)
					}
				}
			}
			return true
		})
	}
	return keep
}

// render prints the file with the declarations that are kept, and without the
// imports that only the others used.
func render(fset *token.FileSet, file *ast.File, kept []ast.Decl) ([]byte, error) {
	used := map[string]bool{}
	var comments []*ast.CommentGroup
	for _, d := range kept {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
			continue
		}
		ast.Inspect(d, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				used[id.Name] = true
			}
			return true
		})
	}
	for _, c := range file.Comments {
		inside := c.End() < file.Package // build constraints and the package's comment
		for _, d := range kept {
			inside = inside || c.Pos() >= begin(d) && c.End() <= d.End()
		}
		if inside {
			comments = append(comments, c)
		}
	}
	for _, d := range kept {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
			g.Specs = slices.DeleteFunc(g.Specs, func(s ast.Spec) bool { return !importUsed(s.(*ast.ImportSpec), used) })
		}
	}
	kept = slices.DeleteFunc(kept, func(d ast.Decl) bool {
		g, ok := d.(*ast.GenDecl)
		return ok && g.Tok == token.IMPORT && len(g.Specs) == 0
	})
	file.Decls, file.Comments = kept, comments
	var b strings.Builder
	if err := format.Node(&b, fset, file); err != nil {
		return nil, err
	}
	return []byte(b.String()), nil
}

// begin of a declaration, with its comment: that may be a directive.
func begin(d ast.Decl) token.Pos {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Doc != nil {
			return d.Doc.Pos()
		}
	case *ast.GenDecl:
		if d.Doc != nil {
			return d.Doc.Pos()
		}
	}
	return d.Pos()
}

var majorVersion = regexp.MustCompile(`^v[0-9]+$`)

// importUsed guesses an import's name from its path as people name packages;
// where that can be wrong the import is kept, and a wrong guess costs one
// commit that cannot be tested, never a wrong result.
func importUsed(s *ast.ImportSpec, used map[string]bool) bool {
	if s.Name != nil {
		return s.Name.Name == "_" || s.Name.Name == "." || used[s.Name.Name]
	}
	p, err := strconv.Unquote(s.Path.Value)
	if err != nil {
		return true
	}
	base := path.Base(p)
	if majorVersion.MatchString(base) {
		base = path.Base(path.Dir(p))
	}
	if i := strings.LastIndex(base, ".v"); i > 0 { // gopkg.in/yaml.v3
		base = base[:i]
	}
	base = strings.TrimSuffix(strings.TrimPrefix(base, "go-"), "-go")
	if i := strings.LastIndexByte(base, '-'); i >= 0 {
		base = base[i+1:]
	}
	return used[base]
}
