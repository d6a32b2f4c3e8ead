package modeltest

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	yaml "go.yaml.in/yaml/v4"
)

// Scenario is a script: what the server is and how it answers.
type Scenario struct {
	// Models are what GET /v1/models lists; with none, every name is taken.
	Models []string `yaml:"models"`
	// Key is the only API key that is let in; empty: any, but there must be one.
	Key string `yaml:"key"`
	// Context is the largest prompt in (estimated) tokens; 0: no limit.
	Context int `yaml:"context"`
	// Lacks names what a weaker server does not know and refuses: see Lackable.
	Lacks []string `yaml:"lacks"`
	Rules []Rule   `yaml:"rules"`
}

// Rule answers the requests that When fits.
type Rule struct {
	Name   string `yaml:"name"`
	When   When   `yaml:"when"`
	Times  int    `yaml:"times"` // how often it is used; 0: always
	Answer Answer `yaml:"answer"`
	Fault  Fault  `yaml:"fault"`
}

// When says what was asked. All that is set must hold; texts are regular
// expressions, and what their named groups capture is put for ${name} in the
// answer.
type When struct {
	Model    string   `yaml:"model"`     // exact
	System   string   `yaml:"system"`    // text of the system and developer messages
	Any      string   `yaml:"any"`       // text of any message
	Last     string   `yaml:"last"`      // text of the last message
	ResultOf string   `yaml:"result_of"` // the last message answers a call of this tool
	Result   string   `yaml:"result"`    // text of one of the tool results at the end
	Tools    []string `yaml:"tools"`     // all of these are offered
	NoTools  bool     `yaml:"no_tools"`  // none is offered
	Format   string   `yaml:"format"`    // response_format: text, json_object or json_schema
	Turn     int      `yaml:"turn"`      // nth answer of the conversation, from 1

	compiled map[string]*regexp.Regexp
}

// Answer is what the model says.
type Answer struct {
	Text    string `yaml:"text"`
	Refusal string `yaml:"refusal"`
	Calls   []Call `yaml:"calls"`
	// Finish is the finish reason; empty: stop, or tool_calls where there are some.
	Finish string `yaml:"finish"`
	// Pad makes the text at least this many bytes long.
	Pad   int    `yaml:"pad"`
	Usage *Usage `yaml:"usage"`
	// Chunk is how many bytes of text a stream's event carries (24).
	Chunk int `yaml:"chunk"`
	// Delay is waited before the answer begins, Pace between the events.
	Delay time.Duration `yaml:"delay"`
	Pace  time.Duration `yaml:"pace"`
	// Hold keeps the answer back until Release is called with this name; a
	// stream has begun by then.
	Hold string `yaml:"hold"`
}

// Call is one tool call. Arguments that are a text are sent as they are: so
// broken JSON can be scripted.
type Call struct {
	Name      string `yaml:"name"`
	Arguments any    `yaml:"arguments"`
}

// Usage overrides the estimated token counts.
type Usage struct {
	Prompt     int `yaml:"prompt"`
	Cached     int `yaml:"cached"`
	Completion int `yaml:"completion"`
	Reasoning  int `yaml:"reasoning"`
}

// Fault is what goes wrong with an answer.
type Fault struct {
	Status     int    `yaml:"status"`      // of an error answer
	RetryAfter string `yaml:"retry_after"` // header, seconds or an HTTP date
	Code       string `yaml:"code"`
	Message    string `yaml:"message"`
	// Cut ends the connection after this many events of a stream; an answer
	// that is no stream is cut in its middle.
	Cut int `yaml:"cut"`
	// Garbage is sent in place of the JSON, with status 200.
	Garbage string `yaml:"garbage"`
	// Error ends a stream with an error event after Cut events.
	Error bool `yaml:"error"`
}

func (f Fault) any() bool { return f != Fault{} }

// Lackable are the abilities that Scenario.Lacks may name.
var Lackable = []string{"tools", "json_schema", "reasoning_effort", "streaming", "stream_options", "parallel_tool_calls", "max_completion_tokens", "developer", "prompt_cache_key"}

// Load reads a script from a file.
func Load(path string) (*Scenario, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read model script: %w", err)
	}
	s, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("read model script %s: %w", path, err)
	}
	return s, nil
}

// Parse reads a script. Unknown keys are errors, and all problems come at
// once.
func Parse(data []byte) (*Scenario, error) {
	var s Scenario
	if err := yaml.Load(data, &s, yaml.WithKnownFields()); err != nil {
		return nil, err
	}
	var problems []error
	for _, l := range s.Lacks {
		if !slices.Contains(Lackable, l) {
			problems = append(problems, fmt.Errorf("lacks %q: want one of %s", l, strings.Join(Lackable, ", ")))
		}
	}
	if len(s.Rules) == 0 {
		problems = append(problems, errors.New("there is no rule: want at least one under rules"))
	}
	for i := range s.Rules {
		r := &s.Rules[i]
		if r.Name == "" {
			r.Name = fmt.Sprintf("rule %d", i+1)
		}
		for _, err := range r.check() {
			problems = append(problems, fmt.Errorf("%s: %w", r.Name, err))
		}
	}
	return &s, errors.Join(problems...)
}

func (r *Rule) check() (problems []error) {
	w := &r.When
	w.compiled = map[string]*regexp.Regexp{}
	for name, text := range map[string]string{"system": w.System, "any": w.Any, "last": w.Last, "result": w.Result} {
		if text == "" {
			continue
		}
		re, err := regexp.Compile("(?s)" + text)
		if err != nil {
			problems = append(problems, fmt.Errorf("when.%s: %w", name, err))
			continue
		}
		w.compiled[name] = re
	}
	a := r.Answer
	if a.Text == "" && a.Refusal == "" && len(a.Calls) == 0 && a.Pad == 0 && !r.Fault.any() {
		problems = append(problems, errors.New("answers nothing: want answer.text, answer.calls, answer.refusal or a fault"))
	}
	for i, c := range a.Calls {
		if c.Name == "" {
			problems = append(problems, fmt.Errorf("answer.calls[%d] has no name", i))
		}
	}
	if r.Fault.Status != 0 && (r.Fault.Status < 400 || r.Fault.Status > 599) {
		problems = append(problems, fmt.Errorf("fault.status %d: want 400 to 599", r.Fault.Status))
	}
	return problems
}
