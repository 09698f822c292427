package rules

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// This file says how code uses a variable or a name.

// inLiteral reports whether n stands in a function literal inside a loop.
func inLiteral(p *mutate.Pass, n, loop ast.Node) bool {
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

// outermostOnly drops edits that lie within another edit, such as x within (x).
func outermostOnly(edits []mutate.Edit) []mutate.Edit {
	var out []mutate.Edit
	for i, e := range edits {
		covered := slices.ContainsFunc(edits[:i], func(o mutate.Edit) bool {
			return o.Start <= e.Start && e.End <= o.End && o.Start < o.End
		})
		if !covered {
			out = append(out, e)
		}
	}
	return out
}

// rootVar returns c for c.mu.Unlock.
func rootVar(p *mutate.Pass, e ast.Expr) *types.Var {
	for {
		sel, ok := ast.Unparen(e).(*ast.SelectorExpr)
		if !ok {
			return p.Var(e)
		}
		e = sel.X
	}
}

// declaredIn reports whether a block declares a name.
func declaredIn(p *mutate.Pass, body ast.Node, name string) bool {
	for id := range mutate.Nodes[*ast.Ident](p, body) {
		if id.Name == name && p.Info.Defs[id] != nil {
			return true
		}
	}
	return false
}

// addressTaken reports whether n takes the address of v or of a part of it.
func addressTaken(p *mutate.Pass, v *types.Var, n ast.Node) bool {
	return slices.ContainsFunc(p.Uses(v, n), func(id *ast.Ident) bool { return facts.AddressTaking(p, id) != nil })
}

// dereferencedBefore reports whether the loop's head, or a statement in front of the loop,
// certainly reads a field of base before the first iteration.
func dereferencedBefore(p *mutate.Pass, base *types.Var, loop ast.Stmt) bool {
	// The head of the loop is evaluated at least once before the first iteration. In a for loop
	// without an init statement that is the condition.
	switch s := loop.(type) {
	case *ast.RangeStmt:
		// The length of an array is known without a look at it.
		_, array := syntax.Pointee(p.Info.TypeOf(s.X)).Underlying().(*types.Array)
		if dereferences(p, base, s.X) && !(array && isBlank(s.Value)) {
			return true
		}
	case *ast.ForStmt:
		if s.Init == nil && s.Cond != nil && dereferences(p, base, s.Cond) {
			return true
		}
		if s.Init != nil && s.Cond != nil && (dereferences(p, base, s.Init) || dereferences(p, base, s.Cond)) {
			return true
		}
	}
	// So is a plain statement of the list in front of the loop.
	list, i := p.Siblings(loop)
	if facts.Pointed(p, base) {
		return false // it may point elsewhere by now
	}
	for _, s := range slices.Backward(list[:max(i, 0)]) {
		if slices.ContainsFunc(p.Uses(base, s), func(id *ast.Ident) bool { return isAssigned(p, id) }) {
			return false
		}
		switch s.(type) {
		case *ast.AssignStmt, *ast.ExprStmt, *ast.IncDecStmt:
			if dereferences(p, base, s) {
				return true
			}
		}
	}
	return false
}

// dereferences reports whether evaluating n certainly reads a field through base: not after && or
// ||, and not in a function literal.
func dereferences(p *mutate.Pass, base *types.Var, n ast.Node) bool {
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
				found = found || dereferences(p, base, m.X)
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

// mayBeSkipped reports whether s may run without evaluating e, as it does where e is a part of a
// constant such as the length of an array.
func mayBeSkipped(p *mutate.Pass, e ast.Expr, s ast.Stmt) bool {
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

// usesNameOrLabel reports whether a function mentions a name, or holds a label.
func usesNameOrLabel(p *mutate.Pass, fn *ast.FuncDecl, name string) bool {
	return usesName(p, fn.Body, name) || holdsLabel(p, fn.Body)
}

// usesName reports whether code mentions a name, whatever it means there.
func usesName(p *mutate.Pass, n ast.Node, name string) bool {
	for id := range mutate.Nodes[*ast.Ident](p, n) {
		if id.Name == name {
			return true
		}
	}
	return false
}

// readsOf lists the uses of v below root. It returns nil and false if one of them assigns, captures
// or takes the address of v.
func readsOf(p *mutate.Pass, v *types.Var, root ast.Node) ([]*ast.Ident, bool) {
	if p.Assigned(v, root) || facts.Captured.Of(p)[v] {
		return nil, false
	}
	return p.Uses(v, root), true
}

// inFuncLit reports whether a node stands in a function literal.
func inFuncLit(p *mutate.Pass, n ast.Node) bool {
	_, in := enclosing[*ast.FuncLit](p, n)
	return in
}

// assignedTo reports whether e is the target of an assignment, or code takes its address.
func assignedTo(p *mutate.Pass, e ast.Expr) bool {
	// The expression itself must be on the left; in an index there it is only read.
	switch up := p.Parent(e).(type) {
	case *ast.AssignStmt:
		for _, l := range up.Lhs {
			if ast.Unparen(l) == e {
				return true
			}
		}
	case *ast.UnaryExpr:
		return up.Op == token.AND
	case *ast.IncDecStmt:
		return true
	}
	return false
}

// isRedefined reports whether the name of a builtin means something else in the package, or in the
// function around n.
func isRedefined(p *mutate.Pass, n ast.Node, name string) bool {
	if p.Pkg.Scope().Lookup(name) != nil {
		return true
	}
	for id := range mutate.Nodes[*ast.Ident](p, p.FuncOf(n)) {
		if id.Name == name && p.Info.Defs[id] != nil {
			return true
		}
	}
	return false
}

// redefinesAny is redefined for several names.
func redefinesAny(p *mutate.Pass, n ast.Node, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return isRedefined(p, n, name) })
}

// canDeclare reports whether a variable may be declared at s: in a function, where no goto could
// jump over it.
func canDeclare(p *mutate.Pass, s ast.Stmt) bool {
	fn := p.FuncOf(s)
	return fn != nil && !facts.HasGoto(p, fn)
}

// isUnnamed reports whether no code can mention a parameter or a result.
func isUnnamed(v *types.Var) bool { return v.Name() == "" || v.Name() == "_" }

// usesOwn reports whether n mentions anything that loop declares outside n.
func usesOwn(p *mutate.Pass, n, loop ast.Node) bool {
	for id := range mutate.Nodes[*ast.Ident](p, n) {
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

// namesLocal reports whether an expression names a constant or a type that a function declares:
// code outside of the function would not see it, or would see another of that name.
func namesLocal(p *mutate.Pass, e ast.Expr) bool {
	for id := range mutate.Nodes[*ast.Ident](p, e) {
		switch obj := p.Info.Uses[id].(type) {
		case *types.Const, *types.TypeName:
			if obj.Parent() != types.Universe && obj.Pkg() != nil && obj.Parent() != obj.Pkg().Scope() {
				return true
			}
		}
	}
	return false
}

// localNames returns all names that fn declares.
func localNames(p *mutate.Pass, fn *ast.FuncDecl) map[string]bool {
	out := map[string]bool{}
	for id := range mutate.Nodes[*ast.Ident](p, fn) {
		if p.Info.Defs[id] != nil && id != fn.Name {
			out[id.Name] = true
		}
	}
	return out
}

// freeNamesHidden reports whether a package-level name in fn means something else at the call.
func freeNamesHidden(p *mutate.Pass, fn *ast.FuncDecl, at ast.Node) bool {
	for id := range mutate.Nodes[*ast.Ident](p, fn.Body) {
		obj := p.Info.Uses[id]
		// The declarations of fn move with it.
		if obj == nil || fn.Pos() <= obj.Pos() && obj.Pos() < fn.End() {
			continue
		}
		if v, ok := obj.(*types.Var); ok && v.IsField() {
			continue
		}
		// Any local name of the function at the call may hide it there.
		sel, ok := p.Parent(id).(*ast.SelectorExpr)
		if !(ok && sel.Sel == id) && !facts.Means(p, at.Pos(), id.Name, obj) {
			return true
		}
		for other := range mutate.Nodes[*ast.Ident](p, p.FuncOf(at)) {
			if d := p.Info.Defs[other]; d != nil && other.Name == id.Name && d.Parent() != p.Pkg.Scope() {
				return true
			}
		}
	}
	return false
}

// storesElementsOnly reports whether code uses a list for its elements alone, and takes the address
// of none.
func storesElementsOnly(p *mutate.Pass, v *types.Var, s ast.Node) bool {
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

// isMapRead reports whether ix reads a map with string keys. A store has to make the string in any
// case.
func isMapRead(p *mutate.Pass, ix *ast.IndexExpr) bool {
	t := p.Info.TypeOf(ix.X)
	if t == nil {
		return false
	}
	m, ok := t.Underlying().(*types.Map)
	return ok && isBasicType(m.Key(), types.String) && !assignedTo(p, ix)
}

// mayRecover reports whether a function defers code that may recover from a panic: anything but a
// function or method of another package.
func mayRecover(p *mutate.Pass, body ast.Node) bool {
	for d := range mutate.Nodes[*ast.DeferStmt](p, body) {
		if fn, ok := p.Callee(d.Call).(*types.Func); !ok || fn.Pkg() == nil || fn.Pkg() == p.Pkg {
			return true
		}
	}
	return false
}
