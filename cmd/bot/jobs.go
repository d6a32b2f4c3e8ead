package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/pflag"

	"culprit/internal/redact"
	"culprit/internal/session"
	"culprit/queue"
)

// jobsVerb is one verb of `bot jobs` (GH4).
type jobsVerb struct {
	name, args, help, more string
	queues                 string // which of them without --queue
	flags                  func(fs *pflag.FlagSet, f *jobsFlags)
	run                    func(j *jobsRun) error
}

// What a verb looks at without --queue.
const (
	bothQueues   = "both"
	selectQueues = "both for IDs, sessions for jobs that are selected by flags"
)

// jobsVerbs is the table of verbs, in the order of the help text.
func jobsVerbs() []jobsVerb {
	return []jobsVerb{
		{"list", "", "list jobs: those that have not ended, and the dead ones",
			"Newest ends first; waiting jobs oldest first. STATE is one of " + stateNames() + ", or all.",
			sessionsQueue, jobsListFlags, (*jobsRun).list},
		{"show", "ID", "show all that is known of a job, and what can be done",
			"", bothQueues, jobsJSONFlag, (*jobsRun).show},
		{"retry", "[ID...]", "run ended jobs again from their last checkpoint; snoozed and retrying ones now",
			"Give IDs, or select jobs by flags: without --state the dead ones.",
			selectQueues, jobsChangeFlags, (*jobsRun).retry},
		{"cancel", "[ID...]", "call jobs off: waiting ones end now, running ones are asked to stop",
			"Give IDs, or select jobs by flags: without --state all that have not ended.",
			selectQueues, jobsCancelFlags, (*jobsRun).cancel},
		{"pause", "", "stop all workers from claiming; running jobs go on and new ones are still taken in",
			"", bothQueues, nil, (*jobsRun).pause},
		{"drain", "", "pause, and wait until no job runs any more",
			"The queue stays paused when it ends, also when the time was over before: `bot jobs resume`.",
			bothQueues, jobsDrainFlags, (*jobsRun).drain},
		{"resume", "", "undo pause and drain", "", bothQueues, nil, (*jobsRun).resume},
	}
}

// jobsFlags are the flags of all verbs; each verb has some of them.
type jobsFlags struct {
	states                   []string
	repository, installation string
	reason, queue            string
	limit                    int
	json, dryRun             bool
	timeout                  time.Duration
}

func jobsJSONFlag(fs *pflag.FlagSet, f *jobsFlags) {
	fs.BoolVar(&f.json, "json", false, "print JSON")
}

func jobsSelectFlags(fs *pflag.FlagSet, f *jobsFlags) {
	fs.StringSliceVar(&f.states, "state", nil, "only jobs in this `STATE`; several with commas")
	fs.StringVar(&f.repository, "repository", "", "only jobs of this `OWNER/NAME`")
	fs.StringVar(&f.installation, "installation", "", "only jobs of the installation with this `ID`")
}

func jobsListFlags(fs *pflag.FlagSet, f *jobsFlags) {
	jobsSelectFlags(fs, f)
	fs.IntVar(&f.limit, "limit", 50, "most jobs to list; 0: all")
	jobsJSONFlag(fs, f)
}

func jobsChangeFlags(fs *pflag.FlagSet, f *jobsFlags) {
	jobsSelectFlags(fs, f)
	fs.IntVar(&f.limit, "limit", 0, "most jobs to select by flags; 0: all")
	fs.BoolVar(&f.dryRun, "dry-run", false, "change nothing; say which jobs would be")
	jobsJSONFlag(fs, f)
}

func jobsCancelFlags(fs *pflag.FlagSet, f *jobsFlags) {
	jobsChangeFlags(fs, f)
	fs.StringVar(&f.reason, "reason", "called off by an operator", "`TEXT` that people read on GitHub")
}

func jobsDrainFlags(fs *pflag.FlagSet, f *jobsFlags) {
	fs.DurationVar(&f.timeout, "timeout", 0, "stop waiting after this `TIME` with exit code 5 (default: wait for ever)")
}

func stateNames() string {
	var names []string
	for _, s := range queue.States() {
		names = append(names, string(s))
	}
	return strings.Join(names, ", ")
}

const jobsExitCodes = "Exit codes: 0 done, 2 usage, no such job or not possible in its state, 5 stopped or time over, 70 internal error.\n"

func (a *App) jobs(ctx context.Context, args []string) int {
	help := len(args) > 0 && (args[0] == "-h" || args[0] == "--help" || args[0] == "help")
	if len(args) == 0 || help {
		w, code := a.Stderr, exitUsage
		if help {
			w, code = a.Stdout, exitOK
		}
		fmt.Fprint(w, "usage: bot jobs VERB [flags]\n\nShows and steers the jobs of the queue that REDIS_URL names; needs nothing else.\n\n")
		for _, v := range jobsVerbs() {
			fmt.Fprintf(w, "  %-7s %-8s %s\n", v.name, v.args, v.help)
		}
		fmt.Fprint(w, "\n`bot jobs VERB --help` lists the flags of a verb.\n"+jobsExitCodes)
		return code
	}
	at := slices.IndexFunc(jobsVerbs(), func(v jobsVerb) bool { return v.name == args[0] })
	if at < 0 {
		return a.usageError("jobs", fmt.Errorf("unknown verb %q", args[0]))
	}
	return a.jobsVerb(ctx, jobsVerbs()[at], args[1:])
}

// jobsVerb reads a verb's flags, opens the queue and runs the verb on it.
func (a *App) jobsVerb(ctx context.Context, v jobsVerb, args []string) int {
	j := &jobsRun{App: a, ctx: ctx}
	fs := pflag.NewFlagSet(v.name, pflag.ContinueOnError)
	fs.SortFlags = false
	fs.Usage = func() {}
	if v.flags != nil {
		v.flags(fs, &j.flags)
	}
	fs.StringVar(&j.flags.queue, "queue", "", "only this `QUEUE`: sessions, or commands (what people want, until it is checked); default: "+v.queues)
	switch err := fs.Parse(args); {
	case errors.Is(err, pflag.ErrHelp):
		fmt.Fprintf(a.Stdout, "usage: bot jobs %s\n\n%s\n", strings.TrimSpace(v.name+" "+v.args), upperFirst(v.help)+".")
		if v.more != "" {
			fmt.Fprintln(a.Stdout, v.more)
		}
		fmt.Fprintf(a.Stdout, "\n%s\n%s", fs.FlagUsages(), jobsExitCodes)
		return exitOK
	case err != nil:
		return a.usageError("jobs "+v.name, err)
	}
	j.ids = fs.Args()
	if err := j.check(v); err != nil {
		return a.usageError("jobs "+v.name, err)
	}
	done, err := j.open()
	if err == nil {
		defer done()
		err = v.run(j)
	}
	if err != nil {
		return a.fail(err)
	}
	return j.code
}

// jobsRun is one call of a verb.
type jobsRun struct {
	*App
	ctx    context.Context //nolint:containedctx // it lives as long as the call
	flags  jobsFlags
	ids    []string
	states []queue.State // that --state names; nil: it was not given
	queues []namedQueue  // those to look at, that of sessions first
	code   int           // exit code when nothing is wrong with the call as a whole
}

// namedQueue is a queue with the name that people know it by.
type namedQueue struct {
	*queue.Queue
	name string
}

// check looks at the command line as a whole.
func (j *jobsRun) check(v jobsVerb) error {
	var problems []error
	switch {
	case v.args == "" && len(j.ids) > 0:
		problems = append(problems, fmt.Errorf("%s takes no argument: %q", v.name, j.ids[0]))
	case v.args == "ID" && len(j.ids) != 1:
		problems = append(problems, errors.New("give one job ID; `bot jobs list` shows them"))
	}
	for _, id := range j.ids {
		if !isJobID(id) {
			problems = append(problems, fmt.Errorf("%q is not a job ID: want 18 letters and digits, as `bot jobs list` shows them", id))
		}
	}
	for _, name := range j.flags.states {
		switch {
		case name == "all":
			j.states = queue.States()
		case slices.Contains(queue.States(), queue.State(name)):
			j.states = append(j.states, queue.State(name))
		default:
			problems = append(problems, fmt.Errorf("--state %q: want %s, or all", name, stateNames()))
		}
	}
	if q := j.flags.queue; q != "" && q != sessionsQueue && q != commandsQueue {
		problems = append(problems, fmt.Errorf("--queue %q: want %s or %s", q, sessionsQueue, commandsQueue))
	}
	if j.flags.limit < 0 {
		problems = append(problems, fmt.Errorf("--limit %d: want 0 or more", j.flags.limit))
	}
	if j.flags.timeout < 0 {
		problems = append(problems, fmt.Errorf("--timeout %s: want a time such as 30m", j.flags.timeout))
	}
	if v.args == "[ID...]" && len(problems) == 0 {
		selected := j.states != nil || j.flags.repository != "" || j.flags.installation != ""
		switch {
		case selected && len(j.ids) > 0:
			problems = append(problems, errors.New("give job IDs, or select jobs by flags, not both"))
		case !selected && len(j.ids) == 0:
			problems = append(problems, errors.New("say which jobs: IDs, or --state, --repository, --installation"))
		}
	}
	return errors.Join(problems...)
}

// isJobID reports whether s can be one, so that a mistyped flag or path is not
// looked up.
func isJobID(s string) bool {
	return len(s) == 18 && !strings.ContainsFunc(s, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
}

// open connects to the queue. Limits decide who stands in the line, and those
// of the workers count: so this program, which runs nothing, has none.
func (j *jobsRun) open() (done func(), err error) {
	address, _ := j.LookupEnv("REDIS_URL")
	if address == "" {
		return nil, &session.UserError{Code: "redis-url", What: "REDIS_URL is not set", Do: "set it to the Redis that serve and work use; an embedded one cannot be reached from outside"}
	}
	client, at, err := redisClient(address, redisFiles(j.LookupEnv))
	if err != nil {
		return nil, err
	}
	redis.SetLogger(redisSilent{}) // what matters comes back as an error
	for _, q := range []struct{ name, prefix string }{{sessionsQueue, ""}, {commandsQueue, commandsPrefix}} {
		if j.flags.queue != "" && j.flags.queue != q.name {
			continue
		}
		opened, err := queue.Open(j.ctx, queue.Options{Redis: client, Prefix: q.prefix, Limits: queue.Limits{Repository: -1, Installation: -1, Total: -1}})
		if err == nil {
			j.queues = append(j.queues, namedQueue{opened, q.name})
			continue
		}
		_ = client.Close()
		if j.ctx.Err() != nil {
			return nil, j.ctx.Err()
		}
		return nil, &session.UserError{Code: "redis-away", What: "Redis does not answer", Do: "check REDIS_URL and that the server runs: " + redact.New(append(at.Secrets(), address)...).String(err.Error()), Err: err}
	}
	return func() { _ = client.Close() }, nil
}

type redisSilent struct{}

func (redisSilent) Printf(context.Context, string, ...any) {}

// filter selects by the flags; without --state these states.
func (j *jobsRun) filter(states []queue.State) queue.Filter {
	if j.states != nil {
		states = j.states
	}
	return queue.Filter{States: states, Repository: j.flags.repository, Installation: j.flags.installation}
}

// note prints a line for people beside the output proper.
func (j *jobsRun) note(format string, args ...any) {
	fmt.Fprintln(j.Stderr, printable(fmt.Sprintf(format, args...)))
}

// printJSON prints v. Control and direction characters that JSON may have raw
// are escaped, since people read it on terminals too.
func printJSON(w io.Writer, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("encode jobs: %w", err)
	}
	var b strings.Builder
	for _, r := range string(data) {
		if r != '\n' && unprintable(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
			continue
		}
		b.WriteRune(r)
	}
	_, err = fmt.Fprintln(w, b.String())
	return err
}

func upperFirst(s string) string {
	for i, r := range s {
		return string(unicode.ToUpper(r)) + s[i+len(string(r)):]
	}
	return s
}
