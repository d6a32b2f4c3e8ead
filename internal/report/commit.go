package report

import (
	"regexp"
	"strconv"
	"strings"

	"culprit/internal/session"
)

// conventional is a subject in the form of https://www.conventionalcommits.org.
var conventional = regexp.MustCompile(`^(?:feat|fix|chore|docs|refactor|test|tests|build|ci|perf|style|revert|deps)(?:\([^)]{1,40}\))?!?: \S`)

// maxSubject is the longest subject of a commit, in characters.
const maxSubject = 72

// subjects are what is known of the project's recent subjects.
func subjects(s *session.Session, recent []string) []string {
	if len(recent) > 0 {
		return recent
	}
	var out []string
	if s.Bad != nil {
		out = append(out, s.Bad.Subject)
	}
	if a := s.Archaeology; a != nil {
		for _, x := range a.Suspects {
			out = append(out, x.Commit.Subject)
		}
	}
	if c := s.RootCause; c != nil && c.SearchSummary != nil {
		for _, p := range c.SearchSummary.Tried {
			out = append(out, p.Commit.Subject)
		}
	}
	return out
}

// prefix is how the project's commits that fix something begin: "fix: " when
// most recent ones are conventional, else "Fix: ".
func prefix(s *session.Session, recent []string) string {
	n, all := 0, 0
	for _, subject := range subjects(s, recent) {
		if subject == "" || strings.HasPrefix(subject, "Merge ") {
			continue
		}
		all++
		if conventional.MatchString(subject) {
			n++
		}
	}
	if all > 0 && 2*n > all {
		return "fix: "
	}
	return "Fix: "
}

// titleText says what was wrong, for the title of the pull request and the
// subject of its commit. recent are subjects of the project's last commits;
// without any, those that the session knows are looked at.
func titleText(s *session.Session, recent []string, most int) string {
	v := show(s)
	what := ""
	if s.Fix != nil {
		what = s.Fix.Summary
	}
	if line(what) == "" {
		what = v.testText() + " fails"
		if c := s.RootCause; c != nil && c.Culprit != nil {
			what += " since " + c.Culprit.Short()
		}
	}
	p := prefix(s, recent)
	if p == "fix: " {
		what = lower(what)
	}
	title := p + plain(what)
	if at := strings.Index(title, " (\""); at > 0 && len([]rune(title)) > most {
		title = title[:at] // without the culprit's subject
	}
	return cut(title, most)
}

// BranchName is the branch of the session's fix, always the same.
func BranchName(s *session.Session) string {
	id := s.ID
	if !session.ValidID(id) {
		id = session.Slug(id)
	}
	return "culprit/" + strings.TrimSuffix(strings.TrimSuffix(id, "."), ".lock")
}

// CommitMessage is the message of the fix's commit. recent are subjects of the
// project's last commits, by which the style is chosen; without any, those
// that the session knows are looked at.
func CommitMessage(s *session.Session, recent ...string) string {
	v := show(s)
	var body []string
	add := func(paragraph string) {
		if paragraph != "" {
			body = append(body, wrap(paragraph, 72))
		}
	}
	if c := s.RootCause; c != nil {
		switch {
		case c.Culprit != nil:
			p := plain(cut(line(v.testText()), 160)) + " fails since " + c.Culprit.Short() + " (" + plain(cut(c.Culprit.Subject, 100)) + ")"
			if c.Location != "" {
				p += ", at " + plain(c.Location)
			}
			add(p + ".")
		default:
			add(sentence(plain(cut(c.Summary, 400))))
		}
	}
	if s.Fix != nil && s.Fix.Strategy != "" {
		add("This is a " + plain(s.Fix.Strategy) + ".")
	}
	if c := s.Confirmation; c != nil {
		add(plainProof(v))
	}
	if r := s.Reproduction; r != nil && r.Command != "" {
		body = append(body, "Verify with:\n    "+cut(plain(r.Command), 400))
	}
	body = append(body, "Culprit-Session: "+line(s.ID))
	return titleText(s, recent, maxSubject) + "\n\n" + strings.Join(body, "\n\n") + "\n"
}

// plainProof is Proof without Markdown.
func plainProof(v *view) string {
	c := v.Confirmation
	s := "The test " + tally(c.Before) + " without this change and " + tally(c.After) + " with it"
	if c.Suite != nil && c.Suite.Note == "" {
		s += "; of the wider suite " + count(c.Suite.Passed, "test") + " pass and " + strconv.Itoa(len(c.Suite.NewFailures)) + " newly fail"
	}
	return s + "."
}

// wrap breaks a paragraph at blanks.
func wrap(s string, width int) string {
	var b strings.Builder
	at := 0
	for w := range strings.FieldsSeq(s) {
		n := len([]rune(w))
		switch {
		case at == 0:
		case at+1+n > width:
			b.WriteByte('\n')
			at = 0
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(w)
		at += n
	}
	return b.String()
}
