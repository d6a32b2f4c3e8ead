package session

import (
	"strings"
	"time"
)

// DefaultZone is the zone of the date in a session ID: UTC+8, as the format
// has it (spec/files.md).
var DefaultZone = time.FixedZone("UTC+8", 8*60*60)

// NewID makes "{YYYYMMDD}-debug-{slug}" with the date of now in zone.
func NewID(now time.Time, zone *time.Location, title string) string {
	return now.In(zone).Format("20060102") + "-debug-" + Slug(title)
}

// maxSlug is the longest slug, in bytes.
const maxSlug = 40

// Slug is the kebab-case of a title: ASCII letters and digits, at most 40
// bytes, never empty. Whatever else the title holds is a separator.
func Slug(title string) string {
	var b strings.Builder
	dash := false
	for _, r := range strings.ToLower(title) {
		if (r >= 'a' && r <= 'z') || (r >= '0' && r <= '9') {
			if dash && b.Len() > 0 {
				b.WriteByte('-')
			}
			dash = false
			b.WriteRune(r)
			continue
		}
		dash = true
	}
	s := b.String()
	if len(s) > maxSlug {
		s = s[:maxSlug]
		if i := strings.LastIndexByte(s, '-'); i > maxSlug/2 {
			s = s[:i]
		}
		s = strings.Trim(s, "-")
	}
	if s == "" {
		return "failure"
	}
	return s
}

// ValidID reports whether id is safe as a folder name: what NewID makes, with
// an optional hash appended. Session IDs come back in commands and markers,
// so they are checked before they reach a path.
func ValidID(id string) bool {
	if len(id) == 0 || len(id) > 100 {
		return false
	}
	for _, r := range id {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != 'P' && r != '.' {
			return false
		}
	}
	return !strings.Contains(id, "..") && id[0] != '-' && id[0] != '.'
}
