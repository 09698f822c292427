// Lint checks the form of this repository: how wide lines are, whether doc comments begin with the
// name that they document, which phrases comments avoid, and how new commits are written.
//
//	go run ./internal/lint
//
// It prints one line a finding, as file:line: what is wrong; what to do, and exits with status 1 if
// there is any. It reads the files that git tracks in the current directory.
//
// # Columns
//
// A line has at most 120 columns, a comment and a line of Markdown at most 100. A tab counts as
// four columns. Exempt are lines that cannot be broken or are not written by hand:
//
//   - files below testdata, what Beagle wrote below docs/found, and files that say "Code generated
//     ... DO NOT EDIT";
//   - in Go, struct fields with a tag, text inside raw strings, a raw string or a word of a
//     comment that is too wide by itself, directives, and in tests the rows of a table: a line that
//     opens with "{" or a quote and ends with a comma;
//   - in Markdown, tables, fenced blocks, HTML comments, and a word that is too wide by itself,
//     which is most often a link.
//
// # Doc comments
//
// The doc comment of a function, method, type, constant or variable begins with its name, which an
// article may precede. Constants and variables in a group are exempt, since a comment there is
// often about several.
//
// # Idioms
//
// Comments, the string literals of programs and the running text of Markdown avoid a few phrases
// that readers have to read twice: see [idioms]. Tests may keep such phrases in their strings.
//
// # Commits
//
// Commits after [firstCommit] have a subject "package: imperative" of at most 72 columns, a blank
// line and a body. Merges are exempt.
//
// # Packages that are not held yet
//
// not-held.txt names directories and files that are left out, and idioms.txt those that may keep
// their idioms. Both may only shrink: an entry without findings is a finding, and so is an entry
// that the list did not have when it was made.
package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// A finding is one violation.
type finding struct {
	file string
	line int
	what string // what is wrong, then what to do
}

func (f finding) String() string { return fmt.Sprintf("%s:%d: %s", f.file, f.line, f.what) }

func main() { os.Exit(run(os.Stdout, os.Stderr)) }

func run(out, errs io.Writer) int {
	found, notes, err := lint()
	if err != nil {
		fmt.Fprintln(errs, "lint:", err)
		return 2
	}
	for _, n := range notes {
		fmt.Fprintln(out, n)
	}
	for _, f := range found {
		fmt.Fprintln(out, f)
	}
	if len(found) > 0 {
		fmt.Fprintf(out, "%d findings\n", len(found))
		return 1
	}
	return 0
}

// A check finds one kind of violation in files. Its list names the files that it leaves out.
type check struct {
	list string
	find func(name, text string) []finding
}

var checks = []check{{notHeldFile, lintFile}, {idiomsFile, lintIdioms}}

// lint checks the tracked files and the new commits of the current directory. The notes say what it
// could not look at.
func lint() (found []finding, notes []string, err error) {
	files, err := trackedFiles()
	if err != nil {
		return nil, nil, err
	}
	lists := make([]notHeld, len(checks))
	for i, c := range checks {
		if lists[i], err = readNotHeld(c.list); err != nil {
			return nil, nil, err
		}
		found = append(found, c.lint(files, lists[i])...)
	}
	commits, note, err := lintHistory(lists)
	if note != "" {
		notes = append(notes, note)
	}
	return append(found, commits...), notes, err
}

// lint returns a check's findings in the files that its list does not name, and the entries of the
// list that name nothing any more.
func (c check) lint(files []file, list notHeld) (found []finding) {
	left := map[string]int{} // findings of each entry that is not held
	for _, f := range files {
		here := c.find(f.name, f.text)
		if entry := list.entry(f.name); entry != "" {
			left[entry] += len(here)
			continue
		}
		found = append(found, here...)
	}
	return append(found, list.held(left)...)
}

// A file is one that git tracks.
type file struct{ name, text string }

// trackedFiles reads the Go and Markdown files of the current directory.
func trackedFiles() (files []file, err error) {
	tracked, err := git("ls-files", "-z", "*.go", "*.md")
	if err != nil {
		return nil, err
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(tracked, "\x00"), "\x00") {
		text, err := os.ReadFile(name)
		if os.IsNotExist(err) {
			continue // deleted and not committed yet
		} else if err != nil {
			return nil, err
		}
		files = append(files, file{name, string(text)})
	}
	return files, nil
}

// lintFile returns the findings of one file, by its extension.
func lintFile(name, text string) []finding {
	if isExempt(name) {
		return nil
	}
	var found []finding
	if strings.HasSuffix(name, ".go") {
		found = lintGo(name, text)
	} else {
		found = lintMarkdown(name, text)
	}
	slices.SortStableFunc(found, func(a, b finding) int { return a.line - b.line })
	return found
}

// isExempt reports whether a file is not written by hand, or is a test's input.
func isExempt(name string) bool {
	return strings.Contains(name, "testdata/") || strings.Contains(name, "docs/found/")
}

// git returns what a git command prints.
func git(args ...string) (string, error) {
	out, err := exec.Command("git", args...).Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return string(out), nil
}
