package patch

import (
	"path"
	"regexp"
	"strings"

	"culprit/internal/session"
)

var (
	testName   = regexp.MustCompile(`(^|[._-])(test|tests|spec|specs)([._-]|$)`)
	testFolder = regexp.MustCompile(`(^|/)(test|tests|__tests__|spec|specs|testdata|e2e)/`)
	javaTest   = regexp.MustCompile(`(Test|Tests|Spec|IT|TestCase)\.(java|kt|kts|scala|groovy|cs|php|swift)$|^Test[A-Z]\w*\.(java|kt|php)$`)
)

// IsTestFile tells files of tests by the habits of common languages.
func IsTestFile(file string) bool {
	base := path.Base(file)
	return testName.MatchString(strings.ToLower(base)) || testFolder.MatchString(strings.ToLower(file)) || javaTest.MatchString(base) ||
		strings.HasPrefix(base, "conftest.py")
}

// The forms of tests, skips and assertions in the languages
// that the product reproduces. They are about single lines; what they miss is
// caught by running the tests on both sides.
var (
	declaration = regexp.MustCompile(`^\s*(?:` +
		`func\s+\(?.*?\)?\s*((?:Test|Fuzz|Example|Benchmark)\w*)\s*\(|` + // Go, Swift
		`(?:async\s+)?def\s+(test\w*)\s*\(|class\s+(Test\w*|\w+Test(?:Case)?)\b|` + // Python, Ruby
		`(?:it|test|describe|specify|context|scenario)(?:\.each\(.*\))?\s*\(?\s*(["'` + "`" + `].*?["'` + "`" + `])|` + // JavaScript, Ruby
		`(?:pub\s+)?(?:async\s+)?fn\s+(test_?\w*|\w+_test)\s*\(|` + // Rust
		`(?:public\s+|private\s+|protected\s+|fun\s+|void\s+|function\s+)+(test\w*|should\w*)\s*\()`) // Java, Kotlin, PHP
	marked = regexp.MustCompile(`^\s*(?:#\[(?:\w+::)?test\]|@(?:Test|ParameterizedTest|RepeatedTest)\b|\[(?:Fact|Theory|Test|TestMethod)\b|TEST(?:_F|_P)?\()`)
	skip   = regexp.MustCompile(`\b[tbf]\.Skip(?:Now|f)?\(|pytest\.(?:mark\.)?(?:skip|skipif|xfail)|unittest\.(?:skip|expectedFailure)|\bself\.skipTest\(|` +
		`\b(?:it|test|describe|context|suite)\.(?:skip|todo|only|fixme|fails)\b|\b(?:xit|xtest|xdescribe|xcontext|fit|fdescribe)\s*\(|\bthis\.skip\(|` +
		`\bskip:\s*(?:true|["'])|\btodo:\s*true|#\[ignore|@(?:Disabled|Ignore)\b|\[Ignore|\bSkip\s*=\s*"|GTEST_SKIP|markTestSkipped|markTestIncomplete|` +
		`^\s*//go:build\s+(?:ignore|never)|collect_ignore|testPathIgnorePatterns`)
	assertion = regexp.MustCompile(`\b[tbf]\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow)\(|\b(?:require|assert|is|qt|c|g)\.[A-Z]\w*\(|\b(?:cmp\.Diff|reflect\.DeepEqual)\(|` +
		`^\s*assert\b|\bself\.(?:assert|fail)\w*\(|pytest\.raises|\bassert[A-Z]\w*\(|\bexpect\s*\(|\bexpect\s*\{|\bassert(?:\.\w+)*\s*\(|\.should\b|\.toBe\w*\(|` +
		`\bassert\w*!|\bpanic!\(|@Test\(expected|\b(?:ASSERT|EXPECT)_\w+\(|\bAssert\.\w+\(|\bverify\(|//\s*(?:Unordered o|O)utput:`)
	// Two lines that swallow a failure together.
	catches   = regexp.MustCompile(`^\s*except\b[^:]*:\s*$|\bcatch\s*(?:\([^)]*\))?\s*\{\s*$|^\s*rescue\b.*\s*$|^\s*if\s+err\s*!=\s*nil\s*\{\s*$`)
	nothing   = regexp.MustCompile(`^\s*(?:pass|\.\.\.|nil|\})\s*;?\s*$`)
	comment   = regexp.MustCompile(`^\s*(?://|/\*|\*|#(?:[^\[!]|$)|--|<!--)`)
	vacuous   = regexp.MustCompile(`\bassert\s+(?:True|true|1)\b\s*$|\(\s*(?:t,\s*)?true\s*\)|\bexpect\(\s*(?:true|1)\s*\)|\bassert\w*\(\s*(?:True|true)\s*[,)]|assert!\(\s*true\b`)
	tolerance = regexp.MustCompile(`(?i)tolerance|epsilon|\beps\b|delta|timeout|deadline|retries|attempts|threshold|precision|places|approx|closeto`)
	number    = regexp.MustCompile(`\d[\d_.]*(?:e[+-]?\d+)?`)
	space     = regexp.MustCompile(`\s+`)
)

// changedLine is a line that one side has and the other has not.
type changedLine struct {
	text   string
	line   int // on the new side
	change int // number of its run of lines
}

// checkLines looks for weakened tests and silenced checks in one file.
func checkLines(file string, hunks []session.Hunk, p Policy) []Violation {
	removed, added := sides(hunks)
	var out []Violation
	report := func(rule Rule, at changedLine, text string) {
		out = append(out, Violation{Rule: rule, Path: file, Line: at.line, Text: text + ": " + short(at.text)})
	}
	for _, m := range markers {
		bad := fresh(added, removed, m)
		if m.leaves {
			bad = append(bad, fresh(removed, added, m)...)
		}
		for _, l := range bad {
			if m.hidden {
				out = append(out, Violation{Rule: m.rule, Path: file, Line: l.line, Text: m.says})
			} else {
				report(m.rule, l, m.says)
			}
		}
	}
	for i, l := range added {
		if i+1 < len(added) && added[i+1].line == l.line+1 && catches.MatchString(l.text) && nothing.MatchString(added[i+1].text) {
			report(ErrorSwallowed, l, "swallows a failure")
		}
	}
	if !p.IsTestFile(file) {
		return out
	}
	for _, l := range added {
		if skip.MatchString(l.text) {
			report(TestSkipped, l, "skips a test or all others")
		}
	}
	names := map[string]int{}
	for _, l := range added {
		names[testID(l.text)]++
	}
	for _, l := range removed {
		if id := testID(l.text); id != "" {
			if names[id]--; names[id] < 0 {
				report(TestDeleted, l, "removes a test")
			}
		}
	}
	var gone, came []changedLine
	for _, l := range removed {
		if assertion.MatchString(l.text) {
			gone = append(gone, l)
		}
	}
	for _, l := range added {
		if assertion.MatchString(l.text) && !comment.MatchString(l.text) && !vacuous.MatchString(l.text) {
			came = append(came, l)
		}
	}
	for _, l := range widened(removed, added) {
		report(ToleranceWidened, l, "changes what a test tolerates")
	}
	for i, l := range gone {
		if i >= len(came) {
			report(AssertionRemoved, l, "removes an assertion")
		} else {
			report(AssertionChanged, l, "changes what a test demands")
		}
	}
	// A condition, a case of a table or an expected value weakens a test as
	// well as its assertion does, and no pattern knows them all.
	for _, l := range removed {
		if strings.TrimSpace(l.text) != "" && !comment.MatchString(l.text) && !assertion.MatchString(l.text) && testID(l.text) == "" && !imports.MatchString(l.text) {
			report(AssertionChanged, l, "changes or removes a line of a test")
		}
	}
	return out
}

// imports come and go with what a test uses.
var imports = regexp.MustCompile(`^\s*(?:import\b|from\s+\S+\s+import\b|use\s|using\s|package\s|require\b|(?:const|let|var)\s.*\brequire\(|(?:\w+\s+)?"[\w./-]+"\s*$|[()]\s*$)`)

// widened are added lines that differ from a removed one in numbers alone, and
// speak of a tolerance, a time or a number of attempts.
func widened(removed, added []changedLine) []changedLine {
	gone := map[string]bool{}
	for _, l := range removed {
		if tolerance.MatchString(l.text) && number.MatchString(l.text) {
			gone[number.ReplaceAllString(bare(l.text), "#")] = true
		}
	}
	return filter(added, func(l changedLine) bool { return gone[number.ReplaceAllString(bare(l.text), "#")] })
}

// testID names the test that a line declares; unnamed ones are all alike.
func testID(line string) string {
	if m := declaration.FindStringSubmatch(line); m != nil {
		for _, name := range m[1:] {
			if name != "" {
				return name
			}
		}
	}
	if marked.MatchString(line) {
		return "(marked)"
	}
	return ""
}

// sides are the lines that are really gone and really new: one that was only
// moved or indented is neither.
func sides(hunks []session.Hunk) (removed, added []changedLine) {
	count := map[string]int{}
	n := 0
	for _, h := range hunks {
		for _, c := range changesIn(h) {
			for i, line := range c.old {
				removed = append(removed, changedLine{string(line), c.newAt + 1 + min(i, max(len(c.new)-1, 0)), n})
			}
			for i, line := range c.new {
				added = append(added, changedLine{string(line), c.newAt + 1 + i, n})
				count[bare(string(line))]++
			}
			n++
		}
	}
	kept := map[string]int{}
	removed = filter(removed, func(l changedLine) bool {
		b := bare(l.text)
		if count[b] > 0 {
			count[b]--
			kept[b]++
			return false
		}
		return true
	})
	added = filter(added, func(l changedLine) bool {
		b := bare(l.text)
		if kept[b] > 0 {
			kept[b]--
			return false
		}
		return true
	})
	return removed, added
}

func changesIn(h session.Hunk) []change {
	if h.Whole {
		_, changes, err := section(h)
		if err != nil {
			return nil
		}
		return changes
	}
	c, err := changeOf(h)
	if err != nil {
		return nil
	}
	return []change{c}
}

func filter(lines []changedLine, keep func(changedLine) bool) []changedLine {
	var out []changedLine
	for _, l := range lines {
		if keep(l) {
			out = append(out, l)
		}
	}
	return out
}

func bare(line string) string { return space.ReplaceAllString(strings.TrimSpace(line), " ") }

func short(line string) string {
	line = bare(strings.ToValidUTF8(line, "\uFFFD"))
	if runes := []rune(line); len(runes) > 80 {
		return string(runes[:79]) + "…"
	}
	return line
}
