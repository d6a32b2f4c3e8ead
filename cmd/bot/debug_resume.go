package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"culprit/internal/session"
)

// resume opens an earlier session (QD19).
func (a *App) resume(f debugFlags, root string, redact func([]byte) []byte) (*session.Folder, *session.Session, error) {
	dir := f.out
	if dir == "" {
		list, err := session.List(root)
		if err != nil {
			return nil, nil, err
		}
		for _, x := range list {
			if dir == "" && (x.ID == f.resume || f.resume == newest) {
				dir = filepath.Join(root, x.ID)
			}
		}
		if dir == "" {
			return nil, nil, unknownSession(f.resume, list)
		}
	}
	folder, err := session.OpenFolder(dir, redact)
	if err != nil {
		return nil, nil, busy(err)
	}
	s, err := folder.Load()
	if err != nil {
		folder.Close()
		var row *session.RowError
		if errors.As(err, &row) {
			err = &session.UserError{Code: "bad-row", What: row.Error(), Do: "mend the line by hand, or start a new session", Err: err}
		}
		return nil, nil, err
	}
	return folder, s, nil
}

func unknownSession(id string, list []session.Summary) error {
	what := "there is no session to resume"
	if id != newest {
		what = fmt.Sprintf("there is no session %q", id)
	}
	do := "start one with bot debug PATH"
	if len(list) > 0 {
		var names []string
		for _, x := range list[:min(len(list), 10)] {
			names = append(names, fmt.Sprintf("%s (%s)", x.ID, x.State))
		}
		do = "these exist: " + strings.Join(names, ", ")
	}
	return &session.UserError{Code: "unknown-session", What: what, Do: do}
}

// offer names an earlier session of the same repository that did not come to
// its end (QD19, CR1). Nothing waits for an answer: the new session goes on.
func offer(screen *screen, root, path string, s *session.Session) {
	list, err := session.List(root)
	if err != nil {
		return // the new session does not depend on it
	}
	for _, x := range list {
		if x.ID != s.ID && x.Path == s.Source.Path && x.State != session.StateDone {
			screen.Line("note: session %s of this repository is not finished (%s); bot debug %s --continue %s goes on with it", x.ID, x.State, path, x.ID)
			return
		}
	}
}
