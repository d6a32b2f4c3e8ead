package githubtest

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"time"
)

// App is a registered GitHub App.
type App struct {
	ID            int64
	Slug          string
	Name          string
	WebhookURL    string
	WebhookSecret string
	// Permissions are the most an installation of the App can have.
	Permissions map[string]string
	// Events are the webhook events that the App subscribed to.
	Events []string
	Key    *rsa.PrivateKey
}

// PrivateKeyPEM is the key in the form that GitHub hands out (PKCS #1).
func (a App) PrivateKeyPEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(a.Key)})
}

// BotLogin is the login under which the App acts.
func (a App) BotLogin() string { return a.Slug + "[bot]" }

// Issue is a copy of an issue's state. Pull requests are issues too.
type Issue struct {
	ID     int64
	Number int
	Title  string
	Body   string
	User   string
	State  string
	Labels []string
	Pull   bool
	Locked bool
}

// Comment is a copy of an issue comment.
type Comment struct {
	ID      int64
	Number  int // of the issue or pull request
	Body    string
	User    string
	Created time.Time
	Updated time.Time
	// Edits counts how often the body was changed.
	Edits int
}

// PullRequest is a copy of a pull request's state.
type PullRequest struct {
	Issue
	Head    string // branch
	HeadSHA string
	Base    string // branch
	BaseSHA string
	Draft   bool
	Merged  bool
	// Mergeable is nil when git could not tell.
	Mergeable *bool
	// Diff is the change against the merge base, as `git diff` prints it.
	Diff string
}

// Review is a copy of a pull-request review.
type Review struct {
	ID    int64
	User  string
	State string // APPROVED, CHANGES_REQUESTED, COMMENTED
	Body  string
}

// ReviewComment is a copy of a comment on a line of a pull request.
type ReviewComment struct {
	ID      int64
	User    string
	Body    string
	Path    string
	Line    int
	ReplyTo int64
}

// CheckRun is a copy of a check run's state.
type CheckRun struct {
	ID          int64
	App         string // slug
	Name        string
	HeadSHA     string
	ExternalID  string
	DetailsURL  string
	Status      string
	Conclusion  string
	Title       string
	Summary     string
	Text        string
	Annotations []Annotation
	Actions     []Action
}

// Annotation is a remark of a check run on lines of a file.
type Annotation struct {
	Path        string `json:"path"`
	StartLine   int    `json:"start_line"`
	EndLine     int    `json:"end_line"`
	StartColumn *int   `json:"start_column"`
	EndColumn   *int   `json:"end_column"`
	Level       string `json:"annotation_level"`
	Message     string `json:"message"`
	Title       string `json:"title"`
	RawDetails  string `json:"raw_details"`
}

// Action is a button of a check run.
type Action struct {
	Label       string `json:"label"`
	Description string `json:"description"`
	Identifier  string `json:"identifier"`
}

// Delivery is a copy of one attempt to deliver a webhook.
type Delivery struct {
	ID         int64
	GUID       string
	Event      string
	Action     string
	Redelivery bool
	// Status is "OK" or what went wrong.
	Status string
	// Code is the receiver's HTTP status; 502 and 504 stand for a connection
	// that failed and for a receiver that took too long.
	Code      int
	Delivered time.Time
	Duration  time.Duration
	Payload   []byte
}

// Push is one ref that changed by a push or by the refs API.
type Push struct {
	Repo   string
	Ref    string // refs/heads/…
	Before string // forty zeros when the ref is new
	After  string // forty zeros when the ref was deleted
	User   string
	Forced bool
}

// Call is one request that the server answered.
type Call struct {
	Seq    int
	Time   time.Time
	Method string
	// Path is the request's path without the /api/v3 prefix and without query.
	Path string
	// Route is the path template of GitHub's description, such as
	// /repos/{owner}/{repo}/pulls; empty when no route matched.
	Route  string
	Query  string
	Status int
	// Actor is the login that acted; an App's JWT acts as "app/SLUG".
	Actor string
	// Body is the request's body. For a push it is the list of changed refs.
	Body string
}

// Write says whether the call changed something that people see. Tokens are
// not, and a push counts when it moved a ref.
func (c Call) Write() bool {
	if c.Method == http.MethodGet || c.Method == http.MethodHead || c.Status >= 400 {
		return false
	}
	switch c.Route {
	case "/app/installations/{installation_id}/access_tokens", "/installation/token", "/{owner}/{repo}.git/git-upload-pack":
		return false
	case "/{owner}/{repo}.git/git-receive-pack":
		return c.Body != ""
	}
	return true
}
