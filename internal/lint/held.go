package main

import (
	"fmt"
	"os"
	"strings"
)

// These files list what is not held yet.
const (
	notHeldFile = "internal/lint/not-held.txt" // columns and doc comments
	idiomsFile  = "internal/lint/idioms.txt"
)

// An entry of such a file is a directory, which stands for all below it, or a file.
type entry struct {
	path string
	list string // the file that holds the entry
	line int
}

// notHeld is the list of entries of one file.
type notHeld []entry

// readNotHeld reads a list of the current directory.
func readNotHeld(list string) (notHeld, error) {
	text, err := os.ReadFile(list)
	if err != nil {
		return nil, fmt.Errorf("%w: run it in the root of the repository", err)
	}
	return entries(list, string(text)), nil
}

// entries parses a list: one path a line; empty lines and those that begin with # do not count.
func entries(list, text string) (out notHeld) {
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			out = append(out, entry{line, list, i + 1})
		}
	}
	return out
}

// entry returns the entry that a file falls under, or "".
func (l notHeld) entry(file string) string {
	for _, e := range l {
		if file == e.path || strings.HasPrefix(file, e.path+"/") {
			return e.path
		}
	}
	return ""
}

// held returns a finding for each entry without one.
func (l notHeld) held(left map[string]int) (found []finding) {
	for _, e := range l {
		if left[e.path] == 0 {
			what := e.path + " has no findings any more: delete this entry"
			found = append(found, finding{e.list, e.line, what})
		}
	}
	return found
}

// grown returns a finding for each entry that the first version of the list did not cover.
func (l notHeld) grown(first notHeld) (found []finding) {
	for _, e := range l {
		if first.entry(e.path) == "" {
			what := e.path + " is new in a list that may only shrink: mend its findings instead"
			found = append(found, finding{e.list, e.line, what})
		}
	}
	return found
}

// firstNotHeld returns a list as it was first committed, or nil before that.
func firstNotHeld(list string) (notHeld, error) {
	added, err := git("log", "--diff-filter=A", "--format=%H", "--", list)
	commits := strings.Fields(added)
	if err != nil || len(commits) == 0 {
		return nil, err
	}
	text, err := git("show", commits[len(commits)-1]+":"+list)
	return entries(list, text), err
}
