package mutate

import (
	"go/ast"
	"go/token"
	"go/types"
	"iter"

	"github.com/beagle-go/beagle/internal/syntax"
)

// Effects lists the possible effects of a piece of code besides yielding a value. Every field errs
// on the side of true.
type Effects struct {
	Writes bool // changes memory from outside the piece, or has another effect that outside code sees
	Reads  bool // reads memory that a write elsewhere may change: globals, fields, elements, maps
	Panics bool // may panic: index, slice, division, nil, assertion, explicit panic
	Allocs bool // may allocate
	Jumps  bool // holds a return, or a break/continue/goto that leaves the piece
}

// Pure reports whether e may be evaluated once more, once less or elsewhere without a difference,
// as long as its operands keep their values. It writes nothing and cannot panic.
//
//go:noinline
func (p *Pass) Pure(e ast.Node) bool {
	f := p.Effects(e)
	return !f.Writes && !f.Panics
}

// Effects analyses a node, at the first question about it. A call of a function of the candidate
// file has the effects of that function and of all that it calls.
func (p *Pass) Effects(n ast.Node) Effects {
	return p.Once(effectsOf{n}, func() any { return p.EffectsGiven(n, nil) }).(Effects)
}

// EffectsGiven is [Pass.Effects] for code before which something else has read through pointers:
// held reports whether the pointer of a selector is known not to be nil; nil is for none.
func (p *Pass) EffectsGiven(n ast.Node, held func(*ast.SelectorExpr) bool) Effects {
	a := effectsVisitor{p: p, root: n, follow: addSummary, held: held}
	ast.Inspect(n, a.visit)
	return a.Effects
}

// effectsOf is the key of a node's effects in Once.
type effectsOf struct{ n ast.Node }

// An effectsVisitor adds up the effects of the nodes that it visits.
type effectsVisitor struct {
	Effects
	p      *Pass
	root   ast.Node                             // the piece: all below it is inside
	follow func(*effectsVisitor, *ast.FuncDecl) // handles a call of a function of the candidate file
	held   func(*ast.SelectorExpr) bool         // selectors whose pointer is not nil; nil for none
}

func (a *effectsVisitor) isInside(v *types.Var) bool {
	return v != nil && a.root.Pos() <= v.Pos() && v.Pos() < a.root.End()
}

// parameter reports whether v is a parameter of the analysed function, so that its memory belongs
// to the caller.
func (a *effectsVisitor) parameter(v *types.Var) bool {
	d, ok := a.root.(*ast.FuncDecl)
	return ok && d.Body != nil && v.Pos() < d.Body.Pos()
}

// visit adds the effects of a node itself. It returns false for a part without effects of its own.
func (a *effectsVisitor) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.AssignStmt:
		for _, l := range n.Lhs {
			a.write(l)
		}
		a.operation(n.Tok, n.Rhs[0])
	case *ast.IncDecStmt:
		a.write(n.X)
	case *ast.RangeStmt:
		a.ranges(n)
	case *ast.CaseClause:
		a.cases(n)
	// Goroutines and channels may do anything, except leave the piece.
	case *ast.SendStmt, *ast.GoStmt, *ast.DeferStmt, *ast.SelectStmt:
		a.Effects = Effects{true, true, true, true, a.Jumps}
	// Jumps.
	case *ast.ReturnStmt:
		a.Jumps = true
	case *ast.BranchStmt:
		a.branch(n)
	// Operators and parts of values: they read, panic or allocate.
	case *ast.UnaryExpr:
		a.Writes = a.Writes || n.Op == token.ARROW
		a.Allocs = a.Allocs || n.Op == token.AND
	case *ast.StarExpr:
		if !a.p.Info.Types[n].IsType() {
			a.Reads, a.Panics = true, true
		}
	case *ast.TypeAssertExpr:
		a.Panics = true
	case *ast.IndexExpr:
		a.index(n)
	case *ast.SliceExpr:
		a.slice(n)
	case *ast.BinaryExpr:
		a.binary(n)
	case *ast.SelectorExpr:
		a.selector(n)
	case *ast.Ident:
		if v, ok := a.p.Info.Uses[n].(*types.Var); ok && a.p.IsGlobal(v) && !a.p.NeverChanges(v) {
			a.Reads = true
		}
	case *ast.CompositeLit:
		a.Allocs = true
	// The body of a literal counts as if it ran here.
	case *ast.FuncLit:
		inner := effectsVisitor{p: a.p, root: a.root, follow: a.follow}
		ast.Inspect(n.Body, inner.visit)
		a.merge(inner.Effects) // returns inside a function literal end the literal only
		a.Allocs = true
		return false
	case *ast.CallExpr:
		a.call(n)
	}
	return true
}

func (a *effectsVisitor) write(l ast.Expr) {
	l = ast.Unparen(l)
	if id, ok := l.(*ast.Ident); ok {
		if id.Name != "_" && !a.isInside(a.p.Var(id)) {
			a.Writes = true
		}
		return
	}
	// An element of an array that was declared inside stays inside.
	if ix, ok := l.(*ast.IndexExpr); ok {
		if v := a.p.Var(ix.X); a.isInside(v) {
			if syntax.Is[*types.Array](v.Type()) {
				return
			}
		}
	}
	a.Writes = true
}

func (a *effectsVisitor) ranges(n *ast.RangeStmt) {
	for u := range Underlying(a.p.Info.TypeOf(n.X)) {
		switch u.(type) {
		case *types.Signature, *types.Chan:
			a.Effects = Effects{true, true, true, true, a.Jumps}
		case *types.Slice, *types.Map:
			a.Reads = a.Reads || !a.p.NeverChanges(a.p.Var(n.X))
		case *types.Pointer:
			a.Reads, a.Panics = true, a.Panics || n.Value != nil // it may be nil
		}
	}
	if n.Tok == token.ASSIGN {
		for _, e := range []ast.Expr{n.Key, n.Value} {
			if e != nil {
				a.write(e)
			}
		}
	}
}

// branch counts a break or continue as a jump if its loop or switch lies outside the piece.
func (a *effectsVisitor) branch(n *ast.BranchStmt) {
	if n.Tok == token.FALLTHROUGH {
		return
	}
	if n.Label != nil || n.Tok == token.GOTO {
		a.Jumps = true
		return
	}
	for _, up := range a.p.Path(n) {
		if up.Pos() < a.root.Pos() || up.End() > a.root.End() {
			break
		}
		switch up.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			return
		case *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
			if n.Tok == token.BREAK {
				return
			}
		}
	}
	a.Jumps = true
}

// index adds the effects of an index expression.
func (a *effectsVisitor) index(n *ast.IndexExpr) {
	tv := a.p.Info.Types[n.X]
	if tv.IsType() || tv.Type == nil {
		return
	}
	changes := !a.p.NeverChanges(a.p.Var(n.X))
	switch u := tv.Type.Underlying().(type) {
	case *types.Signature:
		return // an instantiation
	case *types.Array:
		a.Panics = a.Panics || !a.p.fits(n.Index, u.Len())
		if v := a.p.Var(n.X); v == nil || a.p.IsGlobal(v) && !a.p.NeverChanges(v) {
			a.Reads = true
		}
		return
	case *types.Map:
		a.Reads, a.Panics = a.Reads || changes, a.Panics || HoldsInterface(u.Key())
		return
	case *types.Basic:
		a.Panics = true
		return
	}
	a.Reads, a.Panics = a.Reads || changes, true
}

// fits reports whether an index expression is always within n.
func (p *Pass) fits(index ast.Expr, n int64) bool {
	if v, ok := p.Int(index); ok {
		return v >= 0 && v < n
	}
	switch p.Basic(index) {
	case types.Uint8:
		return n >= 1<<8
	case types.Uint16:
		return n >= 1<<16
	}
	return false
}

func (a *effectsVisitor) slice(n *ast.SliceExpr) {
	if syntax.Is[*types.Slice](a.p.Info.TypeOf(n.X)) && n.Low == nil && n.High == nil {
		return
	}
	a.Panics = true
}

// operation handles a division or a shift by y, in an expression or an assignment.
func (a *effectsVisitor) operation(op token.Token, y ast.Expr) {
	tv := a.p.Info.Types[y]
	if tv.Value != nil {
		return
	}
	switch op {
	case token.QUO, token.REM, token.QUO_ASSIGN, token.REM_ASSIGN:
		a.Panics = a.Panics || !isFraction(tv.Type)
	case token.SHL, token.SHR, token.SHL_ASSIGN, token.SHR_ASSIGN:
		a.Panics = a.Panics || !isUnsigned(tv.Type)
	}
}

// HoldsInterface reports whether comparing values of a type may compare the contents of interfaces.
// That panics if the contents are not comparable.
func HoldsInterface(t types.Type) bool {
	return holds(t, func(u types.Type) bool { _, ok := u.(*types.Interface); return ok })
}

// holds reports whether a value of a type, or a part inside it, has an underlying type of that
// kind.
func holds(t types.Type, kind func(types.Type) bool) bool {
	switch u := t.Underlying().(type) {
	case *types.Array:
		return holds(u.Elem(), kind)
	case *types.Struct:
		for f := range u.Fields() {
			if holds(f.Type(), kind) {
				return true
			}
		}
		return false
	default:
		return kind(u)
	}
}

// cases handles the comparisons of a switch. A comparison with a constant or with nil cannot panic.
func (a *effectsVisitor) cases(n *ast.CaseClause) {
	for _, e := range n.List {
		tv := a.p.Info.Types[e]
		a.Panics = a.Panics || tv.IsValue() && tv.Value == nil && !tv.IsNil() && HoldsInterface(tv.Type)
	}
}

func (a *effectsVisitor) binary(n *ast.BinaryExpr) {
	a.operation(n.Op, n.Y)
	switch n.Op {
	case token.ADD:
		if syntax.IsText(a.p.Info.TypeOf(n)) {
			a.Allocs = true
		}
	case token.EQL, token.NEQ:
		if HoldsInterface(a.p.Info.TypeOf(n.X)) && !a.p.isNil(n.Y) {
			a.Panics = true // the dynamic types may not be comparable
		}
	}
}

func (p *Pass) isNil(e ast.Expr) bool { return p.Info.Types[e].IsNil() }

func isFraction(t types.Type) bool { return syntax.Has(t, types.IsFloat|types.IsComplex) }

func isUnsigned(t types.Type) bool { return syntax.Has(t, types.IsUnsigned) }

func (a *effectsVisitor) selector(n *ast.SelectorExpr) {
	sel := a.p.Info.Selections[n]
	if sel == nil {
		return
	}
	ptr := syntax.Is[*types.Pointer](sel.Recv())
	through := ptr || sel.Indirect()
	if fn, ok := sel.Obj().(*types.Func); ok {
		// A method with a value receiver reads the memory behind a pointer receiver.
		_, ofPointer := fn.Signature().Recv().Type().(*types.Pointer)
		through = ptr && !ofPointer || len(sel.Index()) > 1 && sel.Indirect() || types.IsInterface(sel.Recv())
	}
	if through {
		a.Reads = a.Reads || !a.p.isClosed(sel.Recv())
		a.Panics = a.Panics || a.held == nil || !a.held(n)
	}
}

// Underlying yields the underlying type of a type, and for a type parameter those of all types that
// its constraint lists.
func Underlying(t types.Type) iter.Seq[types.Type] {
	return func(yield func(types.Type) bool) {
		param, ok := types.Unalias(t).(*types.TypeParam)
		if !ok {
			yield(t.Underlying())
			return
		}
		for lists := []types.Type{param.Constraint()}; len(lists) > 0; lists = lists[1:] {
			switch u := lists[0].Underlying().(type) {
			case *types.Interface:
				for e := range u.EmbeddedTypes() {
					lists = append(lists, e)
				}
			case *types.Union:
				for term := range u.Terms() {
					lists = append(lists, term.Type())
				}
			default:
				if !yield(u) {
					return
				}
			}
		}
	}
}

func (a *effectsVisitor) conversion(n *ast.CallExpr, to types.Type) {
	from := a.p.Info.TypeOf(n.Args[0])
	for u := range Underlying(from) {
		for v := range Underlying(to) {
			a.converts(u, v)
		}
	}
}

// converts handles a conversion between types of two underlying types.
func (a *effectsVisitor) converts(from, to types.Type) {
	_, slice := from.(*types.Slice)
	switch u := to.(type) {
	case *types.Basic:
		if u.Info()&types.IsString != 0 && !types.Identical(from, u) {
			a.Allocs = true
			a.Reads = a.Reads || slice
		}
	case *types.Slice:
		a.Allocs = a.Allocs || !slice
	case *types.Array, *types.Pointer:
		a.Panics, a.Reads = a.Panics || slice, true
	}
}
