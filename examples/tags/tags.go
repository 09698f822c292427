// Package tags cleans and merges the tags of metrics, written the way one
// writes it the first time: clear, cautious, and slow where it is hot. It is
// the example that Beagle is shown on:
//
//	beagle evolve ./examples/tags.NormalizeTagArbTagValue
package tags

import (
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxTagLength is the longest tag that the backend stores, in runes.
const maxTagLength = 200

// isNormalizedASCIITag reports whether tag is already in the form that
// NormalizeTagArbTagValue produces, looking at ASCII only: it starts with a
// letter, holds nothing but allowed characters, and its underscores stand
// alone between two of them.
func isNormalizedASCIITag(tag string) bool {
	if len(tag) == 0 || len(tag) > maxTagLength {
		return false
	}
	if !isTagLetter(tag[0]) {
		return false
	}
	for i := 1; i < len(tag); i++ {
		if isTagChar(tag[i]) {
			continue
		}
		if tag[i] != '_' {
			return false
		}
		// An underscore needs an allowed character behind it.
		i++
		if i == len(tag) || !isTagChar(tag[i]) {
			return false
		}
	}
	return true
}

func isTagLetter(c byte) bool {
	return c >= 'a' && c <= 'z'
}

func isTagChar(c byte) bool {
	return isTagLetter(c) || c >= '0' && c <= '9' || c == ':' || c == '.' || c == '/' || c == '-'
}

// NormalizeTagArbTagValue makes a tag of whatever a client sent. Letters
// become lower case; letters, digits and ":./-" stay; every run of anything
// else, invalid UTF-8 included, becomes one underscore, and none is left at
// either end. The result has at most 200 runes.
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

// MergeTags returns the tags of both lists, sorted, each once. The lists are
// left as they are.
func MergeTags(a, b []string) []string {
	merged := make([]string, 0, len(a)+len(b))
	merged = append(merged, a...)
	merged = append(merged, b...)
	sort.Strings(merged)
	unique := merged[:0]
	for _, tag := range merged {
		if len(unique) == 0 || tag != unique[len(unique)-1] {
			unique = append(unique, tag)
		}
	}
	return unique
}

// Fibonacci returns the nth Fibonacci number.
func Fibonacci(n int) uint64 {
	if n < 2 {
		return uint64(n)
	}
	return Fibonacci(n-1) + Fibonacci(n-2)
}
