package experiment

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"culprit/internal/requiretest"
	"culprit/internal/session"
)

func conditionNamed(t *testing.T, name string) condition {
	t.Helper()
	i := slices.IndexFunc(conditions, func(c condition) bool { return c.name == name })
	if i < 0 {
		t.Fatalf("there is no condition %q", name)
	}
	return conditions[i]
}

// shellIn runs a script as the sandbox would, and returns output and exit code.
func shellIn(t *testing.T, dir, script string) (string, int) {
	t.Helper()
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if failed := (*exec.ExitError)(nil); err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out)), cmd.ProcessState.ExitCode()
}

func TestConditionsChangeWhatTheySayAndKeepTheExitCode(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		condition, program, command string
		want                        func(out string) bool
	}{
		{"in the time zone UTC+14", "", "date +%z", func(s string) bool { return s == "+1400" }},
		{"in the time zone UTC-11", "", "date +%z", func(s string) bool { return s == "-1100" }},
		{"over midnight of a leap day", "faketime", "date +%Y-%m-%d", func(s string) bool { return s == "2024-02-29" || s == "2024-03-01" }},
		{"on one processor", "nproc", "nproc && echo $GOMAXPROCS", func(s string) bool { return s == "1\n1" }},
		{"with 128 open files at most", "", "ulimit -n", func(s string) bool { return s == "128" }},
		{"without a network", "unshare", "cat /proc/net/dev", func(s string) bool {
			return notPossible(s) != "" || strings.Count(s, "\n") == 2 && strings.Contains(s, "lo:")
		}},
		{"a second time in the same place", "", "echo x >>left; wc -l <left", func(s string) bool { return s == "2" }},
		{"with all processors busy", "", "jobs=$(ps -o pid= --ppid $$ | wc -l); test $jobs -gt 2 && echo busy", func(s string) bool { return s == "busy" }},
	} {
		t.Run(test.condition, func(t *testing.T) {
			t.Parallel()
			if test.program != "" {
				requiretest.Program(t, test.program)
			}
			c := conditionNamed(t, test.condition)
			out, exit := shellIn(t, t.TempDir(), c.script(test.command))
			if !test.want(out) || (exit != 0 && notPossible(out) == "") {
				t.Errorf("exit %d: %q", exit, out)
			}
			if out, exit := shellIn(t, t.TempDir(), c.script("exit 7")); exit != 7 && notPossible(out) == "" {
				t.Errorf("the command's exit code 7 became %d: %q", exit, out)
			}
		})
	}
}

func TestAFixedSeedMakesRandomNumbersTheSame(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\n\nimport \"math/rand\"\n\nfunc main() { println(rand.Int63()) }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-o", "random", "main.go")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for program, command := range map[string]string{
		"python3": `python3 -c 'import random; print(random.random(), hash("x"))'`,
		"node":    `node -p 'Math.random()'`,
		"go":      "./random",
	} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			requiretest.Program(t, program)
			one, two := conditionNamed(t, "with random numbers from seed 1"), conditionNamed(t, "with random numbers from seed 2")
			a, exit := shellIn(t, dir, one.script(command))
			b, _ := shellIn(t, dir, one.script(command))
			other, _ := shellIn(t, dir, two.script(command))
			if exit != 0 || a == "" || a != b {
				t.Errorf("seed 1 gives %q, then %q (exit %d)", a, b, exit)
			}
			// Go's generator can only be told not to seed itself.
			if program != "go" && other == a {
				t.Errorf("seeds 1 and 2 both give %q", a)
			}
		})
	}
}

// Go has one fixed seed, so a second one would be the same run under another name.
func TestGoTestsAreRunWithOneFixedSeed(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]int{"cd x && go test -run '^TestA$' ./a": 1, "cargo test": 2, "python3 -m pytest": 2} {
		seeds := map[string]bool{}
		w := linear(6, 2)
		w.program = func(_ map[string]string, script string, n int) session.Outcome {
			for _, seed := range []string{"PYTHONHASHSEED=1", "PYTHONHASHSEED=2"} {
				if strings.Contains(script, seed) {
					seeds[seed] = true
				}
			}
			if n%2 == 0 {
				return session.Passed
			}
			return session.FailedSame
		}
		s := w.session(session.Nondeterminism)
		s.Archaeology = &session.Archaeology{Boundary: "limit"}
		s.Reproduction.Command, s.Reproduction.Flaky, s.Reproduction.Count = command, true, session.Count{Runs: 20, Failures: 10}
		investigate(t, w.lab(t, Options{}), s)
		if len(seeds) != want {
			t.Errorf("%s: ran with %v, want %d seeds", command, seeds, want)
		}
	}
}

func TestAConditionThatCannotBeMadeIsLeftOutAndSaid(t *testing.T) {
	t.Parallel()
	c := condition{name: "x", program: "no-such-program-here", around: before("exit 3")}
	out, _ := shellIn(t, t.TempDir(), c.script("true"))
	if got := notPossible(out); got != "the program no-such-program-here" {
		t.Errorf("%q is read as %q", out, got)
	}
	w := linear(6, 2)
	w.program = func(_ map[string]string, script string, n int) session.Outcome {
		if n%2 == 0 {
			return session.Passed
		}
		return session.FailedSame
	}
	w.says = map[session.Outcome]string{session.Passed: missing + "the program x\n", session.FailedSame: missing + "the program x\n"}
	s := w.session(session.Nondeterminism)
	s.Archaeology = &session.Archaeology{Boundary: "limit"}
	s.Reproduction.Flaky, s.Reproduction.Count = true, session.Count{Runs: 20, Failures: 9}
	f := investigate(t, w.lab(t, Options{}), s)
	if f.Flake == nil || f.Flake.Suspected != "unknown" || !slices.Contains(f.Flake.Evidence, "not tried here: what needs the program x") {
		t.Errorf("%s: %+v", f.Findings, f.Flake)
	}
}

// Each kind is told by the one condition under which the test stops failing.
func TestTheConditionThatChangesTheRateNamesTheKind(t *testing.T) {
	t.Parallel()
	for kind, marks := range map[string][]string{
		"time":        {"Kiritimati", "Pago_Pago", "faketime -f -1y"},
		"randomness":  {"PYTHONHASHSEED=1", "PYTHONHASHSEED=2"},
		"concurrency": {"GOMAXPROCS=1", "_NPROCESSORS_ONLN"},
		"state":       {">/dev/null 2>&1\n"},
		"resources":   {"ulimit"},
		"network":     {"unshare -rn sh"},
		"order":       {"shuffled"},
	} {
		for _, mark := range marks {
			t.Run(fmt.Sprint(kind, " ", mark), func(t *testing.T) {
				t.Parallel()
				w := linear(6, 2)
				w.program = func(_ map[string]string, script string, n int) session.Outcome {
					if strings.Contains(script, mark) || n%2 == 0 {
						return session.Passed
					}
					return session.FailedSame
				}
				s := w.session(session.Nondeterminism)
				s.Archaeology = &session.Archaeology{Boundary: "limit"}
				s.Reproduction.Flaky, s.Reproduction.Count = true, session.Count{Runs: 20, Failures: 12}
				f := investigate(t, w.lab(t, Options{}), s)
				if f.Flake == nil || f.Flake.Suspected != kind || f.Flake.Advice == "" {
					t.Errorf("%s: %+v", f.Findings, f.Flake)
				}
			})
		}
	}
}

func TestATestThatFailsAlwaysAndNotInAnotherTimeZoneDependsOnTime(t *testing.T) {
	t.Parallel()
	w := linear(6, 2)
	w.program = func(files map[string]string, script string, n int) session.Outcome {
		if strings.Contains(script, "Pago_Pago") {
			return session.Passed
		}
		return lookAtCode(files, script, n)
	}
	f := investigate(t, w.lab(t, Options{}), w.session(session.Nondeterminism))
	if f.Verdict != session.Confirmed || f.Flake == nil || f.Flake.Suspected != "time" || !strings.Contains(f.Findings, "in the time zone UTC-11") {
		t.Errorf("%s: %s, %+v", f.Verdict, f.Findings, f.Flake)
	}
}

func TestAFlakyTestKeepsItsRateWhenTheBudgetEnds(t *testing.T) {
	t.Parallel()
	w := linear(6, 2)
	w.program = func(_ map[string]string, _ string, n int) session.Outcome {
		if n%2 == 0 {
			return session.Passed
		}
		return session.FailedSame
	}
	s := w.session(session.Nondeterminism)
	s.Archaeology = &session.Archaeology{Boundary: "limit"}
	s.Reproduction.Flaky, s.Reproduction.Count = true, session.Count{Runs: 20, Failures: 9}
	f := investigate(t, w.lab(t, Options{MaxRuns: 3}), s)
	if f.Verdict != session.Confirmed || f.Flake == nil || f.Flake.Count.Runs != 20 {
		t.Errorf("%s: %s, %+v", f.Verdict, f.Findings, f.Flake)
	}
}
