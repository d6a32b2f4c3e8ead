package evidence

// formats lists the formats in the order in which they see a line. Those with
// the most particular phrases come first; the generic ones, which take what
// nobody knows, come last. A new format is one file and one row here, at most
// 64 of them.
var formats = []struct {
	name string
	make func(*collector) format
	cues cues
}{
	{"go test -json", func(c *collector) format { return &goJSON{out: c} }, cues{starts: []string{"{"}}},
	{"go test", func(c *collector) format { return &goTest{out: c} }, cues{
		starts: []string{
			"=== RUN   ", "=== CONT  ", "=== NAME  ", "=== PAUSE ", "--- FAIL: ", "FAIL\t", "ok  \t", "?   \t", "---\t", "panic: ", "fatal error: ",
			"SIGSEGV: ", "SIGQUIT: ", "SIGABRT: ", "WARNING: DATA RACE", "testing: warning: no tests to run",
			"# ", "go: ", "no packages to test", "no required module provides package ", "package ",
		},
		has: []string{".go:"},
	}},
	{"pytest", func(c *collector) format { return &pytest{out: c} }, cues{
		starts: []string{"===", "= ", "== ", "collected ", "collecting ... ", "ERROR: not found: ", "ERROR: file or directory not found: ", "no tests ran"},
		has:    []string{".py::", " passed", " failed", " error in ", " errors in ", " skipped in ", " deselected in ", " xfailed in ", " xpassed in "},
	}},
	{"unittest", func(c *collector) format { return &unittest{out: c} }, cues{
		starts: []string{ruleDouble, "Ran ", "test", "runTest ("},
		has:    []string{") ..."},
	}},
	{"vitest", func(c *collector) format { return &vitest{out: c} }, cues{starts: []string{"RUN  v", "FAIL  "}}},
	{"jest", func(c *collector) format { return &jest{out: c} }, cues{
		starts: []string{"FAIL ", "PASS ", "Test Suites: ", "Tests: ", "No tests found"},
	}},
	{"TAP", func(c *collector) format { return &tap{out: c} }, cues{
		starts: []string{"ok ", "not ok", "TAP version 1", "Bail out!", "# Subtest: ", "1..0"},
	}},
	{"node:test", func(c *collector) format { return &nodeTest{out: c} }, cues{
		starts: append([]string{"ℹ ", "Could not find '"}, allMarks()...),
	}},
	{"mocha", func(c *collector) format { return &mocha{out: c} }, cues{
		starts: []string{"Error: No test files found"}, indented: true,
	}},
	{"cargo", func(c *collector) format { return &cargo{out: c} }, cues{
		starts: []string{"Running ", "Doc-tests ", "running ", "test result: ", "error"},
	}},
	{"maven", func(c *collector) format { return &maven{out: c} }, cues{
		starts: []string{
			"[ERROR] ", "[INFO] Results:", "[INFO] BUILD ", "[INFO] No tests to run", "[INFO] Tests are skipped", "[INFO] Tests run: ",
			"[WARNING] Tests run: ", "[WARNING] Results:", "Tests run: ", "Results :",
		},
		has: []string{"<<< FAILURE!", "<<< ERROR!"},
	}},
	{"gradle", func(c *collector) format { return &gradle{out: c} }, cues{
		starts: []string{
			"> Task :", "> No tests found", "No tests found for given includes", "Execution failed for task ", "> Could not ",
			"Could not determine the dependencies of task ",
		},
		has: []string{" FAILED", " PASSED", " SKIPPED", " tests completed", "1 test completed"},
	}},
	{"python", func(c *collector) format { return &pythonTrace{out: c} }, cues{starts: []string{"Traceback (most recent call last):"}}},
	{"node", func(c *collector) format { return &nodeCrash{out: c} }, cues{has: []string{"Error", "Exception"}}},
	{"compiler", func(c *collector) format { return &compiler{out: c} }, cues{
		starts: []string{"/", "./", "make"},
		has:    []string{"error", ": undefined reference to ", ".py:", ".go:"},
	}},
	{"world", func(c *collector) format { return &world{out: c} }, worldCues()},
}
