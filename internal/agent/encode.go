package agent

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/shared"

	"culprit/internal/agent/tools"
)

// params writes the request for one model, with what its server is known to
// take. The system message and the tools come out the same for every turn and
// every session, byte for byte: providers cache by prefix.
func (c *Client) params(q ask, m Model, able *abilities) (openai.ChatCompletionNewParams, map[ability]bool) {
	used := map[ability]bool{}
	use := func(x ability) bool {
		if able.has(x) {
			used[x] = true
		}
		return used[x]
	}
	p := openai.ChatCompletionNewParams{Model: m.Name}
	if m.Effort != "" && use(withEffort) {
		p.ReasoningEffort = shared.ReasoningEffort(m.Effort)
	}
	if use(withCompletion) {
		p.MaxCompletionTokens = openai.Int(int64(c.set.MaxOutput))
	} else {
		p.MaxTokens = openai.Int(int64(c.set.MaxOutput))
	}
	if use(withStreaming) && use(withUsage) {
		p.StreamOptions = openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)}
	}
	if use(withCacheKey) {
		p.PromptCacheKey = openai.String(q.line.Prompt + "/" + q.line.Hash)
	}
	if !use(withTools) {
		p.Messages = q.talk.prompted(q.tools, q.force)
		switch {
		case use(withSchema):
			p.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{
				Name: "calls", Schema: callsSchema(q.tools, q.force),
			}}
		case use(withJSON):
			p.ResponseFormat.OfJSONObject = &shared.ResponseFormatJSONObjectParam{}
		}
		return p, used
	}
	p.Messages = q.talk.native()
	for _, t := range q.tools {
		p.Tools = append(p.Tools, openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
			Name: t.Name, Description: openai.String(t.Description), Parameters: shared.FunctionParameters(t.Parameters),
		}))
	}
	if use(withParallel) {
		p.ParallelToolCalls = openai.Bool(true)
	}
	if q.force != "" && use(withChoice) {
		p.ToolChoice = openai.ToolChoiceOptionFunctionToolChoice(openai.ChatCompletionNamedToolChoiceFunctionParam{Name: q.force})
	}
	return p, used
}

// promptTokens estimates a request's prompt, rather too high than too low:
// three bytes a token.
func promptTokens(p openai.ChatCompletionNewParams) int {
	data, err := json.Marshal(p)
	if err != nil {
		return 0
	}
	return len(data)/3 + 1
}

// native writes the conversation in the API's own form.
func (t *conversation) native() []openai.ChatCompletionMessageParamUnion {
	out := []openai.ChatCompletionMessageParamUnion{openai.SystemMessage(t.system), openai.UserMessage(t.first)}
	for _, turn := range t.turns {
		a := openai.ChatCompletionAssistantMessageParam{}
		if turn.text != "" || len(turn.calls) == 0 {
			a.Content.OfString = openai.String(turn.text)
		}
		for _, c := range turn.calls {
			args := c.Arguments
			if !json.Valid([]byte(args)) {
				args = "{}" // servers read it back, and fail at what is no JSON
			}
			a.ToolCalls = append(a.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
				ID: c.ID, Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{Name: c.Name, Arguments: args},
			}})
		}
		out = append(out, openai.ChatCompletionMessageParamUnion{OfAssistant: &a})
		for i, r := range turn.results {
			out = append(out, openai.ToolMessage(r.text, turn.calls[i].ID))
		}
		if turn.note != "" {
			out = append(out, openai.UserMessage(turn.note))
		}
	}
	return out
}

// prompted writes the conversation for a server without tools: they are
// described in words, and calls and results are ordinary text.
func (t *conversation) prompted(list []tools.Tool, force string) []openai.ChatCompletionMessageParamUnion {
	out := []openai.ChatCompletionMessageParamUnion{openai.SystemMessage(t.system + promptedTools(list)), openai.UserMessage(t.first)}
	for _, turn := range t.turns {
		text := turn.text
		if len(turn.calls) > 0 {
			text = writeCalls(turn.calls)
		}
		out = append(out, openai.AssistantMessage(text))
		var user []string
		for i, r := range turn.results {
			user = append(user, fmt.Sprintf("Result of %s:\n%s", turn.calls[i].Name, r.text))
		}
		if turn.note != "" {
			user = append(user, turn.note)
		}
		if len(user) > 0 {
			out = append(out, openai.UserMessage(strings.Join(user, "\n\n")))
		}
	}
	if force != "" {
		out = append(out, openai.UserMessage(fmt.Sprintf("Answer now with one call of %s, as JSON.", force)))
	}
	return out
}

// promptedTools describes the tools in words.
func promptedTools(list []tools.Tool) string {
	var b strings.Builder
	b.WriteString("\n\n# How to use tools\n\nAnswer with one JSON object and nothing else, of this form:\n\n{\"calls\": [{\"name\": \"TOOL\", \"arguments\": {…}}]}\n\nThe tools, each with the JSON Schema of its arguments:\n")
	for _, t := range list {
		schema, _ := json.Marshal(t.Parameters) // ours
		fmt.Fprintf(&b, "\n- %s: %s\n  %s\n", t.Name, t.Description, schema)
	}
	return b.String()
}

// callsSchema is the schema of a prompted answer.
func callsSchema(list []tools.Tool, force string) map[string]any {
	var names []any
	for _, t := range list {
		if force == "" || t.Name == force {
			names = append(names, t.Name)
		}
	}
	call := map[string]any{"type": "object", "required": []any{"name", "arguments"}, "properties": map[string]any{
		"name": map[string]any{"type": "string", "enum": names}, "arguments": map[string]any{"type": "object"},
	}}
	return map[string]any{"type": "object", "required": []any{"calls"}, "properties": map[string]any{
		"calls": map[string]any{"type": "array", "items": call},
	}}
}

type promptedCall struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

func writeCalls(calls []Call) string {
	list := make([]promptedCall, len(calls))
	for i, c := range calls {
		args := c.args()
		if !json.Valid(args) {
			args = json.RawMessage("{}")
		}
		list[i] = promptedCall{c.Name, args}
	}
	data, _ := json.Marshal(map[string]any{"calls": list})
	return string(data)
}

// prompted reads the calls out of a text answer. One that holds none stays
// what it is.
func prompted(r Reply) Reply {
	var form struct {
		Calls []promptedCall `json:"calls"`
		promptedCall
	}
	start := strings.IndexByte(r.Text, '{')
	if start < 0 || json.NewDecoder(strings.NewReader(r.Text[start:])).Decode(&form) != nil {
		return r
	}
	if form.Name != "" {
		form.Calls = append(form.Calls, form.promptedCall)
	}
	for _, c := range form.Calls {
		if c.Name != "" {
			r.Calls = append(r.Calls, Call{Name: c.Name, Arguments: string(c.Arguments)})
		}
	}
	if len(r.Calls) > 0 {
		r.Text = strings.TrimSpace(r.Text[:start])
	}
	return r
}
