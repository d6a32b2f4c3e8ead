package githubtest

import (
	"bytes"
	"fmt"
	"html/template"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"
	nethtml "golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

var markdown = goldmark.New(
	goldmark.WithExtensions(extension.GFM, extension.Footnote),
	// Raw HTML passes here because renderMarkdown sanitises all that comes out.
	goldmark.WithRendererOptions(html.WithUnsafe()),
)

// renderMarkdown renders GitHub-flavoured Markdown. What comes out is
// sanitised to the elements and attributes that GitHub allows in comments, so
// that hostile text does on this page what it does there: nothing. Issue
// numbers, logins and full SHAs become links below site and repo.
func renderMarkdown(text, site, repo string) template.HTML {
	var b bytes.Buffer
	if err := markdown.Convert([]byte(text), &b); err != nil {
		return template.HTML("<pre>" + template.HTMLEscapeString(text) + "</pre>") //nolint:gosec // escaped
	}
	body := &nethtml.Node{Type: nethtml.ElementNode, Data: "body", DataAtom: atom.Body}
	nodes, err := nethtml.ParseFragment(&b, body)
	if err != nil {
		return template.HTML("<pre>" + template.HTMLEscapeString(text) + "</pre>") //nolint:gosec // escaped
	}
	for _, n := range nodes {
		body.AppendChild(n)
	}
	sanitize(body)
	linkify(body, site, repo)
	var out bytes.Buffer
	for n := body.FirstChild; n != nil; n = n.NextSibling {
		_ = nethtml.Render(&out, n) // writing into memory
	}
	return template.HTML(out.String()) //nolint:gosec // sanitised above
}

// allowedElements are GitHub's allow-list; others lose their tags and keep
// their children.
var allowedElements = wordSet(`a abbr b bdo blockquote br caption cite code dd del details dfn div dl dt em figcaption figure
	h1 h2 h3 h4 h5 h6 hr i img ins kbd li mark ol p picture pre q rp rt ruby s samp small source span strike strong sub summary sup
	table tbody td tfoot th thead time tr tt ul var wbr input section`)

// droppedElements go with all that is in them.
var droppedElements = wordSet(`script style iframe object embed svg math textarea title xmp noembed noframes plaintext template form`)

var allowedAttributes = wordSet(`abbr align alt axis border cellpadding cellspacing char charoff checked cite colspan compact datetime dir
	disabled height href hspace id itemprop lang name open rowspan rules scope span src start summary title type valign value vspace width`)

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

func sanitize(n *nethtml.Node) {
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		switch {
		case c.Type == nethtml.TextNode:
		case c.Type != nethtml.ElementNode || droppedElements[c.Data]:
			n.RemoveChild(c)
		case !allowedElements[c.Data] || c.Data == "input" && attr(c, "type") != "checkbox":
			// The children come up into this place and are looked at next.
			if c.FirstChild != nil {
				next = c.FirstChild
			}
			for g := c.FirstChild; g != nil; g = c.FirstChild {
				c.RemoveChild(g)
				n.InsertBefore(g, c)
			}
			n.RemoveChild(c)
		default:
			c.Attr = slices.DeleteFunc(c.Attr, func(a nethtml.Attribute) bool { return !attributeAllowed(c.Data, a) })
			if c.Data == "a" {
				c.Attr = append(c.Attr, nethtml.Attribute{Key: "rel", Val: "nofollow"})
			}
			for i := range c.Attr {
				if c.Attr[i].Key == "id" || c.Attr[i].Key == "name" {
					c.Attr[i].Val = "user-content-" + strings.TrimPrefix(c.Attr[i].Val, "user-content-")
				}
			}
			sanitize(c)
		}
		c = next
	}
}

func attributeAllowed(element string, a nethtml.Attribute) bool {
	switch a.Key {
	case "class":
		return element == "code" && strings.HasPrefix(a.Val, "language-") && !strings.Contains(a.Val, " ")
	case "href", "cite":
		return schemeAllowed(a.Val, "http", "https", "mailto", "")
	case "src":
		return (element == "img" || element == "source") && schemeAllowed(a.Val, "http", "https", "")
	}
	return a.Namespace == "" && allowedAttributes[a.Key]
}

func schemeAllowed(raw string, schemes ...string) bool {
	u, err := url.Parse(strings.TrimSpace(raw))
	return err == nil && slices.Contains(schemes, strings.ToLower(u.Scheme))
}

func attr(n *nethtml.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// reference is what GitHub turns into a link in text: #12, @login, a full SHA.
var reference = regexp.MustCompile(`(^|[\s(\[,.;:])(#\d+|@[A-Za-z0-9][A-Za-z0-9-]{0,38}|[0-9a-f]{40})\b`)

// linkify makes references in text into links, outside of code and links.
func linkify(n *nethtml.Node, site, repo string) {
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		switch {
		case c.Type == nethtml.ElementNode && c.Data != "a" && c.Data != "code" && c.Data != "pre":
			linkify(c, site, repo)
		case c.Type == nethtml.TextNode:
			linkText(n, c, site, repo)
		}
		c = next
	}
}

func linkText(parent, text *nethtml.Node, site, repo string) {
	rest := text.Data
	for {
		at := reference.FindStringSubmatchIndex(rest)
		if at == nil {
			break
		}
		word := rest[at[4]:at[5]]
		href, label := "", word
		switch word[0] {
		case '#':
			href = fmt.Sprintf("%s/%s/issues/%s", site, repo, word[1:])
		case '@':
			href = site + "/" + word[1:]
		default:
			href, label = fmt.Sprintf("%s/%s/commit/%s", site, repo, word), word[:7]
		}
		a := &nethtml.Node{Type: nethtml.ElementNode, Data: "a", DataAtom: atom.A, Attr: []nethtml.Attribute{{Key: "href", Val: href}}}
		a.AppendChild(&nethtml.Node{Type: nethtml.TextNode, Data: label})
		parent.InsertBefore(&nethtml.Node{Type: nethtml.TextNode, Data: rest[:at[4]]}, text)
		parent.InsertBefore(a, text)
		rest = rest[at[5]:]
	}
	text.Data = rest
}
