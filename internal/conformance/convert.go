package conformance

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// schemaBase is the address under which schemas refer to one another. It is
// only a name; nothing is fetched from it.
const schemaBase = "description:///"

// operation is one operation of the description, as it is installed.
type operation struct {
	Params    []parameter     `json:"params,omitempty"`
	Body      *bodyRule       `json:"body,omitempty"`
	Responses map[string]rule `json:"responses"`
}

type parameter struct {
	Name     string `json:"name"`
	In       string `json:"in"` // path, query, header
	Required bool   `json:"required,omitempty"`
	Schema   any    `json:"schema"`
}

type bodyRule struct {
	Required bool `json:"required,omitempty"`
	Schema   any  `json:"schema"`
}

// rule is an answer; a nil Schema means that its body is not described.
type rule struct {
	Schema any `json:"schema,omitempty"`
}

// index names what is installed: "GET /repos/{owner}/{repo}" to operation ID.
type index struct {
	Operations map[string]string `json:"operations"`
	Webhooks   []string          `json:"webhooks"` // event/action
}

// source is the part of the OpenAPI document that is read.
type source struct {
	Paths      map[string]map[string]sourceOperation        `json:"paths"`
	Webhooks   map[string]map[string]sourceOperation        `json:"x-webhooks"`
	Components struct{ Schemas, Parameters, Responses obj } `json:"components"`
}

type sourceOperation struct {
	ID          string `json:"operationId"`
	Parameters  []obj  `json:"parameters"`
	RequestBody obj    `json:"requestBody"`
	Responses   obj    `json:"responses"`
}

type obj = map[string]any

// convert cuts an OpenAPI 3.0 document into JSON Schemas and writes them, with
// the webhook examples as they are, as a zip file.
func convert(w io.Writer, description, examples []byte) error {
	var src source
	if err := json.Unmarshal(description, &src); err != nil {
		return fmt.Errorf("read GitHub's description: %w", err)
	}
	out := zip.NewWriter(w)
	add := func(name string, v any) error {
		f, err := out.Create(name)
		if err != nil {
			return err
		}
		return json.NewEncoder(f).Encode(v)
	}
	idx := index{Operations: map[string]string{}}
	for path, item := range src.Paths {
		for method, op := range item {
			idx.Operations[strings.ToUpper(method)+" "+path] = op.ID
			if err := add("ops/"+op.ID+".json", src.operation(op)); err != nil {
				return fmt.Errorf("write %s: %w", op.ID, err)
			}
		}
	}
	for _, item := range src.Webhooks {
		op := item["post"]
		body, ok := jsonSchema(op.RequestBody)
		if !ok {
			return fmt.Errorf("read webhook %s: it has no JSON payload", op.ID)
		}
		name := strings.ReplaceAll(op.ID, "-", "_") // issue-comment/created
		idx.Webhooks = append(idx.Webhooks, name)
		if err := add("webhooks/"+name+".json", toSchema(body)); err != nil {
			return fmt.Errorf("write webhook %s: %w", name, err)
		}
	}
	slices.Sort(idx.Webhooks)
	for name, schema := range src.Components.Schemas {
		if err := add("schemas/"+name+".json", toSchema(schema)); err != nil {
			return fmt.Errorf("write schema %s: %w", name, err)
		}
	}
	if len(idx.Operations) == 0 || len(idx.Webhooks) == 0 {
		return fmt.Errorf("read GitHub's description: %d operations and %d webhooks in it", len(idx.Operations), len(idx.Webhooks))
	}
	if err := add("index.json", idx); err != nil {
		return fmt.Errorf("write the index: %w", err)
	}
	if err := add("examples.json", json.RawMessage(examples)); err != nil {
		return fmt.Errorf("write the webhook examples: %w", err)
	}
	return out.Close()
}

// corrections are of bodies where the description's text says something else
// than its schema, by operation ID.
var corrections = map[string]func(schema obj){
	// "When in_reply_to is specified, all parameters other than body in the
	// request body are ignored", so that they are not required either.
	"pulls/create-review-comment": func(schema obj) {
		schema["anyOf"] = []any{obj{"required": []any{"body", "in_reply_to"}}, obj{"required": schema["required"]}}
		delete(schema, "required")
	},
}

func (s *source) operation(op sourceOperation) operation {
	out := operation{Responses: map[string]rule{}}
	for _, p := range op.Parameters {
		p = follow(p, s.Components.Parameters)
		name, _ := p["name"].(string)
		in, _ := p["in"].(string)
		required, _ := p["required"].(bool)
		out.Params = append(out.Params, parameter{Name: name, In: in, Required: required, Schema: toSchema(p["schema"])})
	}
	if body, ok := jsonSchema(op.RequestBody); ok {
		required, _ := op.RequestBody["required"].(bool)
		schema := toSchema(body)
		if correct := corrections[op.ID]; correct != nil {
			correct(schema.(obj))
		}
		out.Body = &bodyRule{Required: required, Schema: schema}
	}
	for status, r := range op.Responses {
		found, _ := r.(obj)
		rule := rule{}
		if schema, ok := jsonSchema(follow(found, s.Components.Responses)); ok {
			rule.Schema = toSchema(schema)
		}
		out.Responses[status] = rule
	}
	return out
}

// follow resolves a reference to a component that is not a schema.
func follow(v, components obj) obj {
	ref, ok := v["$ref"].(string)
	if !ok {
		return v
	}
	found, _ := components[ref[strings.LastIndexByte(ref, '/')+1:]].(obj)
	return found
}

// jsonSchema is the schema of the JSON form of a request or answer.
func jsonSchema(v obj) (any, bool) {
	content, _ := v["content"].(obj)
	for _, kind := range slices.Sorted(maps.Keys(content)) {
		if kind != "application/json" && !strings.HasSuffix(kind, "+json") {
			continue
		}
		if media, ok := content[kind].(obj); ok && media["schema"] != nil {
			return media["schema"], true
		}
	}
	return nil, false
}

// forkMayBeGone lets the repository of a pull request's head be null, as it is
// after the fork was deleted. The description says so in some places and
// forgets it in others.
func forkMayBeGone(head obj) {
	fields, _ := head["properties"].(obj)
	if repo, ok := fields["repo"].(obj); ok {
		fields["repo"] = obj{"anyOf": []any{repo, obj{"type": "null"}}}
	}
}

// annotations are keywords that assert nothing.
var annotations = map[string]bool{
	"description": true, "example": true, "examples": true, "title": true, "default": true, "deprecated": true, "readOnly": true,
	"writeOnly": true, "externalDocs": true, "discriminator": true, "xml": true,
}

// toSchema turns a schema of OpenAPI 3.0 into one of JSON Schema.
func toSchema(v any) any {
	in, ok := v.(obj)
	if !ok {
		return v
	}
	out := obj{}
	for key, value := range in {
		switch {
		case annotations[key], key == "nullable", strings.HasPrefix(key, "x-"):
		case key == "$ref":
			ref, _ := value.(string)
			out[key] = schemaBase + "schemas/" + ref[strings.LastIndexByte(ref, '/')+1:] + ".json"
		case key == "properties":
			props := obj{}
			fields, _ := value.(obj)
			for name, schema := range fields {
				props[name] = toSchema(schema)
			}
			if head, ok := props["head"].(obj); ok {
				forkMayBeGone(head)
			}
			out[key] = props
		case key == "items", key == "additionalProperties", key == "not":
			out[key] = toSchema(value)
		case key == "oneOf", key == "anyOf", key == "allOf":
			if key == "oneOf" {
				key = "anyOf" // GitHub's alternatives overlap: its own plain error is two of them
			}
			var list []any
			parts, _ := value.([]any)
			for _, part := range parts {
				list = append(list, toSchema(part))
			}
			out[key] = list
		case key == "pattern":
			// Written for another engine; what Go's cannot read is not checked.
			if p, ok := value.(string); ok {
				if _, err := regexp.Compile(p); err == nil {
					out[key] = p
				}
			}
		default:
			out[key] = value
		}
	}
	if in["nullable"] != true {
		return out
	}
	if kind, ok := out["type"].(string); ok {
		out["type"] = []any{kind, "null"}
		if enum, ok := out["enum"].([]any); ok && !slices.Contains(enum, nil) {
			out["enum"] = append(slices.Clone(enum), nil)
		}
		return out
	}
	if len(out) == 0 {
		return out
	}
	return obj{"anyOf": []any{out, obj{"type": "null"}}}
}
