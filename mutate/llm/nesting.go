package llm

import (
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
)

// These limits bound the shape of code. The parser, the type checker and the compiler recurse as
// deep as the code does, and a stack that overflows ends the program. So parseGo first refuses code
// that no person would write.
const (
	maxBrackets = 200 // open brackets at one place
	maxRun      = 200 // tokens in a row without a name or a literal: "[][][]", "!!!!"
	maxDepth    = 500 // nodes of the syntax tree above each other
)

// parseGo parses code written by others. It keeps comments and does not resolve objects. It takes
// time linear in the code, whatever the code is.
func parseGo(src string) (*ast.File, *token.File, error) {
	if len(src) > MaxCode {
		return nil, nil, badReply("the code has %d bytes; the most is %d", len(src), MaxCode)
	}
	if line := tooNested(src); line > 0 {
		return nil, nil, badReply("line %d of the code is nested too deeply", line)
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, nil, err
	}
	tok := fset.File(f.FileStart)
	if n := tooDeep(f); n != nil {
		return nil, nil, badReply("line %d of the code is nested too deeply", tok.Line(n.Pos()))
	}
	return f, tok, nil
}

// tooNested returns the line where brackets or runs of operators exceed their limits, or 0.
func tooNested(src string) int {
	fset := token.NewFileSet()
	file := fset.AddFile("", -1, len(src))
	var s scanner.Scanner
	s.Init(file, []byte(src), func(token.Position, string) {}, 0)
	open, run := 0, 0
	for {
		pos, tok, _ := s.Scan()
		run++
		switch tok {
		case token.EOF:
			return 0
		case token.LPAREN, token.LBRACK, token.LBRACE:
			open++
		case token.RPAREN, token.RBRACK, token.RBRACE:
			open--
		case token.SEMICOLON, token.IDENT, token.INT, token.FLOAT, token.IMAG, token.CHAR, token.STRING:
			run = 0
		}
		if open > maxBrackets || run > maxRun {
			return file.Line(pos)
		}
	}
}

// tooDeep returns a node of the syntax tree that is too deep, or nil.
func tooDeep(f *ast.File) (found ast.Node) {
	depth := 0
	ast.Inspect(f, func(n ast.Node) bool {
		if n == nil {
			depth--
			return true
		}
		if depth == maxDepth && found == nil {
			found = n
		}
		if found != nil {
			return false
		}
		depth++
		return true
	})
	return found
}
