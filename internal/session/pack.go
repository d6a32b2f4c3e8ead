package session

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// maxPackedFile bounds one file of a checkpoint, in bytes. Larger logs stay
// behind: they are for reading, and nothing that is needed for going on is that
// large.
const maxPackedFile = 1 << 20

// Pack makes a tar archive of the folder, to be restored on another machine
// (CR22). Temporary files, locks and logs over 1 MiB are left out.
func (f *Folder) Pack() ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	err := filepath.WalkDir(f.dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.HasSuffix(p, ".tmp") || d.Name() == ".lock" {
			return err
		}
		name, err := filepath.Rel(f.dir, p)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		if len(data) > maxPackedFile && strings.HasPrefix(name, "logs/") {
			return nil
		}
		mode := int64(0o644)
		if strings.HasSuffix(name, ".sh") {
			mode = 0o755
		}
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: int64(len(data)), Format: tar.FormatPAX}); err != nil {
			return err
		}
		_, err = w.Write(data)
		return err
	})
	if err := errors.Join(err, w.Close()); err != nil {
		return nil, fmt.Errorf("pack session: %w", err)
	}
	return b.Bytes(), nil
}

// packedFolders are the only sub-folders that an archive may write to.
var packedFolders = []string{".", "logs", "patches"}

// Unpack restores what Pack made into the folder. Names that could lead out of
// it are refused, whoever wrote the archive.
func (f *Folder) Unpack(archive []byte) error {
	r := tar.NewReader(bytes.NewReader(archive))
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("restore session: %w", err)
		}
		if !fs.ValidPath(h.Name) || !slices.Contains(packedFolders, path.Dir(h.Name)) || h.Typeflag != tar.TypeReg || h.Size > 64<<20 {
			return fmt.Errorf("restore session: the archive holds %q, which is no file of a session", h.Name)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			return fmt.Errorf("restore session: %w", err)
		}
		if err := f.write(h.Name, data); err != nil {
			return err
		}
	}
}

// ErrNotPacked means that an archive has no such file.
var ErrNotPacked = errors.New("not in the archive")

// PackedFile reads one file out of an archive that Pack made.
func PackedFile(archive []byte, name string) ([]byte, error) {
	r := tar.NewReader(bytes.NewReader(archive))
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("read %s: %w", name, ErrNotPacked)
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		if h.Name == name {
			return io.ReadAll(io.LimitReader(r, 64<<20))
		}
	}
}

// Repack is an archive that Pack made with session.json as the session is now.
// All other files stay, tasks.csv among them.
func Repack(archive []byte, s *Session, redact func([]byte) []byte) ([]byte, error) {
	data, err := encode(s)
	if err != nil {
		return nil, err
	}
	data = redact(data)
	var b bytes.Buffer
	r, w := tar.NewReader(bytes.NewReader(archive)), tar.NewWriter(&b)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("pack session again: %w", err)
		}
		var from io.Reader = r
		if h.Name == "session.json" {
			h.Size, from = int64(len(data)), bytes.NewReader(data)
		}
		err = w.WriteHeader(h)
		if err == nil {
			_, err = io.CopyN(w, from, h.Size)
		}
		if err != nil {
			return nil, fmt.Errorf("pack session again: %w", err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("pack session again: %w", err)
	}
	return b.Bytes(), nil
}
