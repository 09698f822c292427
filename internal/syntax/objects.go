package syntax

import (
	"go/ast"
	"go/types"
)

// Origin returns the declared object of an instance of a generic function, method or field, and any
// other object as it is.
func Origin(obj types.Object) types.Object {
	switch obj := obj.(type) {
	case *types.Func:
		return obj.Origin()
	case *types.Var:
		return obj.Origin()
	}
	return obj
}

// Doc returns the comment in front of a declaration, or nil.
func Doc(d ast.Decl) *ast.CommentGroup {
	switch d := d.(type) {
	case *ast.FuncDecl:
		return d.Doc
	case *ast.GenDecl:
		return d.Doc
	}
	return nil
}
