package tools

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"strings"
)

// outlines say by a file's extension what begins a definition. They are rough
// on purpose: a model wants to know where to read, and reads there.
var outlines = []struct {
	extensions string
	re         *regexp.Regexp
}{
	{".go", regexp.MustCompile(`^(func|type|var|const)\s+\S|^\t[A-Z]\w*\s*=\s*iota`)},
	{".py .pyi", regexp.MustCompile(`^\s*(async\s+def|def|class)\s+\w|^[A-Z_][A-Z0-9_]*\s*=`)},
	{".js .jsx .ts .tsx .mjs .cjs .mts .cts .vue", regexp.MustCompile(`^\s*(export\s+)?(default\s+)?(async\s+)?(function|class|interface|type|enum|namespace)\b|^(export\s+)?(const|let|var)\s+\w|^\s*(describe|it|test)\(|^\s+(static\s+|async\s+|get\s+|set\s+)*\w+\([^)]*\)\s*\{`)},
	{".java .kt .kts .cs .scala .swift", regexp.MustCompile(`\b(class|interface|enum|record|object|struct|protocol|extension|func|fun)\s+\w|^\s*(public|private|protected|internal|static|final|override|abstract)[\w\s<>\[\],.?]*\(`)},
	{".rs", regexp.MustCompile(`^\s*(pub(\([^)]*\))?\s+)?(async\s+)?(fn|struct|enum|trait|impl|mod|type|const|static|macro_rules!)\b`)},
	{".rb", regexp.MustCompile(`^\s*(def|class|module|describe|context|it)\b`)},
	{".php", regexp.MustCompile(`\b(function|class|interface|trait|enum)\s+\w`)},
	{".c .h .cc .cpp .cxx .hpp .hh .m", regexp.MustCompile(`^\w[\w\s*&:<>,~]*\([^;]*$|^\s*(class|struct|enum|union|namespace|typedef|#define)\b`)},
	{".ex .exs", regexp.MustCompile(`^\s*(defmodule|defp?|defmacro|test|describe)\b`)},
	{".sh .bash", regexp.MustCompile(`^\s*(function\s+)?\w+\s*\(\)\s*\{?`)},
	{".md", regexp.MustCompile(`^#{1,4}\s`)},
	{".sql", regexp.MustCompile(`(?i)^\s*(create|alter)\s`)},
}

// maxSymbols of a file are shown.
const maxSymbols = 300

func (d *Desk) symbols() Tool {
	return typed(Tool{
		Name:        "symbols",
		Description: "Shows where the functions, types and tests of a file begin, with line numbers. Cheaper than reading the file.",
		Parameters:  object(map[string]Schema{"path": text("file, relative to the repository's root")}),
	}, func(ctx context.Context, a struct{ Path string }) (Result, error) {
		data, at, err := d.read(ctx, a.Path)
		if err != nil {
			return Result{}, err
		}
		re := outlineOf(at)
		if re == nil {
			return Result{}, fmt.Errorf("no outline is known for files like %s: search for a word, or read lines of it", path.Base(at))
		}
		var list []string
		for i, line := range strings.Split(string(data), "\n") {
			if re.MatchString(line) {
				list = append(list, fmt.Sprintf("%d\t%s", i+1, clipLine(strings.TrimRight(line, " {\r"))))
			}
		}
		r := Result{Text: strings.Join(list[:min(len(list), maxSymbols)], "\n"), Note: fmt.Sprintf("[%d definitions in %s]", len(list), at)}
		if len(list) > maxSymbols {
			r.Note = fmt.Sprintf("[%d of %d definitions in %s]", maxSymbols, len(list), at)
		}
		return r, nil
	})
}

func outlineOf(name string) *regexp.Regexp {
	ext := strings.ToLower(path.Ext(name))
	for _, o := range outlines {
		if ext != "" && within(ext, strings.Fields(o.extensions)) {
			return o.re
		}
	}
	return nil
}
