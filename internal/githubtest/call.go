package githubtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// obj is a JSON object in the making.
type obj = map[string]any

// call is one request while it is answered. Handlers run with the server's
// lock held.
type call struct {
	s      *Server
	r      *http.Request
	route  *route
	params map[string]string
	who    identity
	repo   *repository
	body   []byte
	header http.Header // of the answer
}

// reply is what a handler answers: a status, and a value to encode or raw
// bytes with their type.
type reply struct {
	status int
	body   any
	raw    []byte
	mime   string
}

func ok(v any) reply { return reply{status: http.StatusOK, body: v} }

func noContent() reply { return reply{status: http.StatusNoContent} }

// created answers 201 with the address of the new resource.
func (c *call) created(v obj) reply {
	if u, ok := v["url"].(string); ok {
		c.header.Set("Location", u)
	}
	return reply{status: http.StatusCreated, body: v}
}

func (c *call) param(name string) string { return c.params[name] }

func (c *call) number(name string) int {
	n, err := strconv.Atoi(c.params[name])
	if err != nil {
		return -1 // more digits than an int has: no such thing
	}
	return n
}

func (c *call) id(name string) int64 { return int64(c.number(name)) }

func (c *call) query(name string) string { return c.r.URL.Query().Get(name) }

// decode reads the body's JSON object into v and checks, as GitHub's schema
// check does, that the named fields are there. A nil reply means success.
func (c *call) decode(v any, required ...string) *reply {
	if len(bytes.TrimSpace(c.body)) == 0 {
		c.body = []byte("{}")
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(c.body, &fields); err != nil {
		msg := "Problems parsing JSON"
		if json.Valid(c.body) {
			msg = "Body should be a JSON object"
		}
		r := fail(http.StatusBadRequest, msg)
		return &r
	}
	for _, name := range required {
		raw, there := fields[name]
		if !there {
			r := invalidRequest(fmt.Sprintf("%q wasn't supplied.", name))
			return &r
		}
		if string(raw) == "null" {
			r := invalidRequest(fmt.Sprintf("For 'properties/%s', nil is not a string.", name))
			return &r
		}
	}
	if err := json.Unmarshal(c.body, v); err != nil {
		what := "the body has a field of the wrong type."
		var te *json.UnmarshalTypeError
		if errors.As(err, &te) {
			what = fmt.Sprintf("For 'properties/%s', %s is not a %s.", strings.ToLower(strings.ReplaceAll(te.Field, ".", "/")), te.Value, te.Type)
		}
		r := invalidRequest(what)
		return &r
	}
	return nil
}

// fail answers with GitHub's basic error.
func fail(status int, message string) reply {
	return reply{status: status, body: obj{
		"message": message, "documentation_url": "https://docs.github.com/rest", "status": strconv.Itoa(status),
	}}
}

func notFound() reply { return fail(http.StatusNotFound, "Not Found") }

func invalidRequest(what string) reply {
	return fail(http.StatusUnprocessableEntity, "Invalid request.\n\n"+what)
}

// fieldError is one entry of GitHub's validation error.
type fieldError struct {
	Resource string `json:"resource"`
	Field    string `json:"field,omitempty"`
	Code     string `json:"code"`
	Message  string `json:"message,omitempty"`
}

func invalid(errs ...fieldError) reply {
	r := fail(http.StatusUnprocessableEntity, "Validation Failed")
	r.body.(obj)["errors"] = errs
	return r
}

// paging reads per_page (default 30, at most 100) and page (from 1).
func (c *call) paging() (perPage, page int) {
	perPage, page = 30, 1
	if n, err := strconv.Atoi(c.query("per_page")); err == nil && n > 0 {
		perPage = min(n, 100)
	}
	if n, err := strconv.Atoi(c.query("page")); err == nil && n > 0 {
		page = n
	}
	return perPage, page
}

// paginate cuts one page out of all and sets the Link header.
func paginate[T any](c *call, all []T) []T {
	perPage, page := c.paging()
	last := max(1, (len(all)+perPage-1)/perPage)
	var links []string
	link := func(rel string, n int) {
		q := c.r.URL.Query()
		q.Set("page", strconv.Itoa(n))
		links = append(links, fmt.Sprintf("<%s>; rel=%q", c.self(q), rel))
	}
	if page > 1 {
		link("prev", min(page-1, last))
	}
	if page < last {
		link("next", page+1)
		link("last", last)
	}
	if page > 1 {
		link("first", 1)
	}
	if len(links) > 0 {
		c.header.Set("Link", strings.Join(links, ", "))
	}
	from := min((page-1)*perPage, len(all))
	return slices.Clip(all[from:min(from+perPage, len(all))])
}

// self is this request's own address with another query.
func (c *call) self(q url.Values) string {
	u := *c.r.URL
	u.RawQuery = q.Encode()
	return c.s.base + u.RequestURI()
}

// listJSON renders one page of all.
func listJSON[T any](c *call, all []T, render func(T) obj) []obj {
	out := []obj{}
	for _, v := range paginate(c, all) {
		out = append(out, render(v))
	}
	return out
}

// countedJSON renders one page in the envelope that Actions and checks use.
func countedJSON[T any](c *call, key string, all []T, render func(T) obj) reply {
	return ok(obj{"total_count": len(all), key: listJSON(c, all, render)})
}
