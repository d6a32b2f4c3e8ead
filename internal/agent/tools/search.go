package tools

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// maxFound lines are shown, the rest is counted.
const maxFound = 150

func (d *Desk) search() Tool {
	return typed(Tool{
		Name:        "search",
		Description: "Finds lines in all text files of the commit by an extended regular expression (ERE), or by a plain text with fixed. Shows path:line:text.",
		Parameters: object(map[string]Schema{
			"pattern": text("extended regular expression, such as func (New|Open)Cart"),
			"fixed?":  {"type": "boolean", "description": "the pattern is a plain text"},
			"paths?":  {"type": "array", "items": map[string]any{"type": "string"}, "maxItems": 20, "description": "only these files or folders"},
		}),
	}, func(ctx context.Context, a struct {
		Pattern string
		Fixed   bool
		Paths   []string
	}) (Result, error) {
		if strings.TrimSpace(a.Pattern) == "" {
			return Result{}, fmt.Errorf("the pattern is empty")
		}
		expression := a.Pattern
		if a.Fixed {
			expression = regexp.QuoteMeta(expression)
		}
		re, err := regexp.Compile(expression)
		if err != nil {
			return Result{}, fmt.Errorf("the pattern is no regular expression (%w): escape what is meant as it stands, or set fixed", err)
		}
		var paths []string
		for _, p := range a.Paths {
			p, err := clean(p)
			if err != nil {
				return Result{}, err
			}
			paths = append(paths, p)
		}
		found, cut, err := d.Repo.Search(ctx, d.Base.Rev, a.Pattern, a.Fixed, paths)
		if err != nil {
			return Result{}, err
		}
		list := d.overlay(found, re, paths)
		r := Result{Text: strings.Join(list[:min(len(list), maxFound)], "\n")}
		switch {
		case len(list) == 0:
			r.Note = "[nothing found]"
		case cut || len(list) > maxFound:
			r.Note = fmt.Sprintf("[%d of %d%s lines are shown; narrow the pattern or name paths]", min(len(list), maxFound), len(list), map[bool]string{true: " or more"}[cut])
		}
		return r, nil
	})
}

// overlay replaces what was found in files that were edited since.
func (d *Desk) overlay(found string, re *regexp.Regexp, paths []string) []string {
	changed := d.overlaid()
	var out []string
	for line := range strings.Lines(found) {
		line = strings.TrimRight(line, "\r\n")
		path, _, _ := strings.Cut(line, ":")
		if _, ok := changed[path]; ok {
			continue
		}
		out = append(out, clipLine(line))
	}
	for _, path := range slices.Sorted(maps.Keys(changed)) {
		e := changed[path]
		if e.Delete || !within(path, paths) {
			continue
		}
		for i, line := range strings.Split(string(e.Content), "\n") {
			if re.MatchString(line) {
				out = append(out, fmt.Sprintf("%s:%d:%s", path, i+1, clipLine(line)))
			}
		}
	}
	return out
}

func clipLine(s string) string {
	if len(s) > maxLine {
		return strings.ToValidUTF8(s[:maxLine], "") + " […cut]"
	}
	return s
}

func within(path string, folders []string) bool {
	for _, f := range folders {
		if path == f || strings.HasPrefix(path, f+"/") {
			return true
		}
	}
	return len(folders) == 0
}
