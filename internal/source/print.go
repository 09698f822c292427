package source

import (
	"fmt"
	"go/ast"
	"go/format"
	"go/printer"
	"go/token"
	"strings"

	"github.com/beagle-go/beagle/internal/syntax"
)

// maxPrinted bounds the declarations that a [Reader] remembers as gofmt prints them.
const maxPrinted = 1024

// gofmt prints as [format.Source] does.
var gofmt = printer.Config{Mode: printer.UseSpaces | printer.TabIndent | normalizeNumbers, Tabwidth: 8}

// normalizeNumbers writes numbers as 0xFF and 0o17, as go/format and cmd/gofmt
// have it under the same name.
const normalizeNumbers = 1 << 30

// printed returns the text of head and of the declarations of t from the offset rest on, as gofmt
// prints it. A step of a search changes few declarations of a file, so printed prints each
// declaration by itself and remembers it. That gives the text of the whole file only if blank lines
// keep the declarations apart and no comments stand between them: else printed returns false.
func (r *Reader) printed(head string, t *syntax.Text, rest int) (string, bool) {
	// Check all that stands between declarations before any is printed.
	var decls []ast.Decl
	var texts []string
	tok, before, breaks := t.Fset.File(t.File.FileStart), rest, 1
	for _, d := range t.File.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
			continue
		}
		start := d.Pos()
		if doc := syntax.Doc(d); doc != nil {
			start = doc.Pos()
		}
		from, to := tok.Offset(start), tok.Offset(d.End())
		if !onlyLines(t.Src[before:from], breaks) {
			return "", false
		}
		decls, texts = append(decls, d), append(texts, t.Src[from:to])
		before, breaks = to, 2
	}
	if len(decls) == 0 || strings.TrimSpace(t.Src[before:]) != "" {
		return "", false
	}
	// Print each, or take what it gave before.
	var b strings.Builder
	b.WriteString(head)
	for i, d := range decls {
		text, err := r.printedDecl(t, d, texts[i])
		if err != nil {
			return "", false
		}
		b.WriteString("\n" + text + "\n")
	}
	return b.String(), true
}

// onlyLines reports whether a text between declarations is white space that ends with a line break
// and has at least the given number of them.
func onlyLines(gap string, breaks int) bool {
	return strings.TrimSpace(gap) == "" && strings.HasSuffix(gap, "\n") && strings.Count(gap, "\n") >= breaks
}

// printedDecl returns a declaration with this text as gofmt prints it.
func (r *Reader) printedDecl(t *syntax.Text, d ast.Decl, text string) (string, error) {
	r.mu.Lock()
	known, ok := r.decls[text]
	r.mu.Unlock()
	if ok {
		return known, nil
	}
	var b strings.Builder
	if err := gofmt.Fprint(&b, t.Fset, &printer.CommentedNode{Node: d, Comments: t.File.Comments}); err != nil {
		return "", err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.decls == nil || len(r.decls) >= maxPrinted {
		r.decls = map[string]string{}
	}
	r.decls[text] = b.String()
	return b.String(), nil
}

// formatted formats a text as gofmt does. t saves parsing the text if both are the same; formatted
// changes its tree. [format.Node] leaves its file alone: it prints a file with a group of imports,
// parses that and prints it again.
func formatted(text string, t *syntax.Text) (string, error) {
	if text == t.Src {
		ast.SortImports(t.Fset, t.File)
		var b strings.Builder
		err := gofmt.Fprint(&b, t.Fset, t.File)
		return b.String(), err
	}
	out, err := format.Source([]byte(text))
	if err != nil {
		return "", fmt.Errorf("formatting: %w", err)
	}
	return string(out), nil
}
