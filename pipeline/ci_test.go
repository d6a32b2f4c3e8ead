package pipeline

import (
	"context"
	"slices"
	"strings"
	"testing"

	"culprit/internal/session"
	"culprit/internal/workflow"
)

// ciLog is the log of a red job as GitHub has it.
const ciLog = "2026-11-30T08:00:00.0000000Z ##[group]Run make test\n2026-11-30T08:00:00.1000000Z make test\n2026-11-30T08:00:00.2000000Z ##[endgroup]\n" +
	"2026-11-30T08:00:01.0000000Z === RUN   TestA\n2026-11-30T08:00:01.0000000Z     a_test.go:3: got 1, want 2\n2026-11-30T08:00:01.0000000Z --- FAIL: TestA (0.00s)\n" +
	"2026-11-30T08:00:01.0000000Z FAIL\n2026-11-30T08:00:01.0000000Z FAIL\tm.example/m\t0.1s\n2026-11-30T08:00:01.0000000Z ##[error]Process completed with exit code 1.\n"

const ciFile = `on: push
env: {MODE: x}
jobs:
  test:
    runs-on: ${{ matrix.os }}
    strategy: {matrix: {os: [ubuntu-latest, windows-latest]}}
    steps:
      - run: make deps
      - name: Tests
        env: {LEVEL: "2"}
        run: COMMAND
`

func TestTheReproductionFollowsTheRedJob(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		command string // of the failing step
		job     string
		world   func(w *world)
		sess    func(s *session.Session)
		want    session.Result
		check   func(t *testing.T, r *session.Reproduction, s *session.Session)
	}{
		"a known command is narrowed with its flags and variables": {
			command: "go test -tags slow ./...", job: "test (ubuntu-latest)", world: func(w *world) { w.needs = "MODE=x LEVEL=2 go test" }, want: session.ResultFixed,
			check: func(t *testing.T, r *session.Reproduction, _ *session.Session) {
				if !r.Alone || !strings.Contains(r.Command, "-tags slow") || !strings.Contains(r.Command, "-run '^TestA$'") || !strings.Contains(r.Setup, "MODE=x make deps") {
					t.Errorf("command %q, set-up %q, alone %v", r.Command, r.Setup, r.Alone)
				}
				if r.CI == nil || r.CI.Job != "test (ubuntu-latest)" || r.CI.Workflow != ".github/workflows/ci.yml" || !strings.Contains(r.CI.Step, "Tests") || r.CI.Guessed {
					t.Errorf("it follows %+v", r.CI)
				}
			},
		},
		"an unknown command is replaced by the test alone in its environment": {
			command: "make test", job: "test (ubuntu-latest)", world: func(w *world) { w.needs = "LEVEL=2 go test -count=1" }, want: session.ResultFixed,
			check: func(t *testing.T, r *session.Reproduction, _ *session.Session) {
				if !r.Alone || r.CI == nil {
					t.Errorf("command %q, follows %+v", r.Command, r.CI)
				}
			},
		},
		"an unknown command is used as it is where nothing smaller shows the failure": {
			command: "make test", job: "test (ubuntu-latest)", world: func(w *world) { w.needs = "make test" }, want: session.ResultFixed,
			check: func(t *testing.T, r *session.Reproduction, _ *session.Session) {
				if r.Alone || r.Command != "(MODE=x LEVEL=2 make test)" {
					t.Errorf("command %q, alone %v", r.Command, r.Alone)
				}
			},
		},
		"a script is run by the shell of the runner": {
			command: `"if true; then make test; fi"`, job: "test (ubuntu-latest)", world: func(w *world) { w.needs = "make test" }, want: session.ResultFixed,
			check: func(t *testing.T, r *session.Reproduction, _ *session.Session) {
				if r.Command != "(env MODE=x LEVEL=2 bash -e -o pipefail -c 'if true; then make test; fi')" {
					t.Errorf("command %q", r.Command)
				}
			},
		},
		"a set-up that does not work here gives way to the toolchain's": {
			command: "go test ./...", job: "test (ubuntu-latest)", world: func(w *world) { w.needs, w.unusable = "MODE=x", "make deps" }, want: session.ResultFixed,
			check: func(t *testing.T, r *session.Reproduction, s *session.Session) {
				if !slices.ContainsFunc(r.Differences, func(d session.Difference) bool { return d.Kind == session.DiffSetup }) {
					t.Errorf("differences %v", r.Differences)
				}
				if strings.Contains(r.Setup, "make") || r.CI == nil || !strings.Contains(s.Decisions[0].Text, "set-up of CI job") {
					t.Errorf("set-up %q, follows %+v, decisions %+v", r.Setup, r.CI, s.Decisions)
				}
			},
		},
		"a program that CI alone has gives way to the toolchain's in CI's environment": {
			command: "python3 -m pytest", job: "test (ubuntu-latest)", world: func(w *world) { w.needs = "MODE=x LEVEL=2 go test -count=1" }, want: session.ResultFixed,
			check: func(t *testing.T, r *session.Reproduction, _ *session.Session) {
				if !r.Alone || r.CI == nil {
					t.Errorf("command %q, follows %+v", r.Command, r.CI)
				}
			},
		},
		"the settings' command goes before": {
			command: "go test ./...", job: "test (ubuntu-latest)", sess: func(s *session.Session) { s.Flags.Test = "make special" }, world: func(w *world) { w.needs = "special" }, want: session.ResultFixed,
			check: func(t *testing.T, r *session.Reproduction, _ *session.Session) {
				if r.Command != "make special" || r.CI != nil {
					t.Errorf("command %q, follows %+v", r.Command, r.CI)
				}
			},
		},
		"what CI does in vain is tried as the toolchain would": {
			command: "go test ./...", job: "test (ubuntu-latest)", world: func(w *world) { w.unusable = ""; w.needs = "go test -count=1 -v -vet=off -run" }, want: session.ResultFixed,
			check: func(t *testing.T, r *session.Reproduction, _ *session.Session) {
				if !r.Alone {
					t.Errorf("command %q", r.Command)
				}
			},
		},
		"another system is the reason why nothing shows": {
			command: "go test ./...", job: "test (windows-latest)", world: func(w *world) { w.culprit = 10 }, want: session.ResultNotReproduced,
			check: func(t *testing.T, r *session.Reproduction, s *session.Session) {
				if !strings.Contains(s.Reason, "not reproducible here, because there is windows-latest in CI, and here ") || len(r.Differences) == 0 {
					t.Errorf("reason %q, differences %v", s.Reason, r.Differences)
				}
			},
		},
		"a job that the file does not have leaves the toolchain's way": {
			command: "go test ./...", job: "gone", want: session.ResultFixed,
			check: func(t *testing.T, r *session.Reproduction, _ *session.Session) {
				if r.CI != nil || r.Setup != "" {
					t.Errorf("follows %+v, set-up %q", r.CI, r.Setup)
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			w.verdicts = regressionConfirmed
			w.files[".github/workflows/ci.yml"] = strings.Replace(ciFile, "COMMAND", c.command, 1)
			w.logs = []CILog{{Name: c.job, Content: []byte(ciLog), Job: session.CIJob{Name: c.job, Workflow: ".github/workflows/ci.yml", Event: "push", Steps: []string{"Tests"}}}}
			if c.world != nil {
				c.world(w)
			}
			s := w.start()
			if c.sess != nil {
				c.sess(s)
			}
			d := w.deps()
			d.Machine = func(context.Context) workflow.Machine { return workflow.Machine{OS: "linux", Arch: "amd64"} }
			if err := Run(t.Context(), s, d); err != nil {
				t.Fatal(err)
			}
			if s.Result != c.want {
				t.Fatalf("result %q (%s), want %q; stages %+v", s.Result, s.Reason, c.want, s.Stages)
			}
			c.check(t, s.Reproduction, s)
		})
	}
}

func TestTheJobIsTheOneThatTheFailureWasSeenIn(t *testing.T) {
	t.Parallel()
	lint, unit := session.CIJob{Name: "lint"}, session.CIJob{Name: "ci / unit", Steps: []string{"Tests"}}
	for _, tt := range []struct {
		step string
		jobs []session.CIJob
		want string
	}{
		{"ci / unit", []session.CIJob{lint, unit}, "ci / unit"},
		{"ci / unit / Tests", []session.CIJob{lint, unit}, "ci / unit"},
		{"", []session.CIJob{lint, unit}, "lint"},
		{"ci / unit / Tests", nil, "ci / unit"},
		{"symptom", nil, ""},
	} {
		s := &session.Session{Symptom: session.Symptom{Jobs: tt.jobs, Failures: []session.Failure{{Step: tt.step}}}}
		if got := redJob(s); got.Name != tt.want {
			t.Errorf("%q among %d jobs: %q, want %q", tt.step, len(tt.jobs), got.Name, tt.want)
		}
	}
}
