package strictyaml

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// Schema is the JSON Schema (draft 2020-12) of files that Read reads into a T,
// for editors. required names keys of its top mapping that must be there.
func Schema[T any](title string, required ...string) []byte {
	s := schemaOf(reflect.TypeFor[T](), "")
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = title
	if len(required) > 0 {
		s["required"] = required
	}
	out, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		panic("encode schema: " + err.Error()) // texts and numbers always encode
	}
	return append(out, '\n')
}

func schemaOf(t reflect.Type, tag reflect.StructTag) map[string]any {
	s := map[string]any{}
	if doc := tag.Get("doc"); doc != "" {
		s["description"] = doc
	}
	low, high := bounds(tag)
	switch {
	case t == reflect.TypeFor[Duration]():
		s["type"], s["pattern"] = "string", `^([0-9]+(\.[0-9]+)?(h|m|s))+$`
	case t.Kind() == reflect.Pointer:
		return schemaOf(t.Elem(), tag)
	case t.Kind() == reflect.Struct:
		properties := map[string]any{}
		for i := range t.NumField() {
			f := t.Field(i)
			if f.Tag.Get("yaml") == "" {
				continue
			}
			properties[f.Tag.Get("yaml")] = schemaOf(f.Type, f.Tag)
		}
		s["type"], s["properties"], s["additionalProperties"] = "object", properties, false
	case t.Kind() == reflect.Slice:
		s["type"], s["maxItems"], s["items"] = "array", high, schemaOf(t.Elem(), `max:"256"`)
	case t.Kind() == reflect.Bool:
		s["type"] = "boolean"
	case t.Kind() == reflect.Int:
		s["type"], s["minimum"], s["maximum"] = "integer", low, high
	case tag.Get("enum") != "":
		s["type"], s["enum"] = "string", strings.Split(tag.Get("enum"), ",")
	default:
		s["type"], s["minLength"], s["maxLength"] = "string", 1, high
	}
	return s
}

// Markdown is the table of keys for people. In keys of a list of mappings stands
// [] for the entry.
func Markdown[T any]() string {
	var b strings.Builder
	b.WriteString("| setting | what it is | example |\n|---|---|---|\n")
	var walk func(t reflect.Type, name string)
	walk = func(t reflect.Type, name string) {
		for i := range t.NumField() {
			f := t.Field(i)
			key := join(name, f.Tag.Get("yaml"))
			switch {
			case f.Tag.Get("yaml") == "":
				continue
			case f.Type.Kind() == reflect.Struct:
				walk(f.Type, key)
				continue
			case f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct:
				walk(f.Type.Elem(), key+"[]")
				continue
			}
			doc := f.Tag.Get("doc")
			if choices := f.Tag.Get("enum"); choices != "" && !strings.Contains(doc, "auto:") {
				doc += " One of " + strings.ReplaceAll(choices, ",", ", ") + "."
			}
			fmt.Fprintf(&b, "| `%s` | %s | `%s` |\n", key, doc, f.Tag.Get("example"))
		}
	}
	walk(reflect.TypeFor[T](), "")
	return b.String()
}
