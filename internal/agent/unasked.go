package agent

import (
	"path"
	"strings"
)

// unasked are files that an interpreter, a test runner or a build reads without
// anything in the project asking for it, by name. One that is made anew can
// decide what every test says without being seen in what they test. Where the
// project has such a file already and the evidence names it, it may be edited.
var unasked = map[string]bool{
	// Python: read at start, or found before the standard library and pytest.
	"sitecustomize.py": true, "usercustomize.py": true, "unittest.py": true, "pytest.py": true, "doctest.py": true, "nose.py": true, "_pytest.py": true,
	"pytest.ini": true, "tox.ini": true, "setup.cfg": true, "noxfile.py": true,
	// JavaScript.
	".mocharc.js": true, ".mocharc.cjs": true, ".mocharc.json": true, ".mocharc.yml": true, ".mocharc.yaml": true, ".npmrc": true, ".babelrc": true,
	// Go, Rust, C, Java, Ruby, and the environment of any of them.
	"go.work": true, "build.rs": true, "GNUmakefile": true, "makefile": true, ".mvn": true, ".rspec": true, ".env": true, ".envrc": true,
}

// unaskedStems are names that count with every ending.
var unaskedStems = map[string]bool{"jest.config": true, "vitest.config": true, "vite.config": true, "karma.conf": true, "babel.config": true, "ava.config": true}

// loadsUnasked reports whether a new file of this path would be read without
// being asked for.
func loadsUnasked(p string) bool {
	base := path.Base(p)
	return unasked[base] || unaskedStems[strings.TrimSuffix(base, path.Ext(base))] || path.Ext(base) == ".pth" || strings.HasPrefix(p, ".cargo/") || strings.HasPrefix(p, ".mvn/")
}
