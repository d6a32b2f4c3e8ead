package githubtest

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// commitInfo is a commit as git tells it.
type commitInfo struct {
	sha, tree, message       string
	parents                  []string
	author, authorMail       string
	committer, committerMail string
	authored, committed      time.Time
}

const commitFormat = "%H%x00%T%x00%P%x00%an%x00%ae%x00%at%x00%cn%x00%ce%x00%ct%x00%B%x01"

// readCommit reads a commit by its full SHA, once.
func (s *Server) readCommit(r *repository, sha string) (commitInfo, error) {
	if c, known := r.commits[sha]; known {
		return c, nil
	}
	o, err := s.readObject(r, sha)
	if err != nil {
		return commitInfo{}, fmt.Errorf("read commit %s: %w", sha, err)
	}
	c, plain := parseCommit(o)
	if !plain {
		list, err := s.logCommits(r, "--max-count=1", sha, "--")
		if err != nil || len(list) == 0 {
			return commitInfo{}, fmt.Errorf("read commit %s: %w", sha, err)
		}
		c = list[0]
	}
	r.commits[sha] = c
	return c, nil
}

// parseCommit reads a commit object. It is not plain when it needs git's
// judgement: another encoding, or a broken header.
func parseCommit(o object) (c commitInfo, plain bool) {
	head, message, ok := strings.Cut(string(o.data), "\n\n")
	if !ok || o.kind != "commit" || !utf8.Valid(o.data) {
		return commitInfo{}, false
	}
	c = commitInfo{sha: o.sha, message: strings.TrimRight(message, "\n")}
	for line := range strings.SplitSeq(head, "\n") {
		key, value, _ := strings.Cut(line, " ")
		okay := true
		switch key {
		case "tree":
			c.tree = value
		case "parent":
			c.parents = append(c.parents, value)
		case "author":
			c.author, c.authorMail, c.authored, okay = parseIdent(value)
		case "committer":
			c.committer, c.committerMail, c.committed, okay = parseIdent(value)
		case "encoding":
			okay = false
		}
		if !okay {
			return commitInfo{}, false
		}
	}
	return c, c.tree != "" && !c.authored.IsZero() && !c.committed.IsZero()
}

// parseIdent reads "Name <mail> seconds zone".
func parseIdent(s string) (name, mail string, at time.Time, ok bool) {
	name, rest, ok1 := strings.Cut(s, " <")
	mail, when, ok2 := strings.Cut(rest, "> ")
	seconds, _, ok3 := strings.Cut(when, " ")
	n, err := strconv.ParseInt(seconds, 10, 64)
	return name, mail, time.Unix(n, 0).UTC(), ok1 && ok2 && ok3 && err == nil
}

// logCommits runs git log; args are options and revisions.
func (s *Server) logCommits(r *repository, args ...string) ([]commitInfo, error) {
	out, err := s.git(r, append([]string{"log", "--format=" + commitFormat}, args...)...)
	if err != nil {
		return nil, err
	}
	var list []commitInfo
	for rec := range strings.SplitSeq(out, "\x01") {
		f := strings.Split(strings.TrimLeft(rec, "\n"), "\x00")
		if len(f) != 10 {
			continue
		}
		list = append(list, commitInfo{
			sha: f[0], tree: f[1], parents: strings.Fields(f[2]), author: f[3], authorMail: f[4], authored: unixTime(f[5]),
			committer: f[6], committerMail: f[7], committed: unixTime(f[8]), message: strings.TrimRight(f[9], "\n"),
		})
	}
	return list, nil
}

func unixTime(s string) time.Time {
	n, _ := strconv.ParseInt(s, 10, 64)
	return time.Unix(n, 0).UTC()
}

// diffFile is one file of a diff.
type diffFile struct {
	status    string // added, removed, modified, renamed
	path, old string
	add, del  int
	binary    bool
	patch     string
	blob      string
}

// diffFiles compares two trees; base may be the empty tree.
func (s *Server) diffFiles(r *repository, base, head string) ([]diffFile, error) {
	raw, err := s.gitOnce(r, "diff-tree", "-r", "-z", "-M", "--raw", "--full-index", base, head, "--")
	if err != nil {
		return nil, err
	}
	var files []diffFile
	tok := strings.Split(raw, "\x00")
	for i := 0; i+1 < len(tok); {
		head := strings.Fields(tok[i])
		if len(head) < 5 {
			i++
			continue
		}
		f := diffFile{path: tok[i+1], blob: head[3]}
		i += 2
		switch head[4][0] {
		case 'A':
			f.status = "added"
		case 'D':
			f.status, f.blob = "removed", head[2]
		case 'R', 'C':
			f.status, f.old = "renamed", f.path
			if i < len(tok) {
				f.path = tok[i]
				i++
			}
		default:
			f.status = "modified"
		}
		files = append(files, f)
	}
	for i := range files {
		f := &files[i]
		paths := []string{f.path}
		if f.old != "" {
			paths = append(paths, f.old)
		}
		out, err := s.gitOnce(r, append([]string{"diff", "--no-color", "--no-ext-diff", "-M", base, head, "--"}, literal(paths)...)...)
		if err != nil {
			return nil, err
		}
		at := strings.Index(out, "\n@@ ")
		if at < 0 {
			f.binary = strings.Contains(out, "Binary files")
			continue
		}
		f.patch = strings.TrimSuffix(out[at+1:], "\n")
		for line := range strings.SplitSeq(f.patch, "\n") {
			switch {
			case strings.HasPrefix(line, "+"):
				f.add++
			case strings.HasPrefix(line, "-"):
				f.del++
			}
		}
	}
	return files, nil
}

func literal(paths []string) []string {
	out := make([]string, len(paths))
	for i, p := range paths {
		out[i] = ":(literal)" + p
	}
	return out
}

const emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

func (c commitInfo) firstParent() string {
	if len(c.parents) == 0 {
		return emptyTree
	}
	return c.parents[0]
}

func (s *Server) commitJSON(r *repository, c commitInfo) obj {
	u, w := s.repoURL(r), s.webURL(r)
	parents := []obj{}
	for _, p := range c.parents {
		parents = append(parents, obj{"sha": p, "url": u + "/commits/" + p, "html_url": w + "/commit/" + p})
	}
	return obj{
		"sha": c.sha, "node_id": nodeID("Commit:"+c.sha, r.id), "url": u + "/commits/" + c.sha,
		"html_url": w + "/commit/" + c.sha, "comments_url": u + "/commits/" + c.sha + "/comments",
		"commit": obj{
			"author":    obj{"name": c.author, "email": c.authorMail, "date": stamp(c.authored)},
			"committer": obj{"name": c.committer, "email": c.committerMail, "date": stamp(c.committed)},
			"message":   c.message, "tree": obj{"sha": c.tree, "url": u + "/git/trees/" + c.tree},
			"url": u + "/git/commits/" + c.sha, "comment_count": len(r.onCommit(c.sha)),
			"verification": obj{"verified": false, "reason": "unsigned", "signature": nil, "payload": nil, "verified_at": nil},
		},
		"author": s.userOrNull(s.userByMail(c.authorMail)), "committer": s.userOrNull(s.userByMail(c.committerMail)), "parents": parents,
	}
}

// gitCommitJSON is a commit as git has it, without accounts.
func (s *Server) gitCommitJSON(r *repository, c commitInfo) obj {
	v := s.commitJSON(r, c)
	inner, _ := v["commit"].(obj)
	for _, key := range []string{"author", "committer", "message", "tree", "url", "verification"} {
		v[key] = inner[key]
	}
	delete(v, "commit")
	delete(v, "comments_url")
	return v
}

// userByMail finds the account of a commit's address.
func (s *Server) userByMail(mail string) *user {
	for _, u := range s.users {
		if strings.EqualFold(u.email, mail) {
			return u
		}
	}
	return nil
}

func (s *Server) simpleCommitJSON(c commitInfo) obj {
	return obj{
		"id": c.sha, "tree_id": c.tree, "message": c.message, "timestamp": stamp(c.committed),
		"author":    obj{"name": c.author, "email": c.authorMail},
		"committer": obj{"name": c.committer, "email": c.committerMail},
	}
}

func (s *Server) fileJSON(r *repository, head string, f diffFile) obj {
	p := escapePath(f.path)
	v := obj{
		"sha": f.blob, "filename": f.path, "status": f.status, "additions": f.add, "deletions": f.del, "changes": f.add + f.del,
		"blob_url": s.webURL(r) + "/blob/" + head + "/" + p, "raw_url": s.webURL(r) + "/raw/" + head + "/" + p,
		"contents_url": s.repoURL(r) + "/contents/" + p + "?ref=" + head,
	}
	if f.patch != "" {
		v["patch"] = f.patch
	}
	if f.old != "" {
		v["previous_filename"] = f.old
	}
	return v
}
