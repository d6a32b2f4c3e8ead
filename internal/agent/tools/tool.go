package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Tool is one thing that a model may ask for.
type Tool struct {
	Name        string
	Description string
	// Parameters is a JSON Schema of type object, and part of the stable
	// beginning of every prompt.
	Parameters Schema
	// Alone: the calls of an answer that holds one of these are run one after
	// another (it changes something that the others see).
	Alone bool
	// Run does what was asked. The error is for the model: it says what to do.
	Run func(ctx context.Context, args json.RawMessage) (Result, error)
}

// Schema is a JSON Schema.
type Schema map[string]any

// Result is what the model is told.
type Result struct {
	// Text may come from the repository, a log or the web: it is data, and is
	// marked as such before a model sees it.
	Text string
	// Note is ours: what was cut, what to ask next. It stands outside the data.
	Note string
}

// Compiled is a schema that values can be held against.
type Compiled struct{ schema *jsonschema.Schema }

// Compile prepares a schema; it must be one, since it is ours.
func (s Schema) Compile() (*Compiled, error) {
	data, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("compile schema: %w", err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("compile schema: %w", err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		return nil, fmt.Errorf("compile schema: %w", err)
	}
	schema, err := c.Compile("schema.json")
	if err != nil {
		return nil, fmt.Errorf("compile schema: %w", err)
	}
	return &Compiled{schema}, nil
}

// Check says what is wrong with a JSON text, in words for whoever wrote it.
func (c *Compiled) Check(data []byte) error {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("this is not JSON: %w", err)
	}
	err = c.schema.Validate(doc)
	var v *jsonschema.ValidationError
	if !errors.As(err, &v) {
		return err
	}
	var lines []string
	var walk func(*jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		if len(e.Causes) == 0 {
			text := e.Error()
			if i := strings.LastIndex(text, "': "); i >= 0 {
				text = text[i+3:]
			}
			lines = append(lines, "/"+strings.Join(e.InstanceLocation, "/")+": "+text)
		}
		for _, c := range e.Causes {
			walk(c)
		}
	}
	walk(v)
	return errors.New(strings.Join(lines[:min(len(lines), 8)], "; "))
}

// object is the schema of a tool's arguments. Every property is described;
// those whose name ends in "?" may be left out.
func object(properties map[string]Schema) Schema {
	props, required := map[string]any{}, []string{}
	for name, s := range properties {
		short, optional := strings.CutSuffix(name, "?")
		props[short] = s
		if !optional {
			required = append(required, short)
		}
	}
	slices.Sort(required)
	return Schema{"type": "object", "properties": props, "required": required, "additionalProperties": false}
}

func text(description string) Schema { return Schema{"type": "string", "description": description} }

func number(description string, least, most int) Schema {
	return Schema{"type": "integer", "description": description, "minimum": least, "maximum": most}
}

// typed makes a tool whose arguments are decoded into A. They were held
// against the tool's schema before.
func typed[A any](t Tool, run func(ctx context.Context, a A) (Result, error)) Tool {
	t.Run = func(ctx context.Context, args json.RawMessage) (Result, error) {
		var a A
		if err := json.Unmarshal(args, &a); err != nil {
			return Result{}, fmt.Errorf("the arguments are not what %s takes: %w", t.Name, err)
		}
		return run(ctx, a)
	}
	return t
}
