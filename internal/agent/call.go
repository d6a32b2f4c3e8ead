package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/openai/openai-go/v3"
)

// maxAnswer is how much of an answer is taken, in bytes: text and arguments
// together. A longer one is cut, and the connection ended.
const maxAnswer = 256 << 10

// call makes one request.
func (c *Client) call(ctx context.Context, p openai.ChatCompletionNewParams, streaming bool) (Reply, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.set.CallTimeout, errStalled)
	defer cancel()
	if streaming {
		return c.stream(ctx, p)
	}
	res, err := c.api.Chat.Completions.New(ctx, p)
	if err != nil {
		return Reply{}, ended(ctx, err)
	}
	return readCompletion(*res)
}

// ended tells a call that took too long from one that somebody stopped.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(context.Cause(ctx), errStalled) {
		return errStalled
	}
	return err
}

// stream reads an answer as it comes.
func (c *Client) stream(ctx context.Context, p openai.ChatCompletionNewParams) (Reply, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(c.set.Stall, func() { cancel(errStalled) })
	defer watch.Stop()
	s := c.api.Chat.Completions.NewStreaming(ctx, p)
	defer s.Close()
	var acc openai.ChatCompletionAccumulator
	size := 0
	for s.Next() {
		watch.Reset(c.set.Stall)
		part := s.Current()
		for _, ch := range part.Choices {
			size += len(ch.Delta.Content) + len(ch.Delta.Refusal)
			for _, t := range ch.Delta.ToolCalls {
				size += len(t.Function.Arguments) + len(t.Function.Name)
			}
		}
		if !acc.AddChunk(part) {
			return Reply{Size: size}, fmt.Errorf("%w: parts of the stream contradict each other", errGarbled)
		}
		if size > maxAnswer {
			r, _ := readCompletion(acc.ChatCompletion)
			r.Cut, r.Calls, r.Size = true, nil, size
			return r, nil
		}
	}
	if err := s.Err(); err != nil {
		return Reply{Size: size}, ended(ctx, err)
	}
	if len(acc.Choices) > 0 && acc.Choices[0].FinishReason == "" {
		return Reply{Size: size}, errCut
	}
	return readCompletion(acc.ChatCompletion)
}

// readCompletion takes what is used of an answer.
func readCompletion(c openai.ChatCompletion) (Reply, error) {
	if len(c.Choices) == 0 {
		return Reply{}, fmt.Errorf("%w: it holds no choice", errGarbled)
	}
	ch := c.Choices[0]
	r := Reply{
		Text: ch.Message.Content, Refusal: ch.Message.Refusal, Finish: ch.FinishReason,
		Usage: Usage{
			In: int(c.Usage.PromptTokens), Cached: int(c.Usage.PromptTokensDetails.CachedTokens),
			Out: int(c.Usage.CompletionTokens), Reasoning: int(c.Usage.CompletionTokensDetails.ReasoningTokens),
		},
	}
	if r.Finish == "content_filter" && r.Refusal == "" {
		r.Refusal = "the server's content filter stopped the answer"
	}
	for _, t := range ch.Message.ToolCalls {
		r.Calls = append(r.Calls, Call{ID: t.ID, Name: t.Function.Name, Arguments: t.Function.Arguments})
	}
	if size, _ := sizeOf(r); size > maxAnswer {
		r.Cut, r.Calls, r.Size = true, nil, size
	}
	if len(r.Text) > maxAnswer {
		r.Text = r.Text[:maxAnswer]
	}
	return r, nil
}

// sizeOf an answer, in bytes, and of its calls alone.
func sizeOf(r Reply) (all, calls int) {
	for _, c := range r.Calls {
		calls += len(c.Arguments) + len(c.Name)
	}
	return len(r.Text) + len(r.Refusal) + calls, calls
}
