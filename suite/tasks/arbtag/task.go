// Package arbtag makes tags of whatever clients send, written with every
// caution: any input may be binary rubbish.
package arbtag

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxTagLength is the longest tag that is stored, in runes.
const maxTagLength = 200

// NormalizeTagArbTagValue makes a tag of anything. Letters become lower case;
// letters, digits and ":./-" stay; every run of anything else, invalid UTF-8
// included, becomes one underscore, and none is left at either end. The result
// has at most 200 runes.
func NormalizeTagArbTagValue(tag string) string {
	var out strings.Builder
	runes := 0
	gap := false // an underscore is due before the next rune
	for i := 0; i < len(tag); {
		r, size := utf8.DecodeRuneInString(tag[i:])
		i += size
		r = unicode.ToLower(r)
		if !isTagRune(r) {
			gap = true
			continue
		}
		if gap && runes > 0 {
			if runes+1 >= maxTagLength {
				break
			}
			out.WriteRune('_')
			runes++
		}
		gap = false
		out.WriteRune(r)
		runes++
		if runes == maxTagLength {
			break
		}
	}
	return out.String()
}

func isTagRune(r rune) bool {
	if r == utf8.RuneError {
		return false
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(":./-", r)
}
