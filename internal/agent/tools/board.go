package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"culprit/internal/session"
)

// maxBoard lines are shown, the newest.
const maxBoard = 60

func (d *Desk) boardRead() Tool {
	return typed(Tool{
		Name:        "board_read",
		Description: "Shows what the workers of this session have found and shared. Look here before you look for yourself.",
		Parameters:  object(nil),
	}, func(context.Context, struct{}) (Result, error) {
		list, err := d.Board.Discoveries()
		if err != nil {
			return Result{}, err
		}
		if len(list) == 0 {
			return Result{Note: "[the board is empty]"}, nil
		}
		var b strings.Builder
		for _, x := range list[max(0, len(list)-maxBoard):] {
			data, err := json.Marshal(x.Data)
			if err != nil {
				continue
			}
			fmt.Fprintf(&b, "%s %s: %s\n", x.Worker, x.Type, clipLine(string(data)))
		}
		return Result{Text: b.String(), Note: fmt.Sprintf("[%d discoveries, the newest %d are shown]", len(list), min(len(list), maxBoard))}, nil
	})
}

// shared are the types of discovery that a model may add. Causes, evidence and
// fixes are written by the pipeline, from what was checked.
var shared = []string{"code_pattern", "integration_point", "convention", "blocker", "tech_stack", "affected_component", "reproduction_path"}

func (d *Desk) boardAdd() Tool {
	kinds := make([]any, len(shared))
	for i, s := range shared {
		kinds[i] = s
	}
	return typed(Tool{
		Name: "board_add",
		Description: "Shares something that other workers can use. Data by type: code_pattern {name, file, description}; integration_point {file, description, exports}; convention {naming, imports, formatting}; " +
			"blocker {issue, severity, impact}; tech_stack {framework, language, tools}; affected_component {component, files, impact}; reproduction_path {trigger, steps, frequency}.",
		Parameters: object(map[string]Schema{
			"type": {"type": "string", "enum": kinds, "description": "what it is"},
			"data": {"type": "object", "description": "its fields, see above"},
		}),
	}, func(_ context.Context, a struct {
		Type string
		Data map[string]any
	}) (Result, error) {
		if data, err := json.Marshal(a.Data); err != nil || len(data) > 4<<10 {
			return Result{}, fmt.Errorf("the data is larger than 4 KiB: say it shorter")
		}
		added, err := d.Board.Discover(session.Discovery{TS: d.Now().UTC(), Worker: d.Source, Type: a.Type, Data: a.Data})
		if err != nil {
			return Result{}, err
		}
		if !added {
			return Result{Note: "[it is on the board already]"}, nil
		}
		return Result{Note: "[added]"}, nil
	})
}
