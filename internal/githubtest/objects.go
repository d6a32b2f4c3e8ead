package githubtest

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A git process costs more than all else that a request does, and a request
// asks git many small questions. Therefore objects are read through one
// `git cat-file` for each repository, and new ones are written without git, in
// its loose format. Whatever needs more than that is left to git.

// objectReader is a running `git cat-file --batch-command`.
type objectReader struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func (s *Server) startReader(r *repository) (*objectReader, error) {
	cmd := exec.CommandContext(s.ctx, s.gitPath, "--git-dir="+r.dir, "cat-file", "--batch-command")
	cmd.Env = gitEnv()
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &objectReader{cmd, in, bufio.NewReader(out)}, nil
}

// close ends the process; it may be called on nil.
func (o *objectReader) close() {
	if o != nil {
		_ = o.in.Close()
		_ = o.cmd.Wait()
	}
}

// ask sends one command ("info" or "contents"). An object that does not exist,
// or a name that means several, has an empty SHA.
func (o *objectReader) ask(command, name string) (object, error) {
	if _, err := io.WriteString(o.in, command+" "+name+"\n"); err != nil {
		return object{}, err
	}
	line, err := o.out.ReadString('\n')
	if err != nil {
		return object{}, err
	}
	f := strings.Fields(line)
	if len(f) != 3 || !fullSHA(f[0]) {
		return object{}, nil
	}
	size, err := strconv.Atoi(f[2])
	if err != nil {
		return object{}, err
	}
	found := object{sha: f[0], kind: f[1]}
	if command == "contents" {
		data := make([]byte, size+1) // and a line feed
		if _, err := io.ReadFull(o.out, data); err != nil {
			return object{}, err
		}
		found.data = data[:size]
	}
	return found, nil
}

// object is an object of git: a commit, tree, blob or tag.
type object struct {
	sha, kind string
	data      []byte
}

// findObject looks up what a revision names; its data stays behind.
func (s *Server) findObject(r *repository, name string) (object, error) {
	return s.askGit(r, "info", name)
}

// readObject reads what a revision names.
func (s *Server) readObject(r *repository, name string) (object, error) {
	return s.askGit(r, "contents", name)
}

func (s *Server) askGit(r *repository, command, name string) (object, error) {
	if name == "" || strings.ContainsAny(name, "\n\x00") {
		return object{}, fmt.Errorf("read object %q: not a name", name)
	}
	var found object
	var err error
	for range 2 { // a process that somebody ended is started anew
		if r.reader == nil {
			if r.reader, err = s.startReader(r); err != nil {
				break
			}
		}
		if found, err = r.reader.ask(command, name); err == nil {
			break
		}
		r.reader.close()
		r.reader = nil
	}
	switch {
	case err != nil:
		return object{}, fmt.Errorf("read object %q: %w", name, err)
	case found.sha == "":
		return object{}, fmt.Errorf("read object %q: no such object", name)
	}
	return found, nil
}

// writeObject stores an object and returns its SHA.
func (s *Server) writeObject(r *repository, kind string, data []byte) (string, error) {
	raw := append(fmt.Appendf(nil, "%s %d\x00", kind, len(data)), data...)
	sum := sha1.Sum(raw)
	sha := hex.EncodeToString(sum[:])
	path := filepath.Join(r.dir, "objects", sha[:2], sha[2:])
	if _, err := os.Stat(path); err == nil {
		return sha, nil
	}
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	if _, err := z.Write(raw); err != nil {
		return "", err
	}
	if err := z.Close(); err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	// Readers see the whole object or none.
	temp, err := os.CreateTemp(filepath.Dir(path), "tmp_obj_")
	if err != nil {
		return "", err
	}
	_, err = temp.Write(packed.Bytes())
	err = errors.Join(err, temp.Close(), os.Chmod(temp.Name(), 0o444))
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(temp.Name())
		return "", fmt.Errorf("write %s: %w", kind, err)
	}
	return sha, nil
}

// writeCommit stores a commit by GitHub in the name of an author; nil is
// GitHub itself.
func (s *Server) writeCommit(r *repository, tree string, parents []string, author *user, message string) (string, error) {
	clean := strings.NewReplacer("<", "", ">", "", "\n", "", "\x00", "").Replace
	now := s.now().Unix()
	var b bytes.Buffer
	fmt.Fprintf(&b, "tree %s\n", tree)
	for _, p := range parents {
		fmt.Fprintf(&b, "parent %s\n", p)
	}
	name, mail := "GitHub", "noreply@github.com"
	if author != nil {
		name, mail = clean(author.name), clean(author.email)
	}
	fmt.Fprintf(&b, "author %s <%s> %d +0000\ncommitter GitHub <noreply@github.com> %d +0000\n\n", name, mail, now, now)
	b.WriteString(strings.TrimSuffix(strings.ReplaceAll(message, "\x00", ""), "\n") + "\n")
	return s.writeObject(r, "commit", b.Bytes())
}

// treeItem is one entry of a tree object.
type treeItem struct {
	mode, name, sha string
}

// sortKey orders entries as git does: a folder as if its name ended in "/".
func (t treeItem) sortKey() string {
	if t.mode == "40000" {
		return t.name + "/"
	}
	return t.name
}

func parseTree(data []byte) ([]treeItem, error) {
	var items []treeItem
	for len(data) > 0 {
		head, rest, ok := bytes.Cut(data, []byte{0})
		mode, name, ok2 := strings.Cut(string(head), " ")
		if !ok || !ok2 || len(rest) < sha1.Size {
			return nil, errors.New("parse tree: it is cut off")
		}
		items = append(items, treeItem{mode, name, hex.EncodeToString(rest[:sha1.Size])})
		data = rest[sha1.Size:]
	}
	return items, nil
}

// writeFile stores a copy of a tree ("" is an empty one) with one file set, and
// returns its SHA.
func (s *Server) writeFile(r *repository, tree, path, blob string) (string, error) {
	var items []treeItem
	if tree != "" {
		o, err := s.readObject(r, tree)
		if err != nil {
			return "", err
		}
		if items, err = parseTree(o.data); err != nil {
			return "", err
		}
	}
	name, rest, deeper := strings.Cut(path, "/")
	at := slices.IndexFunc(items, func(t treeItem) bool { return t.name == name })
	if at < 0 {
		at = len(items)
		items = append(items, treeItem{name: name})
	}
	item := &items[at]
	if deeper {
		below := ""
		if item.mode == "40000" {
			below = item.sha
		}
		sha, err := s.writeFile(r, below, rest, blob)
		if err != nil {
			return "", err
		}
		item.mode, item.sha = "40000", sha
	} else {
		item.mode, item.sha = "100644", blob
	}
	slices.SortFunc(items, func(a, b treeItem) int { return strings.Compare(a.sortKey(), b.sortKey()) })
	var b bytes.Buffer
	for _, t := range items {
		raw, err := hex.DecodeString(t.sha)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%s %s\x00%s", t.mode, t.name, raw)
	}
	return s.writeObject(r, "tree", b.Bytes())
}

// validPath says whether git takes a path into a tree.
func validPath(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." || part == ".." || strings.EqualFold(part, ".git") {
			return false
		}
	}
	return !strings.ContainsRune(path, 0)
}
