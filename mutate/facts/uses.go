package facts

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
)

// This file says how code uses a variable or a name.

// InLiteral reports whether n stands in a function literal inside a loop.
func InLiteral(p *mutate.Pass, n, loop ast.Node) bool {
	for _, up := range p.Path(n) {
		if _, ok := up.(*ast.FuncLit); ok {
			return true
		}
		if up == loop {
			return false
		}
	}
	return false
}

// RootVar returns c for c.mu.Unlock.
func RootVar(p *mutate.Pass, e ast.Expr) *types.Var {
	for {
		sel, ok := ast.Unparen(e).(*ast.SelectorExpr)
		if !ok {
			return p.Var(e)
		}
		e = sel.X
	}
}

// DeclaresName reports whether a block declares a name.
func DeclaresName(p *mutate.Pass, body ast.Node, name string) bool {
	for _, id := range mutate.Nodes[*ast.Ident](p, body) {
		if id.Name == name && p.Info.Defs[id] != nil {
			return true
		}
	}
	return false
}

// AddressTaken reports whether n takes the address of v or of a part of it.
func AddressTaken(p *mutate.Pass, v *types.Var, n ast.Node) bool {
	return slices.ContainsFunc(p.Uses(v, n), func(id *ast.Ident) bool { return AddressTaking(p, id) != nil })
}

// DereferencedBefore reports whether the loop's head, or a statement in front of the loop,
// certainly reads a field of base before the first iteration, and before the head changes anything.
func DereferencedBefore(p *mutate.Pass, base *types.Var, loop ast.Stmt) bool {
	// The head of the loop is evaluated at least once before the first iteration. In a for loop
	// these are the init statement and the condition.
	var head []ast.Node
	switch s := loop.(type) {
	case *ast.RangeStmt:
		// The length of an array is known without a look at it.
		_, array := syntax.Pointee(p.Info.TypeOf(s.X)).Underlying().(*types.Array)
		if !array || !syntax.IsBlank(s.Value) {
			head = append(head, s.X)
		}
	case *ast.ForStmt:
		if s.Init != nil {
			head = append(head, s.Init)
		}
		if s.Cond != nil {
			head = append(head, s.Cond)
		}
	}
	for _, part := range head {
		if p.Effects(part).Writes {
			break // it comes before the read, and would be lost if base is nil
		}
		if Dereferences(p, base, part) {
			return true
		}
	}
	// So is a plain statement of the list in front of the loop.
	return DereferencedInFront(p, base, loop)
}

// DereferencedInFront reports whether a statement of the same list in front of another one
// certainly reads a field of base, which still has its value.
func DereferencedInFront(p *mutate.Pass, base *types.Var, s ast.Stmt) bool {
	list, i := p.Siblings(s)
	if Pointed(p, base) || p.IsGlobal(base) || Captured.Of(p)[base] && p.Assigned(base, p.File) {
		return false // it may point elsewhere by now
	}
	if fn := p.FuncOf(s); fn == nil || HasGoto(p, fn) {
		return false // control may come by another way
	}
	for _, s := range slices.Backward(list[:max(i, 0)]) {
		if slices.ContainsFunc(p.Uses(base, s), func(id *ast.Ident) bool { return IsAssigned(p, id) }) {
			return false
		}
		switch s.(type) {
		case *ast.AssignStmt, *ast.ExprStmt, *ast.IncDecStmt:
			if Dereferences(p, base, s) {
				return true
			}
		}
	}
	return false
}

// Dereferences reports whether evaluating n certainly reads a field through base: not after && or
// ||, and not in a function literal.
func Dereferences(p *mutate.Pass, base *types.Var, n ast.Node) bool {
	found := false
	ast.Inspect(n, func(m ast.Node) bool {
		if e, ok := m.(ast.Expr); ok && p.Info.Types[e].Value != nil {
			return false // a constant, such as the length of an array, is not evaluated
		}
		switch m := m.(type) {
		case *ast.FuncLit:
			return false
		case *ast.BinaryExpr:
			// The right side of && and || may not run.
			if m.Op == token.LAND || m.Op == token.LOR {
				found = found || Dereferences(p, base, m.X)
				return false
			}
		case *ast.SelectorExpr:
			s := p.Info.Selections[m]
			found = found || s != nil && s.Kind() == types.FieldVal && p.Var(m.X) == base
		}
		return true
	})
	return found
}

// MayBeSkipped reports whether s may run without evaluating e, as it does where e is a part of a
// constant such as the length of an array.
func MayBeSkipped(p *mutate.Pass, e ast.Expr, s ast.Stmt) bool {
	var child ast.Node = e
	for _, up := range p.Path(e) {
		// On the way up from e: if nothing skips it before s, it is evaluated.
		if up == ast.Node(s) {
			return false
		}
		// The right side runs only if the left one decides so.
		if b, ok := up.(*ast.BinaryExpr); ok && (b.Op == token.LAND || b.Op == token.LOR) && b.Y == child {
			return true
		}
		if _, ok := up.(*ast.FuncLit); ok {
			return true
		}
		if whole, ok := up.(ast.Expr); ok && p.Info.Types[whole].Value != nil {
			return true
		}
		child = up
	}
	return true
}

// UsesNameOrLabel reports whether a function mentions a name, or holds a label.
func UsesNameOrLabel(p *mutate.Pass, fn *ast.FuncDecl, name string) bool {
	return UsesName(p, fn.Body, name) || HoldsLabel(p, fn.Body)
}

// UsesName reports whether code mentions a name, whatever it means there.
func UsesName(p *mutate.Pass, n ast.Node, name string) bool {
	for _, id := range mutate.Nodes[*ast.Ident](p, n) {
		if id.Name == name {
			return true
		}
	}
	return false
}

// ReadsOf lists the uses of v below root. It returns nil and false if one of them assigns, captures
// or takes the address of v.
func ReadsOf(p *mutate.Pass, v *types.Var, root ast.Node) ([]*ast.Ident, bool) {
	if p.Assigned(v, root) || Captured.Of(p)[v] {
		return nil, false
	}
	return p.Uses(v, root), true
}

// AssignedTo reports whether e is the target of an assignment, or code takes its address.
func AssignedTo(p *mutate.Pass, e ast.Expr) bool {
	u, ok := p.Parent(e).(*ast.UnaryExpr)
	return IsTarget(p, e) || ok && u.Op == token.AND
}

// IsTarget reports whether e is the target of an assignment.
func IsTarget(p *mutate.Pass, e ast.Expr) bool {
	// The expression itself must be on the left; in an index there it is only read.
	switch up := p.Parent(e).(type) {
	case *ast.AssignStmt:
		return slices.ContainsFunc(up.Lhs, func(l ast.Expr) bool { return ast.Unparen(l) == e })
	case *ast.IncDecStmt:
		return true
	}
	return false
}

// IsRedefined reports whether the name of a builtin means something else in the package, or in the
// function around n.
func IsRedefined(p *mutate.Pass, n ast.Node, name string) bool {
	if p.Pkg.Scope().Lookup(name) != nil {
		return true
	}
	for _, id := range mutate.Nodes[*ast.Ident](p, p.FuncOf(n)) {
		if id.Name == name && p.Info.Defs[id] != nil {
			return true
		}
	}
	return false
}

// RedefinesAny is redefined for several names.
func RedefinesAny(p *mutate.Pass, n ast.Node, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return IsRedefined(p, n, name) })
}

// CanDeclare reports whether a variable may be declared at s: in a function, where no goto could
// jump over it.
func CanDeclare(p *mutate.Pass, s ast.Stmt) bool {
	fn := p.FuncOf(s)
	return fn != nil && !HasGoto(p, fn)
}

// UsesOwn reports whether n mentions anything that loop declares outside n.
func UsesOwn(p *mutate.Pass, n, loop ast.Node) bool {
	for _, id := range mutate.Nodes[*ast.Ident](p, n) {
		obj := p.Info.Uses[id]
		if obj == nil || obj.Pkg() != p.Pkg {
			continue
		}
		// A field's name has no scope.
		if _, isField := obj.(*types.Var); isField && obj.(*types.Var).IsField() {
			continue
		}
		within := loop.Pos() <= obj.Pos() && obj.Pos() < loop.End()
		own := n.Pos() <= obj.Pos() && obj.Pos() < n.End()
		if within && !own {
			return true
		}
	}
	return false
}

// NamesLocal reports whether an expression names a constant or a type that a function declares:
// code outside of the function would not see it, or would see another of that name.
func NamesLocal(p *mutate.Pass, e ast.Expr) bool {
	for _, id := range mutate.Nodes[*ast.Ident](p, e) {
		switch obj := p.Info.Uses[id].(type) {
		case *types.Const, *types.TypeName:
			if obj.Parent() != types.Universe && obj.Pkg() != nil && obj.Parent() != obj.Pkg().Scope() {
				return true
			}
		}
	}
	return false
}

// StoresElementsOnly reports whether code uses a list for its elements alone, and takes the address
// of none.
func StoresElementsOnly(p *mutate.Pass, v *types.Var, s ast.Node) bool {
	for _, id := range p.Uses(v, s) {
		// The list as a whole must not be read: the cut is another list.
		ix, ok := p.Parent(id).(*ast.IndexExpr)
		if !ok || ix.X != ast.Expr(id) {
			return false
		}
		if u, ok := p.Parent(ix).(*ast.UnaryExpr); ok && u.Op == token.AND {
			return false
		}
	}
	return true
}

// IsMapRead reports whether ix reads a map with string keys. A store has to make the string in any
// case.
func IsMapRead(p *mutate.Pass, ix *ast.IndexExpr) bool {
	t := p.Info.TypeOf(ix.X)
	if t == nil {
		return false
	}
	m, ok := t.Underlying().(*types.Map)
	return ok && syntax.IsPredeclared(m.Key(), types.String) && !AssignedTo(p, ix)
}

// IsAssigned reports whether an identifier stands on the left of an assignment, perhaps :=, or a
// loop sets it.
func IsAssigned(p *mutate.Pass, id *ast.Ident) bool {
	switch up := p.Parent(id).(type) {
	case *ast.AssignStmt:
		return slices.ContainsFunc(up.Lhs, func(l ast.Expr) bool { return ast.Unparen(l) == ast.Expr(id) })
	case *ast.RangeStmt:
		return up.Key == ast.Expr(id) || up.Value == ast.Expr(id)
	}
	return false
}

// MayRecover reports whether a function defers code that may recover from a panic: anything but a
// function or method of another package.
func MayRecover(p *mutate.Pass, body ast.Node) bool {
	for _, d := range mutate.Nodes[*ast.DeferStmt](p, body) {
		if fn, ok := p.Callee(d.Call).(*types.Func); !ok || fn.Pkg() == nil || fn.Pkg() == p.Pkg {
			return true
		}
	}
	return false
}
