package conformance

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"culprit/internal/githubtest"
	"culprit/internal/requiretest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// small is a description with everything in it that convert must understand.
const small = `{
  "openapi": "3.0.3",
  "paths": {
    "/things/{thing_id}": {
      "patch": {
        "operationId": "things/update",
        "parameters": [{"$ref": "#/components/parameters/thing"}, {"name": "per_page", "in": "query", "schema": {"type": "integer", "maximum": 100}}],
        "requestBody": {"required": true, "content": {"application/json": {"schema": {"type": "object", "required": ["title"], "properties": {
          "title": {"type": "string", "nullable": true, "maxLength": 5}, "state": {"type": "string", "nullable": true, "enum": ["open"]}
        }}}}},
        "responses": {"200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/thing"}}}}, "204": {},
          "409": {"content": {"application/json": {"schema": {"oneOf": [{"$ref": "#/components/schemas/basic-error"}, {"type": "object"}]}}}}}
      }
    }
  },
  "x-webhooks": {"thing-made": {"post": {"operationId": "thing-box/made", "requestBody": {"content": {"application/json": {"schema": {
    "type": "object", "required": ["action"], "properties": {"action": {"type": "string", "enum": ["made"]}}}}}}}}},
  "components": {
    "parameters": {"thing": {"name": "thing_id", "in": "path", "required": true, "schema": {"type": "integer"}}},
    "schemas": {
      "basic-error": {"type": "object", "required": ["message"], "properties": {"message": {"type": "string"}}},
      "owner": {"type": "object", "nullable": true, "required": ["url"], "properties": {"url": {"type": "string", "format": "uri-template"}}},
      "thing": {"type": "object", "required": ["id", "owner", "example"], "properties": {
        "id": {"type": "integer"}, "example": {"type": "string", "example": "x"}, "owner": {"nullable": true, "allOf": [{"$ref": "#/components/schemas/owner"}]}
      }}
    }
  }
}`

func smallDescription(t *testing.T) *description {
	t.Helper()
	var out bytes.Buffer
	if err := convert(&out, []byte(small), []byte("[]")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "small.zip")
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.files.Close() })
	return d
}

// exchange is one that is right, changed by f.
func exchange(f func(*githubtest.Exchange)) githubtest.Exchange {
	e := githubtest.Exchange{
		Method: "PATCH", Path: "/things/7", Route: "/things/{thing_id}", Params: map[string]string{"thing_id": "7"}, Query: "per_page=5",
		Body: []byte(`{"title":"a","state":null}`), Status: 200, AnswerHeader: http.Header{"Content-Type": {"application/json; charset=utf-8"}},
		Answer: []byte(`{"id":7,"owner":{"url":"http://x/a{/b}"},"example":"y"}`),
	}
	f(&e)
	return e
}

func TestViolationsOfRequestsAreFound(t *testing.T) {
	t.Parallel()
	d := smallDescription(t)
	for name, c := range map[string]struct {
		change func(*githubtest.Exchange)
		want   string // of the one problem; "" when there is none
	}{
		"right":              {func(*githubtest.Exchange) {}, ""},
		"null":               {func(e *githubtest.Exchange) { e.Body = []byte(`{"title":null}`) }, ""},
		"unknown operation":  {func(e *githubtest.Exchange) { e.Method = "POST" }, "no such operation"},
		"unknown address":    {func(e *githubtest.Exchange) { e.Route = "" }, "no such operation"},
		"path parameter":     {func(e *githubtest.Exchange) { e.Params = map[string]string{"thing_id": "x"} }, `thing_id = "x"`},
		"query over maximum": {func(e *githubtest.Exchange) { e.Query = "per_page=500" }, "at /: maximum: got 500, want 100"},
		"unknown query":      {func(e *githubtest.Exchange) { e.Query = "sort=asc" }, `no query parameter "sort"`},
		"missing body":       {func(e *githubtest.Exchange) { e.Body = nil }, "the body is missing"},
		"not JSON":           {func(e *githubtest.Exchange) { e.Body = []byte("x") }, "not JSON"},
		"missing field":      {func(e *githubtest.Exchange) { e.Body = []byte(`{}`) }, "missing property 'title'"},
		"unknown field":      {func(e *githubtest.Exchange) { e.Body = []byte(`{"title":"a","titel":"b"}`) }, `no field "titel"`},
		"wrong enum":         {func(e *githubtest.Exchange) { e.Body = []byte(`{"title":"a","state":"shut"}`) }, "at /state: value must be one of"},
		"too long":           {func(e *githubtest.Exchange) { e.Body = []byte(`{"title":"abcdef"}`) }, "at /title: maxLength"},
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); expect(t, d.request(exchange(c.change)), c.want) })
	}
}

func TestViolationsOfAnswersAreFound(t *testing.T) {
	t.Parallel()
	d := smallDescription(t)
	for name, c := range map[string]struct {
		change func(*githubtest.Exchange)
		want   string
	}{
		"right":          {func(*githubtest.Exchange) {}, ""},
		"null reference": {func(e *githubtest.Exchange) { e.Answer = []byte(`{"id":7,"owner":null,"example":"y"}`) }, ""},
		"missing field":  {func(e *githubtest.Exchange) { e.Answer = []byte(`{"id":7,"example":"y","owner":{}}`) }, "at /owner: missing property 'url'"},
		"field named like an annotation": {
			func(e *githubtest.Exchange) { e.Answer = []byte(`{"id":7,"owner":null,"example":1}`) }, "at /example: got number, want string",
		},
		"wrong format":             {func(e *githubtest.Exchange) { e.Answer = []byte(`{"id":7,"owner":{"url":"{a"},"example":"y"}`) }, "not valid uri-template"},
		"cut short":                {func(e *githubtest.Exchange) { e.Answer = []byte(`{"id":`) }, "not JSON"},
		"status":                   {func(e *githubtest.Exchange) { e.Status = 201 }, "no answer 201"},
		"without body":             {func(e *githubtest.Exchange) { e.Status, e.Answer = 204, nil }, ""},
		"not modified":             {func(e *githubtest.Exchange) { e.Status, e.Answer = 304, nil }, ""},
		"undescribed error":        {func(e *githubtest.Exchange) { e.Status, e.Answer = 401, []byte(`{"message":"no"}`) }, ""},
		"form of an error":         {func(e *githubtest.Exchange) { e.Status, e.Answer = 401, []byte(`{"error":"no"}`) }, "missing property 'message'"},
		"overlapping alternatives": {func(e *githubtest.Exchange) { e.Status, e.Answer = 409, []byte(`{"message":"Conflict"}`) }, ""},
		"unknown address":          {func(e *githubtest.Exchange) { e.Route, e.Status, e.Answer = "", 404, []byte(`{"message":"Not Found"}`) }, ""},
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); expect(t, d.answer(exchange(c.change)), c.want) })
	}
}

func TestViolationsOfPayloadsAreFound(t *testing.T) {
	t.Parallel()
	d := smallDescription(t)
	expect(t, d.payload("thing_box", "made", []byte(`{"action":"made"}`)), "")
	expect(t, d.payload("thing_box", "made", []byte(`{"action":"lost"}`)), "at /action")
	expect(t, d.payload("thing_box", "lost", []byte(`{"action":"lost"}`)), "no such webhook")
}

func expect(t *testing.T, problems []string, want string) {
	t.Helper()
	switch {
	case want == "" && len(problems) > 0:
		t.Errorf("problems = %q, want none", problems)
	case want != "" && (len(problems) != 1 || !strings.Contains(problems[0], want)):
		t.Errorf("problems = %q, want one with %q", problems, want)
	}
}

func TestAViolationIsCountedEachTimeAndToldOnce(t *testing.T) {
	t.Parallel()
	c := newChecker(smallDescription(t))
	bad := exchange(func(e *githubtest.Exchange) { e.Query = "sort=asc"; e.Answer = []byte(`{}`) })
	c.Exchanged(bad)
	c.Exchanged(bad)
	bad.Fault = true // its answer is not GitHub's
	c.Exchanged(bad)
	c.Sent("thing_box", "made", []byte(`{"action":"made"}`))
	counts, violations := c.close()
	if want := (Counts{Requests: 3, Answers: 2, Payloads: 1, Violations: 5}); counts != want || len(violations) != 2 {
		t.Errorf("counts = %+v, want %+v; violations = %q", counts, want, violations)
	}
}

func TestARefusedRequestMayBeWrongWhereATestSaysSo(t *testing.T) {
	t.Parallel()
	c := newChecker(smallDescription(t))
	RefusedRequestsMayBeWrong()(c)
	c.Exchanged(exchange(func(e *githubtest.Exchange) {
		e.Status, e.Body, e.Answer = 422, []byte(`{}`), []byte(`{"message":"Invalid request."}`)
	}))
	if counts, violations := c.close(); counts != (Counts{Answers: 1}) {
		t.Errorf("counts = %+v, violations = %q", counts, violations)
	}
}

func TestTheInstalledDescriptionIsWhole(t *testing.T) {
	t.Parallel()
	d, err := installed()
	if err != nil {
		requiretest.Missing(t, err.Error())
	}
	if o, w := len(d.index.Operations), len(d.index.Webhooks); o < 1000 || w < 200 {
		t.Fatalf("%d operations and %d webhooks are installed", o, w)
	}
	for _, place := range []string{"webhooks/check_run/completed.json", "webhooks/push.json", "ops/pulls/create.json#/responses/201/schema"} {
		if _, err := d.schema(place); err != nil {
			t.Error(err)
		}
	}
}
