package session

// Challenged is what became of a confirmed cause when somebody tried to break
// it.
type Challenged string

// Ends of a challenge. Only what was looked up counts: a claim that does not
// hold makes it Stands.
const (
	// Stands: it was tried to break, and did not.
	Stands Challenged = "stands"
	// Contested: lines or runs that are there speak against it, and decide
	// nothing. Its confidence is lower.
	Contested Challenged = "contested"
	// Broken: a run decides against it. It is inconclusive from then on.
	Broken Challenged = "broken"
	// Undecided: the worker came to no end.
	Undecided Challenged = "undecided"
	// LeftOut: it was not challenged.
	LeftOut Challenged = "left_out"
)

// Challenge is the work of an independent refuter on one confirmed cause
// (QD14, DB5). It knows the claim, the prediction and the evidence, and not
// what the one who found it thought.
type Challenge struct {
	Task string `json:"task"`
	// As names the row that was challenged in its stead: both name one place.
	As       string     `json:"as,omitempty"`
	Result   Challenged `json:"result"`
	Findings string     `json:"findings,omitempty"` // one sentence of the refuter
	Why      string     `json:"why,omitempty"`      // why it decides, or why there was no end
	Evidence []string   `json:"evidence,omitempty"` // against the cause, looked up: "path:line — what it shows"
	// Alternatives are other explanations that it looked at.
	Alternatives []Alternative `json:"alternatives,omitempty"`
	Struck       int           `json:"struck,omitempty"` // pieces of evidence that were not there
	Spent        Spent         `json:"-"`
}

// Alternative is another explanation of a failure, with a line that was looked
// up.
type Alternative struct {
	Explanation string `json:"explanation"`
	Possible    bool   `json:"possible"` // not ruled out
	Evidence    string `json:"evidence"` // "path:line — what it shows"
}

// Challenge returns what became of the cause of a row when it was challenged,
// or nil.
func (s *Session) Challenge(task string) *Challenge {
	for i := range s.Challenges {
		if s.Challenges[i].Task == task {
			return &s.Challenges[i]
		}
	}
	return nil
}
