package session

// Synthesis is what a model makes of all findings together (CR9): sentences
// of which each is backed by a place or a run that was looked up, and an order
// of the causes. It is for people; nothing is decided by it.
type Synthesis struct {
	Statements []Statement `json:"statements,omitempty"`
	// Causes are rows, the best backed first.
	Causes  []RankedCause `json:"causes,omitempty"`
	Obvious bool          `json:"obvious,omitempty"` // the causes leave no doubt
	Struck  int           `json:"struck,omitempty"`  // sentences without anything that backs them
	// Why there is none.
	Why   string `json:"why,omitempty"`
	Spent Spent  `json:"-"`
}

// Statement is a sentence with what backs it: "path:line" or the log of a run.
type Statement struct {
	Text  string   `json:"text"`
	Cites []string `json:"cites"`
}

// RankedCause is one row of the order, and how strong what backs it is.
type RankedCause struct {
	Task     string `json:"task"`
	Strength string `json:"strength"` // by runs, by reading, contested, open
}
