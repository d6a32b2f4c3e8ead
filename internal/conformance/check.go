package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"culprit/internal/githubtest"
)

// request says what is wrong with a request; nothing when the description
// would take it.
func (d *description) request(e githubtest.Exchange) (problems []string) {
	op, id, err := d.operation(e.Method, e.Route)
	switch {
	case err != nil:
		return []string{err.Error()}
	case op == nil:
		return []string{"the description has no such operation"}
	}
	say := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	query, err := url.ParseQuery(e.Query)
	if err != nil {
		say("the query cannot be read: %v", err)
	}
	for n, p := range op.Params {
		place := fmt.Sprintf("ops/%s.json#/params/%d/schema", id, n)
		var given []string
		switch p.In {
		case "path":
			given = []string{e.Params[p.Name]}
		case "query":
			given = query[p.Name]
			delete(query, p.Name)
		default:
			continue // headers of the description are hints
		}
		if len(given) == 0 {
			if p.Required {
				say("parameter %s is missing", p.Name)
			}
			continue
		}
		if len(given) > 1 {
			say("parameter %s is given %d times", p.Name, len(given))
		}
		if err := d.validate(place, fromText(given[0], p.Schema)); err != nil {
			say("parameter %s = %q: %s", p.Name, given[0], brief(err))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		say("the description knows no query parameter %q", name)
	}
	return append(problems, d.body(e, op, id)...)
}

// body says what is wrong with the body of a request.
func (d *description) body(e githubtest.Exchange, op *operation, id string) []string {
	body := bytes.TrimSpace(e.Body)
	switch {
	case op.Body == nil && len(body) > 0 && string(body) != "{}" && string(body) != "null":
		return []string{"the operation takes no body"}
	case op.Body == nil:
		return nil
	case len(body) == 0 && op.Body.Required:
		return []string{"the body is missing"}
	case len(body) == 0, string(body) == "null" && !op.Body.Required:
		return nil // go-github sends null for no options, and GitHub takes it
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return []string{"the body is not JSON: " + err.Error()}
	}
	if err := d.validate("ops/"+id+".json#/body/schema", value); err != nil {
		return []string{"body: " + brief(err)}
	}
	var problems []string
	known, _ := op.Body.Schema.(obj)
	fields, _ := known["properties"].(obj)
	sent, _ := value.(obj)
	for _, name := range slices.Sorted(maps.Keys(sent)) {
		if fields != nil && fields[name] == nil {
			problems = append(problems, fmt.Sprintf("body: the description knows no field %q", name))
		}
	}
	return problems
}

// undescribed are statuses that GitHub answers with where its description does
// not list them. Such an answer must have the form of GitHub's errors.
var undescribed = []int{400, 401, 403, 404, 409, 410, 415, 422, 429}

// answer says what is wrong with an answer.
func (d *description) answer(e githubtest.Exchange) []string {
	op, id, err := d.operation(e.Method, e.Route)
	switch {
	case err != nil:
		return []string{err.Error()}
	case op == nil:
		if e.Route != "" {
			return []string{"the description has no such operation"}
		}
		op = &operation{} // an address that GitHub does not serve either
	}
	if e.Status == http.StatusNotModified {
		return nil
	}
	status := strconv.Itoa(e.Status)
	described, ok := op.Responses[status]
	place := "ops/" + id + ".json#/responses/" + status + "/schema"
	switch {
	case !ok && !slices.Contains(undescribed, e.Status):
		return []string{fmt.Sprintf("the description has no answer %d", e.Status)}
	case !ok:
		place = "schemas/basic-error.json"
	case described.Schema == nil:
		return nil // without a body, or one that is not JSON
	case e.Status < 300 && !strings.Contains(e.AnswerHeader.Get("Content-Type"), "json"):
		return nil // another media type was asked for
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(e.Answer))
	if err != nil {
		return []string{fmt.Sprintf("answer %d is not JSON: %v", e.Status, err)}
	}
	if err := d.validate(place, value); err != nil {
		return []string{fmt.Sprintf("answer %d: %s", e.Status, brief(err))}
	}
	return nil
}

// payload says what is wrong with a webhook's payload.
func (d *description) payload(event, action string, payload []byte) []string {
	name := event + "/" + action
	if action == "" {
		name = event
	}
	if !slices.Contains(d.index.Webhooks, name) {
		return []string{"the description has no such webhook"}
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(payload))
	if err != nil {
		return []string{"the payload is not JSON: " + err.Error()}
	}
	if err := d.validate("webhooks/"+name+".json", value); err != nil {
		return []string{brief(err)}
	}
	return nil
}

// fromText reads a parameter of a path or query as the type that its schema
// wants.
func fromText(text string, schema any) any {
	s, _ := schema.(obj)
	kinds := fmt.Sprint(s["type"], s["oneOf"], s["anyOf"])
	switch {
	case strings.Contains(kinds, "integer"), strings.Contains(kinds, "number"):
		if v, err := jsonschema.UnmarshalJSON(strings.NewReader(text)); err == nil {
			return v
		}
	case strings.Contains(kinds, "boolean") && (text == "true" || text == "false"):
		return text == "true"
	case s["type"] == "array":
		var list []any
		for part := range strings.SplitSeq(text, ",") {
			list = append(list, part)
		}
		return list
	}
	return text
}

// maxBrief bounds the places that one violation names.
const maxBrief = 8

// brief names the places of a value that are wrong.
func brief(err error) string {
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return err.Error()
	}
	var places []string
	var walk func(*jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		if len(e.Causes) == 0 {
			places = append(places, fmt.Sprintf("at /%s: %s", strings.Join(e.InstanceLocation, "/"), e.ErrorKind.LocalizedString(english)))
		}
		for _, cause := range e.Causes {
			walk(cause)
		}
	}
	walk(invalid)
	slices.Sort(places)
	places = slices.Compact(places)
	if n := len(places); n > maxBrief {
		places = append(places[:maxBrief], fmt.Sprintf("and %d more", n-maxBrief))
	}
	return strings.Join(places, "; ")
}

var english = message.NewPrinter(language.English)
