package githubtest

import (
	"net/http"
	"strconv"
	"time"
)

// window is the primary rate limit of one identity: so many requests until
// reset.
type window struct {
	used  int
	reset time.Time
}

func (s *Server) window(c *call) *window { return s.windowOf(s.windows, c, time.Hour) }

func (s *Server) windowOf(all map[string]*window, c *call, length time.Duration) *window {
	key := c.who.name()
	if t := c.who.token; t != nil && t.inst != nil {
		key = installationKey(t.inst.id)
	}
	w := all[key]
	if now := s.now(); w == nil || !now.Before(w.reset) {
		w = &window{reset: now.Add(length)}
		all[key] = w
	}
	return w
}

func installationKey(id int64) string { return "installation/" + strconv.FormatInt(id, 10) }

// SpendRateLimit uses up requests of an installation's primary limit, so that
// only left remain until the reset.
func (s *Server) SpendRateLimit(installation int64, left int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.windows[installationKey(installation)]
	if w == nil || !s.now().Before(w.reset) {
		w = &window{reset: s.now().Add(time.Hour)}
		s.windows[installationKey(installation)] = w
	}
	w.used = max(0, s.opts.RateLimit-left)
}

// tooMany is the secondary limit: it refuses a burst of writes, and says how
// many seconds to wait.
func (s *Server) tooMany(c *call) *reply {
	if s.opts.ContentLimit == 0 || c.r.Method == http.MethodGet || c.r.Method == http.MethodHead || c.route == nil || c.route.access == accessApp {
		return nil
	}
	w := s.windowOf(s.bursts, c, time.Minute)
	if w.used < s.opts.ContentLimit {
		w.used++
		return nil
	}
	c.header.Set("Retry-After", strconv.Itoa(int(w.reset.Sub(s.now()).Seconds())))
	rep := fail(http.StatusForbidden, "You have exceeded a secondary rate limit and have been temporarily blocked from content creation. Please retry your request again later.")
	rep.body.(obj)["documentation_url"] = "https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits"
	return &rep
}

// spend counts the request and sets the X-RateLimit headers. A reply means
// that nothing was left.
func (s *Server) spend(c *call) *reply {
	w := s.window(c)
	free := c.route != nil && c.route.path == "/rate_limit"
	over := w.used >= s.opts.RateLimit
	if !free && !over {
		w.used++
	}
	w.headers(c.header, s.opts.RateLimit)
	if over && !free {
		who := "for " + c.r.RemoteAddr + "."
		if c.who.token != nil && c.who.token.inst != nil {
			who = "for installation ID " + strconv.FormatInt(c.who.token.inst.id, 10) + "."
		}
		rep := fail(http.StatusForbidden, "API rate limit exceeded "+who)
		return &rep
	}
	return nil
}

// refund gives a request back: answers 304 do not count.
func (s *Server) refund(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.window(c); w.used > 0 {
		w.used--
	}
}

func (w *window) headers(h http.Header, limit int) {
	h.Set("X-RateLimit-Limit", strconv.Itoa(limit))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(limit-w.used))
	h.Set("X-RateLimit-Used", strconv.Itoa(w.used))
	h.Set("X-RateLimit-Reset", strconv.FormatInt(w.reset.Unix(), 10))
	h.Set("X-RateLimit-Resource", "core")
}

func getRateLimit(c *call) reply {
	w := c.s.window(c)
	rate := func(limit, used int) obj {
		return obj{"limit": limit, "used": used, "remaining": limit - used, "reset": w.reset.Unix()}
	}
	core := rate(c.s.opts.RateLimit, w.used)
	return ok(obj{"rate": core, "resources": obj{"core": core, "search": rate(30, 0), "graphql": rate(5000, 0)}})
}
