package rules

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// This file says for position-set whether a loop leaves a list unchanged, and whether a name means
// the list.

// handedOn reports whether the loop may change elements of the list, through a call or a pointer
// into it.
//
//	n += len(list) + list[0].size    // only reads
//	sort(list); first := &list[0]    // may change elements, now or later
func handedOn(p *mutate.Pass, seq *types.Var, loop *ast.RangeStmt) bool {
	// The loop may read elements and the length. A slice of the list, a call that takes it or an
	// address of an element could write later.
	for _, id := range p.Uses(seq, loop.Body) {
		switch up := p.Parent(id).(type) {
		case *ast.IndexExpr:
			if addr, ok := p.Parent(up).(*ast.UnaryExpr); ok && addr.Op == token.AND {
				return true
			}
		case *ast.CallExpr:
			if p.LenOf(up) != seq {
				return true
			}
		default:
			return true
		}
	}
	// A call that writes may reach the list by another name; an append to another list may not.
	for call := range mutate.Nodes[*ast.CallExpr](p, loop.Body) {
		if p.Effects(call).Writes && !appendsElsewhere(p, call) {
			return true // to memory that may belong to the list
		}
	}
	// Each assignment must have a target that is certainly not in the list. A range over a function
	// runs code that the body does not show.
	for st := range mutate.Nodes[ast.Stmt](p, loop.Body) {
		for _, target := range targets(st) {
			if !elsewhere(p, target, loop) {
				return true // through a pointer or another slice
			}
		}
		if r, ok := st.(*ast.RangeStmt); ok {
			if _, calls := p.Info.TypeOf(r.X).Underlying().(*types.Signature); calls {
				return true
			}
		}
	}
	return false
}

// targets returns the expressions that a statement assigns.
func targets(st ast.Stmt) []ast.Expr {
	switch st := st.(type) {
	case *ast.IncDecStmt:
		return []ast.Expr{st.X}
	case *ast.AssignStmt:
		return st.Lhs
	case *ast.RangeStmt:
		var out []ast.Expr
		for _, e := range []ast.Expr{st.Key, st.Value} {
			if e != nil {
				out = append(out, e)
			}
		}
		return out
	}
	return nil
}

// elsewhere reports whether an assignment cannot change an element of a list. Its target is an
// entry of a map, or a variable, unless the variable holds an array that the list may be part of.
func elsewhere(p *mutate.Pass, target ast.Expr, loop *ast.RangeStmt) bool {
	target = ast.Unparen(target)
	if ix, ok := target.(*ast.IndexExpr); ok {
		_, isMap := p.Info.TypeOf(ix.X).Underlying().(*types.Map)
		return isMap
	}
	if _, plain := target.(*ast.Ident); !plain {
		return false
	}
	v := p.Var(target)
	return v == nil || loop.Body.Pos() <= v.Pos() && v.Pos() < loop.Body.End() || !holdsArray(v.Type())
}

func holdsArray(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Array:
		return true
	case *types.Struct:
		for f := range u.Fields() {
			if holdsArray(f.Type()) {
				return true
			}
		}
	}
	return false
}

// appendsElsewhere reports whether a call appends to a slice that cannot share the list's memory: a
// variable that only ever holds memory made for it.
func appendsElsewhere(p *mutate.Pass, call *ast.CallExpr) bool {
	if _, ok := p.IsBuiltin(call, "append"); !ok {
		return false
	}
	// Memory that was made for the variable alone cannot be the list's.
	to := p.Var(call.Args[0])
	if !facts.IsLocal(p, to) || facts.Captured.Of(p)[to] || !startsFresh(p, to) {
		return false
	}
	for _, id := range p.Uses(to, p.File) {
		if !keepsFresh(p, to, id) {
			return false
		}
	}
	return true
}

// startsFresh reports whether a statement declares a slice without memory or with its own.
func startsFresh(p *mutate.Pass, v *types.Var) bool {
	for list, i := range statements(p) {
		if d, ok := facts.Declares(p, list[i]); ok && d.Var == v {
			return d.Value == nil || isFresh(p, d.Value)
		}
	}
	return false
}

func isFresh(p *mutate.Pass, e ast.Expr) bool {
	_, made := p.IsBuiltin(e, "make")
	_, literal := ast.Unparen(e).(*ast.CompositeLit)
	return made || literal
}

// keepsFresh reports whether a use of a slice neither gives it other memory, nor gives its memory
// to another slice.
func keepsFresh(p *mutate.Pass, v *types.Var, id *ast.Ident) bool {
	switch up := p.Parent(id).(type) {
	// An append to itself may move the slice, but never into another one's memory.
	case *ast.CallExpr:
		if _, ok := p.IsBuiltin(up, "append"); ok && ast.Unparen(up.Args[0]) == ast.Expr(id) {
			st, _ := p.Parent(up).(ast.Stmt)
			to, _, ok := appends(p, st)
			return ok && to == v
		}
		_, isLen := p.IsBuiltin(up, "len")
		_, isCap := p.IsBuiltin(up, "cap")
		return isLen || isCap
	// An element is read or written in place.
	case *ast.IndexExpr:
		return ast.Unparen(up.X) == ast.Expr(id) && !p.Assigned(v, id)
	// A result leaves the function, and is not used by it any more.
	case *ast.ReturnStmt:
		return true
	case *ast.BinaryExpr:
		return true // a comparison with nil
	// An assignment must give it new memory, or its own.
	case *ast.AssignStmt:
		lhs, rhs, ok := assigned(up, token.ASSIGN)
		if !ok || ast.Unparen(lhs) != ast.Expr(id) {
			return false
		}
		_, _, again := appends(p, up)
		return again || isFresh(p, rhs)
	}
	return false
}

// names reports whether the names of variables, and of a key's type, mean the same at the question.
// A body may declare others of the same name.
func (s *positionSite) names(p *mutate.Pass) bool {
	vars := []types.Object{s.list, p.Var(s.loop.Key)}
	if s.loop.Value != nil && !isBlank(s.loop.Value) {
		vars = append(vars, p.Var(s.loop.Value))
	}
	// These names are written by the rewrite.
	for _, name := range []string{"uint64", "uint32", "uint16", "uint8", "true", "false", "nil"} {
		vars = append(vars, types.Universe.Lookup(name))
	}
	for _, obj := range vars {
		if !facts.Means(p, s.ask.Pos(), obj.Name(), obj) {
			return false
		}
	}
	return typeMeans(p, s.ask.Pos(), s.set.key) && typeMeans(p, s.set.decl.Stmt.Pos(), s.set.key)
}

// typeMeans reports whether a key's type, written at pos, is that type.
func typeMeans(p *mutate.Pass, pos token.Pos, t types.Type) bool {
	var obj types.Object
	// A struct type is written out, so all its fields must have the same meaning there. A named
	// type with arguments is refused, since its arguments would need the same check.
	switch t := t.(type) {
	case *types.Basic:
		return facts.Means(p, pos, t.Name(), types.Universe.Lookup(t.Name()))
	case *types.Struct:
		for f := range t.Fields() {
			if !typeMeans(p, pos, f.Type()) {
				return false
			}
		}
		return true
	case *types.Named:
		if t.TypeArgs().Len() > 0 {
			return false
		}
		obj = t.Obj()
	case *types.Alias:
		obj = t.Obj()
	default:
		return false
	}
	// A type of the package is found by its name at pos.
	if obj.Pkg() == p.Pkg {
		return facts.Means(p, pos, obj.Name(), obj)
	}
	// A type of another package needs that package's name at pos, and it must be an import of that
	// package.
	text, ok := facts.TypeText(p, t)
	pkg, _, qualified := strings.Cut(text, ".")
	scope := p.Pkg.Scope().Innermost(pos)
	if !ok || !qualified || scope == nil {
		return false
	}
	_, found := scope.LookupParent(pkg, pos)
	name, isPkg := found.(*types.PkgName)
	return isPkg && name.Imported() == obj.Pkg()
}
