package source

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Exported makes a function's name a part of the name of a test or a benchmark: "NormalizeTag" of
// normalizeTag, "TypeMethod" of Type.method.
func Exported(name string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(name, ".") {
		r, size := utf8.DecodeRuneInString(part)
		b.WriteRune(unicode.ToUpper(r))
		b.WriteString(part[size:])
	}
	return b.String()
}

// Snake makes a name a part of a file's name: "http_server" of HTTPServer.
func Snake(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		wordStart := i > 0 && unicode.IsUpper(r) &&
			(unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1]))
		if wordStart {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
