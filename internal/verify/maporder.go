package verify

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle/internal/syntax"
)

// mapOrder refuses code that may depend on the order of a map's entries, which differs from walk to
// walk. Examples are a loop that ends early, a loop that keeps the last entry, and a list of keys
// that stays unsorted. A comparison finds such code only if the difference shows often.
func mapOrder(c *code, report reporter) {
	const why = "the first entry differs from call to call"
	sorted := sortedLists(c)
	walks := make(map[ast.Node]bool) // calls of package maps whose order does not matter in their place
	named := make(map[ast.Expr]bool) // expressions that name the function of a call
	ast.Inspect(c.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.RangeStmt:
			walks[ast.Unparen(n.X)] = true
			switch {
			case !overMap(c, n.X):
			case leavesEarly(n.Body):
				report(n, "map order", "a map's iteration that ends early", why)
			case keepsOne(c, n, sorted), (&walk{code: c, body: n.Body, begin: n}).tells():
				report(n, "map order", "a map's iteration that keeps what it met last or in its order", why)
			}
		case *ast.CallExpr:
			fun, _ := syntax.Called(n)
			named[fun] = true
			fn := c.callee(n)
			switch {
			case fn != nil && callbacks[objectName(fn)] && calledBack(c, n):
				report(n, "map order", "a function that "+objectName(fn)+" calls in a map's order", why)
			case fn == nil || fn.Pkg() == nil:
			case orderless[objectName(fn)] && len(n.Args) > 0:
				walks[ast.Unparen(n.Args[0])] = true
			case walker[objectName(fn)] && !walks[n]:
				report(n, "map order", "a walk over a map by "+objectName(fn)+" that nothing sorts", why)
			}
		case *ast.SelectorExpr: // maps.Keys as a value
			if fn, ok := c.info.Uses[n.Sel].(*types.Func); ok && walker[objectName(fn)] && !named[n] {
				report(n, "map order", objectName(fn)+" as a value", why)
			}
		}
		return true
	})
}

// calledBack reports whether the function that package maps receives reveals which entry comes
// first.
func calledBack(c *code, call *ast.CallExpr) bool {
	lit, ok := ast.Unparen(call.Args[len(call.Args)-1]).(*ast.FuncLit)
	if !ok {
		fn := syntax.Origin(usedFunc(c, call.Args[len(call.Args)-1]))
		return fn == nil || c.declares(fn) && !(&walk{code: c}).onlyReads(fn.(*types.Func))
	}
	w := &walk{code: c, body: lit.Body, begin: lit}
	return w.tells() || w.assigns()
}

// assigns reports whether the body assigns to a variable from outside.
func (w *walk) assigns() bool {
	found := false
	outside := func(e ast.Expr) {
		if id := root(e); id != nil && id.Name != "_" && !w.isInside(w.info.ObjectOf(id)) && !byKey(w.code, e) {
			found = true
		}
	}
	ast.Inspect(w.body, func(n ast.Node) bool {
		if as, ok := n.(*ast.AssignStmt); ok {
			for i, l := range as.Lhs {
				if len(as.Rhs) != len(as.Lhs) || w.info.Types[as.Rhs[i]].Value == nil {
					outside(l)
				}
			}
		}
		return !found
	})
	return found
}

// usedFunc returns the function that an expression names, or nil.
func usedFunc(c *code, e ast.Expr) types.Object {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		if fn, ok := c.info.Uses[e].(*types.Func); ok {
			return fn
		}
	case *ast.SelectorExpr:
		if fn, ok := c.info.Uses[e.Sel].(*types.Func); ok {
			return fn
		}
	}
	return nil
}

var (
	walker    = set(`maps.Keys maps.Values maps.All`)
	orderless = set(`slices.Sorted slices.SortedFunc slices.SortedStableFunc maps.Collect maps.Insert`)
)

// sortedLists returns the variables that the code passes to a sorting function.
func sortedLists(c *code) map[types.Object]bool {
	out := make(map[types.Object]bool)
	ast.Inspect(c.file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		fn := c.callee(call)
		if fn == nil || fn.Pkg() == nil || fn.Pkg().Path() != "sort" && fn.Pkg().Path() != "slices" {
			return true
		}
		if id := root(call.Args[0]); id != nil {
			out[c.info.ObjectOf(id)] = true
		}
		return true
	})
	return out
}

// keepsOne reports whether a loop over a map leaves something behind that depends on the order.
//
// Assignments to variables from outside count, apart from four kinds:
//   - an assignment of a constant;
//   - a greatest or least value;
//   - an element under the entry's own key;
//   - a list that is sorted later.
//
// Sums of rounded numbers and of texts count too.
func keepsOne(c *code, loop *ast.RangeStmt, sorted map[types.Object]bool) bool {
	// outside returns the variable of a location, if it was declared outside the loop.
	outside := func(e ast.Expr) types.Object {
		id := root(e)
		if id == nil || id.Name == "_" {
			return nil
		}
		obj := c.info.ObjectOf(id)
		if obj == nil || loop.Body.Pos() <= obj.Pos() && obj.Pos() < loop.Body.End() ||
			loop.Tok == token.DEFINE && loop.Pos() <= obj.Pos() && obj.Pos() < loop.Body.Pos() {
			return nil
		}
		return obj
	}
	// "for k = range m" keeps the last key.
	keeps := loop.Tok == token.ASSIGN &&
		(loop.Key != nil && outside(loop.Key) != nil || loop.Value != nil && outside(loop.Value) != nil)
	bounds := boundsOf(c, loop.Body)
	ast.Inspect(loop.Body, func(n ast.Node) bool {
		as, ok := n.(*ast.AssignStmt)
		if !ok || as.Tok == token.DEFINE {
			return !keeps
		}
		for i, l := range as.Lhs {
			obj := outside(l)
			// Find assignments whose effect depends on the order. Integer sums do not.
			switch {
			case obj == nil || byKey(c, l):
			case as.Tok != token.ASSIGN:
				keeps = keeps || !syntax.IsInteger(c.info.TypeOf(l))
			case len(as.Rhs) != len(as.Lhs):
				keeps = true
			default:
				r := ast.Unparen(as.Rhs[i])
				keeps = keeps ||
					!(c.info.Types[r].Value != nil || c.info.Types[r].IsNil() || bounds[as] && len(as.Lhs) == 1 ||
						isExtreme(c, r) || sorted[obj] && isBuiltinCall(c, r, "append"))
			}
		}
		return !keeps
	})
	return keeps
}

// byKey reports whether a location is an element under the entry's own key.
func byKey(c *code, l ast.Expr) bool {
	ix, ok := ast.Unparen(l).(*ast.IndexExpr)
	return ok && c.info.Types[ix.Index].Value == nil
}

// boundsOf finds the assignments of the form "if v > most { most = v }". The value at the end is
// the greatest or least one, in any order.
func boundsOf(c *code, body ast.Node) map[*ast.AssignStmt]bool {
	out := make(map[*ast.AssignStmt]bool)
	ast.Inspect(body, func(n ast.Node) bool {
		cond, ok := n.(*ast.IfStmt)
		if !ok || len(cond.Body.List) != 1 {
			return true
		}
		as, ok := cond.Body.List[0].(*ast.AssignStmt)
		cmp, isCmp := ast.Unparen(cond.Cond).(*ast.BinaryExpr)
		if !ok || !isCmp || len(as.Lhs) != 1 || len(as.Rhs) != 1 {
			return true
		}
		switch cmp.Op {
		case token.LSS, token.GTR, token.LEQ, token.GEQ:
			l, r, x, y := c.text(as.Lhs[0]), c.text(as.Rhs[0]), c.text(cmp.X), c.text(cmp.Y)
			out[as] = l == x && r == y || l == y && r == x
		}
		return true
	})
	return out
}

func isExtreme(c *code, e ast.Expr) bool {
	return isBuiltinCall(c, e, "max") || isBuiltinCall(c, e, "min")
}

// isBuiltinCall reports whether an expression calls a builtin.
func isBuiltinCall(c *code, e ast.Expr, name string) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	id, ok := ast.Unparen(call.Fun).(*ast.Ident)
	if !ok || id.Name != name {
		return false
	}
	_, ok = c.info.Uses[id].(*types.Builtin)
	return ok
}

// overMap reports whether e is a map, or an iterator over one.
func overMap(c *code, e ast.Expr) bool {
	if syntax.Is[*types.Map](c.info.TypeOf(e)) {
		return true
	}
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return false
	}
	fn := c.callee(call)
	return fn != nil && fn.Pkg() != nil && fn.Pkg().Path() == "maps"
}

// leavesEarly reports whether a loop's body may end the loop before the last entry.
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
