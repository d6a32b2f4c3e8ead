package eval

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"

	"culprit/internal/session"
	"culprit/internal/strictyaml"
)

// Manifest is a file of cases. The tags are the whole format: reading, the
// JSON Schema (docs/eval.schema.json) and the table of docs/eval.md are made
// from them.
type Manifest struct {
	Cases []Case `yaml:"cases" max:"1000" doc:"The cases." example:"[…]"`
}

// Case is one bug whose cause is known.
type Case struct {
	Line strictyaml.Line `json:"-"`

	ID         string `yaml:"id" max:"80" doc:"Name of the case: lower case letters, digits, dots, dashes." example:"flow-map"`
	Repository string `yaml:"repository" max:"300" doc:"OWNER/NAME on GitHub, or the https address of a repository. --mirror gives clones instead." example:"goccy/go-yaml"`
	Path       string `yaml:"path" doc:"Folder of a clone, instead of repository; relative to the manifest." example:"../project"`
	History    string `yaml:"history" doc:"Folder of txtar files, one a commit, from which the repository is made." example:"pocket"`
	Script     string `yaml:"script" doc:"Shell script that makes the repository in its current folder, in the sandbox. Dates and authors are fixed, so that commit IDs stay the same." example:"rounding.sh"`

	Bad     string   `yaml:"bad" max:"200" doc:"Revision that fails; any that git understands, as all revisions here." example:"c82f89f6"`
	Good    string   `yaml:"good" max:"200" doc:"Revision that is told to pass. Without it, one is searched." example:"v1.2.0"`
	Overlay []string `yaml:"overlay" max:"50" doc:"REV:PATH of files, usually a test that only exists later, which the session may see. REV itself stays hidden." example:"[\"3fa49bf:parser/parser_test.go\"]"`
	Test    string   `yaml:"test" max:"4096" doc:"Command that fails. Without it, it is found from the symptom and the project's files." example:"go test ./parser"`
	Setup   string   `yaml:"setup" max:"4096" doc:"Command that prepares a checkout. Without it, it is found from the project's files." example:"npm ci"`
	Symptom string   `yaml:"symptom" max:"65536" doc:"What is wrong, in somebody's words." example:"Parse fails for a map in flow style."`
	Log     string   `yaml:"log" doc:"File with a CI log, in place of symptom." example:"logs/flow-map.txt"`

	Truth   Truth   `yaml:"truth"`
	HeldOut HeldOut `yaml:"held_out"`

	dir    string // of the manifest
	digest string
}

// Truth is what is known of a case; no session sees it.
type Truth struct {
	Line strictyaml.Line `json:"-"`

	Result  string   `yaml:"result" enum:"fixed,root_cause,flaky,not_reproduced,inconclusive" doc:"How the session should end, where only one end is right." example:"flaky"`
	Culprit string   `yaml:"culprit" max:"200" doc:"Commit that broke it." example:"6b0c68e6"`
	Cause   []string `yaml:"cause" max:"100" doc:"PATH, PATH:LINE or PATH:FROM-TO at bad: where the cause is. Without it, the lines that the true fix changes outside of tests." example:"[\"parser/parser.go:484-492\"]"`
	Fix     string   `yaml:"fix" max:"200" doc:"Commit that mended it." example:"3fa49bf"`
	Patch   string   `yaml:"patch" doc:"File with a patch that mends bad, in place of fix." example:"refund.patch"`
}

// HeldOut is a test that judges a fix from outside.
type HeldOut struct {
	Line strictyaml.Line `json:"-"`

	Test    string   `yaml:"test" max:"4096" doc:"Command of the held-out test. It must fail at bad and pass with the true fix, which is tried." example:"go test ./..."`
	Overlay []string `yaml:"overlay" max:"50" doc:"REV:PATH of files that are laid over for it." example:"[\"3fa49bf:parser/more_test.go\"]"`
	Files   string   `yaml:"files" doc:"txtar archive whose files are laid over for it." example:"held-out/refunds.txtar"`
}

// A ManifestError is everything that is wrong with a manifest.
type ManifestError struct {
	File     string
	Problems []strictyaml.Problem
}

func (e *ManifestError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s cannot be used:", e.File)
	for _, p := range e.Problems {
		fmt.Fprintf(&b, "\n%s:%d: %s", e.File, p.Line, p.Text)
	}
	return b.String()
}

const (
	maxManifest = 4 << 20  // bytes
	maxFile     = 32 << 20 // of a file that a case names, bytes
)

// Load reads a manifest and the files that its cases name. A *ManifestError
// holds all problems at once, with their lines.
func Load(file string) (*Manifest, error) {
	data, err := readFile(file, maxManifest)
	if err != nil {
		return nil, fmt.Errorf("read manifest: %w", err)
	}
	dir, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return nil, fmt.Errorf("read manifest: %w", err)
	}
	var m Manifest
	problems := strictyaml.Read(data, maxManifest, &m)
	if len(problems) == 0 && len(m.Cases) == 0 {
		problems = append(problems, strictyaml.Problem{Line: 1, Text: "there are no cases: write some below `cases:`"})
	}
	ids := map[string]strictyaml.Line{}
	for i := range m.Cases {
		c := &m.Cases[i]
		c.dir = dir
		found := c.check()
		if first, twice := ids[c.ID]; twice && c.ID != "" {
			found = append(found, strictyaml.Problem{Line: int(c.Line), Text: fmt.Sprintf("id %q is that of line %d too", c.ID, first)})
		}
		ids[c.ID] = c.Line
		if len(found) == 0 {
			c.digest, err = c.sum()
			if err != nil {
				found = append(found, strictyaml.Problem{Line: int(c.Line), Text: err.Error()})
			}
		}
		problems = append(problems, found...)
	}
	if len(problems) > 0 {
		strictyaml.Sort(problems)
		return nil, &ManifestError{file, problems}
	}
	return &m, nil
}

// Schema is the JSON Schema of manifests, for editors.
func Schema() []byte {
	return strictyaml.Schema[Manifest]("Culprit: manifest of bot eval", "cases")
}

// Markdown is the table of the manifest's keys.
func Markdown() string { return strictyaml.Markdown[Manifest]() }

var (
	caseID = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*$`)
	github = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+$`)
)

// check finds what single values do not show.
func (c *Case) check() []strictyaml.Problem {
	var out []strictyaml.Problem
	problem := func(line strictyaml.Line, format string, args ...any) {
		if line == 0 {
			line = c.Line
		}
		out = append(out, strictyaml.Problem{Line: int(line), Text: fmt.Sprintf(format, args...)})
	}
	if !caseID.MatchString(c.ID) {
		problem(c.Line, "id: want lower case letters, digits, dots and dashes, got %q", c.ID)
	}
	sources := 0
	for _, s := range []string{c.Repository, c.Path, c.History, c.Script} {
		if s != "" {
			sources++
		}
	}
	if sources != 1 {
		problem(c.Line, "want one of repository, path, history and script, got %d of them", sources)
	}
	if r := c.Repository; r != "" && !github.MatchString(r) && !strings.HasPrefix(r, "https://") {
		problem(c.Line, "repository: want OWNER/NAME or an https address, got %q", r)
	}
	if c.Bad == "" {
		problem(c.Line, "bad: name the revision that fails")
	}
	if c.Symptom != "" && c.Log != "" {
		problem(c.Line, "want symptom or log, got both")
	}
	if c.Test == "" && c.Symptom == "" && c.Log == "" {
		problem(c.Line, "want at least one of test, symptom and log")
	}
	t := c.Truth
	if t.Fix != "" && t.Patch != "" {
		problem(t.Line, "truth: want fix or patch, got both")
	}
	if t.Result == "" && t.Culprit == "" && len(t.Cause) == 0 && t.Fix == "" && t.Patch == "" {
		problem(t.Line, "truth: nothing is known: want at least one of result, culprit, cause, fix and patch")
	}
	for _, p := range t.Cause {
		if _, err := ParsePlace(p); err != nil {
			problem(t.Line, "truth.cause: %v", err)
		}
	}
	h := c.HeldOut
	if h.Test == "" && (len(h.Overlay) > 0 || h.Files != "") {
		problem(h.Line, "held_out: files without a test: name the command")
	}
	if h.Test != "" && t.Fix == "" && t.Patch == "" {
		problem(h.Line, "held_out: whether the test can pass is only known with a true fix: name truth.fix or truth.patch")
	}
	overlays := []struct {
		line strictyaml.Line
		list []string
	}{{c.Line, c.Overlay}, {h.Line, h.Overlay}}
	for _, o := range overlays {
		for _, entry := range o.list {
			if _, err := ParseOverlay(entry); err != nil {
				problem(o.line, "overlay: %v", err)
			}
		}
	}
	for _, f := range []struct {
		line   strictyaml.Line
		key    string
		value  string
		folder bool
	}{
		{c.Line, "history", c.History, true}, {c.Line, "script", c.Script, false}, {c.Line, "log", c.Log, false},
		{t.Line, "truth.patch", t.Patch, false}, {h.Line, "held_out.files", h.Files, false},
	} {
		if f.value == "" {
			continue
		}
		switch info, err := os.Stat(c.File(f.value)); {
		case err != nil:
			problem(f.line, "%s: there is no %s", f.key, f.value)
		case info.IsDir() != f.folder && f.folder:
			problem(f.line, "%s: %s is no folder", f.key, f.value)
		case info.IsDir() != f.folder:
			problem(f.line, "%s: %s is a folder", f.key, f.value)
		}
	}
	return out
}

// ParseOverlay reads REV:PATH.
func ParseOverlay(text string) (session.Overlay, error) {
	// A revision such as ":/subject" has a colon itself, a path hardly ever.
	i := strings.LastIndex(text, ":")
	if i <= 0 || i == len(text)-1 || !fs.ValidPath(text[i+1:]) {
		return session.Overlay{}, fmt.Errorf("want REV:PATH with a path below the repository's root, got %q", text)
	}
	return session.Overlay{Rev: text[:i], Path: path.Clean(text[i+1:])}, nil
}

// File is the path of a file that the case names.
func (c Case) File(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(c.dir, filepath.FromSlash(name))
}

// Text is the symptom as the session gets it.
func (c Case) Text() (string, error) {
	if c.Log == "" {
		return c.Symptom, nil
	}
	data, err := readFile(c.File(c.Log), maxFile)
	return string(data), err
}

// Digest stands for the case: what the manifest says of it and the content of
// the files that it names. A clone that path or --mirror names is not part of
// it; the revisions in it are.
func (c Case) Digest() string { return c.digest }

func (c Case) sum() (string, error) {
	h := sha256.New()
	if err := json.NewEncoder(h).Encode(c); err != nil {
		return "", fmt.Errorf("encode case: %w", err)
	}
	for _, name := range []string{c.History, c.Script, c.Log, c.Truth.Patch, c.HeldOut.Files} {
		if name == "" {
			continue
		}
		var files []string
		err := filepath.WalkDir(c.File(name), func(p string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				files = append(files, p)
			}
			return err
		})
		if err != nil {
			return "", err
		}
		slices.Sort(files)
		for _, f := range files {
			data, err := readFile(f, maxFile)
			if err != nil {
				return "", err
			}
			rel, err := filepath.Rel(c.File(name), f)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(h, "%s %q %d\n%s", name, filepath.ToSlash(rel), len(data), data)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8]), nil
}

// readFile reads a file of at most limit bytes.
func readFile(name string, limit int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s has more than %d bytes, the most that are read", name, limit)
	}
	return data, err
}

// Patch is the true fix where a file holds it; nil elsewhere.
func (c Case) Patch() ([]byte, error) {
	if c.Truth.Patch == "" {
		return nil, nil
	}
	return readFile(c.File(c.Truth.Patch), maxFile)
}

// HeldOutFiles are the files of the held-out archive.
func (c Case) HeldOutFiles() ([]session.Edit, error) {
	if c.HeldOut.Files == "" {
		return nil, nil
	}
	data, err := readFile(c.File(c.HeldOut.Files), maxFile)
	if err != nil {
		return nil, err
	}
	var out []session.Edit
	for _, f := range txtar.Parse(data).Files {
		if !fs.ValidPath(f.Name) {
			return nil, fmt.Errorf("%s: %q is no path below the repository's root", c.HeldOut.Files, f.Name)
		}
		out = append(out, session.Edit{Path: f.Name, Content: f.Data})
	}
	return out, nil
}
