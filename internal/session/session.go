package session

import (
	"maps"
	"slices"
	"time"
)

// SchemaVersion of session.json; a folder with a newer one is refused.
const SchemaVersion = 1

// Mode says how deep a session goes.
type Mode string

// Modes: quick drops the optional stages, full is the default, deep has all.
const (
	Quick Mode = "quick"
	Full  Mode = "full"
	Deep  Mode = "deep"
)

// Result is how a session ended.
type Result string

// Results of a session, in the words of the report. Every ended session has
// exactly one.
const (
	ResultFixed         Result = "fixed"          // fixed and verified
	ResultRootCause     Result = "root_cause"     // root cause without a fix
	ResultFlaky         Result = "flaky"          // fails only sometimes, for no commit's doing
	ResultNotReproduced Result = "not_reproduced" // does not fail here
	ResultInconclusive  Result = "inconclusive"   // reproduced, nothing confirmed
	ResultDuplicate     Result = "duplicate"      // another session investigated the same failure
	ResultStopped       Result = "stopped"        // budget, cancelled, superseded, time
)

// ExitCode of the command line for a result (spec/ux.md).
func (r Result) ExitCode() int {
	switch r {
	case ResultFixed:
		return 0
	case ResultRootCause:
		return 1
	case ResultNotReproduced, ResultInconclusive, ResultDuplicate:
		return 3
	case ResultFlaky:
		return 4
	case ResultStopped:
		return 5
	}
	return 70
}

// Hold is a wait for GitHub's rate limit, through which the job sleeps (GH11).
type Hold struct {
	Since time.Time `json:"since"`
	Until time.Time `json:"until"` // the earliest that GitHub answers again
}

// Source is what started the session.
type Source struct {
	Trigger    string `json:"trigger"`    // cli, label, check_run, check_suite, workflow_run, status, command
	Repository string `json:"repository"` // owner/name, or the local path's base name
	Path       string `json:"path,omitempty"`
	URL        string `json:"url,omitempty"` // web address of the repository, for permalinks
	Ref        string `json:"ref,omitempty"` // branch, without refs/heads/
	SHA        string `json:"sha,omitempty"`
	DefaultRef string `json:"default_ref,omitempty"`
	Issue      int    `json:"issue,omitempty"`
	PR         int    `json:"pr,omitempty"`
	CheckRun   int64  `json:"check_run,omitempty"`
	CheckSuite int64  `json:"check_suite,omitempty"`
	Run        int64  `json:"run,omitempty"`
	Delivery   string `json:"delivery,omitempty"`
	Actor      string `json:"actor,omitempty"`

	Installation int64 `json:"installation,omitempty"`
}

// Flags of a session, as given on the command line, in a comment or by the
// repository's configuration (QD2).
type Flags struct {
	Test        string        `json:"test,omitempty"`
	Setup       string        `json:"setup,omitempty"`
	Job         string        `json:"job,omitempty"` // CI job to do as: its name, or its ID in the workflow file
	Good        string        `json:"good,omitempty"`
	Bad         string        `json:"bad,omitempty"`
	Overlay     []Overlay     `json:"overlay,omitempty"`
	Concurrency int           `json:"concurrency"`
	Yes         bool          `json:"yes,omitempty"`
	MaxRuns     int           `json:"max_runs,omitempty"`   // 0 = default
	Timeout     time.Duration `json:"timeout_ns,omitempty"` // of the whole session
	SkipFix     bool          `json:"skip_fix,omitempty"`
	RunTimeout  time.Duration `json:"run_timeout_ns,omitempty"` // of one run of the test command; 0 = default
	Protected   []string      `json:"protected,omitempty"`      // patterns of paths that no fix touches, beside the built-in ones (GH6)
	Draft       bool          `json:"draft,omitempty"`          // the fix pull request is a draft whatever the confidence
	SignOff     bool          `json:"sign_off,omitempty"`       // the fix commit is signed off (Developer Certificate of Origin)
	SignOffSet  bool          `json:"sign_off_set,omitempty"`   // the repository's settings say whether it is
}

// Budget is what a session may use and has used (CR20).
type Budget struct {
	MaxRuns int           `json:"max_runs"`
	MaxTime time.Duration `json:"max_time_ns"`
	Runs    int           `json:"runs"` // experiment runs that were executed
	Used    time.Duration `json:"used_ns"`
	Tokens  int           `json:"tokens"`
	Cost    float64       `json:"cost"`
}

// Published is what is visible on GitHub (GH5); effects are idempotent by it.
type Published struct {
	Comment    int64  `json:"comment,omitempty"`
	CommentURL string `json:"comment_url,omitempty"`
	CheckRun   int64  `json:"check_run,omitempty"`
	Branch     string `json:"branch,omitempty"`
	PR         int    `json:"pr,omitempty"`
	PRURL      string `json:"pr_url,omitempty"`
	FixCommit  string `json:"fix_commit,omitempty"`
}

// Decision is one numbered choice of the session (CR24, OD10).
type Decision struct {
	N        int    `json:"n"`
	Stage    string `json:"stage"`
	Text     string `json:"text"`
	Status   string `json:"status"` // pending, resolved, deferred
	Question string `json:"question,omitempty"`
}

// Goal is one phase goal (OD2).
type Goal struct {
	ID     string `json:"id"`
	Text   string `json:"text"`
	Status string `json:"status"` // pending, done, skipped, failed
}

// Confidence is the score of QD14: factors and dimensions in [0, 1].
type Confidence struct {
	Score   float64            `json:"score"`
	Level   string             `json:"level"` // low, medium, high
	Factors map[string]float64 `json:"factors,omitempty"`
	Dims    map[string]float64 `json:"dimensions,omitempty"`
	Why     []string           `json:"why,omitempty"` // one line a factor
}

// StageRecord is one finished stage, for the report and for resuming.
type StageRecord struct {
	Name    string        `json:"name"`
	Outcome string        `json:"outcome"` // advance, rework, ask, stop, skipped
	Note    string        `json:"note,omitempty"`
	Took    time.Duration `json:"took_ns"`
}

// Session is everything that is known about one debugging session. It is
// stored as session.json, except Tasks, whose truth is tasks.csv.
type Session struct {
	Schema  int    `json:"schema_version"`
	ID      string `json:"session_id"`
	Source  Source `json:"source"`
	Flags   Flags  `json:"flags"`
	Mode    Mode   `json:"mode"`
	State   string `json:"current_state"` // name of the next stage, or "done"
	Cycle   int    `json:"cycle"`
	Attempt int64  `json:"attempt"` // fencing number of the worker that holds it

	Symptom      Symptom       `json:"symptom"`
	Bad          *Commit       `json:"bad,omitempty"`
	Reproduction *Reproduction `json:"reproduction,omitempty"`
	Archaeology  *Archaeology  `json:"archaeology,omitempty"`
	Hypotheses   []Hypothesis  `json:"hypotheses,omitempty"`
	// Causes and Fixes hold what rows H{N} and FIX-H{N} found; RootCause and
	// Fix are the ones that the session stands by.
	Causes    map[string]*RootCause `json:"causes,omitempty"`
	Fixes     map[string]*Fix       `json:"fixes,omitempty"`
	RootCause *RootCause            `json:"root_cause"`
	// Challenges are the tries to break what was confirmed; Contradictions are
	// what two workers say and cannot both be true.
	Challenges     []Challenge   `json:"challenges,omitempty"`
	Contradictions []string      `json:"contradictions,omitempty"`
	Synthesis      *Synthesis    `json:"synthesis,omitempty"`
	Flake          *Flake        `json:"flake,omitempty"`
	Fix            *Fix          `json:"fix,omitempty"`
	Confirmation   *Confirmation `json:"confirmation"`
	Rebase         *Rebase       `json:"rebase,omitempty"`
	// Rejected are the digests of fixes that did not hold; the fixer offers
	// others.
	Rejected []string `json:"rejected_fixes,omitempty"`

	// Incident is set when another session investigates the same failure;
	// Sightings are the sessions for which this one does.
	Incident  *Incident  `json:"incident,omitempty"`
	Sightings []Sighting `json:"sightings,omitempty"`
	// Past is what earlier sessions found of the same tests, the newest first.
	Past []Past `json:"past,omitempty"`

	Review *Review `json:"review,omitempty"` // of the fix pull request

	Result Result `json:"result,omitempty"`
	Reason string `json:"reason,omitempty"` // why stopped, not reproduced, no fix
	// SupersededBy is the newer commit of the branch that took this one's
	// place (GH2).
	SupersededBy string     `json:"superseded_by,omitempty"`
	Question     *Question  `json:"question,omitempty"`
	Held         *Hold      `json:"held,omitempty"` // the latest; nil: there was none
	Answers      []Answer   `json:"answers,omitempty"`
	Confidence   Confidence `json:"confidence"`
	NotChecked   []string   `json:"not_checked,omitempty"`
	NextStep     string     `json:"next_step,omitempty"` // QD18

	DiagnosisRetries int        `json:"diagnosis_retries"`
	CrossPhaseLoops  int        `json:"cross_phase_loops"`
	MaxLoops         int        `json:"max_loops"`
	Goals            []Goal     `json:"phase_goals"`
	GoalsDone        bool       `json:"phase_goals_all_done"`
	SelfIteration    []string   `json:"self_iteration_log"`
	Patterns         []string   `json:"patterns"`
	Decisions        []Decision `json:"decisions"`

	Budget    Budget        `json:"budget"`
	Published Published     `json:"published"`
	Stages    []StageRecord `json:"stages,omitempty"`

	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`

	Tasks []Task `json:"-"`
	// TasksSum tells which tasks.csv belongs to this session.json.
	TasksSum string `json:"tasks_sum,omitempty"`
}

// Snapshot is the session as it stands, for a worker that reads it while the
// results of others are merged. What is below its fields is never changed in
// place but in rows and in the maps of causes and fixes, which are copied.
func (s *Session) Snapshot() *Session {
	view := *s
	view.Tasks = slices.Clone(s.Tasks)
	view.Causes, view.Fixes = maps.Clone(s.Causes), maps.Clone(s.Fixes)
	view.Challenges = slices.Clone(s.Challenges)
	return &view
}

// Task returns the row with the ID, or nil.
func (s *Session) Task(id string) *Task {
	for i := range s.Tasks {
		if s.Tasks[i].ID == id {
			return &s.Tasks[i]
		}
	}
	return nil
}

// Wave returns the rows of a wave, in order.
func (s *Session) Wave(n int) []Task {
	var rows []Task
	for _, t := range s.Tasks {
		if t.Wave == n {
			rows = append(rows, t)
		}
	}
	return rows
}

// Done reports whether the session has ended.
func (s *Session) Done() bool { return s.State == StateDone }

// StateDone is the State of a session that has ended.
const StateDone = "done"
