package handlers_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"regexp"
	"sync"
	"testing"

	"culprit/handlers"
)

// GitHub gives an App's credentials once, so an answer that comes twice, a
// stumble on the way and a browser that goes away must not lose them or make
// another App.
func TestTheAppIsFinishedOnce(t *testing.T) {
	t.Parallel()
	calls := 0
	pages, err := handlers.NewSetup(handlers.SetupConfig{
		Secret: "open", GitHub: "https://github.com", Manifest: "{}",
		Finish: func(ctx context.Context, code string) (string, error) {
			if calls++; calls == 1 {
				return "", errors.New("GitHub answers 502")
			}
			return "https://github.com/apps/culprit/installations/new", ctx.Err()
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	get := func(ctx context.Context, path string) *httptest.ResponseRecorder {
		answer := httptest.NewRecorder()
		pages.ServeHTTP(answer, httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil))
		return answer
	}
	state := regexp.MustCompile(`\?state=(\w+)`)
	page := get(t.Context(), "/setup?secret=open")
	found := state.FindStringSubmatch(page.Body.String())
	if found == nil {
		t.Fatalf("%d %s", page.Code, page.Body)
	}
	get(t.Context(), "/setup?secret=open") // the page in a second window
	done := "/setup/done?code=c&state=" + found[1]
	if a := get(t.Context(), done+"x"); a.Code != http.StatusForbidden || calls != 0 {
		t.Errorf("a foreign state is answered %d", a.Code)
	}
	if a := get(t.Context(), done); a.Code != http.StatusBadGateway {
		t.Errorf("a failed attempt is answered %d: %s", a.Code, a.Body)
	}
	left, leave := context.WithCancel(t.Context())
	leave()
	codes := make([]int, 3)
	var wait sync.WaitGroup
	for i := range codes {
		wait.Go(func() { codes[i] = get(left, done).Code })
	}
	wait.Wait()
	ok := 0
	for _, code := range codes {
		if code == http.StatusOK {
			ok++
		} else if code != http.StatusForbidden {
			t.Errorf("answered %d", code)
		}
	}
	if ok != 1 || calls != 2 {
		t.Errorf("%d of %d answers finished the App, in %d calls", ok, len(codes), calls)
	}
}
