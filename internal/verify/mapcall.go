package verify

import (
	"go/ast"
	"go/types"

	"github.com/beagle-go/beagle/internal/effects"
	"github.com/beagle-go/beagle/internal/syntax"
)

// A walk is a loop over a map, or a function that package maps calls for each entry. The order of
// its steps differs from time to time.
type walk struct {
	*code
	body  *ast.BlockStmt
	begin ast.Node // declarations inside it belong to the walk
}

// isInside reports whether a variable belongs to the walk.
func (w *walk) isInside(obj types.Object) bool {
	return obj != nil && w.begin.Pos() <= obj.Pos() && obj.Pos() < w.begin.End()
}

// callbacks lists functions of package maps that run code for each entry.
var callbacks = set(`maps.EqualFunc maps.DeleteFunc`)

// tells reports whether a call in the body reveals the current entry to code outside. The callee
// may keep an argument that depends on the entry, or behave by its earlier calls.
func (w *walk) tells() bool {
	found := false
	ast.Inspect(w.body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && !found {
			found = w.callTells(call)
		}
		return !found
	})
	return found
}

// callTells reports whether a call may carry an argument out of the loop that depends on the order.
func (w *walk) callTells(call *ast.CallExpr) bool {
	if w.info.Types[call.Fun].IsType() || w.info.Types[call].Value != nil {
		return false
	}
	if id, ok := ast.Unparen(call.Fun).(*ast.Ident); ok {
		if b, ok := w.info.Uses[id].(*types.Builtin); ok {
			return b.Name() == "copy" && w.reachesOut(call.Args[0]) && w.dependsOnEntry(call.Args[1])
		}
	}
	given := false
	for _, arg := range call.Args {
		given = given || w.dependsOnEntry(arg)
	}
	fn := w.callee(call)
	if fn == nil || types.IsInterface(recvType(fn)) {
		return given && !w.ownFunc(call) // a function value may keep its arguments
	}
	if w.declares(fn) {
		return given && w.anyReachesOut(call, fn)
	}
	s := w.table().SummaryOf(effects.Name(fn))
	if s == nil {
		return given && w.anyReachesOut(call, fn)
	}
	return given && w.writesOut(call, fn, s)
}

// dependsOnEntry reports whether an expression depends on the current entry: it names something
// that the walk declares.
func (w *walk) dependsOnEntry(e ast.Expr) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			if v, ok := w.info.ObjectOf(id).(*types.Var); ok && !v.IsField() {
				found = found || w.isInside(v)
			}
		}
		return !found
	})
	return found
}

// ownFunc reports whether the walk itself declares the called function.
func (w *walk) ownFunc(call *ast.CallExpr) bool {
	id, ok := ast.Unparen(call.Fun).(*ast.Ident)
	return ok && w.isInside(w.info.ObjectOf(id))
}

// reachesOut reports whether an expression leads to writable memory from outside the walk.
func (w *walk) reachesOut(e ast.Expr) bool {
	id := root(e)
	if id == nil {
		if u, ok := ast.Unparen(e).(*ast.UnaryExpr); ok {
			return w.reachesOut(u.X)
		}
		return false
	}
	v, ok := w.info.ObjectOf(id).(*types.Var)
	return ok && !w.isInside(v)
}

// arguments returns a call's arguments with the receiver in front, as summaries count them.
func (w *walk) arguments(call *ast.CallExpr, fn *types.Func) []ast.Expr {
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok || fn.Signature().Recv() == nil {
		return call.Args
	}
	if s, ok := w.info.Selections[sel]; ok && s.Kind() == types.MethodVal {
		return append([]ast.Expr{sel.X}, call.Args...)
	}
	return call.Args
}

// anyReachesOut reports whether a function of the file may leave something outside the walk,
// through an argument. The analysis of memory refuses package variables by itself.
func (w *walk) anyReachesOut(call *ast.CallExpr, fn *types.Func) bool {
	for _, arg := range w.arguments(call, fn) {
		t := w.info.TypeOf(arg)
		if t == nil || !w.reachesOut(arg) {
			continue
		}
		switch t.Underlying().(type) {
		case *types.Pointer, *types.Slice, *types.Chan, *types.Signature, *types.Interface, *types.Struct:
			return !w.onlyReads(fn)
		}
		if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok && sel.X == arg {
			return !w.onlyReads(fn)
		}
	}
	return false
}

// onlyReads reports whether a function of the file writes to none of its arguments.
func (w *walk) onlyReads(fn *types.Func) bool {
	s := w.ownSummary(fn)
	return s != nil && len(s.Writes) == 0 && len(s.Stores) == 0 && len(s.Runs) == 0
}

// writesOut reports whether a function of the table writes to memory from outside the walk. An
// element under a key of the current entry does not count.
func (w *walk) writesOut(call *ast.CallExpr, fn *types.Func, s *effects.Summary) bool {
	args := w.arguments(call, fn)
	for _, r := range s.Writes {
		if r.Param < len(args) && w.reachesOut(args[r.Param]) && !syntax.Is[*types.Map](w.info.TypeOf(args[r.Param])) {
			return true
		}
	}
	for _, r := range s.Runs {
		if r.Code.Param < len(args) && w.reachesOut(args[r.Code.Param]) && r.Method != "Error" && r.Method != "String" {
			return true
		}
	}
	return false
}
