package agent

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sort"
	"strings"
	"sync"

	"culprit/internal/agent/tools"
)

// Bounds of what a model is told about one call.
const (
	maxResult   = 16 << 10 // bytes of a page
	maxKept     = 1 << 20  // bytes of a result that further pages are read from
	maxPaged    = 8        // such results that are kept
	maxParallel = 4        // calls that run at a time
	maxRepeats  = 2        // times that the same call is carried out
)

// bench is where the calls of a task are carried out.
type bench struct {
	list   []tools.Tool // in the order in which they are shown
	byName map[string]tools.Tool
	schema map[string]*tools.Compiled
	report *tools.Compiled
	marks  Marks
	redact func(string) string
	notes  []string

	mu    sync.Mutex
	asked map[[32]byte]int
	pages map[string]string
	order []string // of pages
	n     int
}

func newBench(t Task) (*bench, error) {
	b := &bench{
		byName: map[string]tools.Tool{}, schema: map[string]*tools.Compiled{}, marks: t.Marks, redact: t.Redact,
		asked: map[[32]byte]int{}, pages: map[string]string{},
	}
	b.list = append(append([]tools.Tool{}, t.Tools...), b.more(), t.Report.Tool)
	for _, x := range b.list {
		schema, err := x.Parameters.Compile()
		if err != nil {
			return nil, fmt.Errorf("prepare tool %s: %w", x.Name, err)
		}
		if b.byName[x.Name].Name != "" {
			return nil, fmt.Errorf("prepare tools: %s is there twice", x.Name)
		}
		b.byName[x.Name], b.schema[x.Name] = x, schema
	}
	b.report = b.schema[t.Report.Tool.Name]
	return b, nil
}

// more shows further pages of a long result.
func (b *bench) more() tools.Tool {
	return tools.Tool{
		Name:        "more",
		Description: "Shows a further page of a result that was cut. The note under the result says its number and how many pages it has.",
		Parameters: tools.Schema{
			"type": "object", "additionalProperties": false, "required": []string{"result", "page"},
			"properties": map[string]any{
				"result": map[string]any{"type": "string", "description": "number of the result, such as r3"},
				"page":   map[string]any{"type": "integer", "minimum": 2, "description": "from 2"},
			},
		},
		Run: func(_ context.Context, args json.RawMessage) (tools.Result, error) {
			var a struct {
				Result string
				Page   int
			}
			if err := json.Unmarshal(args, &a); err != nil {
				return tools.Result{}, err
			}
			b.mu.Lock()
			text, ok := b.pages[a.Result]
			b.mu.Unlock()
			pages := split(text)
			switch {
			case !ok:
				return tools.Result{}, fmt.Errorf("there is no result %q any more: call the tool again", a.Result)
			case a.Page > len(pages):
				return tools.Result{}, fmt.Errorf("%s has %d pages", a.Result, len(pages))
			}
			return tools.Result{Text: pages[a.Page-1], Note: fmt.Sprintf("[page %d of %d of %s]", a.Page, len(pages), a.Result)}, nil
		},
	}
}

// run carries out the calls with the given numbers; useful: at least one was.
func (b *bench) run(ctx context.Context, calls []Call, which []int, results []result) (useful bool) {
	alone := false
	for _, i := range which {
		alone = alone || b.byName[calls[i].Name].Alone
	}
	good := make([]bool, len(calls))
	room := make(chan struct{}, maxParallel)
	if alone {
		room = make(chan struct{}, 1)
	}
	var wg sync.WaitGroup
	for _, i := range which {
		room <- struct{}{}
		wg.Add(1)
		go func() {
			defer func() { <-room; wg.Done() }()
			results[i], good[i] = b.one(ctx, calls[i])
		}()
	}
	wg.Wait()
	for _, g := range good {
		useful = useful || g
	}
	return useful
}

// one carries out a call. Whatever is wrong with it is told to the model.
func (b *bench) one(ctx context.Context, c Call) (result, bool) {
	what := fmt.Sprintf("%s %s", c.Name, oneLine(c.Arguments, 160))
	fail := func(format string, args ...any) (result, bool) {
		return result{text: "error: " + b.redact(clip(fmt.Sprintf(format, args...), 2<<10)), what: what}, false
	}
	t, ok := b.byName[c.Name]
	if !ok || t.Run == nil {
		b.mu.Lock()
		b.notes = append(b.notes, fmt.Sprintf("the model called a tool that is not there: %s", oneLine(c.Name, 64)))
		b.mu.Unlock()
		return fail("there is no tool %q; there are: %s", clip(c.Name, 64), strings.Join(b.names(), ", "))
	}
	if err := b.schema[c.Name].Check(c.args()); err != nil {
		return fail("the arguments of %s do not fit: %v", c.Name, err)
	}
	if n := b.times(c, t.Alone); n > maxRepeats {
		return fail("you have asked this %d times already, and nothing has changed: use what you were told, ask something else, or report", n-1)
	}
	if ctx.Err() != nil {
		return fail("not run: the time is over")
	}
	r, err := t.Run(ctx, c.args())
	if err != nil {
		// It may name files and links as the repository has them.
		return result{text: "error:\n" + b.marks.Block(what, b.redact(clip(err.Error(), 2<<10))), what: what}, false
	}
	return result{text: b.shown(what, r), what: what}, true
}

func (b *bench) names() []string {
	var out []string
	for name := range b.byName {
		out = append(out, name)
	}
	sort.Strings(out)
	return out
}

// times counts how often the call was made since something was changed.
func (b *bench) times(c Call, changes bool) int {
	key := sha256.Sum256([]byte(c.Name + "\x00" + c.Arguments))
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.asked[key] + 1
	if changes {
		clear(b.asked)
	}
	b.asked[key] = n
	return n
}

// shown is what the model sees of a result: its first page, marked as data.
func (b *bench) shown(what string, r tools.Result) string {
	text := b.redact(strings.ToValidUTF8(r.Text, "�"))
	note := r.Note
	if pages := split(text); len(pages) > 1 {
		id := b.keepPages(text)
		note = strings.TrimSpace(note + fmt.Sprintf("\n[page 1 of %d of %s: %d of %d bytes are shown; more {\"result\":%q,\"page\":2} shows the next]", len(pages), id, len(pages[0]), len(text), id))
		text = pages[0]
	}
	out := ""
	if text != "" {
		out = b.marks.Block(what, text)
	}
	return strings.TrimSpace(out + "\n" + note)
}

func (b *bench) keepPages(text string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.n++
	id := fmt.Sprintf("r%d", b.n)
	b.pages[id] = text
	if b.order = append(b.order, id); len(b.order) > maxPaged {
		delete(b.pages, b.order[0])
		b.order = b.order[1:]
	}
	return id
}

// split cuts a text into pages at line ends where there are some.
func split(text string) (pages []string) {
	if len(text) > maxKept {
		text = strings.ToValidUTF8(text[:maxKept], "") + fmt.Sprintf("\n[%d bytes more are not kept]", len(text)-maxKept)
	}
	for len(text) > maxResult {
		n := strings.LastIndexByte(text[:maxResult], '\n') + 1
		if n < maxResult/2 {
			n = maxResult
			for n > 0 && text[n]&0xc0 == 0x80 {
				n--
			}
		}
		pages = append(pages, text[:n])
		text = text[n:]
	}
	return append(pages, text)
}
