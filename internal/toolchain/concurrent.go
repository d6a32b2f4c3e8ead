package toolchain

import (
	"bytes"
	"path"
)

// concurrentGo are the marks of concurrency in Go source. A mark in a comment
// or a string counts too: this decides only whether a race is worth looking for.
var concurrentGo = [][]byte{
	[]byte("go func"), []byte("\tgo "), []byte("sync."), []byte("atomic."), []byte("errgroup"), []byte("chan "), []byte("<-"),
	[]byte(".Parallel()"), []byte("net/http"), []byte("time.AfterFunc"),
}

// Concurrent reports whether a source file could run things at the same time,
// as far as its text tells. For languages whose marks are not known it is true.
func Concurrent(file string, content []byte) bool {
	if path.Ext(file) != ".go" {
		return languageOf(file) != ""
	}
	for _, mark := range concurrentGo {
		if bytes.Contains(content, mark) {
			return true
		}
	}
	return false
}
