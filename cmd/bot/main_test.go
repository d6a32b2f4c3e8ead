package main

import (
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"culprit/internal/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Confine()
	testscript.Main(leakChecked{m}, map[string]func(){"bot": main, "chaosworker": chaosWorker})
}

// leakChecked runs the tests, after which no goroutine may be left.
type leakChecked struct{ m *testing.M }

func (l leakChecked) Run() int {
	// Redis is killed on purpose, and its client would tell on standard error.
	redis.SetLogger(redisLog{slog.New(slog.DiscardHandler)})
	// The tests wait for processes, leases and retries more than they compute.
	if err := flag.Set("test.parallel", "4"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := l.m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return code
}

// The binary is tested as a binary: each script in testdata/script makes a
// repository, runs commands and looks at what they print, exit with and leave.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			env.Setenv("CULPRIT_DATA", filepath.Join(env.WorkDir, "data"))
			for k, v := range map[string]string{
				"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@a.example",
				"GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": "ada@a.example",
			} {
				env.Setenv(k, v)
			}
			return os.Mkdir(filepath.Join(env.WorkDir, "home"), 0o755)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"commit": commitCmd, "exits": exitsCmd},
	})
}
