package toolchain

import (
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"

	"culprit/internal/session"
)

// Bounds of one measurement of coverage.
const (
	maxCoverTests   = 40   // passing tests that are run one by one
	maxCoverSeconds = 60   // for all of them
	maxCoverBlocks  = 2000 // that are printed
)

// coverMark begins the lines of a measurement that are read back.
const coverMark = "culprit-coverage:"

// Covered is a stretch of lines that the failing test runs through.
type Covered struct {
	File     string // path in the repository
	From, To int
	Passing  int // passing tests that run through it too
}

// Coverage is what a measurement showed.
type Coverage struct {
	Failed  bool // the failing test failed while it was measured
	Passing int  // tests that passed
	Blocks  []Covered
}

// Cover is a command that measures which lines the failing test runs through,
// and how many of the tests beside it that pass do the same: one run, in which
// each test has a process of its own. ok is false where the toolchain cannot do
// that with what it brings along.
func (k Kit) Cover(f session.Failure) (command string, ok bool) {
	t := find(k.Name)
	if t == nil || t.cover == nil || f.Test == "" || strings.ContainsAny(f.Test, "\x00\n") {
		return "", false
	}
	return t.cover(k, f)
}

// goCover builds the package's test once, with counters in all packages of the
// module, and runs the failing test, the sub-tests beside it and the other
// tests of the package, each alone.
func goCover(k Kit, f session.Failure) (string, bool) {
	pkg, ok := k.goPackage(f)
	top, _, _ := strings.Cut(f.Test, "/")
	if !ok || pkg == "./..." || strings.HasPrefix(f.Test, "Benchmark") || strings.Contains(pkg, " ") && !strings.HasPrefix(pkg, "'") {
		return "", false
	}
	script := `d=$(mktemp -d) || exit 125
trap 'rm -rf "$d"' EXIT
go test -c -vet=off ` + k.goFlags() + `-cover -coverpkg=./... -o "$d/t" ` + pkg + ` || exit 125
cd "$(go list -f '{{.Dir}}' ` + pkg + `)" || exit 125
hit() { grep -v ' 0$' "$1" 2>/dev/null | sed 1d | cut -d' ' -f1 | sort -u; }
"$d/t" -test.run ` + quoted(goPattern([]string{f.Test})) + ` -test.coverprofile "$d/c" >/dev/null 2>&1
echo "` + coverMark + ` exit $?"
hit "$d/c" >"$d/failing"
{
	"$d/t" -test.run ` + quoted(goPattern([]string{top})) + ` -test.v 2>&1 | sed -n 's/^ *--- PASS: \([^ ]*\) .*/\1/p' | grep /
	"$d/t" -test.list . | grep '^Test' | grep -Fxv ` + quoted(top) + `
} | head -n ` + strconv.Itoa(maxCoverTests) + ` | sed 's/[][\\.*^$+?(){}|]/\\&/g; s,/,$/^,g' >"$d/beside"
end=$(($(date +%s) + ` + strconv.Itoa(maxCoverSeconds) + `))
: >"$d/passing"
n=0
while read -r name && [ "$(date +%s)" -lt "$end" ]; do
	rm -f "$d/c"
	if "$d/t" -test.run "^$name\$" -test.coverprofile "$d/c" </dev/null >/dev/null 2>&1; then
		n=$((n + 1))
		hit "$d/c" >>"$d/passing"
	fi
done <"$d/beside"
echo "` + coverMark + ` passing $n"
head -n ` + strconv.Itoa(maxCoverBlocks) + ` "$d/failing" | sed 's/^/` + coverMark + ` 1 /'
sort "$d/passing" | grep -Fx -f "$d/failing" | uniq -c | head -n ` + strconv.Itoa(maxCoverBlocks) + ` | sed 's/^ */` + coverMark + ` + /'
exit 0`
	return k.in("sh -c " + quoted(script)), true
}

var goBlock = regexp.MustCompile(`^(.+):(\d+)\.\d+,(\d+)\.\d+$`)

// ReadCoverage reads the output of Cover's command. The tests print to nowhere
// while they are measured, but what a build prints is foreign: lines that are
// not of the form are passed over.
func (k Kit) ReadCoverage(output string) Coverage {
	var c Coverage
	at := map[string]int{}
	for line := range strings.Lines(output) {
		rest, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), coverMark+" ")
		if !ok {
			continue
		}
		fields := strings.Fields(rest)
		switch {
		case len(fields) == 2 && fields[0] == "exit":
			c.Failed = fields[1] == "1"
		case len(fields) == 2 && fields[0] == "passing":
			c.Passing, _ = strconv.Atoi(fields[1])
		case len(fields) == 2 && fields[0] == "1" && len(c.Blocks) < maxCoverBlocks:
			if b, ok := k.covered(fields[1]); ok {
				at[fields[1]] = len(c.Blocks)
				c.Blocks = append(c.Blocks, b)
			}
		case len(fields) == 3 && fields[0] == "+":
			if i, known := at[fields[2]]; known {
				n, _ := strconv.Atoi(fields[1])
				c.Blocks[i].Passing = min(max(n, 0), c.Passing)
			}
		}
	}
	return c
}

// covered reads "example.com/m/p/file.go:3.20,5.2".
func (k Kit) covered(block string) (Covered, bool) {
	m := goBlock.FindStringSubmatch(block)
	if m == nil {
		return Covered{}, false
	}
	file, ok := strings.CutPrefix(m[1], k.Module+"/")
	if !ok || k.Module == "" {
		return Covered{}, false
	}
	from, err1 := strconv.Atoi(m[2])
	to, err2 := strconv.Atoi(m[3])
	file = path.Join(k.Root, file)
	if err1 != nil || err2 != nil || from < 1 || to < from || strings.HasPrefix(file, "..") {
		return Covered{}, false
	}
	return Covered{File: file, From: from, To: to}, true
}

// String is how a measurement is named: "1 failing and 14 passing tests".
func (c Coverage) String() string {
	if c.Passing == 1 {
		return "1 failing and 1 passing test"
	}
	return fmt.Sprintf("1 failing and %d passing tests", c.Passing)
}
