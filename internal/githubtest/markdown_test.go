package githubtest

import (
	"strings"
	"testing"
)

func TestMarkdownIsRenderedAsGitHubDoes(t *testing.T) {
	t.Parallel()
	sha := strings.Repeat("a1", 20)
	for _, c := range []struct{ name, in, want string }{
		{"table", "| a | b |\n|---|---|\n| 1 | **2** |", "<td><strong>2</strong></td>"},
		{"details", "<details><summary>More</summary>\n\nText\n\n</details>", "<details><summary>More</summary>\n<p>Text</p>\n</details>"},
		{"task list", "- [x] done", `type="checkbox"`},
		{"strike", "~~no~~", "<del>no</del>"},
		{"code fence", "```go\na < b\n```", `<pre><code class="language-go">a &lt; b`},
		{"mermaid stays code", "```mermaid\ngraph TD\n```", `<code class="language-mermaid">graph TD`},
		{"issue reference", "fix in #12.", `<a href="http://x/o/r/issues/12">#12</a>.`},
		{"mention", "cc @ada", `<a href="http://x/ada">@ada</a>`},
		{"full SHA", "at " + sha, `<a href="http://x/o/r/commit/` + sha + `">a1a1a1a</a>`},
		{"no reference in code", "`#12 @ada`", "<code>#12 @ada</code>"},
		{"marker is invisible", "a <!-- culprit:session --> b", "a  b"},
		{"kbd", "<kbd>x</kbd>", "<kbd>x</kbd>"},
		{"unknown element keeps its text", "a <blink>b <i>c</i></blink> d", "a b <i>c</i> d"},
		{"unknown in unknown", "<foo><bar>b</bar></foo>", "b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := string(renderMarkdown(c.in, "http://x", "o/r")); !strings.Contains(got, c.want) {
				t.Errorf("%q\n got %q\nwant %q in it", c.in, got, c.want)
			}
		})
	}
}

// hostileMarkdown are texts that must not do anything on a page.
var hostileMarkdown = []string{
	"<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "[x](javascript:alert(1))", "<a href=' jAvascript:alert(1)'>x</a>",
	"<iframe src=//evil></iframe>", "<svg onload=alert(1)><script>1</script></svg>", "<style>*{display:none}</style>", "<div style='position:fixed'>x</div>",
	"<form action=//evil><input name=p><button>go</button></form>", "<foo><script>alert(1)</script></foo>", "<foo><bar><img onerror=1 src=x></bar></foo>",
	"<math><mi//xlink:href=\"data:x,<script>alert(4)</script>\">", "<details open ontoggle=alert(1)>x</details>", "<input type=image src=x onerror=1>",
	"<img src='data:text/html,<script>alert(1)</script>'>", "# x {onclick=alert(1)}", "<b><script>", "<base href=//evil>", "<meta http-equiv=refresh content=0>",
}

func harmless(html string) bool {
	low := strings.ToLower(html)
	for _, bad := range []string{"<script", "<iframe", "<style", "<svg", "<form", "<button", "<object", "<base", "<meta", "<math", " style=", `type="image"`, `="javascript`, `" javascript`, `="data:`} {
		if strings.Contains(low, bad) {
			return false
		}
	}
	for tag := range strings.SplitSeq(low, "<") {
		inside, _, _ := strings.Cut(tag, ">")
		for word := range strings.FieldsSeq(inside) {
			if name, _, isAttr := strings.Cut(word, `="`); isAttr && strings.HasPrefix(name, "on") {
				return false
			}
		}
	}
	return true
}

func TestHostileMarkdownDoesNothing(t *testing.T) {
	t.Parallel()
	for _, in := range hostileMarkdown {
		if got := string(renderMarkdown(in, "http://x", "o/r")); !harmless(got) {
			t.Errorf("%q renders as %q", in, got)
		}
	}
}

func FuzzMarkdown(f *testing.F) {
	for _, in := range hostileMarkdown {
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in string) {
		out := string(renderMarkdown(in, "http://x", "o/r"))
		if strings.Contains(strings.ToLower(out), "<script") || strings.Contains(strings.ToLower(out), "<iframe") {
			t.Fatalf("%q renders as %q", in, out)
		}
	})
}
