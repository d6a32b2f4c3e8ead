package session

import "time"

// Entry is one line of evidence.ndjson, the append-only trail (OD3). Phase
// says which of the optional fields are set.
type Entry struct {
	TS      time.Time `json:"ts"`
	Phase   string    `json:"phase"` // archaeology, explore, diagnosis, experiment, discovery, decision, self-iteration
	Type    string    `json:"type,omitempty"`
	Source  string    `json:"source,omitempty"`
	Content string    `json:"content,omitempty"`
	Note    string    `json:"note,omitempty"`

	// archaeology
	SHA       string    `json:"sha,omitempty"`
	Author    string    `json:"author,omitempty"`
	Date      time.Time `json:"date,omitzero"`
	Message   string    `json:"message,omitempty"`
	Relevance Relevance `json:"relevance,omitempty"`
	// diagnosis
	Hypothesis string `json:"hypothesis,omitempty"`
	Result     string `json:"result,omitempty"` // confirmed, disproved, inconclusive
	// experiment
	Name       string  `json:"name,omitempty"`
	Task       string  `json:"task,omitempty"`
	Command    string  `json:"command,omitempty"`
	Commit     string  `json:"commit,omitempty"`
	Key        string  `json:"key,omitempty"` // equal for repetitions of one trial
	Outcome    Outcome `json:"outcome,omitempty"`
	Reason     string  `json:"reason,omitempty"`
	Exit       int     `json:"exit,omitempty"`
	TimedOut   bool    `json:"timed_out,omitempty"`
	Runs       int     `json:"runs,omitempty"`
	Failures   int     `json:"failures,omitempty"`
	DurationMS int64   `json:"duration_ms,omitempty"`
	// decision
	Question   string   `json:"question,omitempty"`
	Options    []string `json:"options,omitempty"`
	Context    string   `json:"context,omitempty"`
	Status     string   `json:"status,omitempty"`
	Resolution string   `json:"resolution,omitempty"`
}

// Discovery is one line of discoveries.ndjson, the board that all workers of
// a session share (QD12).
type Discovery struct {
	TS     time.Time      `json:"ts"`
	Worker string         `json:"worker"`
	Type   string         `json:"type"`
	Data   map[string]any `json:"data"`
}

// dedupKeys names the fields that make a discovery of a type unique; a type
// with none is a singleton of the session.
var dedupKeys = map[string][]string{
	"code_pattern": {"name"}, "integration_point": {"file"}, "convention": nil, "blocker": {"issue"},
	"tech_stack": nil, "root_cause": {"location"}, "hypothesis_evidence": {"hypothesis", "location"},
	"affected_component": {"component"}, "reproduction_path": {"trigger"}, "fix_applied": {"location"},
	"test_pattern": {"name"}, "mock_setup": {"target"}, "fixture": {"name"},
}

// DedupKey identifies the discovery; ok is false for an unknown type.
func (d Discovery) DedupKey() (key string, ok bool) {
	fields, ok := dedupKeys[d.Type]
	if !ok {
		return "", false
	}
	key = d.Type
	for _, f := range fields {
		v, _ := d.Data[f].(string)
		key += "\x00" + v
	}
	return key, true
}
