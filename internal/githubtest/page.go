package githubtest

import "net/http"

func (s *Server) servePage(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) }
