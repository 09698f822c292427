package profiles

import (
	"net/url"
	"slices"
	"strings"
	"time"
)

// LimitToNewer returns the sources, with profile stores limited to profiles newer than a time.
// Other sources stay as they are.
func LimitToNewer(sources []string, at time.Time) []string {
	out := slices.Clone(sources)
	for i, source := range out {
		if !strings.Contains(source, "pyroscope+http") && !strings.Contains(source, "parca+http") {
			continue
		}
		head := ""
		if n, rest, ok := strings.Cut(source, "@"); ok && strings.Trim(n, "0123456789") == "" {
			head, source = n+"@", rest
		}
		u, err := url.Parse(source)
		if err != nil || !at.Before(time.Now()) {
			continue
		}
		values := u.Query()
		if from, err := moment(values.Get("from"), time.Now(), time.Now().Add(-time.Hour)); err != nil ||
			!from.Before(at) {
			continue
		}
		values.Set("from", at.UTC().Format(time.RFC3339))
		u.RawQuery = values.Encode()
		out[i] = head + u.String()
	}
	return out
}
