package agent

import (
	"errors"
	"regexp"
	"strings"
	"sync"

	"github.com/openai/openai-go/v3"
)

// ability is something that a server, or a model on it, may lack.
type ability string

const (
	withTools      ability = "tools"
	withChoice     ability = "tool_choice" // of a named tool
	withParallel   ability = "parallel_tool_calls"
	withSchema     ability = "json_schema"
	withJSON       ability = "json_object"
	withEffort     ability = "reasoning_effort"
	withStreaming  ability = "streaming"
	withUsage      ability = "stream_options"
	withCompletion ability = "max_completion_tokens" // else max_tokens
	withCacheKey   ability = "prompt_cache_key"
)

// lacking reads from an error message which ability is missing. The order
// counts: names that contain others come first. Besides the API's own words
// these are what servers of the same interface say: Ollama ("does not support
// tools"), vLLM ("--enable-auto-tool-choice"), llama.cpp ("requires --jinja").
var lacking = []struct {
	what ability
	re   *regexp.Regexp
}{
	{withParallel, regexp.MustCompile(`parallel_tool_calls`)},
	{withTools, regexp.MustCompile(`(?i)enable-auto-tool-choice|tool-call-parser|--jinja|not support(ed)? (tool|function)|tools? (is|are) not supported|'tools' is not|tools? param`)},
	{withChoice, regexp.MustCompile(`tool_choice`)},
	{withTools, regexp.MustCompile(`(?i)\btools\b|function.?calling`)},
	{withSchema, regexp.MustCompile(`(?i)json_schema|structured output|guided`)},
	{withJSON, regexp.MustCompile(`(?i)json_object|response_format`)},
	{withEffort, regexp.MustCompile(`reasoning_effort|reasoning\.effort`)},
	{withUsage, regexp.MustCompile(`stream_options|include_usage`)},
	{withStreaming, regexp.MustCompile(`(?i)\bstream(ing)?\b`)},
	{withCompletion, regexp.MustCompile(`max_completion_tokens`)},
	{withCacheKey, regexp.MustCompile(`prompt_cache_key`)},
}

// unsupported says that something is not taken at all, in the ways in which
// servers say it. A wrong value of something that is known is no such case.
var unsupported = regexp.MustCompile(`(?i)not support|unsupported|unrecognized|unknown (parameter|field|argument)|extra (inputs|fields)|not permitted|not allowed|requires? -|not available|does not exist in|no such (parameter|argument)`)

// abilities of one model, as far as they were found out. All are assumed until
// a server refuses one.
type abilities struct {
	mu   sync.Mutex
	lack map[ability]bool
}

func (a *abilities) has(x ability) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return !a.lack[x]
}

// learn reads the error of a refused request; true: something was learnt, and
// the request is worth another try without it. used says what it asked for.
func (a *abilities) learn(err error, used map[ability]bool) (ability, bool) {
	var api *openai.Error
	if !errors.As(err, &api) || api.StatusCode == 401 || api.StatusCode == 403 || api.StatusCode == 429 {
		return "", false
	}
	text := api.Message
	if raw := api.RawJSON(); text == "" {
		text = raw
	}
	if !unsupported.MatchString(text) && api.Code != "unsupported_parameter" && api.Code != "unsupported_value" {
		return "", false
	}
	text = api.Param + " " + text
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, l := range lacking {
		// Others may have learnt it since the request was written: that is worth
		// another try as well.
		if used[l.what] && l.re.MatchString(text) {
			if a.lack == nil {
				a.lack = map[ability]bool{}
			}
			a.lack[l.what] = true
			return l.what, true
		}
	}
	return "", false
}

// missing names what was found to be lacking.
func (a *abilities) missing() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []string
	for _, l := range lacking {
		if a.lack[l.what] && !strings.Contains(strings.Join(out, " "), string(l.what)) {
			out = append(out, string(l.what))
		}
	}
	return strings.Join(out, ", ")
}
