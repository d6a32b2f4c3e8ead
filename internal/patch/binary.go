package patch

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"io"
	"strconv"
)

// alphabet of git's base85.
const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"

// maxBinary bounds what a binary patch may unpack to, in bytes.
const maxBinary = 64 << 20

// binaryContent decodes a "GIT binary patch" section: the first block is the
// new content, the second the old. Only literal blocks are read; a delta
// needs the base and is answered with ErrBinary, so that the caller fetches
// the blob.
func binaryContent(section []byte, reverse bool) ([]byte, error) {
	_, body, found := bytes.Cut(section, []byte("GIT binary patch\n"))
	if !found {
		return nil, ErrBinary
	}
	if reverse {
		if _, body, found = bytes.Cut(body, []byte("\n\n")); !found {
			return nil, ErrBinary
		}
	}
	lines := splitLines(body)
	if len(lines) == 0 {
		return nil, ErrBinary
	}
	size, ok := bytes.CutPrefix(bytes.TrimSpace(lines[0]), []byte("literal "))
	if !ok {
		return nil, ErrBinary
	}
	want, err := strconv.Atoi(string(size))
	if err != nil || want < 0 || want > maxBinary {
		return nil, fmt.Errorf("%w: binary patch of size %q", ErrFormat, size)
	}
	var packed []byte
	for _, line := range lines[1:] {
		line = bytes.TrimSuffix(line, []byte{'\n'})
		if len(line) == 0 {
			break
		}
		if packed, err = decode85(packed, line); err != nil {
			return nil, err
		}
	}
	z, err := zlib.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("%w: unpack binary patch: %w", ErrFormat, err)
	}
	out, err := io.ReadAll(io.LimitReader(z, int64(want)+1))
	if err != nil || len(out) != want {
		return nil, fmt.Errorf("%w: binary patch unpacks to %d bytes, its header says %d", ErrFormat, len(out), want)
	}
	return out, nil
}

// decode85 appends one line: a letter for the number of bytes, then five
// characters for each four bytes.
func decode85(out, line []byte) ([]byte, error) {
	n := 0
	switch c := line[0]; {
	case c >= 'A' && c <= 'Z':
		n = int(c-'A') + 1
	case c >= 'a' && c <= 'z':
		n = int(c-'a') + 27
	default:
		return nil, fmt.Errorf("%w: length %q in binary patch", ErrFormat, c)
	}
	body := line[1:]
	if len(body) != (n+3)/4*5 {
		return nil, fmt.Errorf("%w: line of a binary patch has the wrong length", ErrFormat)
	}
	for ; n > 0; body = body[5:] {
		var v uint64
		for _, c := range body[:5] {
			d := bytes.IndexByte([]byte(alphabet), c)
			if d < 0 {
				return nil, fmt.Errorf("%w: character %q in binary patch", ErrFormat, c)
			}
			v = v*85 + uint64(d)
		}
		if v > 0xffffffff {
			return nil, fmt.Errorf("%w: number too large in binary patch", ErrFormat)
		}
		four := []byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)}
		out = append(out, four[:min(n, 4)]...)
		n -= min(n, 4)
	}
	return out, nil
}

// encode85 writes content as the literal block of a binary patch.
func encode85(content []byte) []byte {
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	// Writes to a bytes.Buffer cannot fail.
	_, _ = z.Write(content)
	_ = z.Close()
	var out bytes.Buffer
	fmt.Fprintf(&out, "literal %d\n", len(content))
	for b := packed.Bytes(); len(b) > 0; {
		n := min(len(b), 52)
		if n <= 26 {
			out.WriteByte(byte('A' + n - 1))
		} else {
			out.WriteByte(byte('a' + n - 27))
		}
		for i := 0; i < n; i += 4 {
			var v uint32
			for j := range 4 {
				v <<= 8
				if i+j < n {
					v |= uint32(b[i+j])
				}
			}
			var five [5]byte
			for j := 4; j >= 0; j-- {
				five[j] = alphabet[v%85]
				v /= 85
			}
			out.Write(five[:])
		}
		out.WriteByte('\n')
		b = b[n:]
	}
	out.WriteByte('\n')
	return out.Bytes()
}
