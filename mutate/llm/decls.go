package llm

import (
	"cmp"
	"errors"
	"go/ast"
	"go/scanner"
	"go/token"
	"regexp"
	"slices"
	"strings"

	"github.com/beagle-go/beagle/internal/syntax"
)

// A piece is a package-level declaration with the comments before it.
type piece struct {
	names []string // "Normalize", "Type.Method", or several of a group
	text  string
	decl  ast.Decl
	start int // the offset of its declaration, with its doc comment, in its text
	end   int
}

// declarations parses Go declarations, with or without a package clause. An error is a
// [*ReplyError].
func declarations(code string) (pieces []piece, imports []string, err error) {
	pieces, imports, err = tryDeclarations(code)
	if plain := plainSpaces(code); err != nil && plain != code {
		if ps, im, again := tryDeclarations(plain); again == nil {
			return ps, im, nil
		}
	}
	return pieces, imports, err
}

func tryDeclarations(code string) ([]piece, []string, error) {
	shift := 0
	if !hasPackage(code) {
		// The clause goes before the first line, so that lines keep their numbers.
		const clause = "package p;"
		code, shift = clause+code, len(clause)
	}
	f, tok, err := parseGo(code)
	if err != nil {
		return nil, nil, codeError(err)
	}
	return pieces(f, tok, code, shift), importSpecs(f, tok, code), nil
}

var packageClause = regexp.MustCompile(`(?m)^\s*package\s+\w+\s*(;|//.*|/\*.*)?$`)

func hasPackage(code string) bool {
	at := packageClause.FindStringIndex(code)
	if at == nil {
		return false
	}
	// Only comments may stand before it.
	for line := range strings.Lines(code[:at[0]]) {
		if line = strings.TrimSpace(line); beginsCode(line) {
			return false
		}
	}
	return true
}

// codeError words an error of the parser for the model.
func codeError(err error) error {
	var re *ReplyError
	if errors.As(err, &re) {
		return re
	}
	var list scanner.ErrorList
	if errors.As(err, &list) && len(list) > 0 {
		return badReply("the code does not parse: line %d: %s", list[0].Pos.Line, list[0].Msg)
	}
	return badReply("the code does not parse: %v", err)
}

// pieces cuts a file between its declarations. Each comment goes with the declaration after it,
// and comments at the end go with the last one.
func pieces(f *ast.File, tok *token.File, code string, shift int) []piece {
	var out []piece
	last := tok.Offset(f.Name.End())
	if shift > 0 {
		last = shift
	}
	for _, d := range f.Decls {
		// The line's end belongs to the declaration. Imports are left out.
		end := tok.Offset(d.End())
		end += ownLine(code[end:])
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
			last = end
			continue
		}
		p := piece{
			names: Declared(d),
			text:  strings.Trim(strings.TrimPrefix(code[last:end], ";"), "\n"),
			decl:  d,
			start: tok.Offset(d.Pos()),
			end:   end,
		}
		// It starts with its doc comment.
		if doc := syntax.Doc(d); doc != nil {
			p.start = tok.Offset(doc.Pos())
		}
		out, last = append(out, p), end
	}
	// Comments at the end go with the last one.
	if rest := strings.TrimSpace(code[last:]); rest != "" && rest != ";" && len(out) > 0 {
		out[len(out)-1].text += "\n\n" + rest
	}
	return out
}

// ownLine returns the length of the text after a declaration that belongs to it: a semicolon and a
// comment on its last line.
func ownLine(s string) int {
	line, _, _ := strings.Cut(s, "\n")
	n := 0
	if trimmed := strings.TrimLeft(line, " \t"); strings.HasPrefix(trimmed, ";") {
		n = len(line) - len(trimmed) + 1
	}
	if strings.HasPrefix(strings.TrimLeft(line[n:], " \t"), "//") {
		n = len(line)
	}
	return n
}

// Declared returns the names that a declaration introduces: "F", "Type.Method", or the names of a
// group. It returns none for imports.
func Declared(d ast.Decl) []string {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv != nil && len(d.Recv.List) > 0 { // a model may write one that names no type
			return []string{cmp.Or(syntax.Receiver(d), "?") + "." + d.Name.Name}
		}
		return []string{d.Name.Name}
	case *ast.GenDecl:
		var out []string
		for _, s := range d.Specs {
			out = append(out, SpecNames(s)...)
		}
		return out
	}
	return nil
}

// SpecNames returns the names that one line of a group of declarations introduces.
func SpecNames(s ast.Spec) []string {
	switch s := s.(type) {
	case *ast.TypeSpec:
		return []string{s.Name.Name}
	case *ast.ValueSpec:
		out := make([]string, len(s.Names))
		for i, n := range s.Names {
			out[i] = n.Name
		}
		return out
	}
	return nil
}

func importSpecs(f *ast.File, tok *token.File, code string) []string {
	var out []string
	for _, s := range f.Imports {
		out = append(out, code[tok.Offset(s.Pos()):tok.Offset(s.End())])
	}
	return out
}

// override adds the pieces of a later fence. Its declarations replace those of the same names.
func override(all, later []piece) []piece {
	names := map[string]bool{}
	for _, p := range later {
		for _, n := range p.names {
			names[n] = true
		}
	}
	all = slices.DeleteFunc(all, func(p piece) bool {
		return slices.ContainsFunc(p.names, func(n string) bool { return names[n] && n != "_" })
	})
	return append(all, later...)
}

var programNames = regexp.MustCompile(`^(main|(Test|Benchmark|Fuzz|Example)([A-Z_]\w*)?)$`)

// withoutPrograms drops functions that show how to use or test the code. Models put them into
// fences of their own beside the answer.
func withoutPrograms(ps []piece) []piece {
	return slices.DeleteFunc(ps, isProgram)
}

// isProgram reports whether a declaration is main, a test, a benchmark or an example.
func isProgram(p piece) bool {
	fn, ok := p.decl.(*ast.FuncDecl)
	if !ok || fn.Recv != nil || !programNames.MatchString(fn.Name.Name) {
		return false
	}
	params := fn.Type.Params.List
	if fn.Name.Name == "main" || strings.HasPrefix(fn.Name.Name, "Example") {
		return len(params) == 0
	}
	if len(params) != 1 {
		return false
	}
	star, ok := params[0].Type.(*ast.StarExpr)
	if !ok {
		return false
	}
	sel, ok := star.X.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := sel.X.(*ast.Ident)
	return ok && pkg.Name == "testing"
}
