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
	{"playwright", func(c *collector) format { return &playwright{out: c} }, cues{starts: marksAnd("Error: No tests found", "✘ ", "ok ", "x ", "- ", "1", "2", "3", "4", "5", "6", "7", "8", "9"), has: []string{") ["}}},
	{"rspec", func(c *collector) format { return &rspec{out: c} }, cues{
		starts: []string{"Failures:", "Pending:", "Failed examples:", "An error occurred while loading "},
		has:    []string{" example"},
	}},
	{"minitest", func(c *collector) format { return &minitest{out: c} }, cues{
		starts: []string{"Failure:", "Error:"},
		has:    []string{") Failure:", ") Error:", " assertions, ", " s = "},
	}},
	{"phpunit", func(c *collector) format { return &phpunit{out: c} }, cues{
		starts: []string{"✘ ", "There was 1 ", "There were ", "Tests: ", "OK (", "No tests executed!"},
	}},
	{"mix test", func(c *collector) format { return &exUnit{out: c} }, cues{
		starts: []string{"** (CompileError) ", "** (SyntaxError) ", "** (TokenMissingError) "},
		has:    []string{") test ", ") doctest ", ") property ", ") feature ", " tests, ", " test, "},
	}},
	{"googletest", func(c *collector) format { return &googleTest{out: c} }, cues{
		starts: []string{"[ RUN      ]", "[       OK ]", "[  PASSED  ]", "[  SKIPPED ]", "[==========]", "[----------]"},
		has:    []string{"[  FAILED  ]", ": Failure"},
	}},
	{"ctest", func(c *collector) format { return &cTest{out: c} }, cues{
		starts: []string{"The following tests FAILED:", "No tests were found!!!"},
		has:    []string{"% tests passed, ", " Test "},
	}},
	{"dotnet", func(c *collector) format { return &dotnet{out: c} }, cues{
		starts: []string{"Failed ", "Passed ", "Skipped ", "Failed!  - ", "Passed!  - ", "Total tests: ", "No test matches the given testcase filter", "No test is available in "},
		has:    []string{" [FAIL]", "  Total: "},
	}},
	{"swift", func(c *collector) format { return &swift{out: c} }, cues{
		starts: []string{"Test Case '", "✘ Test ", "✔ Test ", "➜ Test ", "\U0010105b Test ", "\U00100884 Test ", "\U0010065f Test ", "Executed "},
		has:    []string{": error: "},
	}},
	{"TAP", func(c *collector) format { return &tap{out: c} }, cues{
		starts: []string{"ok ", "not ok", "TAP version 1", "Bail out!", "# Subtest: ", "1..0"},
	}},
	{"node:test", func(c *collector) format { return &nodeTest{out: c} }, cues{
		starts: marksAnd("ℹ ", "Could not find '"),
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
	{"junit xml", func(c *collector) format { return &junitXML{out: c} }, cues{starts: []string{"<testsuite", "<testcase", "<?xml"}}},
	{"testng", func(c *collector) format { return &testNG{out: c} }, cues{
		starts: []string{"FAILED: ", "FAILED CONFIGURATION: ", "PASSED: ", "SKIPPED: ", "Total tests run: "},
	}},
	{"bazel", func(c *collector) format { return &bazel{out: c} }, cues{starts: []string{"//", "@", "FAIL: //", "FAIL: @", "TIMEOUT: //", "TIMEOUT: @", "ERROR: ", bazelOutputBegins, bazelOutputEnds}}},
	{"tox", func(c *collector) format { return &tox{out: c} }, cues{
		has: []string{": FAIL code ", ": commands failed", ": could not install deps ", ": InterpreterNotFound: ", ": parallel child exit code 1"},
	}},
	{"python", func(c *collector) format { return &pythonTrace{out: c} }, cues{starts: []string{"Traceback (most recent call last):"}}},
	{"node", func(c *collector) format { return &nodeCrash{out: c} }, cues{has: []string{"Error", "Exception"}}},
	{"linters", func(c *collector) format { return &linters{out: c} }, cues{
		starts: ruffRules("In ", "e: ", "[error] ", "invalid-syntax: "),
		has:    []string{" lint/", " MD0", ": C: ", ": W: ", ": E: ", ": F: ", ": R: ", ": I: ", " [SC", ".py:", ".kt:", ".kts:", ".yml:", ".yaml:"},
	}},
	{"compiler", func(c *collector) format { return &compiler{out: c} }, cues{
		starts: []string{"/", "./", "make"},
		has:    []string{"error", ": undefined reference to ", ".py:", ".go:"},
	}},
	{"checks", func(c *collector) format { return &checks{out: c} }, checkCues()},
	{"world", func(c *collector) format { return &world{out: c} }, worldCues()},
}
