package experiment

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"culprit/internal/experiment/ddmin"
	"culprit/internal/experiment/search"
	"culprit/internal/session"
	"culprit/internal/toolchain"
)

// Bounds of taking a move of dependencies apart.
const (
	maxMoveRuns    = 40 // combinations of entries
	maxReleaseRuns = 24 // releases of one dependency, and their repetitions
	releaseVerify  = 2  // decisive runs on both sides
)

// movement is one entry of a dependency file that moved, or one of the files
// whose entries are not told apart.
type movement struct {
	file string
	move toolchain.Move
	edit *session.Edit // the whole file in its new state
}

func (m movement) String() string {
	switch {
	case m.edit != nil:
		return m.file
	case m.move.Old == "":
		return fmt.Sprintf("%s (new, %s)", m.move.Name, m.move.New)
	case m.move.New == "":
		return fmt.Sprintf("%s (%s, taken out)", m.move.Name, m.move.Old)
	}
	return fmt.Sprintf("%s (%s → %s)", m.move.Name, m.move.Old, m.move.New)
}

// moves is the difference between two commits' dependency files, tried on the
// code of rev.
type moves struct {
	st    *study
	rev   string
	all   []movement
	old   map[string][]byte // dependency files that are taken apart, old state
	fixed []session.Edit    // checksums of both sides
	trial session.Trial
	split string // a file that is taken apart
}

// takeApart finds which of several moves of dependencies brings the failure,
// and between which two of its releases. rev is the commit whose code they are
// tried on: with the files as at from the test passes, as at to it fails. It is
// a bonus: where it cannot be decided the reason is noted.
func (st *study) takeApart(ctx context.Context, rev, from, to string, files []string, cause *session.RootCause) {
	m, why := st.movesOf(ctx, rev, from, to, files)
	if why != "" {
		cause.MovedNote = why
		return
	}
	found, stats, err := ddmin.Minimise(ctx, len(m.all), m.test, ddmin.Options{Parallel: st.lab.slots, MaxTests: st.lab.spare(maxMoveRuns)})
	switch {
	case errors.Is(err, ddmin.ErrNotReproduced):
		cause.MovedNote = "which of the moves it is was not found: put together again from their entries the files do not bring the failure"
		return
	case len(found) == 0:
		cause.MovedNote = "which of the moves it is was not found: " + firstLine(orWord(errText(err), "the failure shows without any of them"))
		return
	case err != nil || stats.Exhausted:
		cause.MovedNote = "perhaps fewer moves suffice: " + firstLine(orWord(errText(err), errSpent.Error()))
	}
	for _, i := range found {
		mv := m.all[i]
		moved := session.Moved{Name: mv.file, File: mv.file}
		if mv.edit == nil {
			moved.Name, moved.Old, moved.New = mv.move.Name, mv.move.Old, mv.move.New
		}
		cause.Moved = append(cause.Moved, moved)
	}
	cause.MovedOf = len(m.all)
	switch {
	case len(found) > 1:
		for i := range cause.Moved {
			cause.Moved[i].Note = "moved together with the others"
		}
	case m.all[found[0]].edit == nil:
		m.releases(ctx, m.all[found[0]], &cause.Moved[0])
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// movesOf reads both states. why says what cannot be taken apart.
func (st *study) movesOf(ctx context.Context, rev, from, to string, files []string) (m *moves, why string) {
	m = &moves{st: st, rev: rev, old: map[string][]byte{}}
	read := func(rev, file string) ([]byte, uint32, error) {
		data, mode, err := st.lab.History.ShowMode(ctx, rev, file)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, 0, nil
		}
		return data, mode, err
	}
	present, err := st.lab.History.List(ctx, rev)
	if err != nil {
		return nil, "the dependency files could not be read: " + firstLine(err.Error())
	}
	companions := map[string]bool{}
	for _, f := range files {
		if c := toolchain.Companion(f); c != "" {
			companions[c] = true
		}
	}
	for _, f := range files {
		old, _, err := read(from, f)
		if err != nil {
			return nil, "the dependency files could not be read: " + firstLine(err.Error())
		}
		now, mode, err := read(to, f)
		if err != nil {
			return nil, "the dependency files could not be read: " + firstLine(err.Error())
		}
		if v := toolchain.Vendored(f); v != "" && slices.ContainsFunc(present, func(p string) bool { return strings.HasPrefix(p, v+"/") }) {
			return nil, fmt.Sprintf("the moves of %s were not told apart: the repository holds the dependencies themselves, in %s", f, v)
		}
		if companions[f] {
			m.fixed = append(m.fixed, session.Edit{Path: f, Content: toolchain.Union(old, now)})
			continue
		}
		entries, ok := toolchain.Moves(f, old, now)
		if ok && old != nil && now != nil {
			m.old[f], m.split = old, f
			for _, e := range entries {
				m.all = append(m.all, movement{file: f, move: e})
			}
			continue
		}
		if old != nil {
			m.fixed = append(m.fixed, session.Edit{Path: f, Content: old})
		}
		m.all = append(m.all, movement{file: f, edit: &session.Edit{Path: f, Content: now, Mode: fileMode(mode), Delete: now == nil}})
	}
	if m.split == "" {
		return nil, "the unit of the swap was the whole file: the entries of " + strings.Join(files, ", ") + " are not told apart"
	}
	m.trial = at(st.base, rev, "", st.task.ID)
	m.trial.Adapt = false
	m.trial.Setup, m.trial.Command = toolchain.Combined(m.split, m.trial.Setup, m.trial.Command)
	return m, ""
}

// fileMode is the permission of a git mode.
func fileMode(mode uint32) uint32 {
	if mode == 0o100755 {
		return 0o755
	}
	return 0
}

// with is the trial in which these moves are carried out.
func (m *moves) with(name string, chosen []movement) session.Trial {
	t := m.trial
	t.Name = name
	t.Edits = append(slices.Clone(t.Edits), m.fixed...)
	for _, f := range sortedKeys(m.old) {
		var carry []toolchain.Move
		for _, c := range chosen {
			if c.file == f && c.edit == nil {
				carry = append(carry, c.move)
			}
		}
		t.Edits = append(t.Edits, session.Edit{Path: f, Content: toolchain.Carry(f, m.old[f], carry)})
	}
	for _, c := range chosen {
		if c.edit != nil {
			t.Edits = slices.DeleteFunc(t.Edits, func(e session.Edit) bool { return e.Path == c.file })
			t.Edits = append(t.Edits, *c.edit)
		}
	}
	return t
}

func sortedKeys(m map[string][]byte) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func (m *moves) test(ctx context.Context, subset []int) (ddmin.Verdict, error) {
	chosen := make([]movement, len(subset))
	for i, j := range subset {
		chosen[i] = m.all[j]
	}
	obs, err := m.st.lab.probe(ctx, m.with(fmt.Sprintf("moves: %d of %d", len(chosen), len(m.all)), chosen), m.st.patience)
	return verdict(obs.Outcome), err
}

// releases searches the releases of the dependency between both ends for the
// first that fails.
func (m *moves) releases(ctx context.Context, mv movement, moved *session.Moved) {
	old, newest, ok := mv.move.Versions()
	if !ok {
		moved.Note = "it has no two versions to look between"
		return
	}
	list, why := m.list(ctx, mv)
	if why != "" {
		moved.Note = "its releases were not tried: " + why
		return
	}
	between, ok := toolchain.Between(list, old, newest)
	if !ok {
		moved.Note = fmt.Sprintf("its releases were not tried: the registry does not list both %s and %s as releases", old, newest)
		return
	}
	moved.Releases = len(between)
	one := func(version string) session.Trial {
		c := mv
		c.move = mv.move.Release(version)
		return m.with("release "+version, []movement{c})
	}
	trials := make([]session.Trial, len(between))
	for i, v := range between {
		trials[i] = one(v)
	}
	trials[len(trials)-1] = m.with("release "+newest, []movement{mv})
	below := m.with("release "+old, nil)
	sr := search.New(len(between), search.Options{
		Bad: m.st.lab.Known(trials[len(trials)-1]), Good: m.st.lab.Known(below),
		Flaky: m.st.s.Reproduction.Flaky, Verify: releaseVerify, MaxRuns: m.st.lab.spare(maxReleaseRuns),
	})
	untestable := map[int]string{}
	for {
		next := sr.Next(m.st.lab.slots)
		if len(next) == 0 {
			break
		}
		batch := make([]session.Trial, len(next))
		for j, i := range next {
			if batch[j] = below; i != search.Good {
				batch[j] = trials[i]
			}
		}
		seen, err := m.st.lab.runAll(ctx, batch)
		for j, o := range seen {
			if o != nil {
				sr.Observe(next[j], o.Outcome)
				if o.Outcome == session.Untestable && next[j] >= 0 {
					untestable[next[j]] = o.Reason
				}
			}
		}
		if err != nil {
			moved.Note = "its releases were not all tried: " + firstLine(err.Error())
			return
		}
	}
	r := sr.Result()
	if !r.Decided || r.Culprit < 0 {
		moved.Note = fmt.Sprintf("the search over its %s was not decided", plural(len(between), "release"))
		return
	}
	group := append([]int{r.Culprit}, r.Alternatives...)
	slices.Sort(group)
	moved.Passes, moved.Fails = old, between[group[len(group)-1]]
	if group[0] > 0 {
		moved.Passes = between[group[0]-1]
	}
	for _, i := range group[:len(group)-1] {
		moved.Untestable = append(moved.Untestable, between[i])
		moved.Note = "between them cannot be tested: " + strings.Join(moved.Untestable, ", ") + because(clip(oneLine(untestable[i]), 120))
	}
}

// list asks the registry for the releases of a dependency, in the set-up phase,
// which alone may have the network, and by the rules for it.
func (m *moves) list(ctx context.Context, mv movement) (releases []string, why string) {
	command, ok := toolchain.Releases(mv.file, mv.move.Name)
	if !ok {
		return nil, "for this kind of dependency no registry is asked"
	}
	const kept = ".culprit-releases"
	t := m.with("releases of "+mv.move.Name, nil)
	t.Setup, t.Command = "("+command+"\n) >"+kept, "cat "+kept
	t.Target = session.Target{}
	obs, err := m.st.lab.Run(ctx, t)
	if err != nil {
		return nil, firstLine(err.Error())
	}
	if obs.Exit != 0 {
		return nil, "the registry could not be asked (" + clip(oneLine(orWord(lastLine(obs.Output), obs.Reason)), 160) + ")"
	}
	releases = strings.Fields(obs.Output)
	if len(releases) == 0 {
		return nil, "the registry knows none"
	}
	return releases, ""
}

// movedText says which dependency it is, with the releases where they are known.
func movedText(cause *session.RootCause) string {
	if len(cause.Moved) == 0 {
		if cause.MovedNote == "" {
			return ""
		}
		return " " + upper(cause.MovedNote) + "."
	}
	var out []string
	for _, m := range cause.Moved {
		out = append(out, m.String())
	}
	s := fmt.Sprintf(" Of %s it is %s", plural(cause.MovedOf, "move"), strings.Join(out, ", and "))
	if cause.MovedOf == 1 {
		s = " It is " + out[0]
	}
	if cause.MovedNote != "" {
		s += " (" + cause.MovedNote + ")"
	}
	return s + "."
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
