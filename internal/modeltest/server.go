package modeltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// maxBody of a request, in bytes.
const maxBody = 64 << 20

// Server is a running scripted server.
type Server struct {
	scenario *Scenario
	http     *http.Server
	addr     string
	served   chan error
	closing  chan struct{}

	mu       sync.Mutex
	used     []int // by rule
	requests []Request
	prompts  map[string][][]byte // of each model, for the prefix cache
	held     map[string]chan struct{}
	waiting  int
	n        int
}

// Start serves the scenario on loopback until Close.
func Start(s *Scenario) (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start model server: %w", err)
	}
	v := &Server{
		scenario: s, addr: l.Addr().String(), served: make(chan error, 1), closing: make(chan struct{}),
		used: make([]int, len(s.Rules)), prompts: map[string][][]byte{}, held: map[string]chan struct{}{},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", v.completions)
	mux.HandleFunc("GET /v1/models", v.models)
	mux.HandleFunc("GET /v1/models/{id}", v.model)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		v.fail(w, refuse(404, "unknown_url", "", fmt.Sprintf("Unknown request URL: %s %s. Please check the URL for typos, or see the docs at https://platform.openai.com/docs/api-reference/.", r.Method, r.URL.Path)))
	})
	v.http = &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() { v.served <- v.http.Serve(l) }()
	return v, nil
}

// URL is the base URL for clients: http://127.0.0.1:PORT/v1.
func (v *Server) URL() string { return "http://" + v.addr + "/v1" }

// Close ends all answers and the server, and waits for it.
func (v *Server) Close() error {
	close(v.closing)
	err := v.http.Close()
	if served := <-v.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// Requests are all chat requests so far, refused ones too, in the order in
// which they came.
func (v *Server) Requests() []Request {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.requests)
}

// Waiting says how many answers are held back now.
func (v *Server) Waiting() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.waiting
}

// Release lets answers go that wait under name, and all later ones.
func (v *Server) Release(name string) {
	gate := v.gate(name)
	v.mu.Lock()
	defer v.mu.Unlock()
	select {
	case <-gate:
	default:
		close(gate)
	}
}

func (v *Server) gate(name string) chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.held[name] == nil {
		v.held[name] = make(chan struct{})
	}
	return v.held[name]
}

func (v *Server) fail(w http.ResponseWriter, e *apiError) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(e.status)
	_, _ = w.Write(e.body()) // a client that has gone needs no answer
}

// authorised refuses a request without the key.
func (v *Server) authorised(r *http.Request) *apiError {
	key, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch {
	case !ok || key == "":
		return refuse(401, "", "", "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth.")
	case v.scenario.Key != "" && key != v.scenario.Key:
		return refuse(401, "invalid_api_key", "", "Incorrect API key provided.")
	}
	return nil
}

type modelObject struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

func (v *Server) models(w http.ResponseWriter, r *http.Request) {
	if e := v.authorised(r); e != nil {
		v.fail(w, e)
		return
	}
	list := []modelObject{}
	for _, m := range v.scenario.Models {
		list = append(list, modelObject{m, "model", 1_700_000_000, "script"})
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": list})
}

func (v *Server) model(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	e := v.authorised(r)
	if e == nil && !slices.Contains(v.scenario.Models, id) {
		e = unknownModel(id)
	}
	if e != nil {
		v.fail(w, e)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(modelObject{id, "model", 1_700_000_000, "script"})
}

func unknownModel(id string) *apiError {
	return refuse(404, "model_not_found", "", fmt.Sprintf("The model '%s' does not exist or you do not have access to it.", id))
}

// completions answers POST /v1/chat/completions.
func (v *Server) completions(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return // the client has gone
	}
	e := v.authorised(r)
	req := Request{Body: body}
	if e == nil && len(body) > maxBody {
		e = refuse(413, "", "", "Request body too large.")
	}
	if e == nil {
		req, e = validate(body)
	}
	if e == nil {
		e = v.acceptable(&req)
	}
	var rule *Rule
	var captured map[string]string
	if e == nil {
		rule, captured, e = v.choose(req)
	}
	status := http.StatusOK
	if rule != nil {
		req.Rule = rule.Name
		if rule.Fault.Status != 0 {
			e = rule.Fault.errorOf()
			if rule.Fault.RetryAfter != "" {
				w.Header().Set("Retry-After", rule.Fault.RetryAfter)
			}
		}
	}
	if e != nil {
		status = e.status
	}
	req.Status = status
	v.mu.Lock()
	v.n++
	id := "chatcmpl-" + strconv.Itoa(v.n)
	v.requests = append(v.requests, req)
	v.mu.Unlock()
	w.Header().Set("X-Request-Id", "req-"+id)
	if e != nil {
		v.fail(w, e)
		return
	}
	s := say{v: v, w: w, ctx: r.Context(), req: req, id: id, fault: rule.Fault, answer: rule.Answer.filled(captured)}
	s.run()
}

// acceptable refuses what this server lacks, and counts the prompt.
func (v *Server) acceptable(r *Request) *apiError {
	if len(v.scenario.Models) > 0 && !slices.Contains(v.scenario.Models, r.Model) {
		return unknownModel(r.Model)
	}
	var raw map[string]json.RawMessage
	_ = json.Unmarshal(r.Body, &raw) // it was read before
	for _, l := range v.scenario.Lacks {
		used := raw[l] != nil
		switch l {
		case "json_schema":
			used = r.Format.Type == "json_schema"
		case "streaming":
			used = r.Stream
		case "developer":
			used = strings.Contains(string(raw["messages"]), `"role":"developer"`)
		}
		if used {
			return refuse(400, "unsupported_parameter", l, fmt.Sprintf("Unsupported parameter: '%s' is not supported with this model.", l))
		}
	}
	r.PromptTokens, r.CachedTokens = v.count(*r)
	if limit := v.scenario.Context; limit > 0 && r.PromptTokens > limit {
		return refuse(400, "context_length_exceeded", "messages", fmt.Sprintf("This model's maximum context length is %d tokens. However, your messages resulted in %d tokens. Please reduce the length of the messages.", limit, r.PromptTokens))
	}
	return nil
}

// choose finds the rule that answers and counts its use.
func (v *Server) choose(r Request) (*Rule, map[string]string, *apiError) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for i := range v.scenario.Rules {
		rule := &v.scenario.Rules[i]
		if rule.Times > 0 && v.used[i] >= rule.Times {
			continue
		}
		if captured, ok := rule.When.fits(r); ok {
			v.used[i]++
			return rule, captured, nil
		}
	}
	last := r.Last()
	if len(last) > 400 {
		last = last[:400] + "…"
	}
	names, _ := r.results()
	return nil, nil, refuse(400, "no_rule", "", fmt.Sprintf("The script has no rule for this request: model %s, turn %d, results of %v, last message %q", r.Model, r.turn(), names, last))
}

// count estimates the tokens of the prompt (four bytes each) and how many of
// them the provider's cache would have: the longest prefix that an earlier
// prompt of the model shares, from 1,024 tokens on, in steps of 128.
func (v *Server) count(r Request) (prompt, cached int) {
	var raw map[string]json.RawMessage
	_ = json.Unmarshal(r.Body, &raw)
	text := append(slices.Clone([]byte(raw["tools"])), raw["messages"]...)
	v.mu.Lock()
	defer v.mu.Unlock()
	best := 0
	for _, old := range v.prompts[r.Model] {
		n := 0
		for n < len(old) && n < len(text) && old[n] == text[n] {
			n++
		}
		best = max(best, n)
	}
	const keep = 64
	v.prompts[r.Model] = append(v.prompts[r.Model], text)
	if extra := len(v.prompts[r.Model]) - keep; extra > 0 {
		v.prompts[r.Model] = v.prompts[r.Model][extra:]
	}
	cached = best / 4 / 128 * 128
	if cached < 1024 {
		cached = 0
	}
	return len(text) / 4, cached
}

// pause waits for d, or until the client or the server ends.
func (v *Server) pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
	case <-v.closing:
	}
	return false
}

// hold waits until the name is released.
func (v *Server) hold(ctx context.Context, name string) bool {
	if name == "" {
		return true
	}
	gate := v.gate(name)
	v.mu.Lock()
	v.waiting++
	v.mu.Unlock()
	defer func() {
		v.mu.Lock()
		v.waiting--
		v.mu.Unlock()
	}()
	select {
	case <-gate:
		return true
	case <-ctx.Done():
	case <-v.closing:
	}
	return false
}
