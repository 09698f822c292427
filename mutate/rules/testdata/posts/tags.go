// Package tags holds the functions of the posts as an ordinary author writes
// them.
package tags

import (
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"
)

const maxTagLength = 200

// Valid is a state machine over the bytes of a tag.
func Valid(tag string) bool {
	if len(tag) == 0 || len(tag) > maxTagLength {
		return false
	}
	underscore := true // a tag does not begin with an underscore
	for i := 0; i < len(tag); i++ {
		c := tag[i]
		switch {
		case isTagChar(c):
			underscore = false
		case c == '_':
			if underscore {
				return false
			}
			underscore = true
		default:
			return false
		}
	}
	return !underscore
}

func isTagChar(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == ':' || c == '.' || c == '/' || c == '-'
}

// Normalize makes a tag of whatever a client sent.
func Normalize(tag string) string {
	var out strings.Builder
	runes := 0
	gap := false
	for _, r := range tag {
		r = unicode.ToLower(r)
		if r == utf8.RuneError || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(":./-", r) {
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

// Merge returns the tags of both lists, sorted, each once.
func Merge(a, b []string) []string {
	merged := append(append([]string{}, a...), b...)
	sort.Strings(merged)
	unique := []string{}
	for i, tag := range merged {
		if i == 0 || tag != merged[i-1] {
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
