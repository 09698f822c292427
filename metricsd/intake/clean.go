package intake

import (
	"strings"

	"github.com/beagle-go/beagle/metricsd/tag"
	"github.com/beagle-go/beagle/simd"
)

// maxName is the length of a metric's name or a host at Datadog.
const (
	maxMetric = 200
	maxHost   = 255
)

// metricName brings a name into the form of Datadog's back end: ASCII letters, digits, dots and
// underscores. It begins with a letter, has no two underscores in a row, and none before or after a
// dot.
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

// isMetricName reports whether a name is in that form already; nearly all are.
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

// hostName removes characters of a host that cannot be shown or stored.
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

// maxTag bounds the length of tags that are normalised as a whole; longer ones are cut.
const maxTag = 200

// A tagCleaner normalises tags. It leaves the values of the given keys as people wrote them.
type tagCleaner map[string]bool

// newTagCleaner reads a list of keys, separated by commas.
func newTagCleaner(verbatim string) tagCleaner {
	keys := tagCleaner{}
	for key := range strings.SplitSeq(verbatim, ",") {
		if key = tag.Normalize(key); key != "" {
			keys[key] = true
		}
	}
	return keys
}

func (c tagCleaner) clean(t string) string {
	if c.keeps(t) {
		return tag.NormalizeTagArbTagValue(t)
	}
	return tagText(t)
}

// keeps reports whether a tag's value stays as it is.
func (c tagCleaner) keeps(t string) bool {
	if len(c) == 0 {
		return false
	}
	key, _, found := strings.Cut(t, ":")
	return found && c[tagText(key)]
}

// prefix normalises the start of a typed tag, so that Env:Prod finds env:prod. It keeps a trailing
// underscore, because more may follow.
func (c tagCleaner) prefix(typed string) string {
	if c.keeps(typed) {
		return withEnd(tag.NormalizeTagArbTagValue(typed), typed)
	}
	return withEnd(tagText(typed), typed)
}

// part normalises any part of a tag, which may begin with a digit.
func part(typed string) string { return withEnd(tag.NormalizeValue(typed), typed) }

func withEnd(clean, typed string) string {
	if clean != "" && strings.HasSuffix(typed, "_") {
		return clean + "_"
	}
	return clean
}

// tagText brings a tag into the form of [tag.Normalize]. Nearly all have it already.
func tagText(t string) string {
	if isTag(t) {
		return t
	}
	if low, ok := lowered(t); ok {
		return low
	}
	return tag.Normalize(t)
}

// isTag reports whether Normalize would leave a tag as it is.
func isTag(t string) bool {
	if len(t) == 0 || len(t) > maxTag || !startsTag(t[0]) || t[len(t)-1] == '_' {
		return false
	}
	return simd.TagValidString(t) && !strings.Contains(t, "__")
}

func startsTag(c byte) bool { return 'a' <= c && c <= 'z' || c == ':' }

// lowered returns the lower case of a tag that only its capitals keep from the normal form.
func lowered(t string) (string, bool) {
	if len(t) > maxTag {
		return "", false
	}
	var room [maxTag]byte
	b := room[:copy(room[:], t)]
	simd.LowerASCIIInPlace(b)
	if !simd.TagValid(b) {
		return "", false
	}
	low := string(b)
	return low, isTag(low)
}
