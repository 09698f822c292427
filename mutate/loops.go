package mutate

import (
	"go/ast"
	"go/token"
	"go/types"
)

// A CountedLoop is `for i := start; i < len(s); i++` in any of its spellings, also with i declared
// before the loop. The body may move i forward too (Skips).
type CountedLoop struct {
	Stmt   *ast.ForStmt
	Index  *types.Var
	Seq    *types.Var // the slice, array or string whose length bounds the loop; nil for any other bound
	Bound  ast.Expr   // the other side of the comparison with i
	Start  ast.Expr   // nil when i is declared before the loop
	Skips  bool       // the body changes i too
	Strict bool       // compares with < or !=, not <=
}

// Counted recognises a loop that counts up by one and does not assign its sequence.
func (p *Pass) Counted(s ast.Stmt) (*CountedLoop, bool) {
	f, ok := s.(*ast.ForStmt)
	if !ok || f.Cond == nil || f.Post == nil {
		return nil, false
	}
	cond, ok := ast.Unparen(f.Cond).(*ast.BinaryExpr)
	if !ok || cond.Op != token.LSS && cond.Op != token.NEQ && cond.Op != token.LEQ {
		return nil, false
	}
	l := &CountedLoop{Stmt: f, Index: p.Var(cond.X), Bound: cond.Y, Strict: cond.Op != token.LEQ}
	post, ok := f.Post.(*ast.IncDecStmt)
	if !ok || post.Tok != token.INC || l.Index == nil || p.Var(post.X) != l.Index {
		return nil, false
	}
	if !p.startsAt(l) {
		return nil, false
	}
	l.Seq = p.LengthOf(l.Bound)
	if l.Seq != nil && (p.Reassigned(l.Seq, f) || p.reassignedFromAfar(l.Seq, f)) {
		return nil, false
	}
	l.Skips = p.Assigned(l.Index, f.Body) || p.reassignedFromAfar(l.Index, f)
	return l, true
}

func (p *Pass) startsAt(l *CountedLoop) bool {
	if l.Stmt.Init == nil {
		return true
	}
	init, ok := l.Stmt.Init.(*ast.AssignStmt)
	plain := ok && (init.Tok == token.DEFINE || init.Tok == token.ASSIGN)
	if !plain || len(init.Lhs) != 1 || len(init.Rhs) != 1 || p.Var(init.Lhs[0]) != l.Index {
		return false
	}
	l.Start = init.Rhs[0]
	return true
}

// LengthOf returns s for len(s), and for a variable n that always equals len(s).
func (p *Pass) LengthOf(e ast.Expr) *types.Var {
	if c, ok := ast.Unparen(e).(*ast.CallExpr); ok && len(c.Args) == 1 && p.Info.Types[c.Fun].IsType() &&
		p.holdsLength(c) {
		e = c.Args[0] // uint(len(s))
	}
	if s := p.LenOf(e); s != nil {
		return s
	}
	n := p.Var(e)
	if n == nil || p.IsGlobal(n) {
		return nil
	}
	for _, as := range Nodes[*ast.AssignStmt](p, nil) {
		if as.Tok != token.DEFINE || len(as.Lhs) != 1 || len(as.Rhs) != 1 || p.Var(as.Lhs[0]) != n {
			continue
		}
		s := p.LenOf(as.Rhs[0])
		if s != nil && !p.Assigned(n, p.FuncOf(as)) && !p.Reassigned(s, p.FuncOf(as)) &&
			(!p.IsGlobal(s) || p.NeverChanges(s)) { // else any function may give it another value
			return s
		}
	}
	return nil
}

// holdsLength reports whether every length fits the type of an expression.
func (p *Pass) holdsLength(e ast.Expr) bool {
	switch p.Basic(e) {
	case types.Int, types.Uint, types.Int64, types.Uint64, types.Uintptr:
		return true
	}
	return false
}

// Reassigned reports whether code below root may give v another value. Unlike [Pass.Assigned], it
// lets code assign the elements of v.
func (p *Pass) Reassigned(v *types.Var, root ast.Node) bool {
	return p.Assigned(v, root) && !elementsOnly(p, v, root)
}

// reassignedFromAfar reports whether code may give v another value while a loop runs that does not
// assign it: through a pointer, or by calling a function that assigns it.
func (p *Pass) reassignedFromAfar(v *types.Var, loop ast.Node) bool {
	if p.NeverChanges(v) {
		return false
	}
	shared := p.IsGlobal(v)
	for _, id := range p.Uses(v, p.File) {
		if !p.Changes(id) || p.partOnly(id) {
			continue
		}
		for up := range p.ancestors(id) {
			switch up := up.(type) {
			case *ast.UnaryExpr:
				if up.Op == token.AND {
					return true
				}
			case *ast.FuncLit:
				shared = true
			}
		}
	}
	return shared && p.runsOther(loop)
}

// runsOther reports whether code calls functions that may change memory.
func (p *Pass) runsOther(code ast.Node) bool {
	for _, call := range Nodes[*ast.CallExpr](p, code) {
		if _, builtin := p.Callee(call).(*types.Builtin); !builtin && p.Effects(call).Writes {
			return true
		}
	}
	for _, r := range Nodes[*ast.RangeStmt](p, code) {
		if RangeRunsOther(p.Info.TypeOf(r.X)) {
			return true
		}
	}
	return false
}

// RangeRunsOther reports whether a range over a value of a type runs other code: that of an
// iterator, or of goroutines that send.
func RangeRunsOther(t types.Type) bool {
	if t == nil {
		return false
	}
	for u := range Underlying(t) {
		switch u.(type) {
		case *types.Chan, *types.Signature:
			return true
		}
	}
	return false
}

// elementsOnly reports whether root assigns elements of s only.
func elementsOnly(p *Pass, s *types.Var, root ast.Node) bool {
	for _, id := range p.Uses(s, root) {
		if p.Changes(id) && !p.partOnly(id) {
			return false
		}
	}
	return true
}

// partOnly reports whether the code that changes what an identifier names changes only an element
// of it, and not through its address.
func (p *Pass) partOnly(id *ast.Ident) bool {
	if ix, ok := p.Parent(id).(*ast.IndexExpr); !ok || ast.Unparen(ix.X) != ast.Expr(id) {
		return false
	}
	for up := range p.ancestors(id) {
		if u, ok := up.(*ast.UnaryExpr); ok && u.Op == token.AND {
			return false
		}
	}
	return true
}

// An ElementLoop reads the elements of a slice, array or string one by one in ascending order: `for
// i := k; i < len(s); i++` with s[i], or `for i, c := range s`. The body assigns neither the index
// nor the sequence nor the sequence's elements.
type ElementLoop struct {
	Stmt  ast.Stmt // *ast.ForStmt or *ast.RangeStmt
	Body  *ast.BlockStmt
	Seq   *types.Var
	Start int64 // 0 for range loops
	Index *types.Var
	Value *types.Var       // the range value, or nil
	Elems []*ast.IndexExpr // all s[i] in the body
	Plain bool             // the body uses the index only to read the element
}

// Elements recognises an ElementLoop. A range over a string yields runes, so it is not one.
func (p *Pass) Elements(s ast.Stmt) (*ElementLoop, bool) {
	var l *ElementLoop
	switch s := s.(type) {
	case *ast.ForStmt:
		c, ok := p.Counted(s)
		if !ok || c.Seq == nil || c.Skips || !c.Strict || c.Start == nil ||
			s.Init.(*ast.AssignStmt).Tok != token.DEFINE { // else the index lives on
			return nil, false
		}
		start, ok := p.Int(c.Start)
		if !ok || start < 0 || start > 0 && ast.Unparen(s.Cond).(*ast.BinaryExpr).Op == token.NEQ {
			return nil, false
		}
		l = &ElementLoop{Stmt: s, Body: s.Body, Seq: c.Seq, Start: start, Index: c.Index}
	case *ast.RangeStmt:
		if l = p.rangeElements(s); l == nil {
			return nil, false
		}
	default:
		return nil, false
	}
	if p.Assigned(l.Seq, l.Body) || p.reassignedFromAfar(l.Seq, l.Stmt) ||
		l.Index != nil && p.Assigned(l.Index, l.Body) || l.Value != nil && p.Assigned(l.Value, l.Body) {
		return nil, false
	}
	return l, p.elementReads(l)
}

// rangeElements returns a range loop over the elements of a list; nil for another loop.
func (p *Pass) rangeElements(s *ast.RangeStmt) *ElementLoop {
	l := &ElementLoop{Stmt: s, Body: s.Body}
	if s.Tok == token.ASSIGN {
		return nil
	}
	if s.Key != nil {
		l.Index = p.Var(s.Key)
	}
	if s.Value != nil {
		l.Value = p.Var(s.Value)
	}
	if l.Seq = p.LenOf(s.X); l.Seq != nil { // for i := range len(s)
		return l
	}
	if l.Seq = p.Var(s.X); l.Seq == nil {
		return nil
	}
	switch l.Seq.Type().Underlying().(type) {
	case *types.Slice, *types.Array:
		return l
	}
	return nil
}

// elementReads fills Elems and Plain.
func (p *Pass) elementReads(l *ElementLoop) bool {
	l.Plain = true
	if l.Index == nil {
		return true
	}
	for _, id := range p.Uses(l.Index, l.Body) {
		ix, ok := p.Parent(id).(*ast.IndexExpr)
		if ok && ast.Unparen(ix.Index) == ast.Expr(id) && p.Var(ix.X) == l.Seq {
			l.Elems = append(l.Elems, ix)
			continue
		}
		l.Plain = false
	}
	return true
}

// InLoop reports whether n lies in the body, condition or post statement of a loop of its function.
func (p *Pass) InLoop(n ast.Node) bool {
	for _, up := range p.Path(n) {
		switch up := up.(type) {
		case *ast.ForStmt:
			if up.Init == nil || n.Pos() >= up.Init.End() {
				return up != n
			}
		case *ast.RangeStmt:
			if n.Pos() >= up.Body.Pos() {
				return true
			}
		case *ast.FuncDecl:
			return false
		}
	}
	return false
}

// Branches lists the break and continue statements in body that belong to the loop around it. These
// are unlabelled, and no inner loop takes them; for break, no switch or select either. ok is false
// if body holds labelled ones or gotos.
func (p *Pass) Branches(body *ast.BlockStmt) (breaks, continues []*ast.BranchStmt, ok bool) {
	ok = true
	// loop says that an inner loop takes a continue; sw, that something inner takes a break.
	var walk func(n ast.Node, loop, sw bool)
	walk = func(n ast.Node, loop, sw bool) {
		ast.Inspect(n, func(m ast.Node) bool {
			switch m := m.(type) {
			case *ast.FuncLit:
				return false
			case *ast.ForStmt, *ast.RangeStmt:
				if m != n {
					walk(m, true, true)
					return false
				}
			case *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
				if m != n {
					walk(m, loop, true)
					return false
				}
			case *ast.LabeledStmt:
				ok = false
			case *ast.BranchStmt:
				switch {
				case m.Label != nil || m.Tok == token.GOTO:
					ok = false
				case m.Tok == token.BREAK && !sw:
					breaks = append(breaks, m)
				case m.Tok == token.CONTINUE && !loop:
					continues = append(continues, m)
				}
			}
			return true
		})
	}
	walk(body, false, false)
	return breaks, continues, ok
}

// Terminates reports whether control never runs past the end of a list. The list must end in
// return, panic, break, continue or goto, or in an if/else or block that does.
func Terminates(list []ast.Stmt) bool {
	if len(list) == 0 {
		return false
	}
	switch s := list[len(list)-1].(type) {
	case *ast.ReturnStmt:
		return true
	case *ast.BranchStmt:
		return s.Tok != token.FALLTHROUGH
	case *ast.BlockStmt:
		return Terminates(s.List)
	case *ast.IfStmt:
		if s.Else == nil || !Terminates(s.Body.List) {
			return false
		}
		return Terminates([]ast.Stmt{s.Else})
	case *ast.ExprStmt:
		call, ok := s.X.(*ast.CallExpr)
		if !ok {
			return false
		}
		id, ok := call.Fun.(*ast.Ident)
		return ok && id.Name == "panic"
	}
	return false
}
