package main

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestWrapped checks that only running text is broken, at spaces, to the linter's width.
func TestWrapped(t *testing.T) {
	row := "| " + strings.Repeat("a cell | ", 20) + "\n"
	prose := strings.Repeat("ein Wort mit ü ", 20) + "end"
	full := strings.Repeat("x", textColumns-2) + " y\n"
	in := full + "\n" + row + "\n" + prose + "\n"
	got := wrapped(in)
	if !strings.HasPrefix(got, full+"\n"+row+"\n") {
		t.Errorf("a line that fits or a row of a table changed:\n%s", got)
	}
	if strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(in), " ") {
		t.Errorf("the words changed:\n%s", got)
	}
	for line := range strings.Lines(got) {
		width := utf8.RuneCountInString(strings.TrimRight(line, "\n"))
		if !strings.HasPrefix(line, "|") && width > textColumns {
			t.Errorf("%d columns: %s", width, line)
		}
	}
	if again := wrapped(got); again != got {
		t.Errorf("wrapped again:\n%s", again)
	}
}
