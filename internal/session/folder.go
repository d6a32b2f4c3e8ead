package session

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Folder is an open session folder. One process at a time holds it, by a file
// lock that dies with the process; within the process its methods may be
// called concurrently.
type Folder struct {
	dir    string
	redact func([]byte) []byte
	mu     sync.Mutex
	lock   *os.File
	seen   map[string]bool // discovery keys on the board
}

// ErrBusy means that another process is at work in the folder.
var ErrBusy = errors.New("session is in use by another process")

// ErrNoSession means that the folder holds no session.
var ErrNoSession = errors.New("no session in this folder")

// Create makes the folder dir/id and opens it. If it exists already, a number
// is appended to the ID. Everything written passes redact, which must not be
// nil: nothing unredacted is ever stored (BX5).
func Create(root, id string, redact func([]byte) []byte) (*Folder, string, error) {
	if !ValidID(id) {
		return nil, "", fmt.Errorf("create session: %q is not a session ID", id)
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return nil, "", fmt.Errorf("create session: %w", err)
	}
	base := id
	for n := 2; ; n++ {
		err := os.Mkdir(filepath.Join(root, id), 0o755)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrExist) || n > 1000 {
			return nil, "", fmt.Errorf("create session: %w", err)
		}
		id = fmt.Sprintf("%s-%d", base, n)
	}
	f, err := OpenFolder(filepath.Join(root, id), redact)
	return f, id, err
}

// OpenFolder opens an existing folder, or makes it, and locks it. The error is
// ErrBusy when another process has it.
func OpenFolder(dir string, redact func([]byte) []byte) (*Folder, error) {
	if err := os.MkdirAll(filepath.Join(dir, "logs"), 0o755); err != nil {
		return nil, fmt.Errorf("open session: %w", err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "patches"), 0o755); err != nil {
		return nil, fmt.Errorf("open session: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, ".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open session: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		lock.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("open session %s: %w", filepath.Base(dir), ErrBusy)
		}
		return nil, fmt.Errorf("lock session: %w", err)
	}
	f := &Folder{dir: dir, redact: redact, lock: lock}
	f.removeTemporary()
	return f, nil
}

// removeTemporary deletes what a killed writer left.
func (f *Folder) removeTemporary() {
	left, _ := filepath.Glob(filepath.Join(f.dir, "*.tmp"))
	more, _ := filepath.Glob(filepath.Join(f.dir, "*", "*.tmp"))
	for _, p := range append(left, more...) {
		os.Remove(p)
	}
}

// Dir is the folder's path.
func (f *Folder) Dir() string { return f.dir }

// Path of a file in the folder.
func (f *Folder) Path(name string) string { return filepath.Join(f.dir, filepath.FromSlash(name)) }

// Close releases the folder.
func (f *Folder) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lock == nil {
		return nil
	}
	err := f.lock.Close()
	f.lock = nil
	return err
}

// Write stores a file atomically: temporary file in the same folder, fsync,
// rename. Mode is 0644, or 0755 for a name that ends in .sh.
func (f *Folder) Write(name string, data []byte) error {
	return f.write(name, f.redact(data))
}

func (f *Folder) write(name string, data []byte) error {
	path := f.Path(name)
	mode := fs.FileMode(0o644)
	if strings.HasSuffix(name, ".sh") {
		mode = 0o755
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	_, err = tmp.Write(data)
	err = errors.Join(err, tmp.Chmod(mode), tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		os.Remove(tmp.Name())
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// Read returns a file of the folder; a missing one is an error that matches
// fs.ErrNotExist.
func (f *Folder) Read(name string) ([]byte, error) { return os.ReadFile(f.Path(name)) }

// Remove deletes a file of the folder; a missing one is no error.
func (f *Folder) Remove(name string) error {
	if err := os.Remove(f.Path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	return nil
}

// nextTasks is the table while it is being saved.
const nextTasks = "tasks.next.csv"

// Save writes tasks.csv, the truth about rows (QD6), and session.json, both or
// neither: a row without what it found, or hypotheses without rows, would be
// gone on with. session.json says by a sum which table belongs to it, and the
// table gets its name after that; what is between is mended by Load.
func (f *Folder) Save(s *Session) error {
	if s.Tasks != nil {
		table := f.redact(EncodeTasks(s.Tasks, false))
		if err := f.write(nextTasks, table); err != nil {
			return err
		}
		s.TasksSum = sumOf(table)
	}
	data, err := encode(s)
	if err != nil {
		return err
	}
	if err := f.Write("session.json", data); err != nil || s.Tasks == nil {
		return err
	}
	if err := os.Rename(f.Path(nextTasks), f.Path("tasks.csv")); err != nil {
		return fmt.Errorf("write tasks.csv: %w", err)
	}
	return nil
}

// encode is the content of session.json.
func encode(s *Session) ([]byte, error) {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write session.json: %w", err)
	}
	return append(data, '\n'), nil
}

func sumOf(table []byte) string {
	sum := sha256.Sum256(table)
	return hex.EncodeToString(sum[:8])
}

// table is the tasks.csv that belongs to a session. A save that was cut off
// before it had its name is finished. A table that somebody edited is taken.
func (f *Folder) table(s *Session) ([]byte, error) {
	table, err := f.Read("tasks.csv")
	if err != nil && !errors.Is(err, fs.ErrNotExist) || s.TasksSum == "" || err == nil && sumOf(table) == s.TasksSum {
		return table, err
	}
	next, nextErr := f.Read(nextTasks)
	if nextErr != nil || sumOf(next) != s.TasksSum {
		return table, err
	}
	return next, os.Rename(f.Path(nextTasks), f.Path("tasks.csv"))
}

// Load reads the session back. The error is ErrNoSession when there is none,
// and a *RowError when tasks.csv does not parse.
func (f *Folder) Load() (*Session, error) {
	data, err := f.Read("session.json")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoSession
	}
	if err != nil {
		return nil, fmt.Errorf("read session.json: %w", err)
	}
	var s Session
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("read session.json: %w", err)
	}
	if s.Schema > SchemaVersion {
		return nil, fmt.Errorf("read session.json: schema_version %d is newer than this program knows (%d): use a newer release", s.Schema, SchemaVersion)
	}
	table, err := f.table(&s)
	if errors.Is(err, fs.ErrNotExist) {
		return &s, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read tasks.csv: %w", err)
	}
	if s.Tasks, err = DecodeTasks("tasks.csv", table); err != nil {
		return nil, err
	}
	if s.Fix != nil {
		patch, err := f.Read("patches/" + s.Fix.Task + ".patch")
		if err == nil {
			s.Fix.Patch = string(patch)
		}
	}
	return &s, nil
}

// appendLine adds one JSON line by a single O_APPEND write.
func (f *Folder) appendLine(name string, v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("append to %s: %w", name, err)
	}
	line = append(f.redact(line), '\n')
	file, err := os.OpenFile(f.Path(name), os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return fmt.Errorf("append to %s: %w", name, err)
	}
	// A writer that was killed may have left a torn line: end it first, so
	// that only that line is lost.
	if info, err := file.Stat(); err == nil && info.Size() > 0 {
		last := make([]byte, 1)
		if _, err := file.ReadAt(last, info.Size()-1); err == nil && last[0] != '\n' {
			line = append([]byte{'\n'}, line...)
		}
	}
	_, err = file.Write(line)
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("append to %s: %w", name, err)
	}
	return nil
}

// Record appends an entry to evidence.ndjson.
func (f *Folder) Record(e Entry) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.appendLine("evidence.ndjson", e)
}

// Entries reads evidence.ndjson; torn or malformed lines are ignored.
func (f *Folder) Entries() ([]Entry, error) { return readLines[Entry](f, "evidence.ndjson") }

// Discover appends to the board unless the same discovery is there already or
// its type is unknown; added reports which.
func (f *Folder) Discover(d Discovery) (added bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	key, ok := d.DedupKey()
	if !ok {
		return false, nil
	}
	if f.seen == nil {
		board, err := readLines[Discovery](f, "discoveries.ndjson")
		if err != nil {
			return false, err
		}
		f.seen = map[string]bool{}
		for _, old := range board {
			if k, ok := old.DedupKey(); ok {
				f.seen[k] = true
			}
		}
	}
	if f.seen[key] {
		return false, nil
	}
	if err := f.appendLine("discoveries.ndjson", d); err != nil {
		return false, err
	}
	f.seen[key] = true
	return true, nil
}

// Discoveries reads the board; malformed lines are ignored (QD12).
func (f *Folder) Discoveries() ([]Discovery, error) {
	return readLines[Discovery](f, "discoveries.ndjson")
}

func readLines[T any](f *Folder, name string) ([]T, error) {
	data, err := f.Read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	var out []T
	for _, line := range bytes.Split(data, []byte{'\n'}) {
		var v T
		if len(line) == 0 || json.Unmarshal(line, &v) != nil {
			continue
		}
		out = append(out, v)
	}
	return out, nil
}

// Summary is one line of the list of sessions.
type Summary struct {
	ID        string
	Path      string // of the repository, where it is a local one
	State     string
	Result    Result
	Title     string
	UpdatedAt time.Time
}

// List reads the sessions under root, newest first; folders that hold none
// are passed over.
func List(root string) ([]Summary, error) {
	paths, err := filepath.Glob(filepath.Join(root, "*", "session.json"))
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	var out []Summary
	for _, p := range paths {
		data, err := os.ReadFile(p)
		if err != nil {
			continue
		}
		var s Session
		if json.Unmarshal(data, &s) != nil {
			continue
		}
		out = append(out, Summary{ID: filepath.Base(filepath.Dir(p)), Path: s.Source.Path, State: s.State, Result: s.Result, Title: s.Symptom.Title, UpdatedAt: s.UpdatedAt})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].UpdatedAt.After(out[j].UpdatedAt) })
	return out, nil
}
