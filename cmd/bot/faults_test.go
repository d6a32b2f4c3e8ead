package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"culprit/internal/githubtest"
)

// A mishap is what goes wrong with a call.
type mishap struct {
	name  string
	fault githubtest.Fault
	slow  bool // it is over when the client's time is
}

var mishaps = []mishap{
	{name: "timeout", fault: githubtest.Fault{Latency: time.Hour}, slow: true},
	{name: "500", fault: githubtest.Fault{Status: 500}},
	{name: "502 page", fault: githubtest.BadGateway()},
	{name: "401", fault: githubtest.Fault{Status: 401, Body: `{"message":"Bad credentials"}`}},
	{name: "403 secondary", fault: githubtest.SecondaryRateLimit(403, time.Second)},
	{name: "404", fault: githubtest.Fault{Status: 404}},
	{name: "409", fault: githubtest.Fault{Status: 409}},
	{name: "422", fault: githubtest.Fault{Status: 422}},
	{name: "truncated", fault: githubtest.Fault{Truncate: true}},
	{name: "answer lost", fault: githubtest.Fault{Late: true, Drop: true}},
}

// An apiCall is a call that the bot makes in a flow.
type apiCall struct {
	method, route string
	flow          int
	first         bool // no flow before makes it
}

func (c apiCall) String() string { return c.method + " " + c.route }

// callsOf plays each flow once without a mishap and collects the calls: one that
// is new in the product is new in the matrix.
func callsOf(t *testing.T, w *faultWorld) (calls []apiCall) {
	t.Helper()
	seen, inFlow := map[string]bool{}, map[apiCall]bool{}
	for n, f := range flows {
		b := w.startBot(10*time.Second, 3)
		x := f.begin(w)
		err := b.settle()
		end, wrong := b.look(x)
		b.stop()
		if err != nil {
			t.Fatalf("%s without a mishap: %v", f.name, err)
		}
		if end != asWanted || len(wrong) > 0 {
			t.Fatalf("%s without a mishap ends %s: %q", f.name, end, wrong)
		}
		for _, call := range b.calls() {
			c := apiCall{method: call.Method, route: call.Route, flow: n}
			if c.route == "" || inFlow[c] {
				continue
			}
			inFlow[c] = true
			c.first = !seen[c.String()]
			seen[c.String()] = true
			calls = append(calls, c)
		}
	}
	return calls
}

// suffer plays a flow in which some of its calls have a mishap, each once or,
// one alone, until the jobs have ended.
func (w *faultWorld) suffer(m mishap, forGood bool, calls ...apiCall) (ending, []string) {
	w.t.Helper()
	timeout := 10 * time.Second
	if m.slow {
		timeout = time.Second // normal calls are answered within it on a busy machine
	}
	m.fault.Times = 1
	if forGood {
		m.fault.Times = 0
		if strings.Contains(m.name, "secondary") {
			m.fault.Times = 8 // it costs no attempt, and no job ends by it
		}
	}
	b := w.startBot(timeout, 2+len(calls))
	var injected []*githubtest.Injected
	for _, c := range calls {
		injected = append(injected, w.github.Inject(m.fault.On(c.method, c.route)))
	}
	x := flows[calls[0].flow].begin(w)
	err := b.ends()
	hits := 0
	for _, in := range injected {
		hits += in.Hits()
		in.Remove()
	}
	if err == nil {
		err = b.settle()
	}
	s := m.fault.Status
	// A label that was refused once is not tried again: it is an ornament.
	if label := strings.Contains(calls[0].route, "/labels"); (forGood || label) && (s == 404 || s == 409 || s == 422) {
		x.refused = calls[0].String()
	}
	if s == 404 {
		x.missing = calls[0].String()
	}
	end, wrong := b.look(x)
	b.stop()
	if err != nil {
		wrong = append(wrong, "stuck: "+err.Error())
	}
	if hits == 0 {
		end = notMade // which webhook comes first decides about some reads
	}
	return end, wrong
}

// Every call that the bot makes has every mishap, alone, once and for good. That
// takes minutes: CULPRIT_FAULTS=all, or a part of the call's name; `make faults`.
func TestWhateverCallFailsNoSessionIsLostDoubledOrStuck(t *testing.T) {
	t.Parallel()
	which := os.Getenv("CULPRIT_FAULTS")
	if which == "" {
		t.Skip("make faults runs it; TestWhenAllCallsFailOnceNoSessionIsLostDoubledOrStuck is its part for every day")
	}
	calls := slices.DeleteFunc(callsOf(t, newFaultWorld(t)), func(c apiCall) bool { return !c.first || which != "all" && !strings.Contains(c.String(), which) })
	figures := newFaultFigures()
	t.Run("calls", func(t *testing.T) {
		for _, m := range mishaps {
			t.Run(m.name, func(t *testing.T) {
				t.Parallel()
				w := newFaultWorld(t)
				for _, c := range calls {
					// git gives a stalled connection a minute (package checkout).
					if m.slow && strings.Contains(c.route, ".git/") {
						continue
					}
					for _, forGood := range []bool{false, true} {
						end, wrong := w.suffer(m, forGood, c)
						figures.add(c.String(), m.name, end, wrong)
						for _, problem := range wrong {
							t.Errorf("%s in %q, for good %t: %s", c, flows[c.flow].name, forGood, problem)
						}
					}
				}
			})
		}
	})
	w := newFaultWorld(t)
	for _, o := range orders {
		for n, f := range flows {
			end, wrong := w.arrive(o, n)
			figures.add("webhooks "+o.name, "", end, wrong)
			for _, problem := range wrong {
				t.Errorf("webhooks of %q arrive %s: %s", f.name, o.name, problem)
			}
		}
	}
	figures.print(len(calls))
}

// An order in which webhooks arrive: GitHub promises none, and sends some twice.
type order struct {
	name    string
	arrange func(ids []int64) []int64
}

var orders = []order{
	{"twice", func(ids []int64) (out []int64) {
		for _, id := range ids {
			out = append(out, id, id)
		}
		return out
	}},
	{"backwards", func(ids []int64) []int64 { slices.Reverse(ids); return ids }},
	{"backwards, twice", func(ids []int64) []int64 { slices.Reverse(ids); return append(ids, ids...) }},
}

// arrive plays a flow whose webhooks come in another order.
func (w *faultWorld) arrive(o order, n int) (ending, []string) {
	w.t.Helper()
	b := w.startBot(10*time.Second, 3)
	defer b.stop()
	w.must(w.github.SetWebhook(w.app.ID, nobody, w.app.WebhookSecret))
	before := len(w.github.Deliveries(w.app.ID))
	x := flows[n].begin(w)
	w.must(b.settle())
	var ids []int64
	for _, d := range w.github.Deliveries(w.app.ID)[before:] {
		ids = append(ids, d.ID)
	}
	w.must(w.github.SetWebhook(w.app.ID, b.address, w.app.WebhookSecret))
	for _, id := range o.arrange(ids) {
		w.must(w.github.Redeliver(w.app.ID, id))
	}
	err := b.settle()
	end, wrong := b.look(x)
	if err != nil {
		wrong = append(wrong, "stuck: "+err.Error())
	}
	return end, wrong
}

// The part for every day: all calls of a flow have the same mishap once, so that
// every attempt of its jobs ends at another call. A lost answer doubles what is
// taken for not done, half an answer loses what is taken for all. And each write
// is refused for good, which is lost if nobody is told.
func TestWhenAllCallsFailOnceNoSessionIsLostDoubledOrStuck(t *testing.T) {
	t.Parallel()
	w := newFaultWorld(t)
	calls := callsOf(t, w)
	for n, f := range flows {
		if _, wrong := w.arrive(orders[len(orders)-1], n); len(wrong) > 0 {
			t.Errorf("webhooks of %q arrive backwards and twice: %q", f.name, wrong)
		}
	}
	say := func(c apiCall, what string, wrong []string) {
		for _, problem := range wrong {
			t.Errorf("%s in %q: %s: %s", what, flows[c.flow].name, c, problem)
		}
	}
	for n := range flows {
		ofFlow := slices.DeleteFunc(slices.Clone(calls), func(c apiCall) bool { return c.flow != n })
		for _, m := range mishaps {
			if m.name == "answer lost" || m.name == "truncated" {
				_, wrong := w.suffer(m, false, ofFlow...)
				say(ofFlow[0], m.name+" of every call", wrong)
			}
		}
	}
	for _, c := range calls {
		if c.first && c.method != "GET" && !strings.Contains(c.route, ".git/") {
			_, wrong := w.suffer(mishap{name: "422", fault: githubtest.Fault{Status: 422}}, true, c)
			say(c, "422 for good", wrong)
		}
	}
}

// faultFigures count how cases ended.
type faultFigures struct {
	mu    sync.Mutex
	rows  map[string]map[string]map[ending]int // call, mishap
	cases int
	wrong map[string]int // lost, doubled, stuck
}

func newFaultFigures() *faultFigures {
	return &faultFigures{rows: map[string]map[string]map[ending]int{}, wrong: map[string]int{}}
}

func (f *faultFigures) add(call, mishap string, end ending, wrong []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.rows[call] == nil {
		f.rows[call] = map[string]map[ending]int{}
	}
	if f.rows[call][mishap] == nil {
		f.rows[call][mishap] = map[ending]int{}
	}
	f.cases++
	f.rows[call][mishap][end]++
	for _, problem := range wrong {
		kind, _, _ := strings.Cut(problem, ":")
		f.wrong[kind]++
	}
}

// print writes the table: of the cases of a call and a mishap, how many ended as
// wanted/refused/told/gone.
func (f *faultFigures) print(calls int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	head := "call"
	for _, m := range mishaps {
		head += "\t" + m.name
	}
	fmt.Fprintln(w, head)
	for _, call := range slices.Sorted(maps.Keys(f.rows)) {
		line := call
		if n := f.rows[call][""]; n != nil {
			fmt.Fprintf(w, "%s\t%d/%d/%d/%d\n", call, n[asWanted], n[refused], n[told], n[gone])
			continue
		}
		for _, m := range mishaps {
			n := f.rows[call][m.name]
			line += fmt.Sprintf("\t%d/%d/%d/%d", n[asWanted], n[refused], n[told], n[gone])
		}
		fmt.Fprintln(w, line)
	}
	_ = w.Flush()
	idle := 0
	for _, row := range f.rows {
		for _, n := range row {
			idle += n[notMade]
		}
	}
	fmt.Printf("calls %d, mishaps %d, cases %d (%d without the call): sessions lost %d, doubled %d, stuck %d\n",
		calls, len(mishaps), f.cases, idle, f.wrong["lost"], f.wrong["doubled"], f.wrong["stuck"])
}
