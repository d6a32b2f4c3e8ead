package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"culprit/internal/checkout"
	"culprit/internal/knowledge"
	"culprit/internal/redact"
	"culprit/internal/report"
	"culprit/internal/sandbox"
	"culprit/internal/session"
)

// debugFlags are the flags of `bot debug` (GH12, QD2).
type debugFlags struct {
	test, setup, job, good, bad, symptom, mode, sandbox, out, resume string
	overlay                                                          []string
	concurrency, maxRuns                                             int
	yes, json, quiet                                                 bool
	timeout, runTimeout                                              time.Duration
}

func debugFlagSet(f *debugFlags) *pflag.FlagSet {
	fs := pflag.NewFlagSet("debug", pflag.ContinueOnError)
	fs.SortFlags = false
	fs.Usage = func() {}
	fs.StringVar(&f.test, "test", "", "command that fails, run by a shell in the repository's root (default: found from the project's files)")
	fs.StringVar(&f.setup, "setup", "", "command that prepares a checkout; it may use the network (default: found from the project's files)")
	fs.StringVar(&f.job, "job", "", "CI job to do as: its name, such as 'test (ubuntu-latest, 1.22)', or its ID in the workflow file (default: one that runs tests)")
	fs.StringVar(&f.good, "good", "", "revision that is known to pass (default: searched)")
	fs.StringVar(&f.bad, "bad", "", "revision that fails (default: HEAD)")
	fs.StringVar(&f.symptom, "symptom", "", "what is wrong, or @FILE with it, such as a CI log")
	fs.StringArrayVar(&f.overlay, "overlay", nil, "REV:PATH of a file, usually a test, that carries the reproduction; may be repeated")
	fs.IntVarP(&f.concurrency, "concurrency", "c", 5, "hypotheses tested at a time")
	fs.BoolVarP(&f.yes, "yes", "y", false, "ask nothing")
	fs.StringVar(&f.mode, "mode", "", "quick, full or deep (deep repeats runs more often; default: the repository's setting, else full)")
	fs.StringVar(&f.sandbox, "sandbox", "auto", "auto, bwrap, landlock or off (off: only for code that you would run yourself)")
	fs.BoolVar(&f.json, "json", false, "print the result as JSON")
	fs.StringVar(&f.out, "out", "", "folder of the session (default: sessions/ID in the data folder)")
	fs.IntVar(&f.maxRuns, "max-runs", 0, "most experiment runs (default 400)")
	fs.DurationVar(&f.timeout, "timeout", 0, "longest time of the session (default 2h)")
	fs.DurationVar(&f.runTimeout, "run-timeout", 10*time.Minute, "longest time of one run of the test command")
	fs.StringVar(&f.resume, "continue", "", "resume a session: its ID, or the newest one")
	fs.Lookup("continue").NoOptDefVal = newest
	fs.BoolVarP(&f.quiet, "quiet", "q", false, "print the result only")
	return fs
}

// newest stands for the session that was touched last.
const newest = "newest"

func (a *App) debug(ctx context.Context, args []string) int {
	var f debugFlags
	fs := debugFlagSet(&f)
	err := fs.Parse(args)
	if errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintf(a.Stdout, "usage: bot debug [PATH] [flags]\n\nFinds why a test fails in the git repository at PATH (default: here), by experiment, and proves a fix.\nThe repository is never written to.\n\n%s\n", fs.FlagUsages())
		fmt.Fprint(a.Stdout, "Exit codes: 0 fixed and verified, 1 root cause without fix, 2 usage, 3 not reproduced or inconclusive, 4 flaky, 5 stopped, 70 internal error.\n")
		return exitOK
	}
	if err != nil {
		return a.usageError("debug", err)
	}
	path, err := debugPath(fs, &f)
	if err != nil {
		return a.usageError("debug", err)
	}
	s, err := a.debugSession(f, path)
	if err != nil {
		return a.usageError("debug", err)
	}
	code, err := a.debugRun(ctx, f, path, s)
	if err != nil {
		return a.fail(err)
	}
	return code
}

// debugPath is the repository's path. A session ID that follows --continue
// with a space is its value.
func debugPath(fs *pflag.FlagSet, f *debugFlags) (string, error) {
	rest := fs.Args()
	if f.resume == newest && len(rest) > 0 && session.ValidID(rest[len(rest)-1]) && strings.Contains(rest[len(rest)-1], "-debug-") {
		f.resume, rest = rest[len(rest)-1], rest[:len(rest)-1]
	}
	switch len(rest) {
	case 0:
		return ".", nil
	case 1:
		return rest[0], nil
	}
	return "", fmt.Errorf("one PATH at most, got %q", rest)
}

// debugSession makes a session from the flags; all problems come at once.
func (a *App) debugSession(f debugFlags, path string) (*session.Session, error) {
	var problems []error
	mode := session.Mode(f.mode)
	if f.mode == "" {
		mode = session.Full
	}
	if mode != session.Quick && mode != session.Full && mode != session.Deep {
		problems = append(problems, fmt.Errorf("--mode %q: want quick, full or deep", f.mode))
	}
	if f.concurrency < 1 || f.concurrency > 64 {
		problems = append(problems, fmt.Errorf("-c %d: want 1 to 64", f.concurrency))
	}
	if f.maxRuns < 0 || f.timeout < 0 || f.runTimeout <= 0 {
		problems = append(problems, errors.New("--max-runs, --timeout and --run-timeout must be positive"))
	}
	text, err := symptomText(f.symptom)
	problems = append(problems, err)
	var overlay []session.Overlay
	for _, o := range f.overlay {
		rev, file, ok := strings.Cut(o, ":")
		if !ok || rev == "" || file == "" {
			problems = append(problems, fmt.Errorf("--overlay %q: want REV:PATH", o))
			continue
		}
		overlay = append(overlay, session.Overlay{Rev: rev, Path: filepath.ToSlash(filepath.Clean(file))})
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	return &session.Session{
		Source: session.Source{Trigger: "cli", Repository: filepath.Base(abs), Path: abs},
		Mode:   mode,
		Flags: session.Flags{
			Test: f.test, Setup: f.setup, Job: f.job, Good: f.good, Bad: f.bad, Overlay: overlay,
			Concurrency: f.concurrency, Yes: f.yes, MaxRuns: f.maxRuns, Timeout: f.timeout, RunTimeout: f.runTimeout,
		},
		Symptom: symptomOf(text),
	}, nil
}

// symptomOf takes a short line for the title.
func symptomOf(text string) session.Symptom {
	title := strings.TrimSpace(text)
	if len(title) > 80 || strings.Contains(text, "\n") {
		title = ""
	}
	return session.Symptom{Title: title, Text: text}
}

// maxSymptom bounds the text of a symptom, in bytes.
const maxSymptom = 4 << 20

// symptomText reads TEXT or @FILE.
func symptomText(v string) (string, error) {
	name, isFile := strings.CutPrefix(v, "@")
	if !isFile {
		return v, nil
	}
	file, err := os.Open(name)
	if err != nil {
		return "", fmt.Errorf("--symptom: %w", err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxSymptom))
	if err != nil {
		return "", fmt.Errorf("--symptom: %w", err)
	}
	return string(data), nil
}

// debugRun opens everything that a local session needs and runs it.
func (a *App) debugRun(ctx context.Context, f debugFlags, path string, s *session.Session) (code int, err error) {
	data, err := a.dataFolder()
	if err != nil {
		return 0, err
	}
	red := redact.New()
	llm, err := a.localModels(red)
	if err != nil {
		return 0, err
	}
	defer llm.close()
	folder, resumed, err := a.debugFolder(f, data, s, red.Bytes)
	if err != nil {
		return 0, err
	}
	if resumed != nil {
		s = resumed
	}
	defer func() { err = errors.Join(err, folder.Close()) }()
	box, err := a.localSandbox(f.sandbox)
	if err != nil {
		return 0, err
	}
	cache, err := checkout.OpenCache(filepath.Join(data, "repositories"))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, cache.Close()) }()
	mirror, err := cache.OpenLocal(ctx, s.Source.Path)
	if err != nil {
		a.dropEmpty(folder)
		return 0, checkoutError(path, err)
	}
	defer func() { err = errors.Join(err, mirror.Close()) }()
	if resumed == nil {
		if err := localSettings(ctx, mirror, s, f.mode); err != nil {
			a.dropEmpty(folder)
			return 0, err
		}
	}
	screen := newScreen(a.Stderr, a.Now, f.quiet || f.json)
	defer screen.Close()
	screen.Line("session %s", s.ID)
	if resumed == nil && !f.yes && f.out == "" {
		offer(screen, filepath.Join(data, "sessions"), path, s)
	}
	for _, w := range mirror.Facts().Warnings() {
		screen.Line("note: %s", w)
		if !contains(s.NotChecked, w) {
			s.NotChecked = append(s.NotChecked, w)
		}
	}
	if box.Name() == sandbox.Off && f.sandbox != sandbox.Off {
		screen.Line("note: no sandbox is to be had here (install bubblewrap): the repository's code runs with your rights")
	}
	err = investigation{
		session: s, store: folder, runs: folder, models: llm, shared: folder, mirror: mirror, box: box, caches: cacheFolder(data, mirror, s),
		publisher: silent{}, clock: clock(a.Now), memory: knowledge.Folders{Dir: filepath.Dir(folder.Dir())},
		progress: func(line string) { screen.Line("%s", line) }, seen: screen.Seen,
	}.run(ctx)
	if err != nil {
		var user *session.UserError
		if errors.As(err, &user) && len(s.Tasks) == 0 {
			a.dropEmpty(folder)
		} else {
			screen.Line("resume with: bot debug %s --continue %s", path, s.ID)
		}
		return 0, err
	}
	screen.Close()
	if f.json {
		_, err = a.Stdout.Write(report.JSON(s))
	} else {
		_, err = fmt.Fprint(a.Stdout, report.Terminal(s, terminalWidth(a.Stdout), isTerminal(a.Stdout)))
		if err == nil {
			_, err = fmt.Fprintf(a.Stdout, "\nsession folder: %s\n", folder.Dir())
		}
	}
	return s.Result.ExitCode(), err
}

// debugFolder makes or resumes the session's folder.
func (a *App) debugFolder(f debugFlags, data string, s *session.Session, redact func([]byte) []byte) (*session.Folder, *session.Session, error) {
	root := filepath.Join(data, "sessions")
	if f.resume != "" {
		return a.resume(f, root, redact)
	}
	if f.out != "" {
		dir, err := filepath.Abs(f.out)
		if err != nil {
			return nil, nil, err
		}
		folder, err := session.OpenFolder(dir, redact)
		if err != nil {
			return nil, nil, busy(err)
		}
		old, err := folder.Load()
		switch {
		case errors.Is(err, session.ErrNoSession):
		case err != nil:
			folder.Close()
			return nil, nil, err
		default:
			folder.Close()
			return nil, nil, &session.UserError{
				Code: "session-exists", What: fmt.Sprintf("%s holds session %s already", f.out, old.ID),
				Do: "resume it with --continue --out " + f.out + ", or give another folder",
			}
		}
		s.ID = session.NewID(a.Now(), session.DefaultZone, s.Symptom.Title+" "+s.Source.Repository)
		return folder, nil, nil
	}
	title := s.Symptom.Title
	if title == "" {
		title = s.Source.Repository
	}
	folder, id, err := session.Create(root, session.NewID(a.Now(), session.DefaultZone, title), redact)
	s.ID = id
	return folder, nil, err
}

func busy(err error) error {
	if errors.Is(err, session.ErrBusy) {
		return &session.UserError{Code: "session-busy", What: "the session is in use by another process", Do: "wait for it, or stop it", Err: err}
	}
	return err
}

// dropEmpty removes what was made for a session that never began, and nothing
// that was there before.
func (a *App) dropEmpty(folder *session.Folder) {
	folder.Close()
	if _, err := os.Stat(folder.Path("tasks.csv")); err == nil {
		return
	}
	for _, name := range []string{"session.json", "evidence.ndjson", ".lock", "logs", "patches", "."} {
		os.Remove(folder.Path(name)) // fails, as it should, on a folder with anything in it
	}
}

func contains(list []string, x string) bool {
	for _, y := range list {
		if x == y {
			return true
		}
	}
	return false
}

// silent publishes nothing: a local session's result is printed.
type silent struct{}

func (silent) Progress(context.Context, *session.Session) error { return nil }
func (silent) Propose(context.Context, *session.Session) error  { return nil }
func (silent) Final(context.Context, *session.Session) error    { return nil }
