package command

import (
	"os"
	"strings"
	"testing"
	"unicode"
)

func TestCommandsAreReadAsTheyStand(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]Command{
		"/debug":                             {Verb: Run},
		"/Debug":                             {Verb: Run},
		"/debug run":                         {Verb: Run},
		"/debug Retry":                       {Verb: Retry},
		"/debug retry it depends on TZ":      {Verb: Retry, Text: "it depends on TZ"},
		"/debug run it doesn't end (-1 < 0)": {Verb: Run, Text: "it doesn't end (-1 < 0)"},
		"/debug stop":                        {Verb: Stop},
		"/debug help":                        {Verb: Help},
		"/debug explain h2":                  {Verb: Explain, Hypothesis: "H2"},
		"/debug answer use the second one":   {Verb: Answer, Text: "use the second one"},
		"/debug -y -c 3 --mode deep":         {Verb: Run, Yes: true, Concurrency: 3, Mode: "deep"},
		"/debug --concurrency=4 --skip-fix":  {Verb: Run, Concurrency: 4, SkipFix: true},
		"/debug —mode quick":                 {Verb: Run, Mode: "quick"},
		"/debug --test 'go test ./… -run \"X\"' --good v1.2": {Verb: Run, Test: `go test ./… -run "X"`, Good: "v1.2"},
		"/debug run --test=“make test” see":                  {Verb: Run, Test: "make test", Text: "see"},
		"/debug retry --test 'a_b_c *d*'":                    {Verb: Retry, Test: "a_b_c *d*"},
		"/debug retry \"--mode\"":                            {Verb: Retry, Text: "--mode"},
		"/debug retry --symptom 'off by one' on Mondays":     {Verb: Retry, Text: "off by one on Mondays"},
		"/debug\t-y":                            {Verb: Run, Yes: true},
		"/debug <!-- --test 'hidden' --> retry": {Verb: Retry},
		"/autotest":                             {Verb: Autotest},
		"/autotest -y --layer unit":             {Verb: Autotest},
	} {
		got, found := Find(line)
		if !found || got != want {
			t.Errorf("%s\nis  %+v (found %v)\nnot %+v", line, got, found, want)
		}
	}
}

func TestMistakesAreNamedAndNotObeyed(t *testing.T) {
	t.Parallel()
	for line, says := range map[string]string{
		"/debug rerty":                            `there is no command "rerty"; did you mean "retry"?`,
		"/debug please":                           `there is no command "please"`,
		"/debug stop now":                         `nothing may follow stop, found "now"`,
		"/debug help me":                          "nothing may follow help",
		"/debug -y look here":                     "write a remark after a verb",
		"/debug --colour":                         `there is no flag "--colour"`,
		"/debug -x":                               `there is no flag "-x"`,
		"/debug --mode":                           "the flag --mode needs a value: --mode quick|full|deep",
		"/debug --mode -y":                        "needs a value",
		"/debug --mode slow":                      "takes quick, full or deep",
		"/debug --mode ''":                        "needs a value",
		"/debug -c many":                          "takes a number from 1 to 64",
		"/debug -c 0":                             "takes a number from 1 to 64",
		"/debug --yes=no":                         "takes no value",
		"/debug --good --upload-pack=x":           "needs a value",
		"/debug --good=--upload-pack=x":           "takes a branch, a tag or a commit",
		"/debug --good 'a b'":                     "takes a branch, a tag or a commit",
		"/debug --test 'go test":                  "a quote is not closed",
		"/debug --parallel":                       "the flag --parallel is not available in this release",
		"/debug --setup 'make'":                   "is for the command line",
		"/debug --continue":                       "/debug retry",
		"/debug explain":                          "/debug explain H2",
		"/debug explain H0":                       "/debug explain H2",
		"/debug explain H1 H2":                    "/debug explain H2",
		"/debug explain H+1":                      "/debug explain H2",
		"/debug answer":                           "/debug answer TEXT",
		"/debug stop\n\n/debug retry":             "the comment has 2 commands",
		"/debug " + strings.Repeat("x", 9000):     "there is no command \"xxxxxx",
		"/debug run " + strings.Repeat("x", 9000): "is longer than 2000 bytes",
	} {
		got, found := Find(line)
		if !found || !strings.Contains(got.Problem, says) {
			t.Errorf("%.80s\nhas the problem %q (found %v), want %q", line, got.Problem, found, says)
		}
		if got.Test != "" || got.Text != "" || got.Mode != "" {
			t.Errorf("%.80s: is half obeyed: %+v", line, got)
		}
		if len(got.Problem) > 300 {
			t.Errorf("%.80s: the problem has %d bytes", line, len(got.Problem))
		}
	}
}

func TestOnlyWhatIsShownAsPlainTextIsACommand(t *testing.T) {
	t.Parallel()
	for comment, want := range map[string]Verb{
		"So?\r\n /debug retry":                   Retry,
		"Thanks.\n\n/debug retry\n\nBye":         Retry,
		"/debug stop\n/debug stop":               Stop,
		"   /debug":                              Run,
		"```\nx\n```\n/debug":                    Run,
		"> They wrote:\n> /debug stop\n\n/debug": Run,
		"see `/debug` in\n/debug retry":          Retry,
		"/debugger":                              "",
		"/debug-it":                              "",
		"run /debug":                             "",
		"> /debug":                               "",
		"> quote\n/debug":                        "", // GitHub shows this line within the quote
		"    /debug":                             "",
		"\t/debug":                               "",
		"- /debug":                               "",
		"1. /debug":                              "",
		"# /debug":                               "",
		"```\n/debug\n```":                       "",
		"```\n/debug":                            "",
		"````\n```\n/debug\n````\n":              "",
		"~~~\n/debug\n```\n/debug":               "",
		"``` sh\n/debug\n``` not the end\n/debug": "",
		"use `the\n/debug\n` command":             "",
		"<!--\n/debug\n-->":                       "",
		"text <!-- hidden\n/debug\n-->":           "",
		"<pre>\n/debug\n</pre>":                   "",
		"<div>\n/debug\n</div>":                   "",
		"[text\n/debug](https://x.example)":       "",
		"**bold\n/debug**":                        "",
		"\\/debug":                                "",
		"/debug | x\n--- | ---\n":                 "",
		"https://x.example/debug":                 "",
		"":                                        "",
	} {
		got, found := Find(comment)
		if got.Verb != want || found != (want != "") || got.Problem != "" {
			t.Errorf("%q: %+v, found %v; want %q", comment, got, found, want)
		}
	}
}

func TestSumTellsWhetherTwoCommandsAskForTheSame(t *testing.T) {
	t.Parallel()
	find := func(s string) string { c, _ := Find(s); return c.Sum() }
	if find("Please\n\n/debug  retry -c 3") != find("/debug retry --concurrency=3\n\nthanks") {
		t.Error("the same command in another text has another sum")
	}
	if find("/debug retry") == find("/debug") || find("/debug --test a") == find("/debug --test b") {
		t.Error("different commands have the same sum")
	}
}

func TestTheDocumentShowsTheTables(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../docs/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(doc), "```text\n"+Usage()+"```\n") {
		t.Errorf("docs/commands.md does not have this list:\n%s", Usage())
	}
	for name := range elsewhere {
		if !strings.Contains(string(doc), "`"+name+"`") {
			t.Errorf("docs/commands.md does not say why there is no %s", name)
		}
	}
}

// FuzzFind: no comment makes it panic; a command is whole or has a problem; and
// what it holds has no control characters.
func FuzzFind(f *testing.F) {
	for _, s := range []string{
		"/debug retry --test 'go test' it", "> /debug\n\n/debug -c 3", "a <!-- \n/debug --> `\n/autotest", "/debug —mode “quick”", "- /debug\n/debug explain H2",
		"/debug '", "/debug --=\x00\n", "| /debug |\n|-|", "[a]: /debug\n/debug stop",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, comment string) {
		c, found := Find(comment)
		if !found {
			if c != (Command{}) {
				t.Errorf("nothing was found, and yet there is %+v", c)
			}
			return
		}
		if c.Problem == "" && c.Verb == "" {
			t.Errorf("no verb and no problem: %+v", c)
		}
		for _, s := range []string{c.Test, c.Good, c.Text, c.Hypothesis, c.Mode} {
			if strings.ContainsFunc(s, unicode.IsControl) || len(s) > maxText {
				t.Errorf("%q holds control characters or is too long", s)
			}
		}
		if again, _ := Find(comment); again.Sum() != c.Sum() {
			t.Error("reading it again gives another command")
		}
	})
}
