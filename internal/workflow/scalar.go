package workflow

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/rhysd/actionlint"
	yaml "go.yaml.in/yaml/v4"
)

// file is a workflow file with what its parser drops: the types of scalars. In
// a matrix, true and 'true', and 1.20 and '1.20', are not the same.
type file struct {
	*actionlint.Workflow
	types map[actionlint.Pos]value // of scalars that are no text, by their place
}

// types finds the scalars that are no text.
func types(doc *yaml.Node) map[actionlint.Pos]value {
	out := map[actionlint.Pos]value{}
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		if n.Kind == yaml.ScalarNode && n.Style == 0 {
			if v := typeOf(n.Value); v != value(n.Value) {
				out[actionlint.Pos{Line: n.Line, Col: n.Column}] = v
			}
		}
		for _, c := range n.Content {
			walk(c)
		}
	}
	walk(doc)
	return out
}

// Numbers of YAML's core schema (YAML 1.2.2, 10.3.2), by which GitHub reads.
var (
	decimal = regexp.MustCompile(`^[-+]?[0-9]+$`)
	based   = regexp.MustCompile(`^0(?:o[0-7]+|x[0-9a-fA-F]+)$`)
	float   = regexp.MustCompile(`^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$`)
)

// typeOf is the value of a scalar without quotes.
func typeOf(text string) value {
	switch text {
	case "", "~", "null", "Null", "NULL":
		return nil
	case "true", "True", "TRUE":
		return true
	case "false", "False", "FALSE":
		return false
	}
	switch {
	case decimal.MatchString(text), float.MatchString(text):
		if n, err := strconv.ParseFloat(text, 64); err == nil {
			return n
		}
	case based.MatchString(text):
		if n, err := strconv.ParseUint(text, 0, 64); err == nil {
			return float64(n)
		}
	}
	return text
}

// raw is a value as the file has it.
func (f *file) raw(v actionlint.RawYAMLValue, s scope) value {
	switch v := v.(type) {
	case *actionlint.RawYAMLObject:
		out := make(map[string]any, len(v.Props))
		for k, p := range v.Props {
			out[strings.ToLower(k)] = f.raw(p, s)
		}
		return out
	case *actionlint.RawYAMLArray:
		out := make([]any, 0, len(v.Elems))
		for _, e := range v.Elems {
			out = append(out, f.raw(e, s))
		}
		return out
	case *actionlint.RawYAMLString:
		if pos := v.Pos(); pos != nil {
			if t, is := f.types[*pos]; is {
				return t
			}
		}
		return s.whole(v.Value)
	}
	return nil
}
