package conformance

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Install fetches the pinned packages by npm, converts them, and puts the
// result at Path. It does nothing when that file is there. The returned path
// is that of the file.
func Install(ctx context.Context) (path string, err error) {
	if path, err = Path(); err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make the folder of the description: %w", err)
	}
	tmp, err := os.MkdirTemp(dir, "install-")
	if err != nil {
		return "", fmt.Errorf("make a folder for the download: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	description, err := fetch(ctx, tmp, descriptionPin)
	if err != nil {
		return "", err
	}
	examples, err := fetch(ctx, tmp, examplesPin)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	if err := convert(&out, description, examples); err != nil {
		return "", err
	}
	// Written beside its place and renamed: a test that starts meanwhile sees
	// all of it or nothing.
	half := filepath.Join(tmp, "description.zip")
	if err := os.WriteFile(half, out.Bytes(), 0o644); err != nil {
		return "", fmt.Errorf("write the description: %w", err)
	}
	if err := os.Rename(half, path); err != nil {
		return "", fmt.Errorf("put the description in its place: %w", err)
	}
	return path, nil
}

// fetch downloads a package and returns the one file of it.
func fetch(ctx context.Context, dir string, p pin) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "npm", "pack", "--silent", p.name+"@"+p.version)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("fetch %s %s by npm: %w: %s", p.name, p.version, err, strings.TrimSpace(stderr.String()))
	}
	tarball, err := os.ReadFile(filepath.Join(dir, filepath.Base(strings.TrimSpace(string(out)))))
	if err != nil {
		return nil, fmt.Errorf("read what npm fetched: %w", err)
	}
	return unpack(tarball, p)
}

// unpack checks a tarball against its pin and returns the file that the pin
// names.
func unpack(tarball []byte, p pin) ([]byte, error) {
	sum := sha512.Sum512(tarball)
	if got := "sha512-" + base64.StdEncoding.EncodeToString(sum[:]); got != p.integrity {
		return nil, fmt.Errorf("check %s %s: its integrity is %s, not %s: the registry serves something else than what was pinned", p.name, p.version, got, p.integrity)
	}
	z, err := gzip.NewReader(bytes.NewReader(tarball))
	if err != nil {
		return nil, fmt.Errorf("unpack %s: %w", p.name, err)
	}
	for files := tar.NewReader(z); ; {
		head, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("unpack %s %s: it has no file %s", p.name, p.version, p.file)
		}
		if err != nil {
			return nil, fmt.Errorf("unpack %s: %w", p.name, err)
		}
		if head.Name == p.file {
			return io.ReadAll(files)
		}
	}
}
