package modeltest

import (
	"encoding/json"
	"net/http"
	"strings"
)

// The answers' types, as the description has them.
type (
	completion struct {
		ID      string   `json:"id"`
		Object  string   `json:"object"`
		Created int64    `json:"created"`
		Model   string   `json:"model"`
		Choices []choice `json:"choices"`
		Usage   usage    `json:"usage"`
	}
	choice struct {
		Index    int     `json:"index"`
		Message  message `json:"message"`
		Logprobs any     `json:"logprobs"`
		Finish   string  `json:"finish_reason"`
	}
	message struct {
		Role      string     `json:"role"`
		Content   *string    `json:"content"`
		Refusal   *string    `json:"refusal"`
		ToolCalls []toolCall `json:"tool_calls,omitempty"`
	}
	toolCall struct {
		Index    *int         `json:"index,omitempty"`
		ID       string       `json:"id,omitempty"`
		Type     string       `json:"type,omitempty"`
		Function functionCall `json:"function"`
	}
	functionCall struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments"`
	}
	usage struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		Total      int `json:"total_tokens"`
		In         struct {
			Cached int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
		Out struct {
			Reasoning int `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
	}
	chunk struct {
		ID      string        `json:"id"`
		Object  string        `json:"object"`
		Created int64         `json:"created"`
		Model   string        `json:"model"`
		Choices []chunkChoice `json:"choices"`
		Usage   *usage        `json:"usage,omitempty"`
	}
	chunkChoice struct {
		Index  int     `json:"index"`
		Delta  delta   `json:"delta"`
		Finish *string `json:"finish_reason"`
	}
	delta struct {
		Role      string     `json:"role,omitempty"`
		Content   *string    `json:"content,omitempty"`
		Refusal   *string    `json:"refusal,omitempty"`
		ToolCalls []toolCall `json:"tool_calls,omitempty"`
	}
)

// apiError is an error in the API's shape.
type apiError struct {
	status  int
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

// refuse makes the error of a request that the real server does not take.
func refuse(status int, code, param, message string) *apiError {
	e := &apiError{status: status, Message: message, Type: "invalid_request_error"}
	if code != "" {
		e.Code = &code
	}
	if param != "" {
		e.Param = &param
	}
	return e
}

func (e *apiError) body() []byte {
	data, _ := json.Marshal(map[string]any{"error": e}) // texts only
	return data
}

// errorOf is the error answer that a fault asks for.
func (f Fault) errorOf() *apiError {
	kinds := map[int][2]string{
		http.StatusUnauthorized:        {"invalid_request_error", "invalid_api_key"},
		http.StatusTooManyRequests:     {"requests", "rate_limit_exceeded"},
		http.StatusInternalServerError: {"server_error", ""},
		http.StatusServiceUnavailable:  {"service_unavailable_error", ""},
	}
	e := &apiError{status: f.Status, Message: f.Message, Type: "invalid_request_error"}
	if k, ok := kinds[f.Status]; ok {
		e.Type = k[0]
		if k[1] != "" {
			e.Code = &k[1]
		}
	}
	if f.Code != "" {
		e.Code = &f.Code
	}
	if e.Message == "" {
		e.Message = strings.ToLower(http.StatusText(f.Status)) + ", as the script has it"
	}
	return e
}

func (m message) finish(a Answer) string {
	switch {
	case a.Finish != "":
		return a.Finish
	case len(m.ToolCalls) > 0:
		return "tool_calls"
	}
	return "stop"
}
