package evidence

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"path"
	"sort"
	"strconv"
	"strings"

	"culprit/internal/session"
)

// Limits of a log archive. GitHub caps a step's log far below them; an archive
// that goes beyond is an attack or not a log.
const (
	maxEntries      = 10_000
	maxArchiveBytes = 4 << 30 // unpacked, all entries together
	maxEntryBytes   = 1 << 30 // unpacked, one entry
)

// ParseLogArchive reads the zip that GitHub serves for a run attempt's logs
// (REST: "Download workflow run attempt logs"): one folder per job with one
// "N_step.txt" per step, and beside them one "N_job.txt" with the whole job.
// Steps are read where a job has them, the whole job where not. Each failure's
// Step is "job / step". Folders, __MACOSX and everything that is no .txt are
// ignored; names are labels only and never used as paths.
//
// An entry that is broken or over the limits makes an error that names it;
// what the others showed is returned with it.
func ParseLogArchive(r io.ReaderAt, size int64, opts Options) (session.TestReport, error) {
	archive, err := zip.NewReader(r, size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return session.TestReport{}, fmt.Errorf("open log archive: %w", err)
	}
	if n := len(archive.File); n > maxEntries {
		return session.TestReport{}, fmt.Errorf("open log archive: %d entries, more than %d", n, maxEntries)
	}
	p := newParser(opts)
	var errs []error
	left := int64(maxArchiveBytes)
	for _, e := range logEntries(archive.File) {
		p.out.enter(e.step)
		p.out.opts.Command = opts.Command
		n, err := p.entry(e.file, min(left, maxEntryBytes))
		if left -= n; err != nil {
			errs = append(errs, fmt.Errorf("read %q of the log archive: %w", cut(e.file.Name, 200), err))
		}
		if left <= 0 {
			errs = append(errs, fmt.Errorf("read log archive: more than %d bytes unpacked", int64(maxArchiveBytes)))
			break
		}
	}
	return p.report(), errors.Join(errs...)
}

// entry parses one file of the archive, of which it reads limit bytes at most.
func (p *parser) entry(f *zip.File, limit int64) (int64, error) {
	rc, err := f.Open()
	if err != nil {
		return 0, err
	}
	defer rc.Close()
	counted := &io.LimitedReader{R: rc, N: limit + 1}
	p.envelope = envelope{}
	err = p.read(counted)
	p.flush()
	n := limit + 1 - counted.N
	if err == nil && counted.N <= 0 {
		err = fmt.Errorf("more than %d bytes unpacked", limit)
	}
	return n, err
}

type logEntry struct {
	file *zip.File
	step string
	job  string
	n    int
}

// logEntries picks the logs, in the order in which they were written.
func logEntries(files []*zip.File) []logEntry {
	var steps, jobs []logEntry
	hasSteps := map[string]bool{}
	for _, f := range files {
		name := strings.ReplaceAll(f.Name, `\`, "/")
		if strings.HasSuffix(name, "/") || strings.HasPrefix(name, "__MACOSX/") || strings.HasPrefix(path.Base(name), "._") || !strings.HasSuffix(name, ".txt") {
			continue
		}
		// A job's name can hold slashes; GitHub replaces most, not all.
		dir, base := "", name
		if i := strings.LastIndexByte(name, '/'); i >= 0 {
			dir, base = name[:i], name[i+1:]
		}
		n, label := numbered(strings.TrimSuffix(base, ".txt"))
		label = clean(label)
		if dir == "" {
			jobs = append(jobs, logEntry{f, label, label, n})
			continue
		}
		if label == "system" {
			continue // the runner's own diagnostics
		}
		job := clean(dir)
		hasSteps[job] = true
		steps = append(steps, logEntry{f, cut(job, 200) + " / " + cut(label, 200), job, n})
	}
	for _, j := range jobs {
		if !hasSteps[j.job] {
			steps = append(steps, j)
		}
	}
	sort.SliceStable(steps, func(a, b int) bool {
		if steps[a].job != steps[b].job {
			return steps[a].job < steps[b].job
		}
		return steps[a].n < steps[b].n
	})
	return steps
}

// numbered splits "3_Run tests".
func numbered(s string) (int, string) {
	num, label, ok := strings.Cut(s, "_")
	n, err := strconv.Atoi(num)
	if !ok || err != nil {
		return 0, s
	}
	return n, label
}
