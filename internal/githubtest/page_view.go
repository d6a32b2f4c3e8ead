package githubtest

import (
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"
)

// The views are what the page templates show: plain strings and rendered
// Markdown, copied out under the lock.

type indexRepo struct {
	Name, Description string
	Private           bool
	Threads           []threadRow
}

type threadRow struct {
	Number   int
	Title    string
	Kind     string // issues or pull
	State    string // open, closed, merged, draft
	User     string
	Labels   []labelView
	Comments int
}

type labelView struct{ Name, Style string }

type repoView struct {
	indexRepo
	Runs     []runRow
	Checks   []checkRow
	Branches []string
}

type runRow struct {
	ID                                        int64
	Name, Title, Status, Conclusion, SHA, Ref string
	Number                                    int
}

type checkRow struct {
	ID                                   int64
	Name, App, Status, Conclusion, Title string
}

type threadView struct {
	threadRow
	Author, Head, Base, HeadSHA string
	Posts                       []postView
	Checks                      []checkRow
	Files                       []diffView
	Commits                     []commitRow
	Additions, Deletions        int
	Mergeable                   string
	Locked                      bool
}

type postView struct {
	Anchor    string
	User      string
	UserID    int64
	Bot       bool
	When      time.Time
	Edited    bool
	What      string // "commented", "approved these changes", …
	Body      template.HTML
	Remarks   []remarkView
	Reactions string
}

type remarkView struct {
	ID   int64
	User string
	Path string
	Line int
	Hunk []diffLine
	Body template.HTML
}

type commitRow struct{ SHA, Title string }

type diffView struct {
	Path, Old, Status string
	Add, Del          int
	Lines             []diffLine
}

type diffLine struct{ Class, Old, New, Text string }

type checkView struct {
	checkRow
	Summary, Text template.HTML
	Annotations   []Annotation
	Actions       []Action
	SHA           string
}

func (s *Server) indexView() []indexRepo {
	var out []indexRepo
	for _, r := range s.repos {
		if !r.deleted {
			out = append(out, s.repoRow(r))
		}
	}
	return out
}

func (s *Server) repoRow(r *repository) indexRepo {
	row := indexRepo{Name: r.fullName(), Description: r.description, Private: r.private}
	for n := len(r.issues) - 1; n >= 0; n-- {
		row.Threads = append(row.Threads, s.threadRow(r.issues[n]))
	}
	return row
}

func (s *Server) threadRow(i *issue) threadRow {
	row := threadRow{Number: i.number, Title: i.title, Kind: "issues", State: i.state, User: i.user.login, Comments: len(i.comments)}
	for _, l := range i.labels {
		row.Labels = append(row.Labels, labelView{l.name, labelClass(l.color)})
	}
	if i.pull != nil {
		row.Kind = "pull"
		switch {
		case !i.pull.merged.IsZero():
			row.State = "merged"
		case i.state == "open" && i.pull.draft:
			row.State = "draft"
		}
	}
	return row
}

// labelClass maps a label's colour to one of twelve hues of the style sheet:
// the page's policy allows no inline styles.
func labelClass(color string) string {
	var r, g, b int
	_, _ = fmt.Sscanf(color, "%02x%02x%02x", &r, &g, &b)
	high, low := max(r, g, b), min(r, g, b)
	if high-low < 24 {
		return "hue-none"
	}
	d, hue := float64(high-low), 0.0
	switch high {
	case r:
		hue = float64(g-b) / d
	case g:
		hue = float64(b-r)/d + 2
	default:
		hue = float64(r-g)/d + 4
	}
	return fmt.Sprintf("hue-%d", (int(hue*2+12.5))%12)
}

func (s *Server) repoView(r *repository) repoView {
	v := repoView{indexRepo: s.repoRow(r)}
	refs, _ := s.listRefs(r, "refs/heads")
	for _, ref := range sortedKeys(refs) {
		v.Branches = append(v.Branches, strings.TrimPrefix(ref, "refs/heads/"))
	}
	for n := len(r.runs) - 1; n >= 0; n-- {
		w := r.runs[n]
		v.Runs = append(v.Runs, runRow{w.id, w.workflow.name, w.title, w.last().status, w.last().conclusion, w.sha, w.branch, w.number})
	}
	for n := len(r.checkRuns) - 1; n >= 0; n-- {
		if c := r.checkRuns[n]; c.suite.app != s.actions {
			v.Checks = append(v.Checks, newCheckRow(c))
		}
	}
	return v
}

func newCheckRow(c *checkRun) checkRow {
	return checkRow{c.id, c.name, c.suite.app.Name, c.status, c.conclusion, deref(c.title)}
}

func (s *Server) threadView(r *repository, i *issue) threadView {
	v := threadView{threadRow: s.threadRow(i), Author: i.user.login, Locked: i.locked}
	first := s.newPost(r, i.user, i.body)
	first.Anchor, first.When = fmt.Sprintf("issue-%d", i.id), i.created
	if i.body == "" {
		first.Body = "<p><em>No description provided.</em></p>"
	}
	v.Posts = append(v.Posts, first)
	for _, c := range i.comments {
		p := s.newPost(r, c.user, c.body)
		p.Anchor, p.When, p.Edited = fmt.Sprintf("issuecomment-%d", c.id), c.created, c.edits > 0
		for _, kind := range sortedKeys(c.reactions) {
			p.Reactions += fmt.Sprintf("%s %d ", kind, len(c.reactions[kind]))
		}
		v.Posts = append(v.Posts, p)
	}
	if i.pull == nil {
		return v
	}
	pl := i.pull
	v.Head, v.Base, v.HeadSHA, v.Additions, v.Deletions = pl.headRef, pl.baseRef, pl.headSHA, pl.additions, pl.deletions
	if pl.headRepo != r {
		v.Head = pl.headRepo.owner.login + ":" + pl.headRef
	}
	for _, rv := range pl.reviews {
		p := s.newPost(r, rv.user, rv.body)
		p.Anchor, p.When = fmt.Sprintf("pullrequestreview-%d", rv.id), rv.submitted
		p.What = map[string]string{"APPROVED": "approved these changes", "CHANGES_REQUESTED": "requested changes"}[rv.state]
		if p.What == "" {
			p.What = "reviewed"
		}
		for _, x := range pl.comments {
			if x.reviewID == rv.id {
				p.Remarks = append(p.Remarks, remarkView{x.id, x.user.login, x.path, x.line, patchLines(x.hunk), s.markdown(r, x.body)})
			}
		}
		v.Posts = append(v.Posts, p)
	}
	slices.SortStableFunc(v.Posts[1:], func(a, b postView) int { return a.When.Compare(b.When) })
	switch {
	case i.state != "open":
	case pl.mergeable == nil:
		v.Mergeable = "unknown"
	case *pl.mergeable:
		v.Mergeable = "clean"
	default:
		v.Mergeable = "dirty"
	}
	v.Checks = r.checksOf(pl.headSHA)
	if list, err := s.between(r, pl.baseSHA, pl.headSHA); err == nil {
		for _, c := range list {
			title, _, _ := strings.Cut(c.message, "\n")
			v.Commits = append(v.Commits, commitRow{c.sha, title})
		}
	}
	v.Files = diffViews(s.pullFiles(r, i))
	return v
}

func (s *Server) checkView(r *repository, c *checkRun) checkView {
	return checkView{
		checkRow: newCheckRow(c), SHA: c.sha, Annotations: c.annotations, Actions: c.actions,
		Summary: s.markdown(r, deref(c.summary)), Text: s.markdown(r, deref(c.text)),
	}
}

type jobLogView struct {
	checkRow
	Log string
}

type runPage struct {
	runRow
	Attempt int
	Jobs    []jobLogView
}

func runView(w *run) runPage {
	a := w.last()
	v := runPage{runRow: runRow{w.id, w.workflow.name, w.title, a.status, a.conclusion, w.sha, w.branch, w.number}, Attempt: a.number}
	for _, j := range a.jobs {
		v.Jobs = append(v.Jobs, jobLogView{newCheckRow(j.check), j.log})
	}
	return v
}

type blobView struct {
	Rev, Path string
	Lines     []string
}

func (s *Server) fileView(r *repository, kind string, rest []string) (raw []byte, template, title string, data any) {
	// A branch's name may have slashes: the shortest one that exists is meant.
	for n := 1; n < len(rest); n++ {
		rev, path := strings.Join(rest[:n], "/"), strings.Join(rest[n:], "/")
		sha := s.resolve(r, rev)
		if sha == "" {
			continue
		}
		file, err := s.readObject(r, sha+":"+path)
		if err != nil || file.kind != "blob" {
			continue
		}
		if kind == "raw" {
			return file.data, "", "", nil
		}
		return nil, "blob", path, blobView{rev, path, strings.Split(strings.TrimSuffix(string(file.data), "\n"), "\n")}
	}
	return nil, "", "", nil
}

func diffViews(files []diffFile) []diffView {
	var out []diffView
	for _, f := range files {
		out = append(out, diffView{Path: f.path, Old: f.old, Status: f.status, Add: f.add, Del: f.del, Lines: patchLines(f.patch)})
	}
	return out
}

func patchLines(patch string) []diffLine {
	if patch == "" {
		return nil
	}
	var out []diffLine
	old, now := 0, 0
	for text := range strings.SplitSeq(patch, "\n") {
		switch {
		case strings.HasPrefix(text, "@@"):
			var a, b string
			_, _ = fmt.Sscanf(text, "@@ -%s +%s @@", &a, &b)
			_, _ = fmt.Sscanf(a, "%d", &old)
			_, _ = fmt.Sscanf(b, "%d", &now)
			out = append(out, diffLine{Class: "hunk", Text: text})
		case strings.HasPrefix(text, "+"):
			out = append(out, diffLine{"add", "", fmt.Sprint(now), text})
			now++
		case strings.HasPrefix(text, "-"):
			out = append(out, diffLine{"del", fmt.Sprint(old), "", text})
			old++
		default:
			out = append(out, diffLine{"", fmt.Sprint(old), fmt.Sprint(now), text})
			old, now = old+1, now+1
		}
	}
	return out
}
