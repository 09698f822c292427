package example

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate/facts"
)

// A head is the normal form of a loop of an example, as facts.Loop is of one of the code.
type head struct {
	kind         facts.LoopKind
	unknown      bool // a range over a value whose type is unknown, because of stand-ins
	seq, bound   ast.Expr
	index, value types.Object
	body         *ast.BlockStmt
	any          *types.Var // the parameter that stands for any loop, or nil
}

// headParam returns the parameter of type iter.Seq2 that an expression names, or nil. Such a
// parameter stands for the head of any loop that goes through data.
func (c *compiled) headParam(e ast.Expr) *types.Var {
	id, ok := ast.Unparen(e).(*ast.Ident)
	if !ok {
		return nil
	}
	v, ok := c.obj(id).(*types.Var)
	if !ok {
		return nil
	}
	// The type is taken by its path, since any package may have a Seq2.
	if !syntax.IsNamed(v.Type(), "iter", "Seq2") {
		return nil
	}
	return v
}

// headOf reads the head of a loop of an example.
func (c *compiled) headOf(s ast.Stmt) head {
	switch s := s.(type) {
	case *ast.RangeStmt:
		// A range over a parameter of type iter.Seq2 stands for any head; else the type decides.
		h := head{seq: s.X, body: s.Body}
		if s.Tok == token.ASSIGN {
			return h
		}
		h.index, h.value = c.defined(s.Key), c.defined(s.Value)
		if h.any = c.headParam(s.X); h.any != nil {
			return h
		}
		t := c.info.TypeOf(s.X)
		if t == nil || t == types.Typ[types.Invalid] {
			h.unknown = true
			return h
		}
		switch u := coreOf(t).(type) {
		case *types.Slice, *types.Array:
			h.kind = facts.OverElements
		case *types.Map:
			h.kind = facts.OverMap
		case *types.Basic:
			switch {
			case u.Info()&types.IsString != 0:
				h.kind = facts.OverRunes
			case u.Info()&types.IsInteger != 0:
				h.count(c, s.X)
			}
		}
		return h
	case *ast.ForStmt:
		// A loop that counts from 0 up to a bound: for i := 0; i < n; i++.
		h := head{body: s.Body}
		init, ok := s.Init.(*ast.AssignStmt)
		cond, isBinary := s.Cond.(*ast.BinaryExpr)
		post, isStep := s.Post.(*ast.IncDecStmt)
		if !ok || !isBinary || !isStep || init.Tok != token.DEFINE || len(init.Lhs) != 1 || cond.Op != token.LSS ||
			post.Tok != token.INC {
			return h
		}
		index := c.defined(init.Lhs[0])
		x, ok := cond.X.(*ast.Ident)
		up, isName := post.X.(*ast.Ident)
		zero, isLit := init.Rhs[0].(*ast.BasicLit)
		if ok && isName && isLit && zero.Value == "0" && c.obj(x) == index && c.obj(up) == index {
			h.index = index
			h.count(c, cond.Y)
		}
		return h
	}
	return head{}
}

// coreOf returns what a type is made of; for a type parameter, what all its types are made of.
func coreOf(t types.Type) types.Type {
	p, ok := types.Unalias(t).(*types.TypeParam)
	if !ok {
		return t.Underlying()
	}
	limits := p.Constraint().Underlying().(*types.Interface)
	if limits.NumEmbeddeds() == 1 {
		if u, ok := limits.EmbeddedType(0).(*types.Union); ok && u.Len() == 1 {
			return u.Term(0).Type().Underlying()
		}
	}
	return limits
}

// count makes a loop that counts to len(s) one through the elements of s.
func (h *head) count(c *compiled, bound ast.Expr) {
	h.kind, h.bound, h.seq = facts.OverNumbers, bound, nil
	call, ok := ast.Unparen(bound).(*ast.CallExpr)
	if !ok || len(call.Args) != 1 {
		return
	}
	id, ok := call.Fun.(*ast.Ident)
	if b, isBuiltin := c.obj(orBlank(id, ok)).(*types.Builtin); ok && isBuiltin && b.Name() == "len" {
		h.kind, h.seq = facts.OverElements, call.Args[0]
	}
}

func orBlank(id *ast.Ident, ok bool) *ast.Ident {
	if !ok {
		return ast.NewIdent("_")
	}
	return id
}

func (c *compiled) defined(e ast.Expr) types.Object {
	if id, ok := e.(*ast.Ident); ok && id.Name != "_" {
		return c.info.Defs[id]
	}
	return nil
}

// loop matches a loop by its normal form, or by its spelling if it has none.
func (m *matcher) loop(pat, s ast.Stmt) bool {
	// Compare the normal forms: a range and a counting loop over the same list are one kind.
	h := m.pair.rule.headOf(pat)
	l := facts.Loops.Of(m.Pass)[s]
	if l == nil {
		return false
	}
	// A range over a parameter of unknown type is of the kind that the code has.
	if _, ranges := s.(*ast.RangeStmt); h.unknown && ranges && l.Seq != nil {
		h.kind = l.Kind
	}
	// A loop whose head is kept matches any loop.
	if h.any != nil {
		return m.anyLoop(h, l)
	}
	if l.Kind != h.kind {
		return false
	}
	switch l.Kind {
	case facts.OtherLoop:
		return m.otherLoop(pat, s)
	case facts.OverNumbers:
		if !m.expr(h.bound, l.Bound) {
			return false
		}
	// A loop through elements has a sequence, and its variable the element's type.
	default:
		if !m.sequence(h.seq, l) {
			return false
		}
		if t, ok := h.value.(*types.Var); ok && l.Value != nil && t.Type() != types.Typ[types.Invalid] &&
			!m.unify(t.Type(), l.Value.Type()) {
			return false
		}
	}
	return m.heads(h, l) && m.block(h.body, l.Body)
}

// sequence matches what a loop goes through.
func (m *matcher) sequence(pat ast.Expr, l *facts.Loop) bool {
	m.head = l
	defer func() { m.head = nil }()
	return m.expr(pat, l.Seq)
}

// anyLoop binds a parameter to the head of a loop, or compares with the one that it stands for.
func (m *matcher) anyLoop(h head, l *facts.Loop) bool {
	if l.Kind == facts.OtherLoop {
		return false
	}
	old := m.kept[h.any.Name()]
	if old == nil {
		bind(&m.bindings, m.kept, h.any.Name(), l)
	} else if old.Kind != l.Kind || (old.Seq == nil) != (l.Seq == nil) ||
		old.Seq != nil && !m.Pass.Same(old.Seq, l.Seq) || old.Seq == nil && !m.Pass.Same(old.Bound, l.Bound) {
		return false
	}
	return m.heads(h, l) && m.block(h.body, l.Body)
}

// heads binds the variables of a loop's head.
func (m *matcher) heads(h head, l *facts.Loop) bool {
	if h.index != nil {
		bind(&m.bindings, m.loops, h.index, role{loop: l})
	}
	if h.value != nil {
		bind(&m.bindings, m.loops, h.value, role{loop: l, value: true})
	}
	if h.index == nil && h.value == nil && (l.Index != nil || l.Value != nil) {
		bind(&m.bindings, m.loops, types.Object(types.NewVar(l.Stmt.Pos(), nil, "", nil)), role{loop: l})
	}
	return true
}

// otherLoop compares loops as they are spelled.
func (m *matcher) otherLoop(pat, s ast.Stmt) bool {
	switch pat := pat.(type) {
	case *ast.ForStmt:
		f, ok := s.(*ast.ForStmt)
		if !ok || (pat.Cond == nil) != (f.Cond == nil) || !m.elseOf(pat.Init, f.Init) ||
			pat.Cond != nil && !m.expr(pat.Cond, f.Cond) {
			return false
		}
		if pat.Post == nil && f.Post != nil {
			// for c { body; step } is for ; c; step { body } unless the body continues.
			_, continues, ok := m.Pass.Branches(f.Body)
			if !ok || len(continues) > 0 {
				return false
			}
			list := append(append([]ast.Stmt{}, f.Body.List...), f.Post)
			_, ok = m.stmts(pat.Body.List, list, true)
			return ok
		}
		return m.elseOf(pat.Post, f.Post) && m.block(pat.Body, f.Body)
	case *ast.RangeStmt:
		r, ok := s.(*ast.RangeStmt)
		return ok && r.Tok == pat.Tok && m.expr(pat.X, r.X) && m.rangeVar(pat.Key, r.Key) &&
			m.rangeVar(pat.Value, r.Value) && m.block(pat.Body, r.Body)
	}
	return false
}

func (m *matcher) rangeVar(pat, e ast.Expr) bool {
	blank := func(e ast.Expr) bool {
		id, ok := e.(*ast.Ident)
		return e == nil || ok && id.Name == "_"
	}
	if blank(pat) || blank(e) {
		return blank(pat) && blank(e)
	}
	return m.target(pat, e, true)
}
