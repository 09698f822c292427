package effects

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// A Table holds the summaries of functions from outside.
type Table struct {
	Version   string // the toolchain whose source gave the table
	Functions map[string]*Summary
	Contracts map[string]*Summary // by method name, for receivers of unknown type

	more map[string]*Summary
}

// With returns a copy of the table with more functions.
func (t *Table) With(more map[string]*Summary) *Table {
	u := *t
	u.more = more
	return &u
}

// SummaryOf returns the summary of the function with this [Name], or nil. The line "path.*" serves
// every function of a package without a line of its own.
func (t *Table) SummaryOf(name string) *Summary {
	if s, ok := t.Functions[name]; ok {
		return s
	}
	if s, ok := t.more[name]; ok {
		return s
	}
	dir := strings.LastIndexByte(name, '/') + 1
	if dot := strings.IndexByte(name[dir:], '.'); dot >= 0 {
		return t.Functions[name[:dir+dot]+".*"]
	}
	return nil
}

// Method returns the contract of a method name, or nil.
func (t *Table) Method(name string) *Summary { return t.Contracts[name] }

// readTable reads lines of the form "name effect effect...". A line "!Method effect..." is a
// contract, "# " begins a comment, and "version V" names the toolchain. Later lines replace earlier
// ones.
func readTable(readers ...io.Reader) (*Table, error) {
	t := &Table{Functions: map[string]*Summary{}, Contracts: map[string]*Summary{}}
	for _, r := range readers {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, 1<<20)
		for n := 1; lines.Scan(); n++ {
			// Errors have the line's number, since the table is written by hand in places.
			if err := t.line(lines.Text()); err != nil {
				return nil, fmt.Errorf("table of effects, line %d: %w", n, err)
			}
		}
		if err := lines.Err(); err != nil {
			return nil, fmt.Errorf("table of effects: %w", err)
		}
	}
	return t, nil
}

// line reads a line of the table: its version, a contract of an interface's method, or the effects
// of a function.
func (t *Table) line(text string) error {
	text, _, _ = strings.Cut(text, "#")
	words := strings.Fields(text)
	if len(words) == 0 {
		return nil
	}
	if words[0] == "version" && len(words) == 2 {
		t.Version = words[1]
		return nil
	}
	s, err := parseSummary(words[1:])
	if err != nil {
		return err
	}
	if name, ok := strings.CutPrefix(words[0], "!"); ok {
		t.Contracts[name] = s
	} else {
		t.Functions[words[0]] = s
	}
	return nil
}
