package eval

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"culprit/internal/session"
)

// SchemaVersion of a Record; lines with another one are refused.
const SchemaVersion = 1

// Answer is how one question about a case was answered.
type Answer string

// Answers. Only yes and no are claims; unknown ones are left out of shares.
const (
	Yes     Answer = "yes"
	No      Answer = "no"      // claimed, and wrong
	None    Answer = "none"    // nothing was claimed
	Unknown Answer = "unknown" // the case does not say what is right
)

// Status says whether a case was run.
type Status string

// The states of a case. When results are gone on with, all but Ran are tried
// again.
const (
	Ran    Status = "run"
	NotRun Status = "not_run" // its repository or a revision cannot be had
	Broke  Status = "broke"   // the session ended with an internal error
)

// Record is what one run of a case showed: one line of a results file. Fields
// are added, never renamed or removed.
type Record struct {
	Schema   int       `json:"schema_version"`
	Case     string    `json:"case"`
	Digest   string    `json:"case_digest"` // Case.Digest
	Version  string    `json:"version"`     // of the program
	Settings string    `json:"settings"`    // model, mode and limits
	Started  time.Time `json:"started"`
	Status   Status    `json:"status"`
	Error    string    `json:"error,omitempty"` // why not run, or by what it broke

	Result     session.Result `json:"result,omitempty"` // how the session ended
	Reason     string         `json:"reason,omitempty"`
	ResultHit  Answer         `json:"result_right"`
	Reproduced Answer         `json:"reproduced"`

	Culprit     Answer `json:"culprit_right"`
	Named       string `json:"culprit,omitempty"`
	TrueCulprit string `json:"true_culprit,omitempty"`

	FileHit     Answer   `json:"file_right"`
	LineHit     Answer   `json:"line_right"`
	Place       string   `json:"place,omitempty"` // what the root cause points at, at the failing revision
	TruePlaces  []string `json:"true_places,omitempty"`
	LinesBeside *int     `json:"lines_beside,omitempty"` // from there to the nearest true line, when the file is right

	Fix        Answer `json:"fix_verified"`
	HeldOut    Answer `json:"held_out_passed"` // none: there is no fix to be tried
	HeldOutWhy string `json:"held_out_why,omitempty"`

	Runs    int     `json:"runs"` // experiment runs of the session
	Tokens  int     `json:"tokens"`
	Cost    float64 `json:"cost"`    // in the currency of the price table
	Seconds float64 `json:"seconds"` // of the session, wall time
	Folder  string  `json:"folder,omitempty"`
}

// Known is the truth of a case in full: revisions resolved, places found.
type Known struct {
	Culprit string  // full commit ID; "" is not known
	Places  []Place // at the failing revision
	Result  session.Result
}

// Observed is what a Runner saw.
type Observed struct {
	Session *session.Session // as it ended; nil: it never began
	Place   Place            // what the root cause points at, carried to the failing revision; without a file: nowhere
	Known   Known
	HeldOut Answer // Unknown without such a test
	Why     string // of HeldOut: what failed, or why it says nothing
	Seconds float64
	Folder  string
}

// took is what the session has used, however it ended.
func (r *Record) took(o Observed) {
	r.Folder, r.Seconds = o.Folder, o.Seconds
	if s := o.Session; s != nil {
		r.Runs, r.Tokens, r.Cost = s.Budget.Runs, s.Budget.Tokens, s.Budget.Cost
	}
}

// judge fills in what a session was worth.
func (r *Record) judge(o Observed) {
	s := o.Session
	r.Result, r.Reason = s.Result, s.Reason
	r.ResultHit = match(o.Known.Result, s.Result)
	switch {
	case o.Known.Result == session.ResultNotReproduced:
		r.Reproduced = Unknown // it is not wanted
	case s.Reproduction != nil && s.Reproduction.Reproduced:
		r.Reproduced = Yes
	}
	r.Named, r.TrueCulprit = culpritOf(s), o.Known.Culprit
	r.Culprit = match(o.Known.Culprit, r.Named)
	r.judgePlace(o)
	switch {
	case s.Result == session.ResultFixed:
		r.Fix = Yes
	case o.Known.Result != "" && o.Known.Result != session.ResultFixed:
		r.Fix = Unknown // none is wanted
	}
	r.HeldOut, r.HeldOutWhy = o.HeldOut, o.Why
}

func match[T ~string](truth, claimed T) Answer {
	switch {
	case truth == "":
		return Unknown
	case claimed == "":
		return None
	case claimed == truth:
		return Yes
	}
	return No
}

// culpritOf is the commit that a session names. A root cause that was found by
// reading names none; the search beside it may have.
func culpritOf(s *session.Session) string {
	switch {
	case s.RootCause != nil && s.RootCause.Culprit != nil:
		return s.RootCause.Culprit.SHA
	case s.RootCause == nil && s.Flake != nil && s.Flake.Since != nil:
		return s.Flake.Since.SHA
	case s.RootCause == nil:
		return ""
	}
	for _, t := range s.Tasks {
		if c := s.Causes[t.ID]; c != nil && c.Culprit != nil && t.Verdict == session.Confirmed {
			return c.Culprit.SHA
		}
	}
	return ""
}

func (r *Record) judgePlace(o Observed) {
	lines := false
	for _, p := range o.Known.Places {
		r.TruePlaces = append(r.TruePlaces, p.String())
		lines = lines || p.From > 0
	}
	if o.Place.File != "" {
		r.Place = o.Place.String()
	}
	switch {
	case len(o.Known.Places) == 0:
		return
	case o.Place.File == "":
		r.FileHit, r.LineHit = None, None
	default:
		r.FileHit, r.LineHit = No, No
	}
	for _, p := range o.Known.Places {
		if p.File != o.Place.File {
			continue
		}
		r.FileHit = Yes
		if p.From == 0 || o.Place.From == 0 {
			continue
		}
		d := p.distance(o.Place)
		if r.LinesBeside == nil || d < *r.LinesBeside {
			r.LinesBeside = &d
		}
		if d == 0 {
			r.LineHit = Yes
		}
	}
	if !lines {
		r.LineHit = Unknown
	}
}

// maxLine bounds a line of a results file, in bytes.
const maxLine = 1 << 20

// ReadRecords reads a results file in the order of its lines. A last line that
// a kill tore is skipped; any other line that cannot be read is an error with
// its number. A file that is not there has no records.
func ReadRecords(file string) ([]Record, error) {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	var out []Record
	lines := bytes.SplitAfter(data, []byte("\n"))
	for i, line := range lines {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var r Record
		dec := json.NewDecoder(bytes.NewReader(line))
		err := dec.Decode(&r)
		switch {
		case err != nil && !bytes.HasSuffix(line, []byte("\n")):
			return out, nil // torn
		case err != nil:
			return nil, fmt.Errorf("read results %s: line %d is not a record: %w", file, i+1, err)
		case r.Schema != SchemaVersion:
			return nil, fmt.Errorf("read results %s: line %d has schema version %d, this program knows %d", file, i+1, r.Schema, SchemaVersion)
		case r.Case == "":
			return nil, fmt.Errorf("read results %s: line %d names no case", file, i+1)
		}
		out = append(out, r)
	}
	return out, nil
}

// appendTo adds the record as one line, by one write, and waits for the disk.
// What a kill tore before is taken away first.
func (r Record) appendTo(file string) (err error) {
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode result: %w", err)
	}
	if len(line) > maxLine {
		return fmt.Errorf("write result of %s: it has %d bytes", r.Case, len(line))
	}
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := dropTorn(f); err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	if _, err := f.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	return f.Sync()
}

// dropTorn cuts a last line that has no end.
func dropTorn(f *os.File) error {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return err
	}
	tail := make([]byte, min(info.Size(), maxLine+1))
	if _, err := f.ReadAt(tail, info.Size()-int64(len(tail))); err != nil {
		return err
	}
	whole := bytes.LastIndexByte(tail, '\n') + 1
	if whole == len(tail) {
		return nil
	}
	if whole == 0 && int64(len(tail)) < info.Size() {
		return errors.New("its last line is no record: name another file")
	}
	return f.Truncate(info.Size() - int64(len(tail)-whole))
}
