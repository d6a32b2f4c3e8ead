package modeltest

import (
	"encoding/json"
	"slices"
	"strings"
)

// Request is what a client asked, as the server understood it.
type Request struct {
	Model           string        `json:"model"`
	Messages        []Message     `json:"messages"`
	Tools           []Tool        `json:"tools"`
	Stream          bool          `json:"stream"`
	StreamOptions   *streamOption `json:"stream_options"`
	N               int           `json:"n"`
	ReasoningEffort string        `json:"reasoning_effort"`
	MaxTokens       int           `json:"max_tokens"`
	MaxCompletion   int           `json:"max_completion_tokens"`
	PromptCacheKey  string        `json:"prompt_cache_key"`
	Format          struct {
		Type   string `json:"type"`
		Schema struct {
			Name   string          `json:"name"`
			Strict bool            `json:"strict"`
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	} `json:"response_format"`
	ToolChoice json.RawMessage `json:"tool_choice"`

	// Body is the request as it came; Rule the one that answered it, and
	// Status the answer's.
	Body   []byte `json:"-"`
	Rule   string `json:"-"`
	Status int    `json:"-"`
	// PromptTokens and CachedTokens are what was told as usage.
	PromptTokens, CachedTokens int `json:"-"`
}

type streamOption struct {
	IncludeUsage bool `json:"include_usage"`
}

// Message is one message of a conversation.
type Message struct {
	Role       string     `json:"role"`
	Content    Content    `json:"content"`
	ToolCalls  []ToolCall `json:"tool_calls"`
	ToolCallID string     `json:"tool_call_id"`
}

// ToolCall is a call that the assistant made.
type ToolCall struct {
	ID       string `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// Tool is an offered tool.
type Tool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
		Strict      *bool           `json:"strict"`
	} `json:"function"`
}

// Content is a message's text; parts are joined.
type Content string

// UnmarshalJSON takes a text, null, or a list of parts.
func (c *Content) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*c = Content(text)
		return nil
	}
	var parts []struct {
		Text    string `json:"text"`
		Refusal string `json:"refusal"`
	}
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	var all []string
	for _, p := range parts {
		all = append(all, p.Text+p.Refusal)
	}
	*c = Content(strings.Join(all, "\n"))
	return nil
}

// Text of all messages with one of the roles; with none given, of all.
func (r Request) Text(roles ...string) string {
	var b strings.Builder
	for _, m := range r.Messages {
		if len(roles) == 0 || slices.Contains(roles, m.Role) {
			b.WriteString(string(m.Content) + "\n")
		}
	}
	return b.String()
}

// Last message's text.
func (r Request) Last() string {
	if len(r.Messages) == 0 {
		return ""
	}
	return string(r.Messages[len(r.Messages)-1].Content)
}

// Offers reports whether a tool of that name is offered.
func (r Request) Offers(name string) bool {
	for _, t := range r.Tools {
		if t.Function.Name == name {
			return true
		}
	}
	return false
}

// results are the tool messages at the end, with the names of the tools that
// they answer for.
func (r Request) results() (names, texts []string) {
	called := map[string]string{}
	for _, m := range r.Messages {
		for _, c := range m.ToolCalls {
			called[c.ID] = c.Function.Name
		}
	}
	end := len(r.Messages)
	for end > 0 && r.Messages[end-1].Role == "user" {
		end-- // a note may follow the results
	}
	for i := end - 1; i >= 0 && r.Messages[i].Role == "tool"; i-- {
		names = append(names, called[r.Messages[i].ToolCallID])
		texts = append(texts, string(r.Messages[i].Content))
	}
	return names, texts
}

// turn is the number of the answer that is asked for.
func (r Request) turn() int {
	n := 1
	for _, m := range r.Messages {
		if m.Role == "assistant" {
			n++
		}
	}
	return n
}
