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
	return !f.Reads || !ChangesMemory(p, root)
}

// ChangesMemory reports whether n may change memory other than plain local variables.
func ChangesMemory(p *mutate.Pass, n ast.Node) bool {
	changes := false
	ast.Inspect(n, func(m ast.Node) bool {
		switch m := m.(type) {
		case *ast.AssignStmt:
			for _, l := range m.Lhs {
				changes = changes || !PlainLocal(p, l)
			}
		case *ast.IncDecStmt:
			changes = changes || !PlainLocal(p, m.X)
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
// Other functions, such as one that fills a table at the program's start, take no time of the target.
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
