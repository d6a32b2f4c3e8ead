package githubtest

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"time"
)

//go:embed pages
var pageFiles embed.FS

var pageTemplates = template.Must(template.New("").Funcs(template.FuncMap{
	"short":  func(sha string) string { return sha[:min(7, len(sha))] },
	"lines":  func(text string) []string { return strings.Split(strings.TrimSuffix(text, "\n"), "\n") },
	"icon":   conclusionIcon,
	"checks": func(repo string, rows []checkRow) checkList { return checkList{repo, rows} },
	"inc":    func(n int) int { return n + 1 },
	"when":   func(t time.Time) string { return t.UTC().Format("2 Jan 2006 15:04 UTC") },
}).ParseFS(pageFiles, "pages/*.html"))

// page is what the templates get.
type page struct {
	Title string
	Site  string
	Repo  string // owner/name; empty on the index
	Kind  string // the template's name
	Data  any
}

// servePage shows what is on this server, to everybody who can reach it:
// private repositories too.
func (s *Server) servePage(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	org, isManifest := manifestOwner(r.URL.Path)
	switch {
	case isManifest && r.Method == http.MethodPost:
		s.submitManifest(w, r, org)
		return
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	case r.URL.Path == "/_style.css":
		http.ServeFileFS(w, r, pageFiles, "pages/style.css")
		return
	case parts[0] == "_avatars":
		serveAvatar(w, parts[len(parts)-1])
		return
	}
	p := &page{Site: s.base}
	status := http.StatusOK
	if raw, found := s.buildPage(p, parts); raw != nil {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		_, _ = w.Write(raw)
		return
	} else if !found {
		status, p.Kind, p.Title = http.StatusNotFound, "missing", "Not found"
	}
	var b bytes.Buffer
	if err := pageTemplates.ExecuteTemplate(&b, "layout", p); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	// Nothing on the page may run or load anything, whatever a comment says.
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; img-src 'self' data:; frame-ancestors 'none'; form-action 'none'")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes())
}

// buildPage fills the page with the lock held. Raw bytes are sent as they are.
func (s *Server) buildPage(p *page, parts []string) (raw []byte, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if parts[0] == "" {
		p.Kind, p.Title, p.Data = "index", "Repositories", s.indexView()
		return nil, true
	}
	if len(parts) < 2 {
		return nil, false
	}
	r := s.repo(parts[0] + "/" + strings.TrimSuffix(parts[1], ".git"))
	if r == nil {
		return nil, false
	}
	p.Repo = r.fullName()
	rest := parts[2:]
	if len(rest) == 0 {
		p.Kind, p.Title, p.Data = "repo", p.Repo, s.repoView(r)
		return nil, true
	}
	arg := strings.Join(rest[1:], "/")
	switch rest[0] {
	case "issues", "pull":
		number, err := strconv.Atoi(strings.TrimSuffix(arg, ".diff"))
		i := r.issue(number)
		if err != nil || i == nil {
			return nil, false
		}
		if i.pull != nil && strings.HasSuffix(arg, ".diff") {
			return []byte(s.snapshotPull(r, i).Diff), true
		}
		p.Kind, p.Title, p.Data = "thread", fmt.Sprintf("%s · #%d", i.title, i.number), s.threadView(r, i)
	case "runs":
		for _, c := range r.checkRuns {
			if strconv.FormatInt(c.id, 10) == arg {
				p.Kind, p.Title, p.Data = "check", c.name, s.checkView(r, c)
			}
		}
	case "actions":
		id, _, _ := strings.Cut(strings.TrimPrefix(arg, "runs/"), "/")
		for _, w := range r.runs {
			if strconv.FormatInt(w.id, 10) == id {
				p.Kind, p.Title, p.Data = "run", w.workflow.name, runView(w)
			}
		}
	case "commit":
		if sha := s.resolve(r, arg); sha != "" {
			if v, found := s.commitView(r, sha); found {
				p.Kind, p.Title, p.Data = "commit", v.Title, v
			}
		}
	case "blob", "raw":
		raw, p.Kind, p.Title, p.Data = s.fileView(r, rest[0], rest[1:])
		return raw, raw != nil || p.Data != nil
	}
	return nil, p.Data != nil
}

// serveAvatar draws a plain disc whose colour follows from the account's ID.
func serveAvatar(w http.ResponseWriter, id string) {
	n, _ := strconv.Atoi(id)
	w.Header().Set("Content-Type", "image/svg+xml")
	fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 40"><rect width="40" height="40" fill="hsl(%d 45%% 55%%)"/>`+
		`<circle cx="20" cy="16" r="7" fill="#fff"/><path d="M6 40a14 14 0 0 1 28 0z" fill="#fff"/></svg>`, n*67%360)
}

func conclusionIcon(status, conclusion string) string {
	switch {
	case status != "completed":
		return "running"
	case conclusion == "success":
		return "success"
	case conclusion == "failure", conclusion == "timed_out", conclusion == "action_required":
		return "failure"
	}
	return "neutral"
}
