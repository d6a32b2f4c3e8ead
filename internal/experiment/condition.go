package experiment

import (
	"fmt"
	"regexp"
	"strings"

	"culprit/internal/toolchain"
)

// condition is a change of the surroundings in which the same code is run
// again. Each is text for the shell that stands around the test's command, so
// that it works for every language; the set-up is not run again for it. What a
// condition cannot reach is said in docs/experiments.md.
type condition struct {
	name string // as it stands in a sentence after "fails 3/8 …"
	kind string // of flakiness that it shows, when it changes how often the test fails
	// steady conditions can make a test fail every time, so they are tried on
	// one that has not been seen to pass.
	steady   bool
	program  string         // needed on the machine; without it the condition is left out and that is said
	needless *regexp.Regexp // of commands for which it is no other than one before
	around   func(command string) string
}

// missing is printed by a condition that cannot be made here, before its reason.
const missing = "culprit: this condition needs "

// before puts lines before the command.
func before(lines ...string) func(string) string {
	return func(command string) string { return strings.Join(lines, "\n") + "\n" + command }
}

// under starts the command as an argument of another program.
func under(starter string) func(string) string {
	return func(command string) string { return starter + " sh -c " + toolchain.Quote(command) }
}

// fixedSeed makes the random numbers of Python, of Node and of Go's math/rand
// (but not math/rand/v2) the same in every run.
func fixedSeed(seed int) func(string) string {
	return before(
		`seed=$(mktemp -d)`,
		fmt.Sprintf(`printf 'import random\nrandom.seed(%d)\n' >"$seed/sitecustomize.py"`, seed),
		// Mulberry32, a generator of 32 bits of state.
		fmt.Sprintf(`printf '%%s\n' 'let s = %d; Math.random = () => { s = (s + 0x6d2b79f5) | 0; let t = Math.imul(s ^ (s >>> 15), s | 1);' `, seed)+
			`'t ^= t + Math.imul(t ^ (t >>> 7), t | 61); return ((t ^ (t >>> 14)) >>> 0) / 4294967296; }' >"$seed/seed.cjs"`,
		fmt.Sprintf(`export PYTHONHASHSEED=%d PYTHONPATH="$seed${PYTHONPATH:+:$PYTHONPATH}"`, seed),
		`export NODE_OPTIONS="${NODE_OPTIONS:-} --require $seed/seed.cjs" GODEBUG="randautoseed=0${GODEBUG:+,$GODEBUG}"`,
	)
}

// goCommand starts Go's tests, whose generator can be told not to seed itself and
// not with what: every seed is the first.
var goCommand = regexp.MustCompile(`\bgo\s+test\b`)

// conditions are tried in this order, after those that belong to the test
// runner (company, order, race detector); the first that changes the rate ends
// it. A new one is a row.
var conditions = []condition{
	{name: "in the time zone UTC+14", kind: "time", steady: true, around: before("export TZ=Pacific/Kiritimati")},
	{name: "in the time zone UTC-11", kind: "time", steady: true, around: before("export TZ=Pacific/Pago_Pago")},
	{name: "with the clock a year back", kind: "time", steady: true, program: "faketime", around: under("faketime -f -1y")},
	{name: "with the clock a year on", kind: "time", program: "faketime", around: under("faketime -f +1y")},
	{name: "over midnight of a leap day", kind: "time", program: "faketime", around: under("faketime '2024-02-29 23:59:59'")},
	{name: "with random numbers from seed 1", kind: "randomness", around: fixedSeed(1)},
	{name: "with random numbers from seed 2", kind: "randomness", needless: goCommand, around: fixedSeed(2)},
	{name: "on one processor", kind: "concurrency", around: before(
		`export GOMAXPROCS=1 RAYON_NUM_THREADS=1`,
		`if command -v taskset >/dev/null; then taskset -cp "$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')" $$ >/dev/null; fi`)},
	{name: "with all processors busy", kind: "concurrency", around: before(
		`for i in $(seq $((2 * $(getconf _NPROCESSORS_ONLN)))); do (while :; do :; done) & load="$load $!"; done`,
		`trap 'kill $load' EXIT`)},
	{name: "a second time in the same place", kind: "state", around: func(command string) string {
		return "(" + command + "\n) >/dev/null 2>&1\n" + command
	}},
	{name: "with 128 open files at most", kind: "resources", around: before("ulimit -n 128")},
	{name: "without a network", kind: "network", program: "unshare", around: func(command string) string {
		return "unshare -rn true 2>/dev/null || { echo '" + missing + "a network namespace, which is refused here'; exit 125; }\n" + under("unshare -rn")(command)
	}},
}

// script is the command in the condition.
func (c condition) script(command string) string {
	if c.program == "" {
		return c.around(command)
	}
	return fmt.Sprintf("command -v %s >/dev/null || { echo '%sthe program %s'; exit 125; }\n%s", c.program, missing, c.program, c.around(command))
}

// notPossible is why a condition could not be made, as its output says. A test
// can print the same; then its condition is left out.
func notPossible(output string) string {
	_, why, found := strings.Cut(output, missing)
	if !found {
		return ""
	}
	return firstLine(why)
}

// advice says what a person can do about each kind of flakiness.
var advice = map[string]string{
	"race":        "Run the test with the race detector and guard the shared state at the reported place.",
	"order":       "The test depends on what runs before it: let it set up and tear down its own state.",
	"time":        "The test depends on the clock or the time zone: give the code a clock and a zone that the test sets.",
	"randomness":  "The result depends on random numbers: let the test set the seed, and print it when it fails.",
	"concurrency": "The result depends on how fast things run beside each other: wait for the event itself, not for a time.",
	"state":       "A run leaves something behind that the next one trips over: use a fresh temporary folder and clean up.",
	"resources":   "The test needs more files at a time than it may have: close them, and let failures to open one be errors.",
	"network":     "The test needs the network: let it talk to a server of its own on the loopback address.",
	"unknown":     "None of the conditions that were tried changes how often it fails: log what differs between a pass and a failure.",
}
