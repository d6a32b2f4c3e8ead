package patch

import (
	"fmt"
	"path"
	"strings"

	"culprit/internal/session"
)

// Rule names what a change did that it may not.
type Rule string

// Rules of the policy. No fix that breaks one is published.
const (
	UnsafePath       Rule = "unsafe-path"       // absolute, out of the tree, inside .git
	ProtectedPath    Rule = "protected-path"    // decides what runs, who reviews, or what the bot may do
	SpecialFile      Rule = "special-file"      // a submodule or a symbolic link
	TooLarge         Rule = "too-large"         // more than a fix should touch
	TestDeleted      Rule = "test-deleted"      // a test, or a file of tests, is gone
	TestSkipped      Rule = "test-skipped"      // a test no longer runs, or keeps others from running
	AssertionRemoved Rule = "assertion-removed" // a test demands less
	AssertionChanged Rule = "assertion-changed" // a test demands something else
	ToleranceWidened Rule = "tolerance-widened" // a test accepts more, waits longer or tries more often
	SecretAdded      Rule = "secret-added"      // a credential would be left in the repository
	CheckSilenced    Rule = "check-silenced"    // a linter, type checker or coverage is told to look away
	ErrorSwallowed   Rule = "error-swallowed"   // a failure no longer shows
)

// Violation is one place where a change breaks a rule.
type Violation struct {
	Rule Rule   `json:"rule"`
	Path string `json:"path,omitempty"`
	Line int    `json:"line,omitempty"` // on the new side, or where the line was; 0 = the whole file
	Text string `json:"text"`           // what it does, for a person
}

func (v Violation) String() string {
	return strings.TrimPrefix(session.Location(v.Path, v.Line)+": ", ": ") + v.Text
}

// Policy is what a change must keep to. The zero value is the default.
type Policy struct {
	// Protected are patterns (see Match) beside the built-in ones.
	Protected []string
	MaxFiles  int // 0 means 20
	MaxLines  int // added and removed together, lock files apart; 0 means 600
	// IsTestFile tells tests by path; nil means IsTestFile of this package.
	IsTestFile func(path string) bool
}

// builtIn are the paths that no fix touches (GH6): what runs in CI, who must
// review, what the bot itself obeys.
var builtIn = []string{
	".github/workflows/**", ".github/actions/**", ".github/culprit.yml", ".github/culprit.yaml", ".github/dependabot.yml",
	"**/CODEOWNERS", ".gitmodules", "**/.gitattributes",
	".gitlab-ci.yml", ".circleci/**", ".travis.yml", "Jenkinsfile", "azure-pipelines.yml", ".buildkite/**", ".drone.yml", "bitbucket-pipelines.yml",
	"codecov.yml", ".codecov.yml", "**/.coveragerc", "**/.nycrc", "**/.nycrc.json", "sonar-project.properties",
	// What linters and type checkers look at.
	"**/.golangci.y*ml", "**/.eslintrc*", "**/.eslintignore", "**/eslint.config.*", "**/biome.json*", "**/ruff.toml", "**/.ruff.toml", "**/.flake8", "**/mypy.ini",
	"**/.pylintrc", "**/.rubocop.yml", "**/clippy.toml", "**/phpstan.neon*", "**/.shellcheckrc", ".pre-commit-config.yaml",
}

// isLock are files that tools write, whose length says nothing.
var isLock = map[string]bool{
	"go.sum": true, "package-lock.json": true, "npm-shrinkwrap.json": true, "yarn.lock": true, "pnpm-lock.yaml": true, "bun.lock": true,
	"Cargo.lock": true, "poetry.lock": true, "uv.lock": true, "Pipfile.lock": true, "pdm.lock": true, "Gemfile.lock": true, "composer.lock": true,
	"gradle.lockfile": true, "mix.lock": true, "packages.lock.json": true, "pubspec.lock": true, "Package.resolved": true,
}

// Check holds a change, as the hunks of its diff, against the policy. Nil
// means that nothing is wrong with it.
func Check(hunks []session.Hunk, p Policy) []Violation {
	if p.MaxFiles <= 0 {
		p.MaxFiles = 20
	}
	if p.MaxLines <= 0 {
		p.MaxLines = 600
	}
	if p.IsTestFile == nil {
		p.IsTestFile = IsTestFile
	}
	var out []Violation
	byFile := map[string][]session.Hunk{}
	var files []string
	lines := 0
	for _, h := range hunks {
		if byFile[h.File] == nil {
			files = append(files, h.File)
		}
		byFile[h.File] = append(byFile[h.File], h)
		if !isLock[path.Base(h.File)] {
			lines += h.OldLines + h.NewLines
		}
	}
	for _, file := range files {
		out = append(out, checkPaths(byFile[file], p)...)
		out = append(out, checkLines(file, byFile[file], p)...)
	}
	if len(files) > p.MaxFiles {
		out = append(out, Violation{Rule: TooLarge, Text: fmt.Sprintf("%d files are changed, at most %d are allowed", len(files), p.MaxFiles)})
	}
	if lines > p.MaxLines {
		out = append(out, Violation{Rule: TooLarge, Text: fmt.Sprintf("%d lines are changed, at most %d are allowed", lines, p.MaxLines)})
	}
	return out
}

// CheckPath holds one path against the policy.
func CheckPath(path string, p Policy) []Violation {
	if why := unsafe(path); why != "" {
		return []Violation{{Rule: UnsafePath, Path: path, Text: why}}
	}
	for _, pattern := range append(builtIn[:len(builtIn):len(builtIn)], p.Protected...) {
		if Match(strings.ToLower(pattern), strings.ToLower(path)) {
			return []Violation{{Rule: ProtectedPath, Path: path, Text: "is protected by " + pattern + ": a person must change it"}}
		}
	}
	return nil
}

func checkPaths(hunks []session.Hunk, p Policy) []Violation {
	out := CheckPath(hunks[0].File, p)
	for _, h := range hunks {
		if h.OldFile != "" {
			out = append(out, CheckPath(h.OldFile, p)...)
		}
		m, err := MetaOf(h)
		if err != nil {
			out = append(out, Violation{Rule: UnsafePath, Path: h.File, Text: "its change cannot be read"})
			continue
		}
		for _, mode := range []uint32{m.OldMode, m.NewMode} {
			if mode == ModeSubmodule {
				out = append(out, Violation{Rule: SpecialFile, Path: h.File, Text: "is a submodule, which a fix never moves"})
				break
			}
			if mode == ModeSymlink {
				out = append(out, Violation{Rule: SpecialFile, Path: h.File, Text: "is a symbolic link, which a fix never makes or turns"})
				break
			}
		}
		if !p.IsTestFile(h.File) && (h.OldFile == "" || !p.IsTestFile(h.OldFile)) {
			continue
		}
		switch {
		case m.Deleted:
			out = append(out, Violation{Rule: TestDeleted, Path: h.File, Text: "deletes a file of tests"})
		case m.Renamed && p.IsTestFile(h.OldFile) && !p.IsTestFile(h.File):
			out = append(out, Violation{Rule: TestDeleted, Path: h.OldFile, Text: "renames a file of tests so that it no longer runs"})
		}
	}
	return out
}

// unsafe says why a path may not be written, or is empty.
func unsafe(path string) string {
	switch {
	case path == "":
		return "has no path"
	case strings.HasPrefix(path, "/"), len(path) > 1 && path[1] == ':':
		return "is an absolute path"
	case strings.ContainsFunc(path, func(r rune) bool { return r < 0x20 || r == 0x7f || r == '\\' }):
		return "has control characters or backslashes in its path"
	}
	for part := range strings.SplitSeq(path, "/") {
		switch strings.ToLower(strings.TrimRight(part, ". ")) {
		case "":
			return "has an empty part, . or .. in its path"
		case ".git", "git~1":
			return "lies in git's own folder"
		}
	}
	return ""
}

// Match reports whether path matches pattern: * is any text within a folder,
// ? any one character within it, ** any folders. A pattern without a slash is
// about the root folder only.
func Match(pattern, path string) bool {
	for pattern != "" {
		switch {
		case strings.HasPrefix(pattern, "**/"):
			rest := pattern[3:]
			if Match(rest, path) {
				return true
			}
			_, below, found := strings.Cut(path, "/")
			if !found {
				return false
			}
			path = below
		case pattern == "**":
			return path != ""
		case pattern[0] == '*':
			for i := 0; i <= len(path); i++ {
				if Match(pattern[1:], path[i:]) {
					return true
				}
				if i < len(path) && path[i] == '/' {
					break
				}
			}
			return false
		case path == "", pattern[0] != path[0] && (pattern[0] != '?' || path[0] == '/'):
			return false
		default:
			pattern, path = pattern[1:], path[1:]
		}
	}
	return path == ""
}
