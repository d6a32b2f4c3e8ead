package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"culprit/internal/agent/roster"
	"culprit/internal/checkout"
	"culprit/internal/eval"
	"culprit/internal/redact"
	"culprit/internal/sandbox"
	"culprit/internal/session"
)

// evalFlags are the flags of `bot eval` (BX6).
type evalFlags struct {
	out, results, mirror, filter, mode, sandbox string
	concurrency, maxRuns                        int
	timeout, runTimeout                         time.Duration
	noModel, again, markdown, verbose           bool
	failOnWorse                                 bool // of compare
}

func evalFlagSet(f *evalFlags) *pflag.FlagSet {
	fs := pflag.NewFlagSet("eval", pflag.ContinueOnError)
	fs.SortFlags = false
	fs.Usage = func() {}
	fs.StringVar(&f.mirror, "mirror", "", "folder with clones that stand for repositories: OWNER/NAME, OWNER+NAME or NAME in it, or a folder repo in one of these")
	fs.StringVar(&f.filter, "filter", "", "regular expression: only cases whose ID matches")
	fs.IntVarP(&f.concurrency, "concurrency", "c", 1, "cases at a time")
	fs.DurationVar(&f.timeout, "timeout", time.Hour, "longest time of the session of one case")
	fs.DurationVar(&f.runTimeout, "run-timeout", 10*time.Minute, "longest time of one run of a test command")
	fs.IntVar(&f.maxRuns, "max-runs", 0, "most experiment runs of a session (default 400)")
	fs.StringVar(&f.mode, "mode", "full", "quick, full or deep")
	fs.BoolVar(&f.noModel, "no-model", false, "ask no model, though one is configured")
	fs.StringVar(&f.sandbox, "sandbox", "auto", "auto, bwrap, landlock or off (off: the code of a case could find the truth)")
	fs.StringVar(&f.out, "out", "", "folder for clones, caches, sessions and results (default: eval/MANIFEST in the data folder)")
	fs.StringVar(&f.results, "results", "", "file of results (default: results.jsonl in --out)")
	fs.BoolVar(&f.again, "again", false, "run also cases that have a result of this program and these settings")
	fs.BoolVar(&f.markdown, "markdown", false, "print the summary as Markdown")
	fs.BoolVarP(&f.verbose, "verbose", "v", false, "print the sessions' progress")
	fs.BoolVar(&f.failOnWorse, "fail-on-worse", false, "compare: exit with 1 unless every case that ran in A is at least as good in B")
	return fs
}

const evalUsage = `usage: bot eval MANIFEST [flags]
       bot eval compare A.jsonl B.jsonl [--fail-on-worse]

Replays bugs whose cause and fix are known (docs/eval.md), each in a session that sees no later history, and counts how often the product
is right. One line of JSON per case is appended at once: a run that was stopped goes on where it was. Models are those of the environment.
`

func (a *App) eval(ctx context.Context, args []string) int {
	var f evalFlags
	fs := evalFlagSet(&f)
	err := fs.Parse(args)
	if errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintf(a.Stdout, "%s\n%s\n", evalUsage, fs.FlagUsages())
		fmt.Fprint(a.Stdout, "Exit codes: 0 every case was run, whatever came out; 1 a case was not run or broke, or it got worse; 2 usage; 5 stopped; 70 internal error.\n")
		return exitOK
	}
	if err != nil {
		return a.usageError("eval", err)
	}
	if fs.Arg(0) == "compare" {
		return a.evalCompare(fs.Args()[1:], f.failOnWorse)
	}
	o, err := f.check(fs.Args())
	if err != nil {
		return a.usageError("eval", err)
	}
	m, err := eval.Load(fs.Arg(0))
	if bad := (*eval.ManifestError)(nil); errors.As(err, &bad) {
		fmt.Fprintf(a.Stderr, "bot eval: %s\n", printableLines(bad.Error()))
		return exitUsage
	}
	if err != nil {
		return a.usageError("eval", err)
	}
	code, err := a.evalRun(ctx, f, o, fs.Arg(0), m)
	if err != nil {
		return a.fail(err)
	}
	return code
}

// check holds the flags together; all problems come at once.
func (f evalFlags) check(args []string) (o eval.Options, err error) {
	var problems []error
	if len(args) != 1 {
		problems = append(problems, fmt.Errorf("want one MANIFEST, got %q", args))
	}
	if f.failOnWorse {
		problems = append(problems, errors.New("--fail-on-worse is for bot eval compare"))
	}
	if m := session.Mode(f.mode); m != session.Quick && m != session.Full && m != session.Deep {
		problems = append(problems, fmt.Errorf("--mode %q: want quick, full or deep", f.mode))
	}
	if f.concurrency < 1 || f.concurrency > 64 {
		problems = append(problems, fmt.Errorf("-c %d: want 1 to 64", f.concurrency))
	}
	if f.maxRuns < 0 || f.timeout <= 0 || f.runTimeout <= 0 {
		problems = append(problems, errors.New("--max-runs, --timeout and --run-timeout must be positive"))
	}
	if f.mirror != "" {
		if info, err := os.Stat(f.mirror); err != nil || !info.IsDir() {
			problems = append(problems, fmt.Errorf("--mirror %s: there is no such folder", f.mirror))
		}
	}
	if f.filter != "" {
		o.Filter, err = regexp.Compile(f.filter)
		if err != nil {
			problems = append(problems, fmt.Errorf("--filter: %w", err))
		}
	}
	o.Parallel, o.Again = f.concurrency, f.again
	return o, errors.Join(problems...)
}

// evalRun runs the cases and prints what came out.
func (a *App) evalRun(ctx context.Context, f evalFlags, o eval.Options, manifest string, m *eval.Manifest) (code int, err error) {
	if f.out == "" {
		data, err := a.dataFolder()
		if err != nil {
			return 0, err
		}
		f.out = filepath.Join(data, "eval", strings.TrimSuffix(filepath.Base(manifest), filepath.Ext(manifest)))
	}
	if f.out, err = filepath.Abs(f.out); err != nil {
		return 0, err
	}
	if err := os.MkdirAll(f.out, 0o755); err != nil {
		return 0, fmt.Errorf("make folder of results: %w", err)
	}
	o.Results = f.results
	if o.Results == "" {
		o.Results = filepath.Join(f.out, "results.jsonl")
	}
	red := redact.New()
	var llm *models
	if !f.noModel {
		if llm, err = a.localModels(red); err != nil {
			return 0, err
		}
	}
	defer llm.close()
	box, err := a.localSandbox(f.sandbox)
	if err != nil {
		return 0, err
	}
	cache, err := checkout.OpenCache(filepath.Join(f.out, "repositories"))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, cache.Close()) }()
	screen := newScreen(a.Stderr, a.Now, false)
	defer screen.Close()
	if box.Name() == sandbox.Off {
		screen.Line("note: without a sandbox that hides files, the code of a case could find the truth")
	}
	o.Version, o.Now = evalVersion(), a.Now
	o.Settings = fmt.Sprintf("models %s, mode %s, max runs %d, timeout %s, run timeout %s, sandbox %s", llm.names(), f.mode, f.maxRuns, f.timeout, f.runTimeout, box.Name())
	screen.Line("%s; %s", o.Version, o.Settings)
	screen.Line("results go to %s", o.Results)
	ended := 0
	o.Started = func(c eval.Case) { screen.Line("%s: begins", c.ID) }
	o.Ended = func(r eval.Record, skipped bool) {
		ended++
		screen.Line("%s", evalLine(ended, r, skipped))
	}
	runner := &replay{
		app: a, flags: f, dir: f.out, cache: cache, box: box, models: llm, redact: red.Bytes,
		progress: func(id, line string) {
			if f.verbose {
				screen.Line("%s: %s", id, line)
			}
		},
	}
	records, err := eval.Run(ctx, m, runner, o)
	if errors.Is(err, eval.ErrNoCase) {
		return a.usageError("eval", err), nil
	}
	if err != nil {
		if ctx.Err() != nil {
			screen.Line("the same command goes on with the case that was interrupted")
		}
		return 0, err
	}
	screen.Close()
	if err := a.evalPrint(f, records); err != nil {
		return 0, err
	}
	for _, r := range records {
		if r.Status != eval.Ran {
			return 1, nil
		}
	}
	return exitOK, nil
}

// evalPrint prints the summary and leaves it as Markdown beside the results.
func (a *App) evalPrint(f evalFlags, records []eval.Record) (err error) {
	page := filepath.Join(f.out, "summary.md")
	file, err := os.Create(page)
	if err != nil {
		return fmt.Errorf("write summary: %w", err)
	}
	var out io.Writer = file
	if f.markdown {
		out = io.MultiWriter(file, a.Stdout)
	}
	if err := errors.Join(eval.WriteMarkdown(out, records), file.Close()); err != nil {
		return fmt.Errorf("write summary: %w", err)
	}
	if f.markdown {
		return nil
	}
	if err := eval.WriteTable(a.Stdout, records); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Stdout, "\nas Markdown: %s\n", page)
	return err
}

// evalLine is one ended case in a line.
func evalLine(n int, r eval.Record, skipped bool) string {
	text := fmt.Sprintf("%d. %s: ", n, r.Case)
	switch r.Status {
	case eval.NotRun:
		return text + "not run: " + r.Error
	case eval.Broke:
		return text + "broke: " + r.Error
	}
	text += fmt.Sprintf("%s; culprit right: %s, held-out test passed: %s; %d runs, %.0f s", r.Result, r.Culprit, r.HeldOut, r.Runs, r.Seconds)
	if skipped {
		text += " (from the results that were there)"
	}
	return text
}

// evalVersion stands for the program: its version, and for one that was built
// between versions the digest of its file.
func evalVersion() string {
	v := versionString()
	if !strings.HasPrefix(v, "development") {
		return v
	}
	path, err := os.Executable()
	if err != nil {
		return v
	}
	f, err := os.Open(path)
	if err != nil {
		return v
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return v
	}
	return v + " build " + hex.EncodeToString(h.Sum(nil)[:6])
}

// names of the models that are asked, for the record.
func (m *models) names() string {
	if m == nil {
		return "none"
	}
	var out []string
	for _, x := range m.set.Roles[roster.High] {
		name := x.Name
		if x.Effort != "" {
			name += "@" + x.Effort
		}
		out = append(out, name)
	}
	return strings.Join(out, ",")
}

// evalCompare tells what changed between two results.
func (a *App) evalCompare(files []string, failOnWorse bool) int {
	if len(files) != 2 {
		return a.usageError("eval", fmt.Errorf("compare wants two files of results, got %q", files))
	}
	var sides [2][]eval.Record
	for i, name := range files {
		records, err := eval.ReadRecords(name)
		if err == nil && len(records) == 0 {
			err = fmt.Errorf("%s has no results: name a file that bot eval wrote", name)
		}
		if err != nil {
			return a.usageError("eval", err)
		}
		sides[i] = records
		last := records[len(records)-1]
		fmt.Fprintf(a.Stdout, "%c: %s\n", 'A'+i, printable(last.Version+"; "+last.Settings))
	}
	fmt.Fprintln(a.Stdout)
	c := eval.Compare(sides[0], sides[1])
	if err := c.Write(a.Stdout); err != nil {
		return a.fail(err)
	}
	if failOnWorse && !c.AsGood() {
		fmt.Fprintln(a.Stderr, "bot eval: not every case that ran in A is as good in B")
		return 1
	}
	return exitOK
}

// printableLines keeps foreign text from steering the terminal.
func printableLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = printable(lines[i])
	}
	return strings.Join(lines, "\n  ")
}
