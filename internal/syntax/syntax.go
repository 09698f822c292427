// Package syntax answers questions about Go's syntax trees that several packages
// ask, and edits their text.
package syntax

import "go/ast"

// Receiver returns the name of the type that a method belongs to, without pointers
// and type parameters. It is empty for a function, and for a receiver that names no
// type, which does not compile.
func Receiver(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return ""
	}
	for t := d.Recv.List[0].Type; ; {
		switch e := t.(type) {
		case *ast.StarExpr:
			t = e.X
		case *ast.ParenExpr:
			t = e.X
		case *ast.IndexExpr:
			t = e.X
		case *ast.IndexListExpr:
			t = e.X
		case *ast.Ident:
			return e.Name
		default:
			return ""
		}
	}
}
