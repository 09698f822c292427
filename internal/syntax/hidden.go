package syntax

import (
	"unicode"
	"unicode/utf8"
)

// UnexportedName returns a name with a small first letter, which is not exported.
func UnexportedName(name string) string {
	r, n := utf8.DecodeRuneInString(name)
	return string(unicode.ToLower(r)) + name[n:]
}
