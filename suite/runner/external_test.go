package runner

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestLastLines(t *testing.T) {
	long := strings.Repeat("ä", 300) + "z" // its last 400 bytes begin within a character
	for out, want := range map[string]string{
		"":        "",
		" a\nb\n": ": a; b",
		long:      ": ..." + strings.Repeat("ä", 199) + "z",
	} {
		if got := lastLines(out); got != want || !utf8.ValidString(got) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
