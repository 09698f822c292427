package facts

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/beagle-go/beagle/mutate"
)

// A Declaration is a statement that gives a new local variable its first value: `v := e`, `var v
// T`, `var v T = e`. Value is nil if there is none.
type Declaration struct {
	Stmt  ast.Stmt
	Spec  *ast.ValueSpec // the variable's part of a statement that declares others too, or nil
	Var   *types.Var
	Name  *ast.Ident
	Type  ast.Expr // as written, or nil
	Value ast.Expr
}

// Declares recognises a statement that declares one variable.
func Declares(p *mutate.Pass, s ast.Stmt) (d Declaration, ok bool) {
	d.Stmt = s
	// A short declaration and a var statement are the two forms.
	switch s := s.(type) {
	case *ast.AssignStmt:
		if s.Tok != token.DEFINE || len(s.Lhs) != 1 || len(s.Rhs) != 1 {
			return d, false
		}
		d.Name, _ = s.Lhs[0].(*ast.Ident)
		d.Value = ast.Unparen(s.Rhs[0])
	case *ast.DeclStmt:
		g := s.Decl.(*ast.GenDecl)
		if g.Tok != token.VAR || len(g.Specs) != 1 {
			return d, false
		}
		spec := g.Specs[0].(*ast.ValueSpec)
		if len(spec.Names) != 1 {
			return d, false
		}
		d.Name, d.Type = spec.Names[0], spec.Type
		if len(spec.Values) == 1 {
			d.Value = ast.Unparen(spec.Values[0])
		}
	}
	if d.Name == nil {
		return d, false
	}
	d.Var, _ = p.Info.Defs[d.Name].(*types.Var)
	return d, d.Var != nil
}

// Grouped returns the declarations of a `var ( ... )` of several parts, of those parts that declare
// one variable.
func Grouped(p *mutate.Pass, s ast.Stmt) []Declaration {
	ds, ok := s.(*ast.DeclStmt)
	if !ok {
		return nil
	}
	g := ds.Decl.(*ast.GenDecl)
	if g.Tok != token.VAR || len(g.Specs) < 2 {
		return nil
	}
	var out []Declaration
	// Parts that declare several variables at once have no single value.
	for _, spec := range g.Specs {
		spec := spec.(*ast.ValueSpec)
		v, _ := p.Info.Defs[spec.Names[0]].(*types.Var)
		if len(spec.Names) != 1 || v == nil {
			continue
		}
		d := Declaration{Stmt: s, Spec: spec, Var: v, Name: spec.Names[0], Type: spec.Type}
		if len(spec.Values) == 1 {
			d.Value = ast.Unparen(spec.Values[0])
		}
		out = append(out, d)
	}
	return out
}

// Declarations returns what a statement declares: its only variable, or those of its parts that
// declare one.
func Declarations(p *mutate.Pass, s ast.Stmt) []Declaration {
	if d, ok := Declares(p, s); ok {
		return []Declaration{d}
	}
	return Grouped(p, s)
}

// Dropped returns the call whose results a statement drops: the statement is the call, or gives the
// results to blank variables only. It returns nil for other statements.
func Dropped(s ast.Stmt) *ast.CallExpr {
	var e ast.Expr
	switch s := s.(type) {
	case *ast.ExprStmt:
		e = s.X
	case *ast.AssignStmt:
		kept := func(l ast.Expr) bool { id, ok := l.(*ast.Ident); return !ok || id.Name != "_" }
		if len(s.Rhs) == 1 && !slices.ContainsFunc(s.Lhs, kept) {
			e = s.Rhs[0]
		}
	}
	call, _ := ast.Unparen(e).(*ast.CallExpr)
	return call
}

// Declared holds the declarations of all variables that a statement in a list declares alone.
var Declared = &Fact[map[*types.Var]Declaration]{
	Name: "declared",
	Find: func(p *mutate.Pass) map[*types.Var]Declaration {
		out := map[*types.Var]Declaration{}
		for _, list := range p.Lists() {
			for _, s := range list {
				if d, ok := Declares(p, s); ok {
					out[d.Var] = d
				}
			}
		}
		return out
	},
}

// Captured holds the variables that a function literal uses without declaring them.
var Captured = &Fact[map[*types.Var]bool]{
	Name: "captured",
	Find: func(p *mutate.Pass) map[*types.Var]bool {
		out := map[*types.Var]bool{}
		for _, lit := range mutate.Nodes[*ast.FuncLit](p, nil) {
			for _, id := range mutate.Nodes[*ast.Ident](p, lit) {
				v, ok := p.Info.Uses[id].(*types.Var)
				if ok && !(lit.Pos() <= v.Pos() && v.Pos() < lit.End()) {
					out[v] = true
				}
			}
		}
		return out
	},
}

// Single holds the declarations of variables that keep their first value: no code assigns them, an
// element or a field of them, takes their address, or captures them.
var Single = &Fact[map[*types.Var]Declaration]{
	Name:     "single",
	Requires: []Named{Declared, Captured},
	Find: func(p *mutate.Pass) map[*types.Var]Declaration {
		captured := Captured.Of(p)
		out := map[*types.Var]Declaration{}
		for v, d := range Declared.Of(p) {
			if !captured[v] && !p.Assigned(v, p.FuncOf(d.Stmt)) {
				out[v] = d
			}
		}
		return out
	},
}

// OnlyNames returns the declaration of the variable that an identifier reads, if code may evaluate
// its value there instead: nothing else reads the variable, and until then the value stays the
// same. Each run of the declaration is read at most once. If the identifier is what a loop goes
// through, the loop may read elements.
func OnlyNames(p *mutate.Pass, id *ast.Ident, through *Loop) (d Declaration, ok bool) {
	v, isVar := p.Info.Uses[id].(*types.Var)
	if !isVar {
		return d, false
	}
	// Only a variable with one value can be looked through, and only after that value was given.
	d, ok = Single.Of(p)[v]
	if !ok || d.Value == nil || d.Type != nil || id.Pos() < d.Stmt.End() {
		return d, false
	}
	if through != nil && ast.Unparen(through.Seq) != ast.Expr(id) {
		through = nil
	}
	// Any other use needs the variable, but a loop's own reads of elements.
	for _, use := range p.Uses(v, p.File) {
		if use != id && !through.reads(use) {
			return d, false
		}
	}
	// The value must stay the same until it is used, and be used once for each time that it was
	// computed.
	between := codeBetween(p, d.Stmt, id)
	if between == nil || severalTimes(p, id, d.Stmt, through) || !Stable(p, d.Value, between) {
		return d, false
	}
	// Names in the value must mean the same at the place of use.
	for _, name := range mutate.Nodes[*ast.Ident](p, d.Value) {
		if obj := p.Info.Uses[name]; obj != nil && selected(p, name) == nil && !Means(p, id.Pos(), name.Name, obj) {
			return d, false
		}
	}
	return d, true
}

// selected returns the selector whose field or method a name is, or nil.
func selected(p *mutate.Pass, name *ast.Ident) *ast.SelectorExpr {
	if sel, ok := p.Parent(name).(*ast.SelectorExpr); ok && sel.Sel == name {
		return sel
	}
	return nil
}

// reads reports whether a name of the sequence stands in an element of the loop.
func (l *Loop) reads(seq *ast.Ident) bool {
	return l != nil && slices.ContainsFunc(l.Elems, func(e *ast.IndexExpr) bool { return e.X == ast.Expr(seq) })
}

// codeBetween returns what runs from the end of a statement until code reads n: the statements in
// its list up to the one that holds n, of which the head is enough where n stands there. It returns
// nil if no statement of the list holds n.
func codeBetween(p *mutate.Pass, s ast.Stmt, n ast.Expr) ast.Node {
	// Both must hang on one list of statements.
	list, at := p.Siblings(s)
	if at < 0 || list[at] != s {
		return nil
	}
	to := at + 1 + slices.IndexFunc(list[at+1:], func(s ast.Stmt) bool { return Inside(n, s) })
	if to == at {
		return nil
	}
	last := list[to]
	// If n is in the head of a statement with a body, only the head runs before n.
	switch s := last.(type) {
	case *ast.RangeStmt:
		if Inside(n, s.X) {
			last = &ast.ExprStmt{X: s.X}
		}
	case *ast.IfStmt:
		if s.Init == nil && Inside(n, s.Cond) {
			last = &ast.ExprStmt{X: s.Cond}
		}
	}
	code := append(slices.Clone(list[at+1:to]), last)
	return &ast.BlockStmt{Lbrace: s.End(), List: code, Rbrace: last.End() - 1}
}

// severalTimes reports whether a loop or a function literal holds n but not a declaration, or a
// goto leads to a place between them, so that n may run several times for it. The sequence of a
// loop counts as evaluated once.
func severalTimes(p *mutate.Pass, n ast.Node, declaration ast.Stmt, through *Loop) bool {
	for _, l := range mutate.Nodes[*ast.LabeledStmt](p, p.FuncOf(declaration)) {
		if declaration.End() <= l.Pos() && l.Pos() <= n.Pos() && JumpedTo(p, l) {
			return true
		}
	}
	// Climb from n to the declaration, and look for what repeats.
	for child := n; ; {
		up := p.Parent(child)
		if up == nil || Inside(declaration, up) {
			return false
		}
		switch up := up.(type) {
		case *ast.RangeStmt:
			if up.X != child {
				return true
			}
		case *ast.ForStmt:
			if up.Init != child && (through == nil || through.Stmt != ast.Stmt(up)) {
				return true
			}
		case *ast.FuncLit:
			return true
		}
		child = up
	}
}

// JumpedTo reports whether a goto leads to a label, so that what stands in front of it runs less
// often than what stands behind it.
func JumpedTo(p *mutate.Pass, l *ast.LabeledStmt) bool {
	for _, b := range mutate.Nodes[*ast.BranchStmt](p, p.FuncOf(l)) {
		if b.Tok == token.GOTO && b.Label.Name == l.Label.Name {
			return true
		}
	}
	return false
}

// HasGoto reports whether a function has a goto, so that code in front of a statement may run after
// it.
func HasGoto(p *mutate.Pass, fn *ast.FuncDecl) bool {
	for _, b := range mutate.Nodes[*ast.BranchStmt](p, fn) {
		if b.Tok == token.GOTO {
			return true
		}
	}
	return false
}

// IsLocal reports whether a function declares v. Parameters count.
//
//go:noinline
func IsLocal(p *mutate.Pass, v *types.Var) bool {
	return v != nil && !v.IsField() && !p.IsGlobal(v) && v.Pkg() == p.Pkg
}

// Inside reports whether n lies within m.
func Inside(n, m ast.Node) bool { return m.Pos() <= n.Pos() && n.End() <= m.End() }

// UsedAfter reports whether a function uses v after a position.
func UsedAfter(p *mutate.Pass, v *types.Var, f ast.Node, pos token.Pos) bool {
	return slices.ContainsFunc(p.Uses(v, f), func(id *ast.Ident) bool { return id.Pos() >= pos })
}

// Hoistable returns the statement in front of which code may evaluate e in advance. e must be
// pure, and the statement must evaluate it exactly once, as far as control reaches it. Nothing that
// the statement evaluates before e may change what e reads.
func Hoistable(p *mutate.Pass, e ast.Expr) (ast.Stmt, bool) {
	s, ok := evaluatesOnce(p, e)
	if !ok || !inOrder(p, e, s) {
		return nil, false
	}
	return s, true
}

// inOrder reports whether e has the same value in front of a statement as within it: no call that
// may run before e changes memory that e reads. Go leaves open whether variables are read before or
// after a call behind them, so only an e that is a call itself is sure to come before that.
func inOrder(p *mutate.Pass, e ast.Expr, s ast.Stmt) bool {
	shared := p.Effects(e).Reads
	for _, id := range mutate.Nodes[*ast.Ident](p, e) {
		v, ok := p.Info.Uses[id].(*types.Var)
		shared = shared || ok && (Captured.Of(p)[v] && p.Assigned(v, p.FuncOf(s)) || Pointed(p, v))
	}
	if !shared {
		return true
	}
	_, call := ast.Unparen(e).(*ast.CallExpr)
	ok := true
	ast.Inspect(s, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.BlockStmt, *ast.FuncLit:
			return false
		case *ast.CallExpr, *ast.UnaryExpr:
			around, behind := Inside(e, n), call && n.Pos() >= e.End()
			ok = ok && (around || behind || !p.Effects(n).Writes || formatsPlain(p, n))
		}
		return ok && n != ast.Node(e)
	})
	return ok
}

// formatsPlain reports whether a call has package fmt make a text of numbers and texts, which runs
// no other code.
func formatsPlain(p *mutate.Pass, n ast.Node) bool {
	call, ok := p.IsCall(n, "fmt", "Sprint", "Sprintf", "Sprintln")
	return ok && !slices.ContainsFunc(call.Args, func(e ast.Expr) bool {
		t := p.Info.TypeOf(e)
		return !IsBasic(t) || types.NewMethodSet(t).Len() > 0 || p.Effects(e).Writes
	})
}

// evaluatesOnce returns the statement in a list that evaluates e, if it does so exactly once each
// time that control comes there.
func evaluatesOnce(p *mutate.Pass, e ast.Expr) (ast.Stmt, bool) {
	var child ast.Node = e
	// Climb from the expression to its statement, which must always evaluate it, and before all
	// else that matters.
	path := p.Path(e)
	for i, up := range path {
		if up == child || i == 0 && up.Pos() == e.Pos() && up.End() == e.End() {
			continue
		}
		switch up := up.(type) {
		case *ast.BinaryExpr:
			// The right side of a connection may not be evaluated.
			if (up.Op == token.LAND || up.Op == token.LOR) && up.Y == child {
				return nil, false
			}
		// An else branch is evaluated later, and after an init statement the condition is, too.
		case *ast.IfStmt:
			if up.Else == child || up.Init != nil && up.Init != child {
				return nil, false
			}
		case *ast.SwitchStmt:
			if up.Init != nil && up.Init != child {
				return nil, false
			}
		case *ast.RangeStmt:
			if up.X != child {
				return nil, false
			}
		case *ast.LabeledStmt:
			if JumpedTo(p, up) {
				return nil, false
			}
		case *ast.ForStmt, *ast.TypeSwitchStmt, *ast.CommClause, *ast.FuncLit, *ast.FuncDecl, *ast.GenDecl:
			return nil, false
		}
		// A statement of a list has room in front of it.
		if s, ok := child.(ast.Stmt); ok {
			switch up := up.(type) {
			case *ast.BlockStmt:
				return s, true
			case *ast.CaseClause:
				return s, slices.Contains(up.Body, s)
			}
		}
		// The expressions of a case are evaluated one after the other, until one matches.
		if c, ok := up.(*ast.CaseClause); ok {
			if s, is := child.(ast.Stmt); !is || !slices.Contains(c.Body, s) {
				return nil, false
			}
		}
		child = up
	}
	return nil, false
}
