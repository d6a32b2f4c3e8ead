package modeltest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// objectSchema says what is wrong with the schema of a function or an answer,
// or nothing. Strict schemas must name every property as required and allow no
// others, at every level (the API's guide on structured outputs).
func objectSchema(raw json.RawMessage, strict bool) string {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return err.Error()
	}
	root, ok := doc.(map[string]any)
	if !ok || root["type"] != "object" {
		kind := "None"
		if ok && root["type"] != nil {
			kind = fmt.Sprint(root["type"])
		}
		return fmt.Sprintf("schema must be a JSON Schema of 'type: \"object\"', got 'type: \"%s\"'.", kind)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err == nil {
		_, err = c.Compile("schema.json")
		if err != nil {
			return err.Error()
		}
	}
	if !strict {
		return ""
	}
	return strictly(root, nil)
}

// notStrict are keywords that strict schemas may not use.
var notStrict = []string{"allOf", "not", "dependentRequired", "dependentSchemas", "if", "then", "else", "patternProperties", "oneOf"}

func strictly(schema map[string]any, at []string) string {
	context := "In context=(" + quoted(at) + "), "
	for _, k := range notStrict {
		if _, ok := schema[k]; ok {
			return context + "'" + k + "' is not permitted."
		}
	}
	props, _ := schema["properties"].(map[string]any)
	if schema["type"] == "object" || props != nil {
		if schema["additionalProperties"] != false {
			return context + "'additionalProperties' is required to be supplied and to be false."
		}
		var names []string
		for name := range props {
			names = append(names, name)
		}
		sort.Strings(names)
		required, _ := schema["required"].([]any)
		for _, name := range names {
			if !slices.Contains(required, any(name)) {
				return context + "'required' is required to be supplied and to be an array including every key in properties. Missing '" + name + "'."
			}
		}
		for _, name := range names {
			if p, ok := props[name].(map[string]any); ok {
				if why := strictly(p, append(slices.Clone(at), "properties", name)); why != "" {
					return why
				}
			}
		}
	}
	for _, key := range []string{"items"} {
		if p, ok := schema[key].(map[string]any); ok {
			if why := strictly(p, append(slices.Clone(at), key)); why != "" {
				return why
			}
		}
	}
	for _, key := range []string{"anyOf"} {
		list, _ := schema[key].([]any)
		for i, x := range list {
			if p, ok := x.(map[string]any); ok {
				if why := strictly(p, append(slices.Clone(at), key, fmt.Sprint(i))); why != "" {
					return why
				}
			}
		}
	}
	return ""
}

func quoted(at []string) string {
	out := make([]string, len(at))
	for i, s := range at {
		out[i] = "'" + s + "'"
	}
	return strings.Join(out, ", ")
}
