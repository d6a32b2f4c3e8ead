package agent

import "encoding/json"

// Reply is one answer of a model.
type Reply struct {
	Text    string
	Refusal string
	Calls   []Call
	Finish  string // stop, length, tool_calls, content_filter
	Usage   Usage
	Size    int // bytes that came, where less of them is kept
	// Cut is set where the answer was longer than is taken; Text is its
	// beginning.
	Cut bool
}

// Call is a tool call of a model.
type Call struct {
	ID        string
	Name      string
	Arguments string // JSON, as the model wrote it
}

func (c Call) args() json.RawMessage {
	if c.Arguments == "" {
		return json.RawMessage("{}")
	}
	return json.RawMessage(c.Arguments)
}

// Usage counts tokens. Cached are part of In, Reasoning of Out.
type Usage struct {
	In        int `json:"in"`
	Cached    int `json:"cached"`
	Out       int `json:"out"`
	Reasoning int `json:"reasoning"`
	// Estimated: the server told nothing, and a token was taken for four bytes.
	Estimated bool `json:"estimated,omitempty"`
}

// Tokens is the sum that limits count.
func (u Usage) Tokens() int { return u.In + u.Out }

func (u Usage) add(o Usage) Usage {
	return Usage{u.In + o.In, u.Cached + o.Cached, u.Out + o.Out, u.Reasoning + o.Reasoning, u.Estimated || o.Estimated}
}

// tokensOf estimates the tokens of a text.
func tokensOf(bytes int) int { return (bytes + 3) / 4 }
