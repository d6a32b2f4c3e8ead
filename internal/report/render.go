package report

import (
	"embed"
	"fmt"
	"regexp"
	"strings"
	"text/template"
	"unicode/utf8"

	"culprit/internal/session"
)

// MaxText is the longest comment, pull request body or check run text that
// GitHub takes, in characters.
const MaxText = 65_536

//go:embed templates
var files embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"quote": quote, "oneline": line,
}).ParseFS(files, "templates/*.tmpl"))

// blank are the empty lines that parts leave which have nothing to say.
var blank = regexp.MustCompile(`\n{3,}`)

// render draws a template of Markdown.
func render(name string, data any) string {
	return strings.Trim(blank.ReplaceAllString(execute(name, data), "\n\n"), "\n") + "\n"
}

// execute draws a template, byte for byte.
func execute(name string, data any) string {
	var b strings.Builder
	if err := templates.ExecuteTemplate(&b, name+".tmpl", data); err != nil {
		// Only a template that does not fit its data fails; the goldens
		// execute every branch.
		return "This text could not be written: " + err.Error() + "\n"
	}
	return b.String()
}

// fit draws a template with the widest limits with which it has at most MaxText
// characters.
func fit(name string, s *session.Session) string {
	out := ""
	for _, l := range levels {
		if out = render(name, &view{s, l}); utf8.RuneCountInString(out) <= MaxText {
			return out
		}
	}
	return out
}

// Marker is the hidden line by which the comment of a session is found again.
func Marker(id string) string {
	if !session.ValidID(id) {
		return ""
	}
	return fmt.Sprintf("<!-- culprit:session=%s -->", id)
}

var markerForm = regexp.MustCompile(`^<!-- culprit:session=([A-Za-z0-9.-]+) -->`)

// FindMarker returns the session ID of a comment that Comment wrote. The
// marker counts at the beginning only, where no foreign text can stand.
func FindMarker(comment string) (sessionID string, ok bool) {
	m := markerForm.FindStringSubmatch(comment)
	if m == nil || !session.ValidID(m[1]) {
		return "", false
	}
	return m[1], true
}

// Comment is the session's one comment: how it stands while it runs, and its
// result when it is done. Markdown, at most MaxText characters.
func Comment(s *session.Session) string {
	if !s.Done() && s.Result == "" && s.Question == nil {
		return fit("comment_running", s)
	}
	return fit("comment", s)
}

// Marker is the session's own.
func (v *view) Marker() string { return Marker(v.ID) }
