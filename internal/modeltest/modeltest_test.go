package modeltest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts a scenario for the time of a test.
func serve(t *testing.T, script string) *Server {
	t.Helper()
	s, err := Parse([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	v, err := Start(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	return v
}

// post sends a raw request and returns status, header and body.
func post(t *testing.T, v *Server, body string) (int, http.Header, []byte) {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, v.URL()+"/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer test-key")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, res.Header, data
}

// conforms holds a document against a schema of the API's description.
func conforms(t *testing.T, schema string, data []byte) {
	t.Helper()
	s, err := described(schema)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	if err := s.Validate(doc); err != nil {
		t.Errorf("%s does not take %s: %v", schema, data, err)
	}
}

const talk = `
models: [small]
rules:
  - name: two calls
    when: {last: "look"}
    answer:
      text: "I look at both — ✓"
      calls:
        - {name: read, arguments: {path: a.go, from: 1}}
        - {name: read, arguments: {path: b.go}}
  - {name: no, when: {last: forbidden}, answer: {refusal: "I cannot do that"}}
  - {name: echo, when: {last: "say (?P<word>\\w+)"}, answer: {text: "${word}!"}}
  - {name: slow down, when: {last: often}, fault: {status: 429, retry_after: "7"}}
  - {name: rest, answer: {text: fine}}
`

func TestEveryAnswerIsWhatTheDescriptionSays(t *testing.T) {
	t.Parallel()
	v := serve(t, talk)
	tools := `,"tools":[{"type":"function","function":{"name":"read","parameters":{"type":"object","properties":{"path":{"type":"string"}}}}}]`
	for _, word := range []string{"look", "forbidden", "say hello", "else"} {
		status, _, body := post(t, v, `{"model":"small","messages":[{"role":"user","content":"`+word+`"}]`+tools+`}`)
		if status != 200 {
			t.Fatalf("%s: %d %s", word, status, body)
		}
		conforms(t, "CreateChatCompletionResponse", body)
		status, h, body := post(t, v, `{"model":"small","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"`+word+`"}]`+tools+`}`)
		if status != 200 || !strings.HasPrefix(h.Get("Content-Type"), "text/event-stream") {
			t.Fatalf("%s: %d %v", word, status, h)
		}
		events := strings.Split(strings.TrimSpace(string(body)), "\n\n")
		if last := events[len(events)-1]; last != "data: [DONE]" {
			t.Errorf("the stream ends with %q", last)
		}
		for _, e := range events[:len(events)-1] {
			conforms(t, "CreateChatCompletionStreamResponse", []byte(strings.TrimPrefix(e, "data: ")))
		}
		if u := events[len(events)-2]; !strings.Contains(u, `"choices":[]`) || !strings.Contains(u, "prompt_tokens") {
			t.Errorf("no usage at the end: %s", u)
		}
	}
	status, h, body := post(t, v, `{"model":"small","messages":[{"role":"user","content":"often"}]}`)
	if status != 429 || h.Get("Retry-After") != "7" {
		t.Errorf("%d %v", status, h)
	}
	conforms(t, "ErrorResponse", body)
	for path, schema := range map[string]string{"/models": "ListModelsResponse", "/models/small": "Model", "/models/big": "ErrorResponse", "/nowhere": "ErrorResponse"} {
		req, _ := http.NewRequest(http.MethodGet, v.URL()+path, nil)
		req.Header.Set("Authorization", "Bearer test-key")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		data, _ := io.ReadAll(res.Body)
		res.Body.Close()
		conforms(t, schema, data)
	}
}

// What the real server refuses, in requests that a careless client sends.
func TestRequestsThatTheRealServerRefusesAreRefused(t *testing.T) {
	t.Parallel()
	v := serve(t, talk)
	const user = `{"role":"user","content":"hello"}`
	call := `{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"read","arguments":"{}"}}]}`
	fn := func(f string) string {
		return `{"model":"small","messages":[` + user + `],"tools":[{"type":"function","function":` + f + `}]}`
	}
	cases := []struct{ name, body, want string }{
		{"no JSON", `{"model":`, "could not parse"},
		{"no model", `{"messages":[` + user + `]}`, "must provide a model"},
		{"unknown model", `{"model":"big","messages":[` + user + `]}`, "does not exist"},
		{"no messages", `{"model":"small"}`, "Missing required parameter: 'messages'"},
		{"empty messages", `{"model":"small","messages":[]}`, "empty array"},
		{"unknown role", `{"model":"small","messages":[{"role":"robot","content":"x"}]}`, "Invalid value: 'robot'"},
		{"unknown argument", `{"model":"small","messages":[` + user + `],"colour":1}`, "Unrecognized request argument supplied: colour"},
		{"content of a number", `{"model":"small","messages":[{"role":"user","content":7}]}`, "messages.0"},
		{"temperature too high", `{"model":"small","messages":[` + user + `],"temperature":3}`, "temperature"},
		{"a result without a call", `{"model":"small","messages":[` + user + `,{"role":"tool","tool_call_id":"c1","content":"x"}]}`, "must be a response to a preceeding message"}, //nolint:misspell // as the API spells it
		{"a result of another call", `{"model":"small","messages":[` + user + `,` + call + `,{"role":"tool","tool_call_id":"c2","content":"x"}]}`, "must be a response"},
		{"a call without a result", `{"model":"small","messages":[` + user + `,` + call + `,` + user + `]}`, "did not have response messages: c1"},
		{"a call at the end", `{"model":"small","messages":[` + user + `,` + call + `]}`, "did not have response messages: c1"},
		{"a result without its ID", `{"model":"small","messages":[` + user + `,` + call + `,{"role":"tool","content":"x"}]}`, "Missing required parameter: 'messages[2].tool_call_id'"},
		{"no tools in tools", `{"model":"small","messages":[` + user + `],"tools":[]}`, "empty array"},
		{"a choice without tools", `{"model":"small","messages":[` + user + `],"tool_choice":"auto"}`, "only allowed when 'tools'"},
		{"parallel calls without tools", `{"model":"small","messages":[` + user + `],"parallel_tool_calls":true}`, "only allowed when 'tools'"},
		{"stream options without a stream", `{"model":"small","messages":[` + user + `],"stream_options":{"include_usage":true}}`, "only allowed when 'stream'"},
		{"two limits", `{"model":"small","messages":[` + user + `],"max_tokens":5,"max_completion_tokens":5}`, "at the same time"},
		{"a bad tool name", fn(`{"name":"read file"}`), "does not match pattern"},
		{"parameters of no object", fn(`{"name":"read","parameters":{"type":"string"}}`), `got 'type: "string"'`},
		{"a schema that is none", fn(`{"name":"read","parameters":{"type":"object","properties":{"a":{"type":"strin"}}}}`), "Invalid schema for function 'read'"},
		{"strict and open", fn(`{"name":"read","strict":true,"parameters":{"type":"object","properties":{}}}`), "'additionalProperties' is required"},
		{"strict and optional", fn(`{"name":"read","strict":true,"parameters":{"type":"object","additionalProperties":false,"properties":{"a":{"type":"string"}},"required":[]}}`), "Missing 'a'"},
		{"strict deep inside", fn(`{"name":"read","strict":true,"parameters":{"type":"object","additionalProperties":false,"required":["a"],"properties":{"a":{"type":"array","items":{"type":"object","properties":{}}}}}}`), "'properties', 'a', 'items'"},
		{"a chosen tool that is not offered", `{"model":"small","messages":[` + user + `],"tools":[{"type":"function","function":{"name":"read"}}],"tool_choice":{"type":"function","function":{"name":"write"}}}`, "not found in 'tools'"},
		{"JSON without the word", `{"model":"small","messages":[` + user + `],"response_format":{"type":"json_object"}}`, "must contain the word 'json'"},
		{"a format without a schema", `{"model":"small","messages":[` + user + `],"response_format":{"type":"json_schema","json_schema":{"name":"x"}}}`, "response_format.json_schema.schema"},
		{"a strict format that is open", `{"model":"small","messages":[` + user + `],"response_format":{"type":"json_schema","json_schema":{"name":"x","strict":true,"schema":{"type":"object","properties":{}}}}}`, "Invalid schema for response_format 'x'"},
	}
	for _, c := range cases {
		status, _, body := post(t, v, c.body)
		if status < 400 || status >= 500 {
			t.Errorf("%s: status %d", c.name, status)
		}
		conforms(t, "ErrorResponse", body)
		var e struct {
			Error struct{ Message string }
		}
		if err := json.Unmarshal(body, &e); err != nil || !strings.Contains(e.Error.Message, c.want) {
			t.Errorf("%s: want %q in %s", c.name, c.want, body)
		}
	}
	// The same things done right are taken.
	result := `{"role":"tool","tool_call_id":"c1","content":"x"}`
	for _, body := range []string{
		`{"model":"small","messages":[` + user + `,` + call + `,` + result + `]}`,
		fn(`{"name":"read","strict":true,"parameters":{"type":"object","additionalProperties":false,"properties":{"a":{"type":["string","null"]}},"required":["a"]}}`),
	} {
		if status, _, answer := post(t, v, body); status != 200 {
			t.Errorf("%d for %s: %s", status, body, answer)
		}
	}
}

func TestAScriptWithMistakesIsRefusedWithAllOfThem(t *testing.T) {
	t.Parallel()
	_, err := Parse([]byte("lacks: [wings]\nrules:\n  - {name: a, when: {last: '('}, answer: {text: x}}\n  - {name: b}\n  - {name: c, fault: {status: 200}}\n"))
	if err == nil {
		t.Fatal("taken")
	}
	for _, want := range []string{`lacks "wings"`, "a: when.last", "b: answers nothing", "c: fault.status 200"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
	if _, err := Parse([]byte("rules:\n  - {name: a, anwser: {text: x}}\n")); err == nil || !strings.Contains(err.Error(), "anwser") {
		t.Errorf("an unknown key: %v", err)
	}
}

func TestARequestThatNoRuleFitsSaysWhatWasAsked(t *testing.T) {
	t.Parallel()
	v := serve(t, "rules:\n  - {name: once, times: 1, answer: {text: x}}\n")
	const body = `{"model":"any","messages":[{"role":"user","content":"who are you"}]}`
	if status, _, _ := post(t, v, body); status != 200 {
		t.Fatal(status)
	}
	status, _, answer := post(t, v, body)
	if status != 400 || !strings.Contains(string(answer), "who are you") || !strings.Contains(string(answer), "turn 1") {
		t.Errorf("%d %s", status, answer)
	}
	if got := v.Requests(); len(got) != 2 || got[0].Rule != "once" || got[1].Rule != "" || got[1].Status != 400 {
		t.Errorf("recorded: %+v", got)
	}
}

func TestAWeakerServerRefusesWhatItLacks(t *testing.T) {
	t.Parallel()
	const user = `"messages":[{"role":"user","content":"hello"}]`
	for lack, extra := range map[string]string{
		"tools":                 `,"tools":[{"type":"function","function":{"name":"read"}}]`,
		"json_schema":           `,"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"object"}}}`,
		"reasoning_effort":      `,"reasoning_effort":"low"`,
		"streaming":             `,"stream":true`,
		"max_completion_tokens": `,"max_completion_tokens":9`,
		"prompt_cache_key":      `,"prompt_cache_key":"a"`,
	} {
		weak := serve(t, "lacks: ["+lack+"]\nrules: [{answer: {text: x}}]\n")
		if status, _, body := post(t, weak, `{"model":"m",`+user+extra+`}`); status != 400 || !strings.Contains(string(body), lack) {
			t.Errorf("%s: %d %s", lack, status, body)
		}
		full := serve(t, "rules: [{answer: {text: x}}]\n")
		if status, _, body := post(t, full, `{"model":"m",`+user+extra+`}`); status != 200 {
			t.Errorf("%s where it is known: %d %s", lack, status, body)
		}
	}
}

func TestAPromptThatRepeatsItsBeginningIsToldAsCached(t *testing.T) {
	t.Parallel()
	v := serve(t, "rules: [{answer: {text: x}}]\n")
	long := strings.Repeat("the same rules again and again. ", 300)
	for i, want := range []bool{false, true} {
		_, _, body := post(t, v, `{"model":"m","messages":[{"role":"system","content":"`+long+`"},{"role":"user","content":"`+strings.Repeat("q", i+1)+`"}]}`)
		var c completion
		if err := json.Unmarshal(body, &c); err != nil {
			t.Fatal(err)
		}
		if got := c.Usage.In.Cached; (got > 1024) != want || got%128 != 0 || got > c.Usage.Prompt {
			t.Errorf("request %d: %d of %d tokens cached", i+1, got, c.Usage.Prompt)
		}
	}
}
