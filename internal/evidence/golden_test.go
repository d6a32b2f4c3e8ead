package evidence

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Each testdata/FORMAT/NAME.log is what a real run printed, and NAME.json the
// report that must come of it. A new case needs no code.
func TestParseGolden(t *testing.T) {
	t.Parallel()
	logs, err := filepath.Glob("testdata/*/*.log")
	if err != nil || len(logs) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	for _, path := range logs {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.ToSlash(path), "testdata/"), ".log")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			rep, err := Parse(bytes.NewReader(data), Options{})
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.MarshalIndent(rep, "", " ")
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, '\n')
			golden := strings.TrimSuffix(path, ".log") + ".json"
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("report of %s differs from %s (run with -update and look at the diff):\n%s", path, golden, got)
			}
			for _, f := range rep.Failures {
				if f.From < 0 || f.To > int64(len(data)) || f.From >= f.To {
					t.Errorf("%s: byte range %d–%d of %d", f.ID(), f.From, f.To, len(data))
				}
			}
		})
	}
}
