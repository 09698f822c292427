package tail

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// First returns the first line of a text, without the space around the text.
func First(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

// Last returns the last n lines of a text, without the space around the text.
func Last(s string, n int) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// Short returns a text of at most that many bytes as it is. It cuts a longer one there, or in front
// of the character that lies across that place, and appends "...".
func Short(s string, bytes int) string {
	if len(s) <= bytes {
		return s
	}
	for bytes > 0 && !utf8.RuneStart(s[bytes]) {
		bytes--
	}
	return s[:bytes] + "..."
}

// Plural returns a number of things, as in "1 block" and "2 blocks".
func Plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
