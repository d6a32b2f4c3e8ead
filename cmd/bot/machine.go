package main

import (
	"bufio"
	"context"
	"os"
	"runtime"
	"strings"
	"time"

	"culprit/internal/experiment"
	"culprit/internal/toolchain"
	"culprit/internal/workflow"
)

// machine says what commands in the sandbox find here, to be compared with
// what CI's jobs ask for.
type machine struct{ executor }

// versionTime bounds one question for a version.
const versionTime = 30 * time.Second

// versionFlags are how programs are asked that do not know --version.
var versionFlags = map[string]string{"go": "version", "java": "-version"}

func (m machine) about(ctx context.Context) workflow.Machine {
	known := map[string]string{}
	return workflow.Machine{
		OS: runtime.GOOS, Arch: runtime.GOARCH, Name: systemName(),
		Version: func(program string) string {
			v, ok := known[program]
			if !ok {
				v = m.version(ctx, program)
				known[program] = v
			}
			return v
		},
	}
}

// version asks a program in the sandbox, where its PATH decides; "" when it is
// not there.
func (m machine) version(ctx context.Context, program string) string {
	dir, err := os.MkdirTemp("", "culprit-version-")
	if err != nil {
		return ""
	}
	defer os.RemoveAll(dir)
	flag := versionFlags[program]
	if flag == "" {
		flag = "--version"
	}
	done, err := m.Execute(ctx, experiment.Execution{Dir: dir, Script: toolchain.Quote(program) + " " + flag, Timeout: versionTime})
	if err != nil || done.Exit != 0 {
		return ""
	}
	return workflow.FindVersion(done.Output)
}

// systemName is the distribution's, as os-release(5) has it; "" elsewhere.
func systemName() string {
	f, err := os.Open("/etc/os-release")
	if err != nil {
		return ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if v, ok := strings.CutPrefix(lines.Text(), "PRETTY_NAME="); ok {
			return strings.Trim(v, `"'`)
		}
	}
	return ""
}
