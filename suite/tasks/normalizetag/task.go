// Package normalizetag brings tags of metrics into the form that storage
// wants. Most come in that form, so there is a quick way for those.
package normalizetag

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxTagLength is the longest tag that is stored, in runes.
const maxTagLength = 200

// NormalizeTag lowers letters, keeps letters, digits and ":./-", and makes one
// underscore of each run of anything else. What stands before the first letter
// or colon is dropped, as are underscores at the end and all after 200 runes.
func NormalizeTag(tag string) string {
	if isNormalizedASCIITag(tag) {
		return tag
	}
	var out strings.Builder
	runes := 0
	gap := false // an underscore is due before the next rune
	for _, r := range tag {
		r = unicode.ToLower(r)
		letter := r != utf8.RuneError && unicode.IsLetter(r)
		switch {
		case runes == 0 && !letter && r != ':':
			// Not begun yet.
		case letter || unicode.IsDigit(r) || strings.ContainsRune(":./-", r):
			if gap {
				if runes+1 >= maxTagLength {
					return out.String()
				}
				out.WriteByte('_')
				runes++
				gap = false
			}
			out.WriteRune(r)
			runes++
		default:
			gap = true
		}
		if runes == maxTagLength {
			break
		}
	}
	return out.String()
}

// isNormalizedASCIITag reports whether the tag is ASCII and stays as it is.
func isNormalizedASCIITag(tag string) bool {
	if len(tag) == 0 || len(tag) > maxTagLength {
		return false
	}
	if !isValidASCIIStartChar(tag[0]) {
		return false
	}
	for i := 1; i < len(tag); i++ {
		if isValidASCIITagChar(tag[i]) {
			continue
		}
		if tag[i] != '_' {
			return false
		}
		// An underscore is only good if an allowed character follows.
		i++
		if i == len(tag) || !isValidASCIITagChar(tag[i]) {
			return false
		}
	}
	return true
}

func isValidASCIIStartChar(c byte) bool {
	return c >= 'a' && c <= 'z' || c == ':'
}

func isValidASCIITagChar(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == ':' || c == '.' || c == '/' || c == '-'
}
