package audit

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"math"
	"path/filepath"
	"slices"
)

// deadResults looks for calls whose results are never used and which the compiler deletes. The loop
// then only counts to b.N. (Dave Cheney described it for a population count in "How to write
// benchmarks in Go", 2013.)
func deadResults(x *pass) {
	x.calls(func(call *ast.CallExpr, f *types.Func, used bool) {
		if used {
			return
		}
		x.report(call.Pos(),
			fmt.Sprintf("nobody uses the result of %s, and the compiler deletes the call: the machine code has "+
				"nothing of it", f.Name()),
			"loop with 'for b.Loop()', which keeps results alive, or assign the last one to a package variable")
	})
}

// constantCalls looks for calls with constant arguments that the compiler computes.
func constantCalls(x *pass) {
	x.calls(func(call *ast.CallExpr, f *types.Func, used bool) {
		if !used || len(call.Args) == 0 || !allConstant(x, call) {
			return
		}
		x.report(call.Pos(),
			fmt.Sprintf("the compiler knows all arguments of %s and computes the result itself: the machine code has "+
				"nothing of it", f.Name()),
			"loop with 'for b.Loop()', or take the arguments from package variables")
	})
}

// calls visits the calls of declared functions, in loops that keep nothing alive,
// of which the compiler left nothing. used says whether anybody reads the result.
func (x *pass) calls(visit func(call *ast.CallExpr, f *types.Func, used bool)) {
	info := x.pkg.TypesInfo
	for _, l := range x.loops {
		if l.kind == overLoop {
			continue
		}
		x.inspect(l.body, func(n ast.Node) bool {
			// Take a statement that is a call, or an assignment of one value.
			var e ast.Expr
			used := true
			switch n := n.(type) {
			case *ast.ExprStmt:
				e, used = n.X, false
			case *ast.AssignStmt:
				if len(n.Rhs) != 1 {
					return true
				}
				e, used = n.Rhs[0], slices.ContainsFunc(n.Lhs, func(to ast.Expr) bool { return x.isRead(l, to) })
			default:
				return true
			}
			call, ok := ast.Unparen(e).(*ast.CallExpr)
			if !ok {
				return true
			}
			// Visit it if it calls a declared function, of which the machine code shows nothing.
			f := callee(info, call)
			if f != nil && f.Pkg() != nil && f.Pkg().Path() != "testing" && !ofInterface(f) && x.isEliminated(call, f) {
				visit(call, f, used)
			}
			return true
		})
	}
}

// ofInterface reports whether a function is a method of an interface: which code
// stands for it is not known here, since the compiler may know the type.
func ofInterface(f *types.Func) bool {
	r := f.Signature().Recv()
	return r != nil && types.IsInterface(r.Type())
}

// isEliminated reports whether the compiler left nothing of a call.
func (x *pass) isEliminated(call *ast.CallExpr, f *types.Func) bool {
	line := func(at token.Pos) place {
		p := x.pkg.Fset.Position(at)
		return place{filepath.Base(p.Filename), p.Line}
	}
	from, last := line(f.Pos()), math.MaxInt // its end is known in this package only
	if decl := x.declaration(f); decl != nil {
		last = line(decl.End()).line
	}
	for at := line(call.Pos()); at.line <= line(call.End()).line; at.line++ {
		if !x.code.isEliminated(at, from, last) {
			return false
		}
	}
	return true
}

// isRead reports whether the code reads a variable that a loop assigns to. A local variable
// is read where it stands in an expression, but not in _ = v.
func (x *pass) isRead(l loop, to ast.Expr) bool {
	id, ok := ast.Unparen(to).(*ast.Ident)
	if !ok {
		return true
	}
	if id.Name == "_" {
		return false
	}
	info := x.pkg.TypesInfo
	v, ok := info.ObjectOf(id).(*types.Var)
	if !ok || v.Parent() == x.pkg.Types.Scope() || v.Parent() == nil {
		return true
	}
	read := false
	ast.Inspect(x.body, func(n ast.Node) bool {
		a, ok := n.(*ast.AssignStmt)
		if ok && a.Tok != token.ASSIGN && a.Tok != token.DEFINE {
			for _, e := range a.Lhs { // v += f(x) adds up
				read = read || x.isVariable(e, v)
			}
			return true
		}
		if ok {
			for i, e := range a.Rhs {
				blank := len(a.Lhs) == len(a.Rhs) && isBlank(a.Lhs[i])
				if !blank && mentions(info, e, v) {
					read = true
				}
			}
			for _, e := range a.Lhs {
				if _, plain := ast.Unparen(e).(*ast.Ident); !plain && mentions(info, e, v) {
					read = true
				}
			}
			return false
		}
		if id, ok := n.(*ast.Ident); ok && info.Uses[id] == v {
			read = true
		}
		return true
	})
	return read
}

func isBlank(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == "_"
}

// mentions reports whether a variable stands in a node.
func mentions(info *types.Info, n ast.Node, v *types.Var) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && info.Uses[id] == v {
			found = true
		}
		return !found
	})
	return found
}

// allConstant reports whether the arguments of a call are all constants.
func allConstant(x *pass, call *ast.CallExpr) bool {
	return !slices.ContainsFunc(call.Args, func(e ast.Expr) bool { return x.pkg.TypesInfo.Types[e].Value == nil })
}

// callee returns the declared function that a call calls; nil when it is no such call.
func callee(info *types.Info, call *ast.CallExpr) *types.Func {
	var id *ast.Ident
	switch fun := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		id = fun
	case *ast.SelectorExpr:
		id = fun.Sel
	default:
		return nil
	}
	f, _ := info.Uses[id].(*types.Func)
	return f
}

// declaration returns the declaration of a function of the package.
func (x *pass) declaration(f *types.Func) *ast.FuncDecl {
	for _, file := range x.pkg.Syntax {
		for _, d := range file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && x.pkg.TypesInfo.Defs[fn.Name] == f {
				return fn
			}
		}
	}
	return nil
}
