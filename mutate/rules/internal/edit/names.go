package edit

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// BaseName turns isTagChar and IsTagChar into tagChar, and parse into parse.
func BaseName(name string) string {
	for _, prefix := range []string{"is", "Is"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok && rest != "" && unicode.IsUpper(rune(rest[0])) {
			name = rest
		}
	}
	return LowerFirst(name)
}

// LowerFirst makes a name unexported: ASCIIOnly becomes asciiOnly.
func LowerFirst(name string) string {
	upper := 0
	for upper < len(name) && unicode.IsUpper(rune(name[upper])) {
		upper++
	}
	if upper > 1 && upper < len(name) {
		upper--
	}
	return strings.ToLower(name[:upper]) + name[upper:]
}

func UpperFirst(name string) string {
	r, size := utf8.DecodeRuneInString(name)
	return string(unicode.ToUpper(r)) + name[size:]
}

func QuotedByte(c byte) string { return strconv.QuoteRuneToASCII(rune(c)) }
