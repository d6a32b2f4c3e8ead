package githubtest

import (
	"strings"
	"sync"
	"time"
)

// The server's memory. Everything here is guarded by Server.mu; what leaves
// the package is a copy (snapshot.go) or JSON (the json_*.go files).

type user struct {
	id      int64
	login   string
	kind    string // User, Organization, Bot
	name    string
	email   string
	created time.Time
	members map[*user]bool // of an organisation
}

type app struct {
	App
	owner      *user
	bot        *user
	hookID     int64
	created    time.Time
	deliveries []*delivery
}

type installation struct {
	id          int64
	app         *app
	account     *user
	all         bool
	repos       map[int64]bool
	permissions map[string]string
	events      []string
	created     time.Time
	updated     time.Time
	suspended   time.Time
	suspendedBy *user
	deleted     bool
}

func (i *installation) covers(r *repository) bool {
	if i.deleted || r.deleted {
		return false
	}
	return i.repos[r.id] || (i.all && r.owner == i.account)
}

type token struct {
	value       string
	user        *user         // a person's token
	inst        *installation // an App's token
	repos       map[int64]bool
	permissions map[string]string
	expires     time.Time
}

type repository struct {
	id            int64
	owner         *user
	name          string
	description   string
	private       bool
	archived      bool
	noIssues      bool
	parent        *repository // of a fork
	deleted       bool
	defaultBranch string
	dir           string
	created       time.Time
	pushed        time.Time
	permissions   map[string]string // login -> admin, maintain, write, triage, read
	contributors  map[*user]bool    // whose commits are on the default branch
	labels        []*label
	issues        []*issue // issues and pull requests, by number-1
	suites        []*suite
	checkRuns     []*checkRun
	workflows     []*workflow
	runs          []*run
	pushes        []Push
	commits       map[string]commitInfo // read so far, by SHA
	answers       map[string]string     // of git, see gitOnce
	reader        *objectReader         // nil until the first question

	protected map[string]Protection // by branch
	rules     []Rule
	statuses  []*commitStatus // oldest first

	commitComments []*commitComment // of all commits, oldest first

	gitMu sync.Mutex // one receive-pack at a time, so that ref changes are attributed rightly
}

func (r *repository) fullName() string { return r.owner.login + "/" + r.name }

func (r *repository) issue(number int) *issue {
	if number < 1 || number > len(r.issues) {
		return nil
	}
	if i := r.issues[number-1]; !i.deleted {
		return i
	}
	return nil
}

func (r *repository) pull(number int) *issue {
	if i := r.issue(number); i != nil && i.pull != nil {
		return i
	}
	return nil
}

func (r *repository) label(name string) *label {
	for _, l := range r.labels {
		if strings.EqualFold(l.name, name) {
			return l
		}
	}
	return nil
}

type label struct {
	id          int64
	name        string
	color       string
	description string
}

type issue struct {
	id          int64
	number      int
	title       string
	body        string
	user        *user
	via         *app
	labels      []*label
	assignees   []*user
	state       string
	stateReason string
	locked      bool
	lockReason  string
	deleted     bool
	reactions   map[string][]*user
	created     time.Time
	updated     time.Time
	closed      time.Time
	closedBy    *user
	comments    []*comment
	pull        *pull
}

type comment struct {
	id        int64
	body      string
	user      *user
	via       *app
	created   time.Time
	updated   time.Time
	edits     int
	reactions map[string][]*user
}

type commitComment struct {
	id       int64
	sha      string
	path     string
	position int // in the file's diff, 0 when none
	line     int // of the new file, 0 when none
	body     string
	user     *user
	created  time.Time
	updated  time.Time
	edits    int
}

type pull struct {
	headRepo  *repository
	headRef   string
	baseRef   string
	headSHA   string
	baseSHA   string
	draft     bool
	merged    time.Time
	mergedBy  *user
	mergeSHA  string
	mergeable *bool
	canModify bool
	commits   int
	additions int
	deletions int
	files     int
	reviews   []*review
	reviewers []*user // who were asked
	comments  []*reviewComment
}

type review struct {
	id        int64
	user      *user
	body      string
	state     string
	commit    string
	submitted time.Time
}

type reviewComment struct {
	id       int64
	reviewID int64
	replyTo  int64
	user     *user
	body     string
	path     string
	commit   string
	hunk     string
	line     int
	start    int
	side     string
	created  time.Time
	updated  time.Time

	resolved  bool // of the first comment of a thread
	reactions map[string][]*user
}

type suite struct {
	id      int64
	app     *app
	sha     string
	branch  string
	before  string
	created time.Time
	updated time.Time
	runs    []*checkRun
}

type checkRun struct {
	id          int64
	name        string
	sha         string
	externalID  string
	detailsURL  string
	status      string
	conclusion  string
	started     time.Time
	completed   time.Time
	title       *string
	summary     *string
	text        *string
	annotations []Annotation
	actions     []Action
	suite       *suite
}

type workflow struct {
	id      int64
	name    string
	path    string
	created time.Time
}

type run struct {
	id       int64
	workflow *workflow
	number   int
	event    string
	title    string
	sha      string
	branch   string
	suite    *suite
	headRepo *repository // the repository itself, or a fork
	actor    *user
	created  time.Time
	attempts []*attempt
}

func (r *run) last() *attempt { return r.attempts[len(r.attempts)-1] }

type attempt struct {
	number     int
	status     string
	conclusion string
	started    time.Time
	updated    time.Time
	actor      *user
	jobs       []*job
}

type job struct {
	name  string
	check *checkRun // GitHub gives a job and its check run the same ID
	steps []step
	log   string
}

type step struct {
	name       string
	conclusion string
	started    time.Time
	completed  time.Time
	log        string
}
