package intake

import "strings"

// maxName is the length of a metric's name or a host at Datadog.
const (
	maxMetric = 200
	maxHost   = 255
)

// metricName brings a name into the form of Datadog's back end: ASCII letters, digits, dots and
// underscores, beginning with a letter, no two underscores in a row, none before or after a dot.
func metricName(s string) string {
	if isMetricName(s) {
		return s
	}
	b := make([]byte, 0, min(len(s), maxMetric))
	for i := 0; i < len(s) && len(b) < maxMetric; i++ {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z':
			b = append(b, c)
		case len(b) == 0:
		case '0' <= c && c <= '9':
			b = append(b, c)
		case c == '.':
			if b[len(b)-1] == '_' {
				b = b[:len(b)-1]
			}
			b = append(b, c)
		case b[len(b)-1] != '_' && b[len(b)-1] != '.':
			b = append(b, '_')
		}
	}
	return strings.TrimRight(string(b), "_")
}

// isMetricName reports whether a name can stay as it is; nearly all can.
func isMetricName(s string) bool {
	if s == "" || len(s) > maxMetric {
		return false
	}
	last := byte('.')
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		switch {
		case letter:
		case i == 0:
			return false
		case '0' <= c && c <= '9':
		case c == '.':
			if last == '_' {
				return false
			}
		case c != '_' || last == '_' || last == '.':
			return false
		}
		last = c
	}
	return last != '_'
}

// hostName takes out of a host what cannot be shown or stored.
func hostName(s string) string {
	clean := func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\uFFFD' {
			return '_'
		}
		return r
	}
	s = strings.Map(clean, s)
	return strings.ToValidUTF8(s[:min(len(s), maxHost)], "")
}
