// Package strictyaml reads a YAML file into a Go struct whose tags are the
// whole table of what may stand in it: they name each key, explain it, and say
// what its value may be. Reading, checking, the JSON Schema for editors and the
// table for people are made from the same tags, so that they cannot differ.
//
// It is strict, and says everything at once: an unknown key, a key that stands
// twice, a value of the wrong kind or out of bounds are problems with their
// line. Anchors and aliases are refused, so that a small file cannot become a
// large value. Files may be hostile: what is quoted from them is made printable.
//
// Tags: yaml (the key), doc and example (for people), enum (the texts that are
// allowed), min and max (bounds of a number, of a text's bytes, of a list's
// length; 0 and 1024 without them). A field without the tag yaml is no key; one
// of type Line is set to the line on which its mapping begins.
package strictyaml

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	yaml "go.yaml.in/yaml/v4"
)

// A Duration is written as 90s, 10m or 2h.
type Duration time.Duration

// A Line is the line, from 1, on which the mapping of its struct begins.
type Line int

// A Problem is one thing that is wrong with a file.
type Problem struct {
	Line int // from 1
	Text string
}

func (p Problem) String() string { return fmt.Sprintf("line %d: %s", p.Line, p.Text) }

// Read reads a file of at most limit bytes into into, a pointer to a struct:
// what the file does not set stays as it is there. Lists replace. All problems
// come at once, in the order of their lines; with any, into must not be used.
func Read(data []byte, limit int, into any) []Problem {
	switch {
	case len(data) > limit:
		return []Problem{{1, fmt.Sprintf("the file has %d bytes; at most %d are read", len(data), limit)}}
	case !utf8.Valid(data):
		return []Problem{{1, "the file is not UTF-8"}}
	}
	var documents []yaml.Node
	if err := yaml.Load(data, &documents, yaml.WithAllDocuments()); err != nil {
		return []Problem{syntaxProblem(err)}
	}
	if len(documents) > 1 {
		return []Problem{{documents[1].Line, "there is a second document; want one"}}
	}
	if len(documents) == 0 {
		return nil
	}
	root := &documents[0]
	if root.Kind == yaml.DocumentNode {
		if len(root.Content) == 0 {
			return nil
		}
		root = root.Content[0]
	}
	var r reader
	r.read(root, reflect.ValueOf(into).Elem(), "", "")
	Sort(r.problems)
	return r.problems
}

// Sort brings problems in the order of their lines.
func Sort(problems []Problem) {
	slices.SortStableFunc(problems, func(a, b Problem) int { return a.Line - b.Line })
}

func syntaxProblem(err error) Problem {
	var load *yaml.LoadError
	if errors.As(err, &load) {
		text := strings.TrimSpace(strings.TrimPrefix(load.Message, "yaml:"))
		return Problem{max(load.Mark.Line, 1), "not valid YAML: " + text}
	}
	return Problem{1, "not valid YAML: " + strings.TrimPrefix(err.Error(), "yaml: ")}
}

// reader walks nodes and Go values side by side.
type reader struct{ problems []Problem }

func (r *reader) problem(n *yaml.Node, format string, args ...any) {
	r.problems = append(r.problems, Problem{max(n.Line, 1), fmt.Sprintf(format, args...)})
}

// read sets v from a node; name is the setting's, tag its field's.
func (r *reader) read(n *yaml.Node, v reflect.Value, name string, tag reflect.StructTag) {
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		r.problem(n, "%sanchors and aliases are not supported: write the value out", prefix(name))
		return
	}
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return // "ci:" with nothing below sets nothing
	}
	if _, ok := v.Interface().(Duration); ok {
		r.duration(n, v, name)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		r.mapping(n, v, name)
	case reflect.Pointer:
		value := reflect.New(v.Type().Elem())
		before := len(r.problems)
		if r.read(n, value.Elem(), name, tag); len(r.problems) == before {
			v.Set(value)
		}
	case reflect.Slice:
		r.list(n, v, name, tag)
	case reflect.Bool:
		if n.Kind != yaml.ScalarNode || n.Tag != "!!bool" {
			r.problem(n, "%swant true or false", prefix(name))
			return
		}
		v.SetBool(strings.EqualFold(n.Value, "true"))
	case reflect.Int:
		number, err := strconv.ParseInt(n.Value, 10, 32)
		low, high := bounds(tag)
		if n.Kind != yaml.ScalarNode || n.Tag != "!!int" || err != nil || int(number) < low || int(number) > high {
			r.problem(n, "%swant a whole number from %d to %d", prefix(name), low, high)
			return
		}
		v.SetInt(number)
	case reflect.String:
		r.text(n, v, name, tag)
	}
}

func (r *reader) mapping(n *yaml.Node, v reflect.Value, name string) {
	if n.Kind != yaml.MappingNode {
		r.problem(n, "%swant settings, as in `%s`", prefix(name), "key: value")
		return
	}
	for i := range v.NumField() {
		if v.Field(i).Type() == reflect.TypeFor[Line]() {
			v.Field(i).SetInt(int64(n.Line))
		}
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		field, ok := fieldOf(v.Type(), key.Value)
		switch {
		case key.Kind != yaml.ScalarNode || !ok:
			r.problem(key, "%sis not a setting; there are %s", prefix(join(name, printableKey(key.Value))), strings.Join(keysOf(v.Type()), ", "))
		case seen[key.Value]:
			r.problem(key, "%sstands here twice", prefix(join(name, key.Value)))
		default:
			r.read(value, v.FieldByIndex(field.Index), join(name, key.Value), field.Tag)
		}
		seen[key.Value] = true
	}
}

func (r *reader) list(n *yaml.Node, v reflect.Value, name string, tag reflect.StructTag) {
	if n.Kind != yaml.SequenceNode {
		r.problem(n, "%swant a list, as in `[a, b]`", prefix(name))
		return
	}
	if _, most := bounds(tag); len(n.Content) > most {
		r.problem(n, "%shas %d entries; at most %d are allowed", prefix(name), len(n.Content), most)
		return
	}
	out := reflect.MakeSlice(v.Type(), 0, len(n.Content))
	for i, item := range n.Content {
		value := reflect.New(v.Type().Elem()).Elem()
		r.read(item, value, fmt.Sprintf("%s[%d]", name, i), `max:"256"`)
		out = reflect.Append(out, value)
	}
	v.Set(out)
}

func (r *reader) text(n *yaml.Node, v reflect.Value, name string, tag reflect.StructTag) {
	if n.Kind != yaml.ScalarNode {
		r.problem(n, "%swant a text", prefix(name))
		return
	}
	if choices := tag.Get("enum"); choices != "" && !slices.Contains(strings.Split(choices, ","), n.Value) {
		r.problem(n, "%swant one of %s", prefix(name), strings.ReplaceAll(choices, ",", ", "))
		return
	}
	if _, most := bounds(tag); strings.TrimSpace(n.Value) == "" || len(n.Value) > most || strings.ContainsRune(n.Value, 0) {
		r.problem(n, "%swant a text of 1 to %d bytes", prefix(name), most)
		return
	}
	v.SetString(n.Value)
}

func (r *reader) duration(n *yaml.Node, v reflect.Value, name string) {
	d, err := time.ParseDuration(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil || d < time.Second || d > 24*time.Hour {
		r.problem(n, "%swant a duration from 1s to 24h, such as 90s, 10m or 2h", prefix(name))
		return
	}
	v.SetInt(int64(d))
}

// bounds of a number, of a text's length in bytes or of a list's length.
func bounds(tag reflect.StructTag) (low, high int) {
	low, high = 0, 1024
	if n, err := strconv.Atoi(tag.Get("min")); err == nil {
		low = n
	}
	if n, err := strconv.Atoi(tag.Get("max")); err == nil {
		high = n
	}
	return low, high
}

func fieldOf(t reflect.Type, key string) (reflect.StructField, bool) {
	for i := range t.NumField() {
		if f := t.Field(i); key != "" && f.Tag.Get("yaml") == key {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

func keysOf(t reflect.Type) []string {
	var out []string
	for i := range t.NumField() {
		if key := t.Field(i).Tag.Get("yaml"); key != "" {
			out = append(out, key)
		}
	}
	return out
}

func join(name, key string) string {
	if name == "" {
		return key
	}
	return name + "." + key
}

func prefix(name string) string {
	if name == "" {
		return ""
	}
	return name + ": "
}

// printableKey keeps a hostile key from reaching a terminal or a comment.
func printableKey(s string) string {
	q := strconv.QuoteToASCII(s)
	if len(q) > 40 {
		q = q[:36] + `…"`
	}
	return q
}
