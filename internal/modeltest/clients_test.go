package modeltest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"
	third "github.com/sashabaranov/go-openai"
)

func official(v *Server) openai.Client {
	return openai.NewClient(option.WithBaseURL(v.URL()), option.WithAPIKey("test-key"), option.WithMaxRetries(0))
}

var readParams = shared.FunctionParameters{"type": "object", "properties": map[string]any{"path": map[string]any{"type": "string"}}}

func TestTheOfficialClientReadsAnswersAndStreams(t *testing.T) {
	t.Parallel()
	v := serve(t, talk)
	c := official(v)
	params := openai.ChatCompletionNewParams{
		Model:    "small",
		Messages: []openai.ChatCompletionMessageParamUnion{openai.SystemMessage("be short"), openai.UserMessage("look")},
		Tools:    []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: "read", Parameters: readParams})},
	}
	whole, err := c.Chat.Completions.New(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	stream := c.Chat.Completions.NewStreaming(t.Context(), params)
	var acc openai.ChatCompletionAccumulator
	for stream.Next() {
		if !acc.AddChunk(stream.Current()) {
			t.Fatal("a chunk was not taken")
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	for how, got := range map[string]openai.ChatCompletion{"at once": *whole, "streamed": acc.ChatCompletion} {
		m := got.Choices[0].Message
		if m.Content != "I look at both — ✓" || len(m.ToolCalls) != 2 || got.Choices[0].FinishReason != "tool_calls" {
			t.Errorf("%s: %+v", how, got.Choices[0])
			continue
		}
		var args struct {
			Path string
			From int
		}
		if err := json.Unmarshal([]byte(m.ToolCalls[0].Function.Arguments), &args); err != nil || args.Path != "a.go" || args.From != 1 {
			t.Errorf("%s: arguments %s: %v", how, m.ToolCalls[0].Function.Arguments, err)
		}
	}
	if page, err := c.Models.List(t.Context()); err != nil || len(page.Data) != 1 || page.Data[0].ID != "small" {
		t.Errorf("models: %v %v", page, err)
	}
	params.Model = "big"
	var api *openai.Error
	if _, err := c.Chat.Completions.New(t.Context(), params); !errors.As(err, &api) || api.StatusCode != 404 || api.Code != "model_not_found" {
		t.Errorf("unknown model: %v", err)
	}
}

func TestAThirdPartyClientReadsAnswersAndStreams(t *testing.T) {
	t.Parallel()
	v := serve(t, talk)
	cfg := third.DefaultConfig("test-key")
	cfg.BaseURL = v.URL()
	c := third.NewClientWithConfig(cfg)
	req := third.ChatCompletionRequest{
		Model:    "small",
		Messages: []third.ChatCompletionMessage{{Role: "user", Content: "look"}},
		Tools:    []third.Tool{{Type: third.ToolTypeFunction, Function: &third.FunctionDefinition{Name: "read", Parameters: readParams}}},
	}
	res, err := c.CreateChatCompletion(t.Context(), req)
	if err != nil || len(res.Choices[0].Message.ToolCalls) != 2 || res.Usage.TotalTokens == 0 {
		t.Fatalf("%+v %v", res, err)
	}
	stream, err := c.CreateChatCompletionStream(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	var text, arguments strings.Builder
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text.WriteString(part.Choices[0].Delta.Content)
		for _, call := range part.Choices[0].Delta.ToolCalls {
			arguments.WriteString(call.Function.Arguments)
		}
	}
	if text.String() != "I look at both — ✓" || arguments.String() != `{"from":1,"path":"a.go"}{"path":"b.go"}` {
		t.Errorf("streamed %q and %s", text.String(), arguments.String())
	}
	// What it refuses reaches that client as an error of the API.
	req.Messages = append(req.Messages, third.ChatCompletionMessage{Role: "tool", Content: "x", ToolCallID: "none"})
	var api *third.APIError
	if _, err := c.CreateChatCompletion(t.Context(), req); !errors.As(err, &api) || api.HTTPStatusCode != 400 || !strings.Contains(api.Message, "preceeding") { //nolint:misspell // as the API spells it
		t.Errorf("%v", err)
	}
}

func TestFaultsReachTheClientAsFaults(t *testing.T) {
	t.Parallel()
	v := serve(t, `
rules:
  - {name: cut, when: {last: cut}, answer: {text: a long answer that does not arrive as a whole}, fault: {cut: 2}}
  - {name: error, when: {last: error}, answer: {text: a long answer that ends in an error}, fault: {cut: 2, error: true, message: overloaded}}
  - {name: garbage, when: {last: garbage}, answer: {text: x}, fault: {garbage: "<html>gateway</html>"}}
  - {name: server, when: {last: server}, fault: {status: 500}}
`)
	c := official(v)
	params := func(word string) openai.ChatCompletionNewParams {
		return openai.ChatCompletionNewParams{Model: "m", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(word)}}
	}
	for _, word := range []string{"cut", "error", "garbage", "server"} {
		stream := c.Chat.Completions.NewStreaming(t.Context(), params(word))
		for stream.Next() {
			if stream.Current().Choices[0].FinishReason != "" {
				t.Errorf("%s: the stream came to its end", word)
			}
		}
		if err := stream.Err(); err == nil {
			t.Errorf("%s: streamed without an error", word)
		} else if word == "error" && !strings.Contains(err.Error(), "overloaded") {
			t.Errorf("%s: %v", word, err)
		}
		if word == "error" {
			continue // only streams end in an error event
		}
		if res, err := c.Chat.Completions.New(t.Context(), params(word)); err == nil {
			t.Errorf("%s: answered %+v", word, res)
		}
	}
}

func TestAHeldAnswerWaitsForItsRelease(t *testing.T) {
	t.Parallel()
	v := serve(t, "rules: [{answer: {text: at last, hold: gate}}]\n")
	c := official(v)
	params := openai.ChatCompletionNewParams{Model: "m", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hello")}}
	stream := c.Chat.Completions.NewStreaming(t.Context(), params)
	if !stream.Next() {
		t.Fatal(stream.Err()) // the beginning arrives at once
	}
	v.Release("gate")
	var acc openai.ChatCompletionAccumulator
	for stream.Next() {
		acc.AddChunk(stream.Current())
	}
	if stream.Err() != nil || acc.Choices[0].Message.Content != "at last" {
		t.Errorf("%+v %v", acc.Choices, stream.Err())
	}
	// A client that goes away is let go.
	v = serve(t, "rules: [{answer: {text: x, hold: never}}]\n")
	c = official(v)
	ctx, cancel := context.WithCancel(t.Context())
	stream = c.Chat.Completions.NewStreaming(ctx, params)
	stream.Next()
	cancel()
	for stream.Next() {
	}
	if !errors.Is(stream.Err(), context.Canceled) {
		t.Errorf("after cancel: %v", stream.Err())
	}
}

func TestAKeyIsAskedFor(t *testing.T) {
	t.Parallel()
	v := serve(t, "key: right\nrules: [{answer: {text: x}}]\n")
	for key, want := range map[string]int{"": 401, "wrong": 401, "right": 200} {
		req, _ := http.NewRequest(http.MethodPost, v.URL()+"/chat/completions", strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"x"}]}`))
		if key != "" {
			req.Header.Set("Authorization", "Bearer "+key)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("key %q: %d", key, res.StatusCode)
		}
	}
}
