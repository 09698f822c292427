package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"regexp"
	"strings"
)

// An idiom is a phrase that readers have to read twice.
type idiom struct {
	phrase  *regexp.Regexp // its first group takes part in the match only if the phrase is meant
	instead string
}

// idioms are looked for in comments and in running text of Markdown.
var idioms = []idiom{
	{phrase(`(but for)`), `write "except" or "except for"`},
	{phrase(`(so many)`), `write "n", "the given number of" or "many"`},
	{phrase(`(at hand)`), `write "current", "given" or "known"`},
	// What a search is told is a term.
	{phrase(`search (?:is|was) told|BE told (?:apart|from)|(BE told)`), "name who reports, logs or prints it"},
	// Memory is behind a pointer, and a file stays behind; a place in a text is neither.
	{phrase(`((?:loops?|statements?|bytes?|comes?|goes?|right|separator|declaration|comment) behind)`),
		`write "after" or "follows"`},
	// "There is none" is English, and so is "is none of them".
	{phrase(`there (?:is|are|was|were|can be) none|BE none of|(BE none)`), `write "is not one", or say what it is`},
	// A relative clause needs a noun: "an author who answers".
	{phrase(`(whoever|(?:that|but|if|when|and|to|for|by|from|with) who (?:is|has|asks|goes|answers|wants|needs))`),
		"name who it is: a caller, a user, a reader"},
	{phrase(`[.;:] (who [a-z]{2,}s)`), "name who it is: a caller, a user, a reader"},
	{phrase(`(belongs? into)`), `write "belongs in"`},
	// The subject comes first.
	{phrase(`(?-i:(Of (?:\d+|%d|a|an|no|two|all|most|some|many|several|nested|neighbouring|those)))`),
		`begin with the subject: "Two of them ...", "A killed process may ..."`},
	{phrase(`[.;:] (?-i:(Else))`), `write "Otherwise"`},
	{phrase(`(dear|dearer|dearest)`), `write "expensive" or "costly"`},
	{phrase(`(cannot be had)`), `write "is not available", or say what cannot be fetched, opened or made`},
}

// phrase compiles an idiom. A space stands for any white space, and BE for forms of "to be".
func phrase(text string) *regexp.Regexp {
	text = strings.ReplaceAll(text, "BE", `(?:is|are|was|were|be|been)`)
	return regexp.MustCompile(`(?i)\b(?:` + strings.ReplaceAll(text, " ", `\s+`) + `)\b`)
}

// lintIdioms returns the idioms in the comments and texts of a Go file, or in the running text of
// Markdown. A Go file that cannot be parsed has none: lintGo reports it.
func lintIdioms(name, text string) []finding {
	if isExempt(name) {
		return nil
	}
	if !strings.HasSuffix(name, ".go") {
		return findIdioms(name, runningText(text))
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || ast.IsGenerated(file) {
		return nil
	}
	found := findIdioms(name, comments(text, file, fset))
	if name != idiomsSource && !strings.HasSuffix(name, "_test.go") {
		found = append(found, findIdioms(name, texts(text))...)
	}
	return found
}

// idiomsSource is the file that lists the idioms as texts.
const idiomsSource = "internal/lint/idioms.go"

// findIdioms returns the idioms in a text with the lines of the file.
func findIdioms(name, prose string) (found []finding) {
	for _, i := range idioms {
		for _, at := range i.phrase.FindAllStringSubmatchIndex(prose, -1) {
			if at[2] < 0 {
				continue
			}
			words := strings.Join(strings.Fields(prose[at[2]:at[3]]), " ")
			line := 1 + strings.Count(prose[:at[2]], "\n")
			found = append(found, finding{name, line, fmt.Sprintf("%q has to be read twice: %s", words, i.instead)})
		}
	}
	return found
}

// comments returns the text of a Go file with blanks in place of all that is no comment.
func comments(text string, file *ast.File, fset *token.FileSet) string {
	out := blank(text)
	for _, group := range file.Comments {
		for _, c := range group.List {
			from := fset.Position(c.Pos()).Offset + len("//")
			to := min(fset.Position(c.End()).Offset, len(text))
			copy(out[from:to], text[from:to])
		}
	}
	return string(out)
}

// texts returns the text of a Go file with blanks in place of all that is no string literal.
// Literals that "+" joins are one text; any other token ends a text.
func texts(text string) string {
	fset := token.NewFileSet()
	f := fset.AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(f, []byte(text), nil, 0)
	out := blank(text)
	for {
		pos, tok, lit := s.Scan()
		at := f.Offset(pos)
		switch {
		case tok == token.EOF:
			return string(out)
		case tok == token.STRING:
			copy(out[at+1:], spaced.Replace(text[at+1:at+len(lit)-1]))
		case tok != token.ADD && lit != "\n":
			out[at] = endOfText
		}
	}
}

// endOfText is part of no idiom.
const endOfText = '"'

// spaced puts blanks in place of escaped white space.
var spaced = strings.NewReplacer(`\n`, "  ", `\t`, "  ")

// runningText returns the text of a Markdown file with blanks in place of all that is not held.
func runningText(text string) string {
	out := blank(text)
	at := 0
	for line, exempt := range markdownLines(text) {
		if !exempt {
			copy(out[at:], line)
		}
		at += len(line) + len("\n")
	}
	return string(out)
}

// blank returns the lines of a text without their content.
func blank(text string) []byte {
	out := []byte(text)
	for i, c := range out {
		if c != '\n' {
			out[i] = ' '
		}
	}
	return out
}
