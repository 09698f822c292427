package tag

import (
	"strings"
	"unicode"
)

// NormalizeTagArbTagValue brings a tag whose value may be anything into form: the key by the rules
// of [Normalize], the value kept as people wrote it, with its case, spaces and signs. Only
// characters that would break a list of tags or a line are replaced: every run of bytes that are
// not UTF-8, control runes, commas, bars and underscores becomes one underscore. Spaces and
// underscores around the value are removed, and at most 200 runes of it are read. A tag without a
// colon is all key. A tag whose key becomes empty cannot be found, and gives "".
func NormalizeTagArbTagValue(tag string) string {
	key, value, found := strings.Cut(tag, ":")
	key = Normalize(key)
	if key == "" || !found {
		return key
	}
	return key + ":" + arbitraryValue(value)
}

func arbitraryValue(value string) string {
	var out strings.Builder
	read, gap := 0, false
	for _, r := range value {
		if breaksLists(r) {
			gap = true
		} else {
			if gap {
				out.WriteByte('_')
			}
			out.WriteRune(r)
			gap = false
		}
		if read++; read == maxRunes {
			break
		}
	}
	return strings.TrimFunc(out.String(), func(r rune) bool { return r == '_' || unicode.IsSpace(r) })
}

// breaksLists includes U+FFFD: a byte that is not UTF-8 decodes to it, and it says no more than
// that byte.
func breaksLists(r rune) bool {
	switch r {
	case ',', '|', '_', unicode.ReplacementChar:
		return true
	}
	return unicode.IsControl(r)
}
