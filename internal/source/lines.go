package source

import (
	"go/ast"
	"go/parser"
	"go/token"
)

// Lines maps the lines of a candidate's canonical text to the lines of its author's text.
// Formatting moves declarations but changes none, so both texts parse to the same declarations.
// Imports, which are sorted, are found by path, and comments by order. A line on which nothing
// begins is not in the map.
func Lines(canonical, written string) map[int]int {
	out := map[int]int{}
	fset := token.NewFileSet()
	a, errA := parser.ParseFile(fset, candidateName, canonical, parser.ParseComments|parser.SkipObjectResolution)
	b, errB := parser.ParseFile(fset, candidateName, written, parser.ParseComments|parser.SkipObjectResolution)
	if errA != nil || errB != nil {
		return out
	}
	line := func(at token.Pos) int { return fset.PositionFor(at, false).Line }
	// The first node on a line decides: it begins there.
	pair := func(x, y ast.Node) {
		if at := line(x.Pos()); out[at] == 0 {
			out[at] = line(y.Pos())
		}
	}
	pair(a.Name, b.Name)
	for _, x := range a.Imports {
		for _, y := range b.Imports {
			if importPath(x) == importPath(y) {
				pair(x, y)
			}
		}
	}
	// Both texts have the same nodes in the same order.
	xs, ys := nodes(a), nodes(b)
	for i := range min(len(xs), len(ys)) {
		pair(xs[i], ys[i])
	}
	if len(a.Comments) == len(b.Comments) {
		for i, g := range a.Comments {
			for j := range min(len(g.List), len(b.Comments[i].List)) {
				pair(g.List[j], b.Comments[i].List[j])
			}
		}
	}
	return out
}

// nodes returns those of a file's declarations but imports, in the order of the text.
func nodes(f *ast.File) []ast.Node {
	var out []ast.Node
	for _, d := range f.Decls {
		// Imports differ without a difference in the code.
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
			continue
		}
		ast.Inspect(d, func(n ast.Node) bool {
			switch n.(type) {
			case nil:
				return false
			// Comments have no code.
			case *ast.Comment, *ast.CommentGroup:
				return false
			}
			out = append(out, n)
			return true
		})
	}
	return out
}
