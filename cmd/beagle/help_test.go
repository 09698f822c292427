package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestHelpFits checks that the help of each verb fits into the width that it is wrapped for.
func TestHelpFits(t *testing.T) {
	for _, c := range commands() {
		var help bytes.Buffer
		if status := run([]string{c.name, "--help"}, stdio{&help, io.Discard}); status != exitOK {
			t.Errorf("beagle %s --help: status %d", c.name, status)
		}
		for line := range strings.Lines(help.String()) {
			line = strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "\t", "    ")
			if n := utf8.RuneCountInString(line); n > helpColumns {
				t.Errorf("beagle %s --help: %d columns, more than %d: %s", c.name, n, helpColumns, line)
			}
		}
	}
}
