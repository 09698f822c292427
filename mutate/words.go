package mutate

import (
	"fmt"
	"go/scanner"
	"go/token"
	"go/types"
	"maps"
)

// ownWords reports a word of the language, such as len, that the edits of a rewrite bring along to
// a place where the code gives it another meaning. Words that the replaced text holds too, or that
// code of the file uses for something of the package, are taken for the user's own, and so are
// variables that no edit calls.
func (p *Pass) ownWords(edits []Edit) error {
	replaced := map[string]bool{}
	for _, e := range edits {
		maps.Copy(replaced, predeclared(string(p.base().Src[e.Start:e.End])))
	}
	for _, e := range edits {
		for word, called := range predeclared(e.New) {
			if _, own := replaced[word]; !own && p.hides(word, called, p.File.FileStart+token.Pos(e.Start)) {
				return fmt.Errorf("the code gives %s another meaning", word)
			}
		}
	}
	return nil
}

// hides reports whether a predeclared name stands for something else at a position.
func (p *Pass) hides(word string, called bool, at token.Pos) bool {
	scope := p.Pkg.Scope().Innermost(at)
	if scope == nil {
		return false
	}
	_, obj := scope.LookupParent(word, at)
	if obj == nil || obj.Parent() == types.Universe {
		return false
	}
	if _, variable := obj.(*types.Var); variable && !called {
		return false
	}
	return obj.Parent() != p.Pkg.Scope() || len(p.Uses(obj, p.File)) == 0
}

// predeclared returns the words of some code that are names of the language, apart from fields and
// methods, and whether the code calls them.
func predeclared(code string) (called map[string]bool) {
	called = map[string]bool{}
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile("", -1, len(code)), []byte(code), nil, 0)
	word := ""
	for before := token.ILLEGAL; before != token.EOF; {
		_, tok, text := s.Scan()
		if word != "" {
			called[word] = called[word] || tok == token.LPAREN
		}
		if word = ""; tok == token.IDENT && before != token.PERIOD && types.Universe.Lookup(text) != nil {
			word = text
		}
		before = tok
	}
	return called
}
