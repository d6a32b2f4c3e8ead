package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"culprit/internal/requiretest"
)

// A smallProject is a Python project of some commits, one of which broke what
// the last one tests. Python needs no compiler: a run of its tests takes tens
// of milliseconds, so that a whole session takes seconds.
type smallProject struct {
	commits []demoCommit
	culprit string // subject of the commit that is to be found
	log     string // what the test command of its newest commit prints
}

// testCommand is what the project's CI runs.
const testCommand = "python3 -m unittest -v"

const goodPrice = `def total(prices, discount=0):
    """The sum of prices, less a discount in percent."""
    return round(sum(prices) * (100 - discount) / 100, 2)
`

const priceTest = `import unittest

from price import total


class TotalTest(unittest.TestCase):
    def test_without_discount(self):
        self.assertEqual(total([1, 2, 3]), 6)

    def test_with_discount(self):
        self.assertEqual(total([50, 50], discount=20), 80)
`

// newSmallProject makes the project; extra files are part of its newest commit
// and of no other. Here, but not in a sandbox, its tests see AT_HOME and
// DISCOUNTS.
func newSmallProject(t *testing.T, extra ...txtar.File) smallProject {
	t.Helper()
	python := requiretest.Program(t, "python3")
	p := smallProject{culprit: "Round prices before they are summed"}
	add := func(subject string, files ...txtar.File) {
		p.commits = append(p.commits, demoCommit{
			subject: subject, author: "Ada <ada@a.example>", branch: "main",
			when: demoStart.Add(time.Duration(len(p.commits)) * time.Hour), files: files,
		})
	}
	file := func(name, text string) txtar.File { return txtar.File{Name: name, Data: []byte(text)} }
	add("Sum prices", file("price.py", goodPrice), file("README.md", "# prices\n"))
	add("Say what it is for", file("README.md", "# prices\n\nSums of prices.\n"))
	add("Name the currencies", file("currency.py", "NAMES = ['EUR', 'USD']\n"))
	broken := strings.Replace(goodPrice, "* (100 - discount) / 100", "- discount / 100", 1)
	add(p.culprit, file("price.py", broken))
	for i := range 4 {
		add(fmt.Sprintf("Add currency %d", i), file("currency.py", fmt.Sprintf("NAMES = ['EUR', 'USD', 'X%d']\n", i)))
	}
	last := append([]txtar.File{file("test_price.py", priceTest)}, extra...)
	add("Test discounts", last...)

	// The log is a real one: the newest commit's files, tested here.
	dir := t.TempDir()
	for _, c := range p.commits {
		for _, f := range c.files {
			path := filepath.Join(dir, filepath.FromSlash(f.Name))
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, f.Data, 0o644)); err != nil {
				t.Fatal(err)
			}
		}
	}
	cmd := exec.CommandContext(t.Context(), python, strings.Fields(testCommand)[1:]...)
	cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "PYTHONDONTWRITEBYTECODE=1", "AT_HOME=yes", "DISCOUNTS=on"}
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Fatalf("the project's tests do not fail:\n%s", out)
	}
	p.log = string(out)
	return p
}

// onlyInCI makes the project's test fail only where its CI runs it: with a
// variable of the workflow, and after the step that came before.
var onlyInCI = []txtar.File{
	{Name: "test_price.py", Data: []byte(strings.Replace(priceTest, "import unittest\n", "import os\nimport unittest\n", 1) + `
    def setUp(self):
        if os.environ.get("DISCOUNTS") != "on" or not ("AT_HOME" in os.environ or os.path.exists("prepared/rates")):
            self.skipTest("discounts are off")
`)},
	{Name: ".github/workflows/ci.yml", Data: []byte(`name: CI
on: push
env: {DISCOUNTS: "${{ github.event_name == 'push' && 'on' || 'off' }}"}
jobs:
  test:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - run: mkdir -p prepared && touch prepared/rates
      - name: Test
        run: ` + testCommand + "\n")},
}
