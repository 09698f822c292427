package facts

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/beagle-go/beagle/mutate"
)

// Effects says what a piece of code may do besides yielding a value. It is computed once a node.
func Effects(p *mutate.Pass, n ast.Node) mutate.Effects {
	return p.Once(effectsOf{n}, func() any { return p.Effects(n) }).(mutate.Effects)
}

type effectsOf struct{ n ast.Node }

// Stable reports whether e has the same value wherever root evaluates it: it is pure, and root
// changes none of its parts.
func Stable(p *mutate.Pass, e ast.Expr, root ast.Node) bool {
	f := p.Effects(e)
	return !f.Panics && Steady(p, e, root)
}

// Steady is Stable for an expression that may panic: root runs it in any case, or the rule's class
// allows an earlier panic.
func Steady(p *mutate.Pass, e ast.Expr, root ast.Node) bool {
	f := p.Effects(e)
	if f.Writes {
		return false
	}
	for id := range mutate.Nodes[*ast.Ident](p, e) {
		v, ok := p.Info.Uses[id].(*types.Var)
		if !ok || v.IsField() {
			continue
		}
		if root.Pos() <= v.Pos() && v.Pos() < root.End() && !(e.Pos() <= v.Pos() && v.Pos() < e.End()) {
			return false // root declares it
		}
		if !p.IsGlobal(v) && (p.Assigned(v, root) || Captured.Of(p)[v] && p.Assigned(v, p.FuncOf(root))) {
			return false
		}
	}
	return !f.Reads || !changesMemory(p, root, !readsMap(p, e))
}

// readsMap reports whether an expression may read an element of a map.
func readsMap(p *mutate.Pass, e ast.Expr) bool {
	for n := range mutate.Nodes[ast.Expr](p, e) {
		switch n := n.(type) {
		case *ast.CallExpr:
			return true
		case *ast.IndexExpr:
			if t := p.Info.TypeOf(n.X); t == nil || isMap(t) {
				return true
			}
		}
	}
	return false
}

func isMap(t types.Type) bool {
	_, ok := t.Underlying().(*types.Map)
	return ok
}

// ChangesMemory reports whether n may change memory other than plain local variables.
func ChangesMemory(p *mutate.Pass, n ast.Node) bool { return changesMemory(p, n, false) }

// changesMemory leaves out assignments to elements of maps if it may: no pointer reaches these.
func changesMemory(p *mutate.Pass, n ast.Node, notMaps bool) bool {
	changes := false
	assigns := func(l ast.Expr) {
		if ix, ok := ast.Unparen(l).(*ast.IndexExpr); ok && notMaps && isMap(p.Info.TypeOf(ix.X)) {
			return
		}
		changes = changes || !PlainLocal(p, l)
	}
	ast.Inspect(n, func(m ast.Node) bool {
		switch m := m.(type) {
		case *ast.AssignStmt:
			for _, l := range m.Lhs {
				assigns(l)
			}
		case *ast.IncDecStmt:
			assigns(m.X)
		case *ast.CallExpr:
			changes = changes || CallChanges(p, m)
		case *ast.SendStmt, *ast.GoStmt, *ast.DeferStmt, *ast.SelectStmt:
			changes = true
		case *ast.UnaryExpr:
			changes = changes || m.Op == token.ARROW
		}
		return !changes
	})
	return changes
}

// PlainLocal reports whether e names a local variable, or is blank.
func PlainLocal(p *mutate.Pass, e ast.Expr) bool {
	id, ok := ast.Unparen(e).(*ast.Ident)
	// A type switch's variable has no object of its own.
	return ok && (id.Name == "_" || p.Info.ObjectOf(id) == nil || IsLocal(p, p.Var(id)))
}

// CallChanges reports whether a call may change memory. append counts as a change, since it writes
// behind the length of its argument.
func CallChanges(p *mutate.Pass, call *ast.CallExpr) bool {
	if p.Info.Types[call.Fun].IsType() {
		return false
	}
	switch obj := p.Callee(call).(type) {
	case *types.Builtin:
		return slices.Contains([]string{"append", "copy", "clear", "delete", "close", "print", "println", "panic",
			"recover"}, obj.Name())
	case *types.Func:
		return p.Effects(call).Writes
	}
	return true
}

// Leaves reports whether one of the statements may leave the list: by return, goto, or a break or
// continue for a loop around it.
func Leaves(p *mutate.Pass, list []ast.Stmt) bool {
	return slices.ContainsFunc(list, func(s ast.Stmt) bool { return Effects(p, s).Jumps })
}

// Reached holds the target, the functions that it names, the functions that these name, and so on.
// Other functions, such as one that fills a table at the program's start, take no time of the
// target.
var Reached = &Fact[map[*ast.FuncDecl]bool]{
	Name: "reached",
	Find: func(p *mutate.Pass) map[*ast.FuncDecl]bool {
		seen := map[*ast.FuncDecl]bool{}
		var visit func(d *ast.FuncDecl)
		visit = func(d *ast.FuncDecl) {
			if d == nil || seen[d] {
				return
			}
			seen[d] = true
			for id := range mutate.Nodes[*ast.Ident](p, d) {
				if obj := p.Info.Uses[id]; obj != nil {
					visit(p.Decl(obj))
				}
			}
		}
		visit(p.Func)
		return seen
	},
}

// MapKept reports whether nothing in code can change a map that an expression names. The code may
// assign plain variables and elements of other kinds, and make calls without effects.
func MapKept(p *mutate.Pass, m ast.Expr, code ast.Node) bool {
	if code == nil {
		return true
	}
	if v := p.Var(m); v != nil && p.Assigned(v, code) || v == nil && !Stable(p, m, code) {
		return false
	}
	kept := true
	stores := func(l ast.Expr) {
		switch l := ast.Unparen(l).(type) {
		case *ast.Ident:
			kept = kept && PlainLocal(p, l)
		case *ast.IndexExpr:
			_, isMap := p.Info.TypeOf(l.X).Underlying().(*types.Map)
			_, basic := p.Info.TypeOf(l).Underlying().(*types.Basic)
			kept = kept && !isMap && basic
		default:
			kept = false
		}
	}
	ast.Inspect(code, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				stores(l)
			}
		case *ast.IncDecStmt:
			stores(n.X)
		case *ast.CallExpr:
			if _, grows := p.IsBuiltin(n, "append"); !grows && CallChanges(p, n) {
				kept = false
			}
		case *ast.GoStmt, *ast.DeferStmt, *ast.SendStmt, *ast.SelectStmt:
			kept = false
		}
		return kept
	})
	return kept
}
