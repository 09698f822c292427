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

// lintGo checks the columns and the doc comments of a Go file.
func lintGo(name, text string) []finding {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return []finding{{name, 1, fmt.Sprintf("cannot be parsed: %v", err)}}
	}
	if ast.IsGenerated(file) {
		return nil
	}
	return append(lintGoColumns(name, text, file, fset), lintDocs(name, file, fset)...)
}

// A goLine says what the tokens of a line mean for its columns.
type goLine struct {
	comment bool // nothing stands on it but a comment
	exempt  bool // no break is possible, or none is wanted
}

// lintGoColumns checks the width of each line.
func lintGoColumns(name, text string, file *ast.File, fset *token.FileSet) (found []finding) {
	lines := strings.Split(text, "\n")
	facts := make([]goLine, len(lines)+2) // by line number, from 1
	scanLines(text, facts)
	markTags(file, fset, facts)
	for i, line := range lines {
		most, remedy := codeColumns, "break it after a comma or an operator, or name a part of it"
		fact := facts[i+1]
		if fact.comment {
			most, remedy = textColumns, "wrap the comment"
		}
		if fact.exempt || isRow(name, line) || columns(line) <= most {
			continue
		}
		if !fact.comment {
			what := fmt.Sprintf("%d columns, more than %d: %s", columns(line), most, remedy)
			found = append(found, finding{name, i + 1, what})
			continue
		}
		found = append(found, tooWide(name, i+1, line, most, remedy)...)
	}
	return found
}

// isRow reports whether a line of a test is a row of a table.
func isRow(name, line string) bool {
	bare := strings.TrimSpace(line)
	opens := strings.HasPrefix(bare, "{") || strings.HasPrefix(bare, `"`) || strings.HasPrefix(bare, "`")
	return strings.HasSuffix(name, "_test.go") && opens && strings.HasSuffix(bare, ",")
}

// shortRest is the most that may follow a raw string that is too wide.
const shortRest = 8

// scanLines finds the lines of comments, and those whose raw strings forbid a break.
func scanLines(text string, facts []goLine) {
	fset := token.NewFileSet()
	f := fset.AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(f, []byte(text), nil, scanner.ScanComments)
	used := 0 // the last line that holds code
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return
		}
		if tok == token.SEMICOLON && lit == "\n" {
			continue
		}
		first := f.Line(pos)
		last := first + strings.Count(lit, "\n")
		switch {
		case tok == token.COMMENT:
			markComment(facts, first, last, lit, used)
		case tok == token.STRING && strings.HasPrefix(lit, "`"):
			rest, _, _ := strings.Cut(text[f.Offset(pos)+len(lit):], "\n")
			markRaw(facts, first, last, lit, rest)
		}
		if tok != token.COMMENT {
			used = last
		}
	}
}

// markComment enters a comment that stands on lines of its own. Directives cannot be wrapped.
func markComment(facts []goLine, first, last int, lit string, used int) {
	for n := first; n <= last; n++ {
		if n > used {
			facts[n].comment = true
		}
		if strings.HasPrefix(lit, "//go:") {
			facts[n].exempt = true
		}
	}
}

// markRaw exempts the inner lines of a raw string, and the line of one that would be too wide
// alone.
func markRaw(facts []goLine, first, last int, lit, rest string) {
	for n := first; n <= last && first < last; n++ {
		facts[n].exempt = true
	}
	if columns(lit) > codeColumns-4*tabColumns && columns(rest) <= shortRest {
		facts[first].exempt = true
	}
}

// markTags exempts the fields with tags: a field stands on one line.
func markTags(file *ast.File, fset *token.FileSet, facts []goLine) {
	ast.Inspect(file, func(n ast.Node) bool {
		if f, ok := n.(*ast.Field); ok && f.Tag != nil {
			facts[fset.Position(f.Tag.Pos()).Line].exempt = true
		}
		return true
	})
}

// lintDocs checks that doc comments begin with the name they document.
func lintDocs(name string, file *ast.File, fset *token.FileSet) (found []finding) {
	check := func(doc *ast.CommentGroup, names ...*ast.Ident) {
		if doc == nil || beginsWith(doc.Text(), names) {
			return
		}
		at := fset.Position(doc.Pos()).Line
		what := fmt.Sprintf("the doc comment of %s does not begin with its name: start with %q",
			names[0].Name, names[0].Name+" ...")
		found = append(found, finding{name, at, what})
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			check(d.Doc, d.Name)
			if m := saysWhat.FindStringSubmatch(d.Doc.Text()); m != nil && !strings.HasSuffix(name, "_test.go") {
				what := fmt.Sprintf("%q: write returns, reports, describes or prints", m[0])
				found = append(found, finding{name, fset.Position(d.Doc.Pos()).Line, what})
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				checkSpec(check, d, s)
			}
		}
	}
	return found
}

// saysWhat finds functions that "say why" in their doc comments, which leaves open how.
var saysWhat = regexp.MustCompile(`^\w+ (?:says|tells) (?:in )?(?:how|what|whether|where|which|why)\b`)

// checkSpec checks the comment of a type, and of a variable or constant that is not in a group.
func checkSpec(check func(*ast.CommentGroup, ...*ast.Ident), d *ast.GenDecl, s ast.Spec) {
	switch s := s.(type) {
	case *ast.TypeSpec:
		if !d.Lparen.IsValid() {
			s.Doc = d.Doc
		}
		check(s.Doc, s.Name)
	case *ast.ValueSpec:
		if !d.Lparen.IsValid() {
			check(d.Doc, s.Names...)
		}
	}
}

// beginsWith reports whether a comment begins with one of the names, after an article perhaps.
// A comment of directives alone has no text and does not count.
func beginsWith(doc string, names []*ast.Ident) bool {
	words := strings.Fields(doc)
	if len(words) > 1 && (words[0] == "A" || words[0] == "An" || words[0] == "The") {
		words = words[1:]
	}
	if len(words) == 0 {
		return true
	}
	first := strings.TrimRight(words[0], ".,:;")
	for _, n := range names {
		if first == n.Name || first == n.Name+"'s" {
			return true
		}
	}
	return false
}
