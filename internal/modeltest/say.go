package modeltest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"unicode/utf8"
)

// say is one answer on its way.
type say struct {
	v      *Server
	w      http.ResponseWriter
	ctx    context.Context
	req    Request
	id     string
	fault  Fault
	answer Answer
	sent   int // events of a stream
}

// created is the time of every answer: scripts are the same every day.
const created = 1_760_000_000

func (s *say) run() {
	if !s.v.pause(s.ctx, s.answer.Delay) {
		return
	}
	m := s.message()
	u := s.usage(m)
	if s.req.Stream {
		s.stream(m, u)
		return
	}
	if !s.v.hold(s.ctx, s.answer.Hold) {
		return
	}
	c := completion{ID: s.id, Object: "chat.completion", Created: created, Model: s.req.Model, Usage: u}
	for i := range max(1, s.req.N) {
		c.Choices = append(c.Choices, choice{Index: i, Message: m, Finish: m.finish(s.answer)})
	}
	body, _ := json.Marshal(c) // texts and numbers only
	s.w.Header().Set("Content-Type", "application/json")
	if s.fault.Garbage != "" {
		body = []byte(s.fault.Garbage)
	}
	if s.fault.Cut > 0 {
		s.w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		body = body[:len(body)/2]
	}
	_, _ = s.w.Write(body)
	if s.fault.Cut > 0 {
		s.cut()
	}
}

// cut ends the connection in the middle of an answer.
func (s *say) cut() {
	// What was written is to arrive before the end.
	_ = http.NewResponseController(s.w).Flush()
	panic(http.ErrAbortHandler)
}

func (s *say) message() message {
	m := message{Role: "assistant"}
	if s.answer.Text != "" || len(s.answer.Calls) == 0 && s.answer.Refusal == "" {
		m.Content = &s.answer.Text
	}
	if s.answer.Refusal != "" {
		m.Refusal = &s.answer.Refusal
	}
	for i, c := range s.answer.Calls {
		m.ToolCalls = append(m.ToolCalls, toolCall{
			ID: fmt.Sprintf("call_%s_%d", s.id, i+1), Type: "function", Function: functionCall{Name: c.Name, Arguments: c.arguments()},
		})
	}
	return m
}

func (s *say) usage(m message) usage {
	u := usage{Prompt: s.req.PromptTokens}
	u.In.Cached = s.req.CachedTokens
	data, _ := json.Marshal(m)
	u.Completion = len(data) / 4
	if x := s.answer.Usage; x != nil {
		u.Prompt, u.In.Cached, u.Completion, u.Out.Reasoning = x.Prompt, x.Cached, x.Completion, x.Reasoning
	}
	u.Total = u.Prompt + u.Completion
	return u
}

// event sends one event of a stream; false: it is over.
func (s *say) event(data []byte) bool {
	if s.fault.Cut > 0 && s.sent >= s.fault.Cut {
		if s.fault.Error {
			f := s.fault
			f.Status = http.StatusInternalServerError
			fmt.Fprintf(s.w, "data: %s\n\n", f.errorOf().body())
			return false
		}
		s.cut()
	}
	if s.sent > 0 && !s.v.pause(s.ctx, s.answer.Pace) {
		return false
	}
	if s.fault.Garbage != "" && s.sent == 1 {
		data = []byte(s.fault.Garbage)
	}
	s.sent++
	if _, err := fmt.Fprintf(s.w, "data: %s\n\n", data); err != nil {
		return false
	}
	return http.NewResponseController(s.w).Flush() == nil
}

// stream sends the answer in events.
func (s *say) stream(m message, u usage) {
	s.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	for i, c := range s.chunks(m) {
		data, _ := json.Marshal(c)
		if !s.event(data) {
			return
		}
		if i == 0 && !s.v.hold(s.ctx, s.answer.Hold) {
			return
		}
	}
	if o := s.req.StreamOptions; o != nil && o.IncludeUsage {
		last := s.chunk()
		last.Choices, last.Usage = []chunkChoice{}, &u
		data, _ := json.Marshal(last)
		if !s.event(data) {
			return
		}
	}
	s.event([]byte("[DONE]"))
}

func (s *say) chunk(choices ...chunkChoice) chunk {
	return chunk{ID: s.id, Object: "chat.completion.chunk", Created: created, Model: s.req.Model, Choices: choices}
}

// chunks are all events of the answer but the last two.
func (s *say) chunks(m message) (out []chunk) {
	size := s.answer.Chunk
	if size <= 0 {
		size = 24
	}
	add := func(i int, d delta, finish *string) {
		out = append(out, s.chunk(chunkChoice{Index: i, Delta: d, Finish: finish}))
	}
	empty := ""
	finish := m.finish(s.answer)
	for i := range max(1, s.req.N) {
		add(i, delta{Role: "assistant", Content: &empty}, nil)
		for _, p := range pieces(m.Content, size) {
			add(i, delta{Content: &p}, nil)
		}
		for _, p := range pieces(m.Refusal, size) {
			add(i, delta{Refusal: &p}, nil)
		}
		for n, c := range m.ToolCalls {
			add(i, delta{ToolCalls: []toolCall{{Index: &n, ID: c.ID, Type: c.Type, Function: functionCall{Name: c.Function.Name}}}}, nil)
			for _, p := range pieces(&c.Function.Arguments, size) {
				add(i, delta{ToolCalls: []toolCall{{Index: &n, Function: functionCall{Arguments: p}}}}, nil)
			}
		}
		add(i, delta{}, &finish)
	}
	return out
}

// pieces cuts a text at characters into parts of about size bytes.
func pieces(text *string, size int) (out []string) {
	if text == nil {
		return nil
	}
	for s := *text; s != ""; {
		n := min(size, len(s))
		for n < len(s) && !utf8.RuneStart(s[n]) {
			n++
		}
		out = append(out, s[:n])
		s = s[n:]
	}
	return out
}
