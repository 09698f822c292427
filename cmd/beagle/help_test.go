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

// TestHelpSpellsFlags: help spells flags as the examples do, and begins a line with a default that
// does not fit into the line before it.
func TestHelpSpellsFlags(t *testing.T) {
	for verb, wants := range map[string][]string{
		"evolve": {"usage: beagle evolve [flags] PKG.Func", "\n  -C directory\n", "\n  --key-file file\n", "\n  --tags tags\n",
			"\n    \t(default 5s)\n"},
		"ledger":  {"usage: beagle ledger [flags]\n", "\n  --add file\n"},
		"version": {"usage: beagle version\n"},
	} {
		var help bytes.Buffer
		run([]string{verb, "--help"}, stdio{&help, io.Discard})
		for _, want := range wants {
			if !strings.Contains(help.String(), want) {
				t.Errorf("beagle %s --help lacks %q:\n%s", verb, want, help.String())
			}
		}
	}
}
