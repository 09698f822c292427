package source

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/syntax"
)

// facts states what the scope's text says. The compiler's facts (inline cost)
// come with the first build.
func (sc *Scope) facts() beagle.Facts {
	w := &factWalk{scope: sc, reads: map[string]bool{}, writes: map[string]bool{}, calls: map[string]bool{}}
	f := sc.target.decl.(*ast.FuncDecl)
	w.facts.Generic = len(sc.of.TypeArgs) > 0
	w.facts.Method = f.Recv != nil
	w.facts.Recursive = sc.recursive()
	for _, s := range sc.pieces {
		var node ast.Node = s.decl
		if s.spec != nil {
			node = s.spec
		}
		// Two forms do not panic where their kind may: assertions with two results, and indices
		// that fit.
		w.commaOK = commaOK(node)
		w.inBounds = inBounds(sc.pkg.info, node)
		ast.Inspect(node, w.visit)
	}
	w.facts.ReadsGlobals = inorder.Keys(w.reads)
	w.facts.WritesGlobal = inorder.Keys(w.writes)
	w.facts.Calls = inorder.Keys(w.calls)
	return w.facts
}

// recursive reports whether the target reaches itself through its scope.
func (sc *Scope) recursive() bool {
	for _, s := range sc.pieces {
		if sc.pkg.graph.uses[s].pieces[sc.target] {
			return true
		}
	}
	return false
}

type factWalk struct {
	scope                *Scope
	facts                beagle.Facts
	reads, writes, calls map[string]bool
	commaOK              map[ast.Node]bool
	inBounds             map[ast.Expr]bool
}

// visit notes what a node reads and writes, and whether it can panic.
func (w *factWalk) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.IndexExpr:
		w.facts.CanPanic = w.facts.CanPanic || !w.inBounds[n] && w.indexPanics(n)
	case *ast.SliceExpr:
		w.facts.CanPanic = w.facts.CanPanic || !w.inBounds[n] && w.slicePanics(n)
	case *ast.StarExpr:
		// *p panics for nil; *T is a type.
		w.facts.CanPanic = w.facts.CanPanic || w.scope.pkg.info.Types[n].IsValue()
	case *ast.TypeAssertExpr:
		w.facts.CanPanic = w.facts.CanPanic || n.Type != nil && !w.commaOK[n]
	case *ast.BinaryExpr:
		w.facts.CanPanic = w.facts.CanPanic || w.divides(n.Op, n.Y)
	case *ast.AssignStmt:
		for _, l := range n.Lhs {
			w.write(l)
		}
		w.facts.CanPanic = w.facts.CanPanic || w.divides(n.Tok, n.Rhs[0])
	case *ast.IncDecStmt:
		w.write(n.X)
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			w.write(n.X) // the holder of the address may write
		}
	case *ast.CallExpr:
		w.call(n)
	case *ast.Ident:
		if v := w.global(n); v != nil {
			w.reads[w.name(v)] = true
		}
	}
	return true
}

// indexPanics reports whether an index may be out of range. A map has no range, and with types an
// index is an instance.
func (w *factWalk) indexPanics(n *ast.IndexExpr) bool {
	tv, ok := w.scope.pkg.info.Types[n.X]
	if !ok || !tv.IsValue() {
		return false
	}
	switch tv.Type.Underlying().(type) {
	case *types.Map, *types.Signature:
		return false
	}
	return true
}

// slicePanics reports whether the bounds of a slice may be out of range: zero
// never is.
func (w *factWalk) slicePanics(n *ast.SliceExpr) bool {
	for _, e := range []ast.Expr{n.Low, n.High, n.Max} {
		if e == nil {
			continue
		}
		if v := w.scope.pkg.info.Types[e].Value; v == nil || v.Kind() != constant.Int || constant.Sign(v) != 0 {
			return true
		}
	}
	return false
}

// divides reports a division by an integer that may be zero.
func (w *factWalk) divides(op token.Token, y ast.Expr) bool {
	if op != token.QUO && op != token.REM && op != token.QUO_ASSIGN && op != token.REM_ASSIGN {
		return false
	}
	tv := w.scope.pkg.info.Types[y]
	b, ok := tv.Type.Underlying().(*types.Basic)
	return (!ok || b.Info()&types.IsInteger != 0) && (tv.Value == nil || constant.Sign(tv.Value) == 0)
}

// write notes the package variable that an assignment to e changes.
func (w *factWalk) write(e ast.Expr) {
	// An element, a field, or what a pointer of the variable leads to: all change what the variable
	// holds.
	for {
		switch x := ast.Unparen(e).(type) {
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.SelectorExpr:
			if v := w.global(x.Sel); v != nil {
				w.writes[w.name(v)] = true
				return
			}
			e = x.X
		case *ast.Ident:
			if v := w.global(x); v != nil {
				w.writes[w.name(v)] = true
			}
			return
		default:
			return
		}
	}
}

// global returns the package variable that an identifier uses, if any.
func (w *factWalk) global(id *ast.Ident) *types.Var {
	v, ok := w.scope.pkg.info.Uses[id].(*types.Var)
	if !ok || v.IsField() || v.Pkg() == nil || v.Parent() != v.Pkg().Scope() {
		return nil
	}
	return v
}

func (w *factWalk) name(obj types.Object) string {
	if obj.Pkg() == w.scope.pkg.Types {
		return obj.Name()
	}
	return obj.Pkg().Path() + "." + obj.Name()
}

// call notes a call of a function outside of the scope, and what builtins write. The scope's own
// functions are visited anyway.
func (w *factWalk) call(c *ast.CallExpr) {
	_, id := syntax.Called(c)
	if id == nil {
		return
	}
	switch obj := w.scope.pkg.info.Uses[id].(type) {
	// These builtins write into their first argument.
	case *types.Builtin:
		w.facts.CanPanic = w.facts.CanPanic || obj.Name() == "panic"
		if obj.Name() == "clear" || obj.Name() == "delete" || obj.Name() == "copy" {
			w.write(c.Args[0])
		}
	case *types.Func:
		if !slices.Contains(w.scope.pieces, w.scope.pkg.graph.owner[obj.Origin()]) {
			w.calls[obj.FullName()] = true
		}
	}
}

// commaOK marks the type assertions that cannot panic.
func commaOK(n ast.Node) map[ast.Node]bool {
	out := map[ast.Node]bool{}
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			// Two names for one value: the second says whether it is there.
			if len(n.Lhs) == 2 && len(n.Rhs) == 1 {
				out[ast.Unparen(n.Rhs[0])] = true
			}
		case *ast.ValueSpec:
			if len(n.Names) == 2 && len(n.Values) == 1 {
				out[ast.Unparen(n.Values[0])] = true
			}
		}
		return true
	})
	return out
}
