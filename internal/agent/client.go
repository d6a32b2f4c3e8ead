package agent

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"sync"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"culprit/internal/agent/tools"
	"culprit/internal/session"
)

// Client speaks to one server. It is safe for concurrent use and holds no
// goroutine; Close gives its idle connections back.
type Client struct {
	set Settings
	api openai.Client

	mu    sync.Mutex
	known map[string]*abilities // by model
}

// New returns a client. It reads nothing from the environment but what the
// library needs for organisations and proxies.
func New(s Settings) (*Client, error) {
	s = s.filled()
	if len(s.Roles[High]) == 0 {
		return nil, errors.New("open the model client: no model is set for the role high")
	}
	key := s.APIKey
	if key == "" {
		key = "none" // servers on one's own machine ask for none, but for a header
	}
	opts := []option.RequestOption{option.WithAPIKey(key), option.WithMaxRetries(0), option.WithHTTPClient(s.HTTP)}
	if s.BaseURL != "" {
		opts = append(opts, option.WithBaseURL(s.BaseURL))
	}
	return &Client{set: s, api: openai.NewClient(opts...), known: map[string]*abilities{}}, nil
}

// Close closes idle connections.
func (c *Client) Close() { c.set.HTTP.CloseIdleConnections() }

// models of a role, best first.
func (c *Client) models(r Role) []Model {
	if m := c.set.Roles[r]; len(m) > 0 {
		return m
	}
	return c.set.Roles[High]
}

func (c *Client) abilities(model string) *abilities {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known[model] == nil {
		c.known[model] = &abilities{}
	}
	return c.known[model]
}

// ask is one question to a model: a conversation and what may be answered.
type ask struct {
	talk  *conversation
	tools []tools.Tool
	// force names the tool that must be called; empty: the model chooses.
	force string
	// spare must fit into the budget beside the call itself.
	spare  Amount
	budget Budget
	role   Role
	line   session.Dispatch // what is the same for every attempt
	log    func(session.Dispatch) error
}

// errTooLong means that the conversation does not fit into the model.
var errTooLong = errors.New("the conversation is longer than the model can take")

var tooLong = regexp.MustCompile(`(?i)context.?(length|window|size)|maximum context|prompt is too long|too many tokens`)

// ask gets an answer: from the first model of the role that gives one, after
// as many attempts as the policy allows. The usage is that of all attempts.
func (c *Client) ask(ctx context.Context, q ask) (Reply, Usage, error) {
	var spent Usage
	var last error
	attempt := 0
	for _, m := range c.models(q.role) {
		for n := 1; ; n++ {
			attempt++
			reply, err := c.attempt(ctx, q, m, attempt, &spent)
			var limit *LimitError
			switch {
			case err == nil:
				return reply, spent, nil
			case ctx.Err() != nil:
				return reply, spent, context.Cause(ctx)
			case errors.Is(err, errAudit), errors.Is(err, errTooLong), errors.As(err, &limit):
				return reply, spent, err
			}
			last = fmt.Errorf("ask %s: %w", m.Name, err)
			if errors.Is(err, errLearnt) {
				n--
				continue
			}
			wait, ok := again(err, n, c.set.Now())
			if !ok {
				break
			}
			if err := c.set.Sleep(ctx, wait); err != nil {
				return Reply{}, spent, err
			}
		}
		if !nextModel(last) {
			break
		}
	}
	return Reply{}, spent, last
}

// errLearnt means that the server lacks something that can be done without.
var errLearnt = errors.New("the server does not know a part of the request")

// errAudit means that a call could not be written down. None is made then.
var errAudit = errors.New("the call could not be recorded")

// attempt makes one call and writes it down.
func (c *Client) attempt(ctx context.Context, q ask, m Model, n int, spent *Usage) (Reply, error) {
	able := c.abilities(m.Name)
	params, used := c.params(q, m, able)
	want := Usage{In: promptTokens(params), Out: c.set.MaxOutput}
	held, err := q.budget.Reserve(ctx, c.amount(m, want), q.spare)
	if err != nil {
		return Reply{}, err
	}
	began := c.set.Now()
	reply, err := c.call(ctx, params, used[withStreaming])
	if errors.Is(err, context.Canceled) && ctx.Err() == nil {
		err = errStalled
	}
	if !used[withTools] && err == nil && len(q.tools) > 0 {
		reply = prompted(reply)
	}
	if err == nil && reply.Usage == (Usage{}) {
		out, _ := sizeOf(reply)
		reply.Usage = Usage{In: want.In, Out: tokensOf(max(out, reply.Size)), Estimated: true}
	}
	line := q.line
	line.TS, line.Role, line.Model, line.Attempt = began.UTC(), string(q.role), m.Name, n
	line.LatencyMS, line.Finish, line.Calls = c.set.Now().Sub(began).Milliseconds(), reply.Finish, len(reply.Calls)
	line.Outcome = "answered"
	if err != nil {
		reply.Usage = billed(err, want.In, tokensOf(reply.Size))
		reply = Reply{Usage: reply.Usage}
		err = told(c.explain(ctx, err, able, used))
		line.Error = err.Error()
		line.Outcome = outcomeOf(ctx, err)
	} else if reply.Refusal != "" {
		line.Outcome = "refused"
	}
	line.Lacks = able.missing()
	u := reply.Usage
	line.TokensIn, line.TokensCached, line.TokensOut, line.TokensReasoning, line.Estimated = u.In, u.Cached, u.Out, u.Reasoning, u.Estimated
	cost := c.set.Prices.Cost(m.Name, u.In, u.Cached, u.Out)
	line.Cost = float64(cost) / micro
	*spent = spent.add(u)
	// What was used is used, even when the session is being stopped.
	settled := q.budget.Settle(context.WithoutCancel(ctx), held, Amount{int64(u.Tokens()), cost})
	logged := q.log(line)
	if logged != nil || settled != nil {
		return Reply{}, fmt.Errorf("%w: %w", errAudit, errors.Join(logged, settled))
	}
	return reply, err
}

func (c *Client) amount(m Model, u Usage) Amount {
	return Amount{int64(u.Tokens()), c.set.Prices.Cost(m.Name, u.In, u.Cached, u.Out)}
}

// billed is what a failed call is taken to have cost: a request that was
// refused nothing, one whose answer broke off its prompt and what had come.
func billed(err error, prompt, out int) Usage {
	var api *openai.Error
	if errors.As(err, &api) {
		return Usage{}
	}
	return Usage{In: prompt, Out: out, Estimated: true}
}

// explain turns an error of the library into one of ours where the caller
// decides by it.
func (c *Client) explain(ctx context.Context, err error, able *abilities, used map[ability]bool) error {
	if ctx.Err() != nil {
		return err
	}
	if what, ok := able.learn(err, used); ok {
		return fmt.Errorf("%w: %s", errLearnt, what)
	}
	var api *openai.Error
	if errors.As(err, &api) && (api.Code == "context_length_exceeded" || api.StatusCode == 400 && tooLong.MatchString(api.Message)) {
		return fmt.Errorf("%w: %w", errTooLong, err)
	}
	return err
}

// told adds what the server said: the library's own text leaves it out.
func told(err error) error {
	var api *openai.Error
	if !errors.As(err, &api) || api.Message == "" {
		return err
	}
	return fmt.Errorf("%w: %s", err, oneLine(api.Message, 600))
}

func outcomeOf(ctx context.Context, err error) string {
	switch {
	case ctx.Err() != nil:
		return "stopped"
	case errors.Is(err, errLearnt), transient(err):
		return "retried"
	}
	return "failed"
}
