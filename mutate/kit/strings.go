package kit

import "strings"

// EqualLower is strings.ToLower(a) == strings.ToLower(b), without copies when
// both are ASCII.
func EqualLower(a, b string) bool {
	if AllASCII(a) && AllASCII(b) {
		return strings.EqualFold(a, b)
	}
	return strings.ToLower(a) == strings.ToLower(b)
}

// EqualUpper is strings.ToUpper(a) == strings.ToUpper(b), without copies when
// both are ASCII.
func EqualUpper(a, b string) bool {
	if AllASCII(a) && AllASCII(b) {
		return strings.EqualFold(a, b)
	}
	return strings.ToUpper(a) == strings.ToUpper(b)
}

// AllASCII reports whether s holds no byte of a longer rune.
func AllASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
