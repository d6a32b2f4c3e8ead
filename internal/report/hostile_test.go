package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
	"pgregory.net/rapid"

	"culprit/internal/session"
)

var gfm = goldmark.New(goldmark.WithExtensions(extension.GFM))

// ownHTML is the HTML that the templates hold.
var ownHTML = regexp.MustCompile(`^(<details><summary>[A-Za-z ]+</summary>|</details>|<!-- culprit:session=[a-z0-9-]+ -->)$`)

// faults are what a reader of the Markdown must never meet: links to other
// places than the repository, images, HTML that is not ours, mentions and
// references outside of code, rows with a wrong number of cells.
func faults(markdown, ownWeb string, ownNumbers ...string) []string {
	var out []string
	source := []byte(markdown)
	doc := gfm.Parser().Parse(text.NewReader(source))
	allowed := strings.Join(ownNumbers, "|")
	mention := regexp.MustCompile(`@[A-Za-z0-9]|(^|[^&\p{L}\p{N}])#[0-9]+|[A-Za-z0-9]#[0-9]|(?i)\bgh-[0-9]`)
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			if !strings.HasPrefix(string(n.Destination), ownWeb+"/") {
				out = append(out, "link to "+string(n.Destination))
			}
		case *ast.AutoLink:
			out = append(out, "autolink to "+string(n.URL(source)))
		case *ast.Image:
			out = append(out, "image "+string(n.Destination))
		case *ast.RawHTML:
			out = append(out, "HTML "+string(n.Segments.Value(source)))
		case *ast.HTMLBlock:
			html := ""
			for i := range n.Lines().Len() {
				at := n.Lines().At(i)
				html += string(at.Value(source))
			}
			for l := range strings.SplitSeq(strings.TrimSpace(html), "\n") {
				if l = strings.TrimSpace(l); l != "" && !ownHTML.MatchString(l) && !strings.HasPrefix(l, "### ") {
					out = append(out, "HTML "+l)
				}
			}
		case *ast.CodeSpan, *ast.FencedCodeBlock, *ast.CodeBlock:
			return ast.WalkSkipChildren, nil
		case *ast.Text:
			for _, m := range mention.FindAllString(string(n.Segment.Value(source)), -1) {
				if i := strings.IndexByte(m, '#'); i < 0 || !strings.Contains("|"+allowed+"|", "|"+m[i:]+"|") {
					out = append(out, "reference "+m)
				}
			}
		case *extast.TableRow:
			if parent, ok := n.Parent().(*extast.Table); ok && n.ChildCount() != len(parent.Alignments) {
				out = append(out, fmt.Sprintf("a row of %d cells in a table of %d columns", n.ChildCount(), len(parent.Alignments)))
			}
		}
		return ast.WalkContinue, nil
	})
	if strings.Count(markdown, "\n<details>") != strings.Count(markdown, "\n</details>") {
		// Foreign lines that look so stand in fences; those are looked at by
		// the walk above.
		if !strings.Contains(markdown, "````") {
			out = append(out, "folded parts are not closed")
		}
	}
	return out
}

func TestForeignTextCannotAct(t *testing.T) {
	t.Parallel()
	for _, c := range samples(t) {
		ownWeb := c.Session.Source.URL
		if ownWeb == "" {
			ownWeb = "none://"
		}
		own := []string{fmt.Sprintf("#%d", c.Session.Published.PR), fmt.Sprintf("#%d", c.Session.Source.Issue)}
		if in := c.Session.Incident; in != nil {
			own = append(own, fmt.Sprintf("#%d", in.FixPR), fmt.Sprintf("#%d", in.PR))
		}
		for _, x := range c.Session.Sightings {
			own = append(own, fmt.Sprintf("#%d", x.PR))
		}
		for _, x := range c.Session.Past {
			own = append(own, fmt.Sprintf("#%d", x.FixPR))
		}
		check := CheckRun(c.Session)
		for name, md := range map[string]string{
			"comment": Comment(c.Session), "pull": PullRequest(c.Session).Body, "check": check.Summary, "check text": check.Text,
			"bug": strings.TrimPrefix(string(BugReport(c.Session)), "---\n"), "understanding": string(Understanding(c.Session, c.Entries)), "status": Status(c.Session),
		} {
			for _, f := range faults(md, ownWeb, own...) {
				t.Errorf("%s of %s has a %s", name, c.Name, f)
			}
		}
	}
}

func TestProseAndCodeAreSafeWhateverTheyHold(t *testing.T) {
	t.Parallel()
	piece := rapid.SampledFrom([]string{
		"a", " ", "\n", "@", "#", "1", "*", "_", "`", "``", "|", "\\", "<", ">", "&", "lt;", "[", "]", "(", ")", "!", "~", "://", "http", "https", "www.", "evil.example",
		"<b>", "<!--", "-->", "- ", "+ ", "1. ", "# ", "> ", "=== ", "---", "$", ":tada:", "GH-", "\u202e", "\u200b", "\x1b[1m", "\x00", "\xff", "\t", "mailto:a@b.c", "é", "\\|", "``` ",
	})
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOfN(piece, 0, 14).Draw(t, "pieces"), "")
		md := "Lead " + prose(s) + " and " + code(s) + ".\n\n" + prose(s) + "\n\n- " + prose(s) + "\n\n| a | b |\n|---|---|\n| " + cell(prose(s)) + " | " + cell(code(s)) + " |\n\n" + fence("text", s, 10) + "\n"
		if f := faults(md, "none://"); f != nil {
			t.Fatalf("%q has %q:\n%s", s, f, md)
		}
		var html bytes.Buffer
		if err := gfm.Convert([]byte(md), &html); err != nil {
			t.Fatal(err)
		}
		for _, tag := range []string{"<em>", "<strong>", "<del>", "<h1", "<h2", "<blockquote", "<ol", "<hr", "<img", "<a "} {
			if strings.Contains(html.String(), tag) {
				t.Fatalf("%q brings %s:\n%s\n%s", s, tag, md, html.String())
			}
		}
		if n := strings.Count(html.String(), "<td>"); n != 2 {
			t.Fatalf("%q makes a row of %d cells:\n%s", s, n, md)
		}
	})
}

func TestUnmarkIsTheInverseOfProseAndCode(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := line(strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", " ", "`", "``", "\\", "*", "[", "]", "(", "<", "&amp;", "&", "@x", "#1", "|", "1.", "-", "://"}), 1, 10).Draw(t, "pieces"), ""))
		if got := unmark(prose(s)); got != s {
			t.Fatalf("prose of %q is %q, which unmarks to %q", s, prose(s), got)
		}
		if got := unmark(code(s)); s != "" && strings.TrimSpace(got) != strings.TrimSpace(s) {
			t.Fatalf("code of %q is %q, which unmarks to %q", s, code(s), got)
		}
	})
}

func TestTextsStayWithinTheLimitAndWhole(t *testing.T) {
	t.Parallel()
	var big sample
	for _, c := range samples(t) {
		if c.Name == "fixed" {
			big = c
		}
	}
	s := big.Session
	long := strings.Repeat("word @all #1 | `x` ", 300)
	for i := range 200 {
		id := fmt.Sprintf("H%d", i+10)
		s.Tasks = append(s.Tasks, session.Task{ID: id, Title: long, Wave: 1, Status: session.Completed, Verdict: session.Refuted, Findings: long, EvidenceAgainst: strings.Repeat("a.go:1 — "+long+"\n", 8)})
		s.RootCause.SearchSummary.Tried = append(s.RootCause.SearchSummary.Tried, session.Probe{Index: i, Commit: session.Commit{SHA: fmt.Sprintf("%040x", i), Subject: long}, Outcome: session.Passed, Reason: long})
		s.NotChecked = append(s.NotChecked, long)
		s.Stages = append(s.Stages, session.StageRecord{Name: "fix", Note: long})
		s.RootCause.Minimal = append(s.RootCause.Minimal, session.Hunk{File: long + ".go", NewStart: i, Text: strings.Repeat("+"+long+"\n", 20)})
		s.Fix.Files = append(s.Fix.Files, long)
		s.Confirmation.Necessity = append(s.Confirmation.Necessity, session.Necessity{Hunk: long})
	}
	s.Reproduction.Failure.Message = strings.Repeat(long+"\n", 500)
	s.Reproduction.Command = long
	s.RootCause.Summary, s.Symptom.Title, s.Fix.Strategy = long, long, long
	check := CheckRun(s)
	for name, md := range map[string]string{"comment": Comment(s), "pull": PullRequest(s).Body, "summary": check.Summary, "text": check.Text} {
		if n := utf8.RuneCountInString(md); n > MaxText {
			t.Errorf("%s has %d characters", name, n)
		}
		if !strings.Contains(md, "more ") {
			t.Errorf("%s does not say that something was left out", name)
		}
		for _, f := range faults(md, s.Source.URL, "#124", "#117") {
			t.Errorf("%s has a %s", name, f)
		}
	}
	if n := utf8.RuneCountInString(check.Title); n > 250 {
		t.Errorf("the check run's title has %d characters", n)
	}
	if len(check.Annotations) > 50 {
		t.Errorf("%d annotations", len(check.Annotations))
	}
	subject, _, _ := strings.Cut(CommitMessage(s), "\n")
	if n := utf8.RuneCountInString(subject); n > 72 {
		t.Errorf("the commit's subject has %d characters", n)
	}
}

func TestTheMarkerIsFoundAtTheBeginningOnly(t *testing.T) {
	t.Parallel()
	for comment, want := range map[string]string{
		Marker("20261130-debug-x") + "\n### Text": "20261130-debug-x",
		"text\n" + Marker("20261130-debug-x"):     "",
		"> " + Marker("20261130-debug-x"):         "",
		"<!-- culprit:session=../../etc -->":      "",
		"<!-- culprit:session=a b -->":            "",
		"":                                        "",
	} {
		if got, ok := FindMarker(comment); got != want || ok != (want != "") {
			t.Errorf("marker of %q is %q, %v; want %q", comment, got, ok, want)
		}
	}
	if Marker("--> <b>") != "" {
		t.Error("a marker of something that is no session ID was made")
	}
}

func TestTitlesFollowTheProjectsStyle(t *testing.T) {
	t.Parallel()
	s := &session.Session{ID: "20261130-debug-x", Fix: &session.Fix{Summary: "Fixes #1: the parser drops @signs [skip ci]"}}
	for want, recent := range map[string][]string{
		"fix: fixes #" + joiner + "1: the parser drops @" + joiner + "signs [" + joiner + "skip ci]": {"feat(x): a", "fix: b", "Merge branch c", "update d"},
		"Fix: Fixes #" + joiner + "1: the parser drops @" + joiner + "signs [" + joiner + "skip ci]": {"Add a", "fix: b", "Remove c"},
	} {
		if got := PullRequest(s, recent...).Title; got != want {
			t.Errorf("title is %q, want %q", got, want)
		}
		if got, _, _ := strings.Cut(CommitMessage(s, recent...), "\n"); got != want {
			t.Errorf("subject is %q, want %q", got, want)
		}
	}
	for id, want := range map[string]string{"20261130-debug-x": "culprit/20261130-debug-x", "../x y": "culprit/x-y"} {
		if got := BranchName(&session.Session{ID: id}); got != want {
			t.Errorf("branch of %q is %q, want %q", id, got, want)
		}
	}
}

func TestTextsOfAnEmptySessionAreWritten(t *testing.T) {
	t.Parallel()
	for _, s := range []*session.Session{{}, {State: session.StateDone}, {State: session.StateDone, Result: session.ResultFixed}, {State: session.StateDone, Result: session.ResultFlaky}, {State: session.StateDone, Result: session.ResultRootCause}, {State: session.StateDone, Result: session.ResultNotReproduced}} {
		all := Comment(s) + PullRequest(s).Body + CommitMessage(s) + string(BugReport(s)) + string(Understanding(s, nil)) + Status(s) + Terminal(s, 0, true) + string(ReproScript(s)) + string(VerifyScript(s)) + CheckRun(s).Text
		if strings.Contains(all, "could not be written") || strings.Contains(all, "%!") {
			t.Errorf("session %+v: %s", s, all)
		}
		if !json.Valid(JSON(s)) {
			t.Errorf("session %+v gives no JSON", s)
		}
	}
}

func TestABugReportIsCompleteOnlyWhenEverySectionIs(t *testing.T) {
	t.Parallel()
	for _, c := range samples(t) {
		complete := bytes.Contains(BugReport(c.Session), []byte("status: complete\n"))
		if want := c.Session.Result == session.ResultFixed; complete != want {
			t.Errorf("the report of %s is complete: %v, want %v", c.Name, complete, want)
		}
	}
}

func TestColoursAreTheOnlyControlCharactersOfATerminal(t *testing.T) {
	t.Parallel()
	colour := regexp.MustCompile("\x1b\\[[0-9]*m")
	for _, c := range samples(t) {
		got := colour.ReplaceAllString(Terminal(c.Session, 100, true), "")
		if want := Terminal(c.Session, 100, false); got != want {
			t.Errorf("%s: without its colours the text is\n%s\nwant\n%s", c.Name, got, want)
		}
		for l := range strings.SplitSeq(got, "\n") {
			if n := utf8.RuneCountInString(l); n > 100 && strings.Contains(strings.TrimSpace(l), " ") && !strings.HasPrefix(strings.TrimSpace(l), "/") && c.Name != "hostile" {
				t.Errorf("%s: a line has %d columns: %s", c.Name, n, l)
			}
		}
	}
}

func FuzzComment(f *testing.F) {
	f.Add("title", "subject @x #1", "message ```", "a|b.go:3")
	f.Fuzz(func(t *testing.T, title, subject, message, location string) {
		s := &session.Session{ID: "20261130-debug-x", State: session.StateDone, Result: session.ResultRootCause, Reason: message, Symptom: session.Symptom{Title: title},
			Bad: &session.Commit{SHA: strings.Repeat("a", 40), Subject: subject}, Source: session.Source{URL: "https://github.com/a/b"},
			RootCause: &session.RootCause{Task: "H1", Summary: title, Location: location, Culprit: &session.Commit{SHA: strings.Repeat("b", 40), Subject: subject}},
			Tasks:     []session.Task{{ID: "H1", Title: title, Wave: 1, Verdict: session.Confirmed, Findings: message, EvidenceFor: location + " — " + message}},
		}
		if bad := faults(Comment(s), "https://github.com/a/b"); bad != nil {
			t.Errorf("%q in\n%s", bad, Comment(s))
		}
	})
}
