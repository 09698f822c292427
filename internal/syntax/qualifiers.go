package syntax

import "go/ast"

// Qualifiers returns the names X of selectors X.Sel that nothing in a file declares, so that a
// package may be meant. The file must be parsed with the parser's own resolution of names, without
// parser.SkipObjectResolution.
func Qualifiers(f *ast.File) map[string]bool {
	unresolved := map[*ast.Ident]bool{}
	for _, id := range f.Unresolved {
		unresolved[id] = true
	}
	out := map[string]bool{}
	for n := range ast.Preorder(f) {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := s.X.(*ast.Ident); ok && unresolved[id] {
				out[id.Name] = true
			}
		}
	}
	return out
}
