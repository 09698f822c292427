package verify

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"regexp"
)

// chance refuses what gives another answer from run to run, or from machine to
// machine, without reading a clock: the order of a map, the text of an
// address, the name of the architecture. Beagle compares on one machine, and
// what goes wrong once in a million calls no comparison meets.
func chance(c *code, report func(ast.Node, string, string, string)) {
	ast.Inspect(c.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.RangeStmt:
			if overMap(c, n.X) && leavesEarly(n.Body) {
				report(n, "map order", "a map's iteration that ends early",
					"which entry it meets first differs from call to call")
			}
		case *ast.CallExpr:
			printsAddress(c, n, report)
		case *ast.Ident:
			if k, ok := c.info.Uses[n].(*types.Const); ok && k.Pkg() != nil && k.Pkg().Path() == "runtime" {
				report(n, "use "+objectName(k), "use of "+objectName(k), "on other systems it is another program, which nobody compared")
			}
		}
		return true
	})
}

// overMap reports whether e is a map, or an iterator over one.
func overMap(c *code, e ast.Expr) bool {
	if t := c.info.TypeOf(e); t != nil {
		if _, ok := t.Underlying().(*types.Map); ok {
			return true
		}
	}
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return false
	}
	fn := (&state{code: c}).callee(call)
	return fn != nil && fn.Pkg() != nil && fn.Pkg().Path() == "maps"
}

// leavesEarly reports whether a loop's body may end the loop before its time.
func leavesEarly(body *ast.BlockStmt) bool {
	leaves := false
	var visit func(n ast.Node, inner bool)
	visit = func(root ast.Node, inner bool) {
		ast.Inspect(root, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncLit:
				return false
			case *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
				if n != root {
					visit(n, true)
					return false
				}
			case *ast.ReturnStmt:
				leaves = true
			case *ast.BranchStmt:
				leaves = leaves || n.Label != nil || n.Tok == token.GOTO || n.Tok == token.BREAK && !inner
			}
			return !leaves
		})
	}
	visit(body, false)
	return leaves
}

// addressVerb is %p with its flags.
var addressVerb = regexp.MustCompile(`%[-+# 0-9.*\[\]]*p`)

// printsAddress looks for calls of fmt whose text would hold an address.
func printsAddress(c *code, call *ast.CallExpr, report func(ast.Node, string, string, string)) {
	fn := (&state{code: c}).callee(call)
	if fn == nil || fn.Pkg() == nil || fn.Pkg().Path() != "fmt" {
		return
	}
	const why = "where memory lies differs from run to run"
	for _, arg := range call.Args {
		tv := c.info.Types[arg]
		switch {
		case tv.Value != nil && tv.Value.Kind() == constant.String:
			if len(tv.Value.ExactString()) < maxSize && addressVerb.MatchString(constant.StringVal(tv.Value)) {
				report(arg, "address", "the verb %p", why)
			}
		case tv.Type != nil && hasAddress(tv.Type):
			report(arg, "address", "the text of a pointer", why)
		}
	}
}

// hasAddress reports whether fmt prints an address for a value of type t: for
// functions, channels, and pointers other than one to a struct, list or map at
// the top. Types with a text of their own are left to it.
func hasAddress(t types.Type) bool {
	if p, ok := t.Underlying().(*types.Pointer); ok && !hasText(t) {
		switch p.Elem().Underlying().(type) {
		case *types.Struct, *types.Array, *types.Slice, *types.Map:
			t = p.Elem()
		default:
			return true
		}
	}
	return holdsAddress(t, nil)
}

func holdsAddress(t types.Type, seen []types.Type) bool {
	if hasText(t) {
		return false
	}
	return holds(t, seen, holdsAddress, func(u types.Type) bool {
		switch u := u.(type) {
		case *types.Pointer, *types.Chan, *types.Signature:
			return true
		case *types.Basic:
			return u.Kind() == types.UnsafePointer
		case *types.Slice:
			return holdsAddress(u.Elem(), append(seen, t))
		case *types.Map:
			return holdsAddress(u.Key(), append(seen, t)) || holdsAddress(u.Elem(), append(seen, t))
		}
		return false
	})
}

// hasText reports whether fmt asks a value of type t for its text.
func hasText(t types.Type) bool {
	for _, name := range []string{"Error", "String", "Format"} {
		if obj, _, _ := types.LookupFieldOrMethod(t, true, nil, name); obj != nil {
			if _, ok := obj.(*types.Func); ok {
				return true
			}
		}
	}
	return false
}
