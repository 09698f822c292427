package source

import (
	"go/ast"
	"go/constant"
	"go/types"
	"strings"
	"unicode/utf8"
)

// constantText returns the text of a parameter that the call gives a constant.
func (v *prover) constantText(e ast.Expr) (string, bool) {
	e = ast.Unparen(e)
	if c, ok := e.(*ast.CallExpr); ok && len(c.Args) == 1 { // string(s), []byte(s)
		if f := types.ExprString(c.Fun); f == "string" || f == "[]byte" {
			e = ast.Unparen(c.Args[0])
		}
	}
	id, ok := e.(*ast.Ident)
	if !ok || v.values[id.Name].expr == nil {
		return "", false
	}
	return v.textOf(v.values[id.Name].expr)
}

// textOf returns the constant text of an expression, also through conversions and variables that
// keep their value.
func (v *prover) textOf(e ast.Expr) (string, bool) {
	e = ast.Unparen(e)
	if c := v.info.Types[e].Value; c != nil && c.Kind() == constant.String {
		return constant.StringVal(c), true
	}
	switch x := e.(type) {
	case *ast.Ident:
		// A variable must still hold what it was given.
		if def := v.definition(x); def != nil && !v.touched(x) {
			return v.textOf(def)
		}
	case *ast.CallExpr:
		if v.info.Types[x.Fun].IsType() && len(x.Args) == 1 && bytesOrString(v.info.TypeOf(x)) {
			return v.textOf(x.Args[0])
		}
	}
	return "", false
}

// constantCall decides a condition on the text of a constant argument.
func (v *prover) constantCall(x *ast.CallExpr) (holds, ok bool) {
	switch types.ExprString(x.Fun) {
	case "utf8.ValidString", "utf8.Valid":
		if s, ok := v.constantText(x.Args[0]); ok {
			return utf8.ValidString(s), true
		}
	}
	return false, false
}

// constantNumber evaluates a few functions on a constant text, as conditions use them.
func (v *prover) constantNumber(x *ast.CallExpr) (int64, bool) {
	// The first argument is the text in all of them.
	if len(x.Args) == 0 {
		return 0, false
	}
	s, ok := v.constantText(x.Args[0])
	if !ok {
		return 0, false
	}
	switch types.ExprString(x.Fun) {
	case "utf8.RuneCountInString", "utf8.RuneCount":
		return int64(utf8.RuneCountInString(s)), true
	case "strings.IndexByte", "bytes.IndexByte":
		if len(x.Args) == 2 && types.ExprString(x.Args[1]) == "0" {
			return int64(strings.IndexByte(s, 0)), true
		}
	}
	return 0, false
}
