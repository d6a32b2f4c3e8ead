package modeltest

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

//go:embed chat.schema.json
var description []byte

// described compiles one schema of the API's description.
func described(name string) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(description))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("chat.json", doc); err != nil {
		return nil, err
	}
	return c.Compile("chat.json#/$defs/" + name)
}

var requestSchema = sync.OnceValues(func() (*jsonschema.Schema, error) { return described("CreateChatCompletionRequest") })

// arguments are the names of what a request may hold, as described.
var arguments = sync.OnceValue(func() map[string]bool {
	var doc struct {
		Defs map[string]struct {
			Properties map[string]any `json:"properties"`
			AllOf      []struct {
				Properties map[string]any `json:"properties"`
			} `json:"allOf"`
		} `json:"$defs"`
	}
	known := map[string]bool{}
	if json.Unmarshal(description, &doc) != nil {
		return known
	}
	for _, name := range []string{"CreateChatCompletionRequest", "CreateModelResponseProperties", "ModelResponseProperties"} {
		for p := range doc.Defs[name].Properties {
			known[p] = true
		}
		for _, part := range doc.Defs[name].AllOf {
			for p := range part.Properties {
				known[p] = true
			}
		}
	}
	return known
})

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// roles that a message may have.
var roles = []string{"system", "assistant", "user", "function", "tool", "developer"}

// maxTools that one request may offer.
const maxTools = 128

// validate reads a request and refuses what the real server refuses. The
// checks that have a message of their own come first: the schema's messages
// are for machines.
func validate(body []byte) (Request, *apiError) {
	var raw map[string]json.RawMessage
	if json.Unmarshal(body, &raw) != nil {
		return Request{}, refuse(400, "", "", "We could not parse the JSON body of your request.")
	}
	for name := range raw {
		if !arguments()[name] {
			return Request{}, refuse(400, "", "", "Unrecognized request argument supplied: "+name)
		}
	}
	var model string
	if json.Unmarshal(raw["model"], &model) != nil || model == "" {
		return Request{}, refuse(400, "", "", "you must provide a model parameter")
	}
	if raw["messages"] == nil {
		return Request{}, refuse(400, "missing_required_parameter", "messages", "Missing required parameter: 'messages'.")
	}
	if e := checkRoles(raw["messages"]); e != nil {
		return Request{}, e
	}
	schema, err := requestSchema()
	if err != nil {
		return Request{}, refuse(500, "", "", "read the description of the API: "+err.Error())
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return Request{}, refuse(400, "", "", "We could not parse the JSON body of your request.")
	}
	if err := schema.Validate(doc); err != nil {
		where, why := deepest(err)
		return Request{}, refuse(400, "invalid_type", where, fmt.Sprintf("Invalid value for '%s': %s", where, why))
	}
	r := Request{N: 1}
	if err := json.Unmarshal(body, &r); err != nil {
		return Request{}, refuse(400, "", "", err.Error())
	}
	r.Body = body
	for _, check := range []func(Request, map[string]json.RawMessage) *apiError{checkTurns, checkTools, checkFormat, checkCombinations} {
		if e := check(r, raw); e != nil {
			return r, e
		}
	}
	return r, nil
}

// deepest is the place and reason of a schema's error that lies furthest in.
func deepest(err error) (where, why string) {
	var v *jsonschema.ValidationError
	if !errors.As(err, &v) {
		return "", err.Error()
	}
	best := v
	var walk func(*jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		if len(e.Causes) == 0 && len(e.InstanceLocation) >= len(best.InstanceLocation) {
			best = e
		}
		for _, c := range e.Causes {
			walk(c)
		}
	}
	walk(v)
	why = best.Error()
	if i := strings.LastIndex(why, ": "); i >= 0 {
		why = why[i+2:]
	}
	return strings.Join(best.InstanceLocation, "."), strings.TrimSpace(why)
}

func checkRoles(raw json.RawMessage) *apiError {
	var list []struct {
		Role string  `json:"role"`
		Call *string `json:"tool_call_id"`
	}
	if json.Unmarshal(raw, &list) != nil {
		return refuse(400, "invalid_type", "messages", "Invalid type for 'messages': expected an array of objects.")
	}
	if len(list) == 0 {
		return refuse(400, "empty_array", "messages", "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.")
	}
	for i, m := range list {
		if !slices.Contains(roles, m.Role) {
			return refuse(400, "invalid_value", fmt.Sprintf("messages[%d].role", i), fmt.Sprintf("Invalid value: '%s'. Supported values are: '%s'.", m.Role, strings.Join(roles, "', '")))
		}
		if m.Role == "tool" && m.Call == nil {
			at := fmt.Sprintf("messages[%d].tool_call_id", i)
			return refuse(400, "missing_required_parameter", at, "Missing required parameter: '"+at+"'.")
		}
	}
	return nil
}

// checkTurns holds calls and their results together.
func checkTurns(r Request, _ map[string]json.RawMessage) *apiError {
	open := map[string]bool{} // calls of the last assistant message without a result
	answered := map[string]bool{}
	inTurn := false
	for i, m := range r.Messages {
		at := "messages.[" + strconv.Itoa(i) + "].role"
		if m.Role == "tool" {
			if !inTurn || (!open[m.ToolCallID] && !answered[m.ToolCallID]) {
				return refuse(400, "", at, "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.") //nolint:misspell // as the API spells it
			}
			delete(open, m.ToolCallID)
			answered[m.ToolCallID] = true
			continue
		}
		if len(open) > 0 {
			return unanswered(open, at)
		}
		inTurn = len(m.ToolCalls) > 0
		clear(answered)
		for _, c := range m.ToolCalls {
			if open[c.ID] {
				return refuse(400, "", at, "Duplicate value for 'tool_call_id' of "+c.ID+" in the message.")
			}
			open[c.ID] = true
		}
	}
	if len(open) > 0 {
		return unanswered(open, "messages.["+strconv.Itoa(len(r.Messages)-1)+"].role")
	}
	return nil
}

func unanswered(open map[string]bool, at string) *apiError {
	var ids []string
	for id := range open {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return refuse(400, "", at, "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: "+strings.Join(ids, ", "))
}

func checkTools(r Request, raw map[string]json.RawMessage) *apiError {
	if raw["tools"] != nil && len(r.Tools) == 0 {
		return refuse(400, "empty_array", "tools", "Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead.")
	}
	if len(r.Tools) > maxTools {
		return refuse(400, "array_above_max_length", "tools", fmt.Sprintf("Invalid 'tools': array too long. Expected an array with maximum length %d, but got an array with length %d instead.", maxTools, len(r.Tools)))
	}
	for i, t := range r.Tools {
		f := t.Function
		at := fmt.Sprintf("tools[%d].function", i)
		if t.Type != "function" {
			continue // a custom tool has no schema
		}
		if !toolName.MatchString(f.Name) {
			return refuse(400, "invalid_value", at+".name", fmt.Sprintf("Invalid '%s.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", at))
		}
		if f.Parameters == nil {
			continue
		}
		if why := objectSchema(f.Parameters, f.Strict != nil && *f.Strict); why != "" {
			return refuse(400, "invalid_function_parameters", at+".parameters", fmt.Sprintf("Invalid schema for function '%s': %s", f.Name, why))
		}
	}
	var choice struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	if json.Unmarshal(r.ToolChoice, &choice) == nil && choice.Function.Name != "" && !r.Offers(choice.Function.Name) {
		return refuse(400, "", "tool_choice", fmt.Sprintf("Tool choice '%s' not found in 'tools' parameter.", choice.Function.Name))
	}
	return nil
}

func checkFormat(r Request, _ map[string]json.RawMessage) *apiError {
	switch r.Format.Type {
	case "json_object":
		if !strings.Contains(strings.ToLower(r.Text()), "json") {
			return refuse(400, "", "messages", "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.")
		}
	case "json_schema":
		s := r.Format.Schema
		if !toolName.MatchString(s.Name) {
			return refuse(400, "invalid_value", "response_format.json_schema.name", "Invalid 'response_format.json_schema.name': string does not match pattern '^[a-zA-Z0-9_-]+$'.")
		}
		if s.Schema == nil {
			return refuse(400, "missing_required_parameter", "response_format.json_schema.schema", "Missing required parameter: 'response_format.json_schema.schema'.")
		}
		if why := objectSchema(s.Schema, s.Strict); why != "" {
			return refuse(400, "", "response_format", fmt.Sprintf("Invalid schema for response_format '%s': %s", s.Name, why))
		}
	}
	return nil
}

// checkCombinations refuses arguments that are taken only beside another.
func checkCombinations(r Request, raw map[string]json.RawMessage) *apiError {
	given := func(name string) bool { return raw[name] != nil && string(raw[name]) != "null" }
	for _, c := range []struct {
		name string
		ok   bool
		text string
	}{
		{"tool_choice", len(r.Tools) > 0, "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified."},
		{"parallel_tool_calls", len(r.Tools) > 0, "Invalid value for 'parallel_tool_calls': 'parallel_tool_calls' is only allowed when 'tools' are specified."},
		{"stream_options", r.Stream, "The 'stream_options' parameter is only allowed when 'stream' is enabled."},
		{"max_tokens", !given("max_completion_tokens"), "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported."},
	} {
		if given(c.name) && !c.ok {
			return refuse(400, "", c.name, c.text)
		}
	}
	return nil
}
