package githubtest

import (
	"strings"
	"unicode/utf8"
)

// maxText is GitHub's limit on the body of an issue, pull request, review or
// comment, in characters.
const maxText = 65536

// checkText checks the title and body of an issue or pull request.
func checkText(resource, title, body string) *reply {
	var rep reply
	switch {
	case strings.TrimSpace(title) == "":
		rep = invalid(fieldError{Resource: resource, Code: "missing_field", Field: "title"})
	case utf8.RuneCountInString(title) > 256:
		rep = invalid(fieldError{Resource: resource, Code: "custom", Field: "title", Message: "title is too long (maximum is 256 characters)"})
	default:
		return checkBody(resource, body, true)
	}
	return &rep
}

// checkBody checks the body of a resource. GitHub words its refusals in one way
// for comments of issues and in another for everything else.
func checkBody(resource, body string, mayBeBlank bool) *reply {
	blank := fieldError{Resource: resource, Code: "missing_field", Field: "body"}
	long := fieldError{Resource: resource, Code: "custom", Field: "body", Message: "body is too long (maximum is 65536 characters)"}
	if resource == "IssueComment" {
		blank = fieldError{Resource: resource, Code: "unprocessable", Field: "data", Message: "Body cannot be blank"}
		long = fieldError{Resource: resource, Code: "unprocessable", Field: "data", Message: "Body is too long (maximum is 65536 characters)"}
	}
	var rep reply
	switch {
	case !mayBeBlank && strings.TrimSpace(body) == "":
		rep = invalid(blank)
	case utf8.RuneCountInString(body) > maxText:
		rep = invalid(long)
	default:
		return nil
	}
	return &rep
}

// commentBody reads a request that has only the body of a comment, and checks
// it.
func (c *call) commentBody(resource string) (string, *reply) {
	var req struct{ Body string }
	if bad := c.decode(&req, "body"); bad != nil {
		return "", bad
	}
	return req.Body, checkBody(resource, req.Body, false)
}
