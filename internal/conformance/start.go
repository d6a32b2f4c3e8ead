package conformance

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"culprit/internal/githubtest"
	"culprit/internal/requiretest"
)

// Option changes how a server is checked.
type Option func(*checker)

// RefusedRequestsMayBeWrong is for tests of the server itself, which send bad
// requests on purpose: what the server refuses is not checked, what it accepts
// is.
func RefusedRequestsMayBeWrong() Option { return func(c *checker) { c.refusedMayBeWrong = true } }

// Start starts a GitHub on loopback whose traffic is held against GitHub's
// description. The server is closed at the end of the test, which fails when
// there were violations. A test may close the server earlier itself.
func Start(tb testing.TB, opts githubtest.Options, change ...Option) *githubtest.Server {
	tb.Helper()
	d, err := installed()
	switch {
	case errors.Is(err, errNotInstalled):
		requiretest.Note(tb, err.Error()+": requests and answers are not checked")
	case err != nil:
		tb.Fatal(err)
	}
	var c *checker
	if d != nil {
		c = newChecker(d)
		for _, f := range change {
			f(c)
		}
		opts.Observer = c
	}
	s, err := githubtest.New(opts)
	if err != nil {
		if c != nil {
			c.close()
		}
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("close the loopback GitHub: %v", err)
		}
		if c != nil {
			c.report(tb)
		}
	})
	return s
}

// maxShown bounds the violations that one test prints.
const maxShown = 20

func (c *checker) report(tb testing.TB) {
	counts, violations := c.close()
	for n, v := range violations {
		if n == maxShown {
			tb.Errorf("… and %d more violations of GitHub's description", len(violations)-maxShown)
			break
		}
		tb.Errorf("violation of GitHub's description: %s", v)
	}
	if err := counts.log(); err != nil {
		tb.Error(err)
	}
}

// log appends the counts to the file that CULPRIT_CONFORMANCE_LOG names, for
// the total of `make conformance`.
func (n Counts) log() error {
	path := os.Getenv("CULPRIT_CONFORMANCE_LOG")
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(filepath.Clean(path), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("log the conformance counts: %w", err)
	}
	_, err = fmt.Fprintf(f, "requests %d\nanswers %d\npayloads %d\nexamples %d\nviolations %d\n", n.Requests, n.Answers, n.Payloads, n.Examples, n.Violations)
	return errors.Join(err, f.Close())
}
