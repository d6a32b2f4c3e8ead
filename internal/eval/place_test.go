package eval

import (
	"reflect"
	"strings"
	"testing"

	"culprit/internal/patch"
	"culprit/internal/session"
)

func TestAPlaceIsReadAsItIsWritten(t *testing.T) {
	t.Parallel()
	for _, want := range []string{"a.go", "x/a.go:7", "a.go:7-9"} {
		p, err := ParsePlace(want)
		if err != nil || p.String() != want {
			t.Errorf("%s is read as %s, %v", want, p, err)
		}
	}
	for _, bad := range []string{"", ".", "/a.go", "../a.go", "a.go:", "a.go:0", "a.go:3-2", "a.go:1-2-3", "a.go:x"} {
		if p, err := ParsePlace(bad); err == nil {
			t.Errorf("%q is read as %s", bad, p)
		}
	}
}

func TestLinesAreFoundAgainInALaterContent(t *testing.T) {
	t.Parallel()
	before := "1\n2\n3\n4\n5\n6\n7\n8\n"
	for _, tt := range []struct{ name, after, from, to string }{
		{"nothing changed", before, "f:3-4", "f:3-4"},
		{"lines above came", "a\nb\n" + before, "f:3-4", "f:5-6"},
		{"lines above went", "2\n3\n4\n5\n6\n7\n8\n", "f:3-4", "f:2-3"},
		{"lines below came", before + "9\n", "f:8", "f:8"},
		{"a line came between", "1\n2\n3\nx\n4\n5\n6\n7\n8\n", "f:3-4", "f:3-5"},
		{"the line itself was changed", "1\n2\nX\nY\n4\n5\n6\n7\n8\n", "f:3", "f:3-4"},
		{"the line itself went", "1\n2\n4\n5\n6\n7\n8\n", "f:3", "f:2"},
		{"all before it is new", "a\nb\nc\n4\n5\n6\n7\n8\n", "f:4", "f:4"},
		{"a whole file", "x\n", "f", "f"},
	} {
		from, err := ParsePlace(tt.from)
		if err != nil {
			t.Fatal(err)
		}
		if got := from.Carry([]byte(before), []byte(tt.after)).String(); got != tt.to {
			t.Errorf("%s: %s becomes %s, want %s", tt.name, tt.from, got, tt.to)
		}
	}
}

func TestATrueFixNamesTheOldLinesThatItChangesOutsideOfTests(t *testing.T) {
	t.Parallel()
	hunks, err := patch.Split([]byte(`diff --git a/a.go b/a.go
--- a/a.go
+++ b/a.go
@@ -4,2 +4 @@
-x
-y
+z
@@ -9,0 +9,2 @@
+one
+two
diff --git a/a_test.go b/a_test.go
--- a/a_test.go
+++ b/a_test.go
@@ -1 +1 @@
-x
+y
diff --git a/new.go b/new.go
new file mode 100644
--- /dev/null
+++ b/new.go
@@ -0,0 +1 @@
+package x
diff --git a/old.go b/old.go
deleted file mode 100644
--- a/old.go
+++ /dev/null
@@ -1 +0,0 @@
-package x
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []Place{{"a.go", 4, 5}, {"a.go", 9, 10}, {File: "old.go"}}
	if got := Changed(hunks); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestARootCausePointsAtItsDecisiveHunk(t *testing.T) {
	t.Parallel()
	hunk := session.Hunk{File: "a.go", NewStart: 4, NewLines: 3}
	for _, tt := range []struct {
		cause *session.RootCause
		want  string
	}{
		{nil, ""},
		{&session.RootCause{}, ""},
		{&session.RootCause{Location: "a.go:4", Minimal: []session.Hunk{{File: "b.go", NewStart: 4, NewLines: 9}, hunk}}, "a.go:4-6"},
		{&session.RootCause{Location: "a.go:7", Minimal: []session.Hunk{hunk}}, "a.go:7"},
		{&session.RootCause{Location: "a.go"}, "a.go"},
	} {
		got, ok := Named(tt.cause)
		if text := strings.TrimSuffix(got.String(), ":0"); text != tt.want || ok != (tt.want != "") {
			t.Errorf("%+v points at %q, want %q", tt.cause, text, tt.want)
		}
	}
}
