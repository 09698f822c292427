package tag

import (
	"unicode"
	"unicode/utf8"
)

const (
	maxRunes = 200
	maxBytes = 2 * maxRunes
)

// Normalize brings a whole tag, `key:value` or a bare word, into form.
func Normalize(tag string) string { return normalize(tag, isStart) }

// NormalizeValue brings the value of a tag into form. Unlike a tag it may start
// with a digit or with `. / -`, and a run of anything else at its start becomes an
// underscore too.
func NormalizeValue(value string) string { return normalize(value, isAny) }

// normalize drops runes until the first that may start the result.
func normalize(s string, mayStart func(rune) bool) string {
	out := make([]byte, 0, min(len(s), maxBytes))
	read, gap := 0, false
	for i, r := range s {
		r = lower(r)
		switch {
		case read == 0 && !mayStart(r):
		case isKept(r):
			if gap {
				out = append(out, '_')
			}
			out, gap = utf8.AppendRune(out, r), false
			read++
		default:
			gap = true
			read++
		}
		if read == maxRunes || i+width(s[i:], r) >= maxBytes {
			break
		}
	}
	return string(out)
}

// width returns the number of bytes that a rune takes in s; a byte that is not UTF-8 takes one, not
// the three of U+FFFD.
func width(s string, r rune) int {
	if r == utf8.RuneError {
		_, n := utf8.DecodeRuneInString(s)
		return n
	}
	return utf8.RuneLen(r)
}

// lower keeps the number of bytes, which limits and positions rely on.
func lower(r rune) rune {
	if low := unicode.ToLower(r); unicode.IsUpper(r) && utf8.RuneLen(low) == utf8.RuneLen(r) {
		return low
	}
	return r
}

func isStart(r rune) bool { return r == ':' || unicode.IsLetter(r) }

func isAny(rune) bool { return true }

func isKept(r rune) bool {
	switch r {
	case ':', '.', '/', '-':
		return true
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}
