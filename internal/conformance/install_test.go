package conformance

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"strings"
	"testing"
)

func tarball(t *testing.T, name, content string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	if err := w.WriteHeader(&tar.Header{Name: name, Size: int64(len(content)), Mode: 0o644}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestOnlyThePinnedBytesAreUnpacked(t *testing.T) {
	t.Parallel()
	data := tarball(t, "package/a.json", "{}")
	sum := sha512.Sum512(data)
	p := pin{name: "@x/y", version: "1.0.0", integrity: "sha512-" + base64.StdEncoding.EncodeToString(sum[:]), file: "package/a.json"}
	if got, err := unpack(data, p); err != nil || string(got) != "{}" {
		t.Errorf("unpack = %q, %v", got, err)
	}
	if _, err := unpack(append(data, 0), p); err == nil || !strings.Contains(err.Error(), "than what was pinned") {
		t.Errorf("changed bytes: error = %v", err)
	}
	p.file = "package/b.json"
	if _, err := unpack(data, p); err == nil || !strings.Contains(err.Error(), "has no file package/b.json") {
		t.Errorf("missing file: error = %v", err)
	}
}
