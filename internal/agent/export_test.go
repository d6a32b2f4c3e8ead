package agent

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// apiErrorOf is the library's error for an answer of a server.
func apiErrorOf(t *testing.T, status int, message string) error {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"error":{"message":%q,"type":"invalid_request_error","param":null,"code":null}}`, message)
	}))
	defer s.Close()
	hc := s.Client()
	defer hc.CloseIdleConnections()
	c := openai.NewClient(option.WithBaseURL(s.URL), option.WithAPIKey("x"), option.WithMaxRetries(0), option.WithHTTPClient(hc))
	_, err := c.Models.List(t.Context())
	var api *openai.Error
	if !errors.As(err, &api) {
		t.Fatalf("%v", err)
	}
	return err
}
