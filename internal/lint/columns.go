package main

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Limits of a line's width.
const (
	codeColumns = 120
	textColumns = 100
	tabColumns  = 4
)

// columns returns the width of a line.
func columns(line string) int {
	return utf8.RuneCountInString(line) + (tabColumns-1)*strings.Count(line, "\t")
}

// tooWide returns a finding if a line is wider than most, and no word of it is too wide by itself.
func tooWide(file string, number int, line string, most int, remedy string) []finding {
	wide := columns(line)
	if wide <= most || unbreakable(line, most) {
		return nil
	}
	what := fmt.Sprintf("%d columns, more than %d: %s", wide, most, remedy)
	return []finding{{file, number, what}}
}

// unbreakable reports whether a line of text would stay too wide if its widest word stood alone
// after the line's indentation.
func unbreakable(line string, most int) bool {
	indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
	widest := 0
	for word := range strings.FieldsSeq(line) {
		widest = max(widest, columns(word))
	}
	return columns(indent)+widest+len("// ") > most
}
