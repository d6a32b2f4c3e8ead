package toolchain

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// Move is one entry of a dependency file that differs between two states of
// it: a version that moved, a dependency that came or went, a directive.
type Move struct {
	Key  string // identifies the entry within its file: "require example.com/x"
	Name string // as people and the registry know it: "example.com/x"
	// Old and New are the entry's values, empty where it is not there: a
	// version, or what else the file says after the name.
	Old, New string

	line   string // as a line of its own in the new state, without a comment that could say the version
	hashed bool   // either state is bound to the content of one release
}

// Release is the move to another version than New.
func (m Move) Release(version string) Move {
	value := m.version(version)
	m.line = replaceLast(m.line, m.New, value)
	m.New = value
	return m
}

// version puts a release into the form that the entry's value has.
func (m Move) version(release string) string {
	return m.New[:len(m.New)-len(strings.TrimLeft(m.New, "= "))] + release
}

// Versions are both ends of the move as the registry names them; ok is false
// where an end is missing, is no single version, or is pinned by hash: the
// hashes of the releases between are not known.
func (m Move) Versions() (old, new string, ok bool) {
	old, new = strings.TrimLeft(m.Old, "= "), strings.TrimLeft(m.New, "= ")
	return old, new, !m.hashed && version.MatchString(old) && version.MatchString(new)
}

var version = regexp.MustCompile(`^v?[0-9][0-9A-Za-z.+!-]*$`)

// A manifest is a format of dependency files whose entries can be told apart.
type manifest struct {
	fits    func(base string) bool
	entries func(text string) []entry
	comment string // begins one behind an entry
	// companion is a file beside it that is taken as the union of both states'
	// lines: it only adds checksums.
	companion string
	// fetch and run go before the set-up and the test command, so that a
	// combination nobody has written down is fetched and used as it is.
	fetch, run func(dir string) string
	// releases prints all releases of a dependency, oldest first, one a line.
	releases func(dir, name string) string
	vendored string // folder that takes the file's place when it is there
}

// entry of a manifest, with the lines [from, to) where it stands.
type entry struct {
	key, name, value string
	line             string // as a line of its own
	hashed           bool   // names the hash of what it stands for
	from, to         int
}

var manifests = []manifest{
	{
		fits: func(base string) bool { return base == "go.mod" }, entries: goModEntries, comment: "//", companion: "go.sum", vendored: "vendor",
		fetch: func(dir string) string {
			return `export GOFLAGS="$GOFLAGS -mod=mod"` + "\n(cd " + Quote(dashSafe(dir)) + " && go mod download) || exit\n"
		},
		// What was fetched was checked then; here is no network to ask again.
		run: func(string) string { return `export GOFLAGS="$GOFLAGS -mod=mod" GOSUMDB=off` + "\n" },
		releases: func(dir, name string) string {
			return "cd " + Quote(dashSafe(dir)) + ` && GOFLAGS="$GOFLAGS -mod=mod" go list -m -versions -f '{{range .Versions}}{{println .}}{{end}}' ` + Quote(name)
		},
	},
	{
		fits: func(base string) bool {
			return strings.HasPrefix(base, "requirements") && strings.HasSuffix(base, ".txt")
		},
		entries: requirementEntries, comment: " #",
		// pip says "Available versions: 1.2, 1.1", the newest first.
		releases: func(_, name string) string {
			return "python3 -m pip index versions " + Quote(name) + ` 2>&1 | sed -n 's/^Available versions: //p' | tr -d ' ' | tr ',' '\n' | sed '1!G;h;$!d'`
		},
	},
}

func manifestOf(file string) (manifest, bool) {
	i := slices.IndexFunc(manifests, func(m manifest) bool { return m.fits(path.Base(file)) })
	if i < 0 {
		return manifest{}, false
	}
	return manifests[i], true
}

// Moves lists what differs between two states of a dependency file. ok is
// false for formats whose entries are not told apart here.
func Moves(file string, old, new []byte) (moves []Move, ok bool) {
	m, ok := manifestOf(file)
	if !ok {
		return nil, false
	}
	before, after := m.entries(string(old)), m.entries(string(new))
	find := func(in []entry, key string) (entry, bool) {
		i := slices.IndexFunc(in, func(e entry) bool { return e.key == key })
		if i < 0 {
			return entry{}, false
		}
		return in[i], true
	}
	for _, e := range after {
		if was, _ := find(before, e.key); was.value != e.value {
			moves = append(moves, Move{Key: e.key, Name: e.name, Old: was.value, New: e.value, line: e.line, hashed: e.hashed || was.hashed})
		}
	}
	for _, e := range before {
		if _, still := find(after, e.key); !still {
			moves = append(moves, Move{Key: e.key, Name: e.name, Old: e.value})
		}
	}
	return moves, true
}

// Carry returns the old state of a dependency file with some of its moves
// carried out; comments and order stay.
func Carry(file string, old []byte, moves []Move) []byte {
	m, ok := manifestOf(file)
	if !ok {
		return old
	}
	lines, entries := strings.SplitAfter(string(old), "\n"), m.entries(string(old))
	added := ""
	for _, mv := range moves {
		i := slices.IndexFunc(entries, func(e entry) bool { return e.key == mv.Key })
		if i < 0 {
			added += mv.line + "\n"
			continue
		}
		e := entries[i]
		code, _, _ := strings.Cut(lines[e.from], m.comment) // a comment may say the version again
		if mv.New != "" && e.to == e.from+1 && !mv.hashed && strings.Contains(code, mv.Old) && strings.Contains(mv.line, mv.New) {
			// Only the value changes, wherever the line stands.
			lines[e.from] = replaceLast(code, mv.Old, mv.New) + lines[e.from][len(code):]
			continue
		}
		for j := e.from; j < e.to; j++ {
			lines[j] = ""
		}
		if mv.New != "" {
			lines[e.from] = mv.line + "\n"
		}
	}
	out := strings.Join(lines, "")
	if added != "" && out != "" && !strings.HasSuffix(out, "\n") {
		out += "\n"
	}
	return []byte(out + added)
}

// replaceLast replaces the last old in s: a version stands after the name.
func replaceLast(s, old, new string) string {
	i := strings.LastIndex(s, old)
	if i < 0 {
		return s
	}
	return s[:i] + new + s[i+len(old):]
}

// Companion is the checksum file beside a dependency file, or "".
func Companion(file string) string {
	m, ok := manifestOf(file)
	if !ok || m.companion == "" {
		return ""
	}
	return path.Join(path.Dir(file), m.companion)
}

// Union holds each line of both, once.
func Union(a, b []byte) []byte {
	var out strings.Builder
	seen := map[string]bool{}
	for line := range strings.Lines(string(a) + "\n" + string(b)) {
		if line = strings.TrimSuffix(line, "\n"); line != "" && !seen[line] {
			seen[line] = true
			out.WriteString(line + "\n")
		}
	}
	return []byte(out.String())
}

// Combined rewrites a set-up and a test command for a dependency file that is
// in a state which nobody has written down: between two states, or with a
// release that was never chosen.
func Combined(file, setup, command string) (string, string) {
	m, ok := manifestOf(file)
	if !ok || m.fetch == nil {
		return setup, command
	}
	return m.fetch(path.Dir(file)) + setup, m.run(path.Dir(file)) + command
}

// Vendored is the folder that replaces what the dependency file names, when
// the repository has it; "" where there is no such thing.
func Vendored(file string) string {
	m, ok := manifestOf(file)
	if !ok || m.vendored == "" {
		return ""
	}
	return path.Join(path.Dir(file), m.vendored)
}

// Releases is a command that prints all releases of a dependency, oldest
// first. It needs the network; names that are no names get no command.
func Releases(file, name string) (command string, ok bool) {
	m, ok := manifestOf(file)
	if !ok || m.releases == nil || !dependencyName.MatchString(name) {
		return "", false
	}
	return m.releases(path.Dir(file), name), true
}

var dependencyName = regexp.MustCompile(`^[A-Za-z0-9][\w./~+-]*$`)

// Between picks from all releases, oldest first, those after old up to and
// with new; where the move goes back, they are in the order of the move. ok is
// false when one of the two is no release.
func Between(releases []string, old, new string) (between []string, ok bool) {
	i, j := slices.Index(releases, old), slices.Index(releases, new)
	switch {
	case i < 0 || j < 0 || i == j:
		return nil, false
	case i < j:
		return slices.Clone(releases[i+1 : j+1]), true
	}
	between = slices.Clone(releases[j:i])
	slices.Reverse(between)
	return between, true
}

// goModEntries are the directives of a go.mod that choose what is built.
func goModEntries(text string) []entry {
	var out []entry
	for _, l := range goModLines(text) {
		e := entry{from: l.at, to: l.at + 1, line: l.verb + " " + l.rest}
		if l.comment == "indirect" {
			e.line += " // indirect"
		}
		switch l.verb {
		case "go", "toolchain":
			e.key, e.name, e.value = l.verb, l.verb, l.rest
		case "require":
			name, version, _ := strings.Cut(l.rest, " ")
			e.name, e.value = strings.Trim(name, "\"`"), strings.TrimSpace(version)
			e.key = "require " + e.name
		case "replace":
			name, target, _ := strings.Cut(l.rest, "=>")
			e.name, e.value = strings.TrimSpace(name), strings.TrimSpace(target)
			e.key = "replace " + e.name
		default:
			continue
		}
		out = append(out, e)
	}
	return out
}

var requirement = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9._-]*)(\s*\[[^\]]*\])?\s*(.*)$`)

// anyVersion is the value of a requirement that names no version: an entry that
// is there never has an empty one.
const anyVersion = ">=0"

// requirementEntries are the requirements of a pip file; options, links and
// included files are left alone.
func requirementEntries(text string) []entry {
	var out []entry
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		from, whole := i, lines[i]
		for strings.HasSuffix(strings.TrimRight(lines[i], "\r "), `\`) && i+1 < len(lines) {
			i++
			whole += "\n" + lines[i]
		}
		code, _, _ := strings.Cut(" "+lines[from], " #")
		m := requirement.FindStringSubmatch(strings.TrimSpace(code))
		if m == nil {
			continue
		}
		value, _, _ := strings.Cut(m[3], ";")
		value = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), `\`))
		if value == "" {
			value = anyVersion
		}
		name := strings.ToLower(strings.Map(func(r rune) rune {
			if r == '_' || r == '.' {
				return '-'
			}
			return r
		}, m[1]))
		if i == from {
			whole = strings.TrimSpace(code)
		}
		out = append(out, entry{key: name, name: name, value: value, line: whole, hashed: strings.Contains(whole, "--hash"), from: from, to: i + 1})
	}
	return out
}
