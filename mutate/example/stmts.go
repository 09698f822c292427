package example

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle/mutate/facts"
)

// stmts matches statements of Before with the front of a list, and returns how many it took. whole
// demands the whole list.
func (m *matcher) stmts(pats, list []ast.Stmt, whole bool) (n int, ok bool) {
	if len(pats) == 0 {
		return 0, !whole || len(list) == 0
	}
	if obj, args := m.pair.before.codeStmt(pats[0]); obj != nil {
		// Take as many statements as possible.
		least := 1
		if len(pats) > 1 || whole {
			least = 0
		}
		for k := len(list) - (len(pats) - 1); k >= least; k-- {
			if m.try(func() bool {
				if !m.code(obj, args, list[:k], nil) {
					return false
				}
				n, ok = m.stmts(pats[1:], list[k:], whole)
				return ok
			}) {
				return k + n, true
			}
		}
		if whole && m.try(func() bool { return m.leaving(pats, list) }) {
			return len(list), true
		}
		return 0, false
	}
	if len(list) == 0 {
		return 0, false
	}
	if m.try(func() bool {
		if !m.stmt(pats[0], list[0]) {
			return false
		}
		n, ok = m.stmts(pats[1:], list[1:], whole)
		return ok
	}) {
		return 1 + n, true
	}
	if len(pats) == 1 && whole && m.try(func() bool { return m.skipped(pats[0], list) }) {
		return len(list), true
	}
	return 0, false
}

func (m *matcher) block(pat, b *ast.BlockStmt) bool {
	if pat == nil || b == nil {
		return pat == nil && b == nil
	}
	_, ok := m.stmts(pat.List, b.List, true)
	return ok
}

// skipped matches `if c { body }` at the end of a loop's body with `if !c { continue }; body`.
func (m *matcher) skipped(pat ast.Stmt, list []ast.Stmt) bool {
	want, ok := pat.(*ast.IfStmt)
	guard, isIf := list[0].(*ast.IfStmt)
	// Both must have nothing besides: an init runs before, and an else is a third way.
	if !ok || !isIf || want.Init != nil || want.Else != nil || guard.Init != nil || guard.Else != nil ||
		len(list) < 2 || len(guard.Body.List) != 1 {
		return false
	}
	next, ok := guard.Body.List[0].(*ast.BranchStmt)
	// The guard's condition is the opposite of the rule's.
	if !ok || next.Tok != token.CONTINUE || next.Label != nil || !m.opposite(want.Cond, guard.Cond) {
		return false
	}
	// All that follows the guard is the rule's body.
	_, ok = m.stmts(want.Body.List, list[1:], true)
	return ok
}

// opposite matches a condition of Before with the opposite of one of the code.
func (m *matcher) opposite(pat, e ast.Expr) bool {
	// A negation on either side goes away by itself.
	e = ast.Unparen(e)
	if u, ok := e.(*ast.UnaryExpr); ok && u.Op == token.NOT {
		return m.expr(pat, u.X)
	}
	if u, ok := ast.Unparen(pat).(*ast.UnaryExpr); ok && u.Op == token.NOT {
		return m.expr(u.X, e)
	}
	// Otherwise compare the opposite operators: && becomes || of opposites. Only integers have an
	// opposite of <, because of NaN.
	b, ok := e.(*ast.BinaryExpr)
	want, isBinary := ast.Unparen(pat).(*ast.BinaryExpr)
	switch {
	case !ok || !isBinary:
		return false
	case b.Op == token.LAND && want.Op == token.LOR, b.Op == token.LOR && want.Op == token.LAND:
		return m.opposite(want.X, b.X) && m.opposite(want.Y, b.Y)
	case negated[b.Op] == 0 || b.Op != token.EQL && b.Op != token.NEQ && m.basic(b.X)&types.IsInteger == 0:
		return false
	}
	return m.operands(want, m.zeroTest(negated[b.Op], b.X, b.Y), b.X, b.Y)
}

// stmt matches one statement by its form.
func (m *matcher) stmt(pat, s ast.Stmt) bool {
	// Each kind is matched with its own kind, apart from assignments and loops, which have several.
	switch pat := pat.(type) {
	case *ast.ExprStmt:
		call := facts.Dropped(s)
		return call != nil && m.expr(pat.X, call)
	case *ast.AssignStmt, *ast.IncDecStmt, *ast.DeclStmt:
		return m.assignment(pat, s)
	case *ast.IfStmt:
		i, ok := s.(*ast.IfStmt)
		return ok && m.ifStmt(pat, i)
	case *ast.RangeStmt, *ast.ForStmt:
		return m.loop(pat, s)
	case *ast.ReturnStmt:
		r, ok := s.(*ast.ReturnStmt)
		return ok && m.exprs2(pat.Results, r.Results) && m.returnsTypes(pat, r)
	case *ast.BranchStmt:
		b, ok := s.(*ast.BranchStmt)
		return ok && b.Tok == pat.Tok && b.Label == nil && pat.Label == nil
	case *ast.BlockStmt:
		b, ok := s.(*ast.BlockStmt)
		return ok && m.block(pat, b)
	}
	return false
}

// returnsTypes reports whether the function around a return of the code has the result types of
// Before: a constant in place of a variable would become another type as an interface.
func (m *matcher) returnsTypes(pat, r *ast.ReturnStmt) bool {
	for up := ast.Node(pat); up != nil; up = m.pair.before.up[up] {
		if _, literal := up.(*ast.FuncLit); literal {
			return true // literal compares the types
		}
	}
	var of *types.Signature
	for _, up := range m.Pass.Path(r) {
		if lit, ok := up.(*ast.FuncLit); ok {
			of, _ = m.Pass.Info.TypeOf(lit).(*types.Signature)
			break
		}
		if fn, ok := up.(*ast.FuncDecl); ok {
			of = m.Pass.Info.Defs[fn.Name].(*types.Func).Signature()
		}
	}
	want := m.pair.before.sig.Results()
	for i := range r.Results {
		t := want.At(i).Type()
		if of == nil || t != types.Typ[types.Invalid] && !m.unify(t, of.Results().At(i).Type()) {
			return false
		}
	}
	return true
}

func (m *matcher) ifStmt(pat, s *ast.IfStmt) bool {
	if (pat.Init == nil) != (s.Init == nil) || pat.Init != nil && !m.stmt(pat.Init, s.Init) {
		return false
	}
	if m.try(func() bool {
		return m.expr(pat.Cond, s.Cond) && m.block(pat.Body, s.Body) && m.elseOf(pat.Else, s.Else)
	}) {
		return true
	}
	other, ok := s.Else.(*ast.BlockStmt)
	want, isBlock := pat.Else.(*ast.BlockStmt)
	return ok && isBlock && m.opposite(pat.Cond, s.Cond) && m.block(pat.Body, other) && m.block(want, s.Body)
}

func (m *matcher) elseOf(pat, s ast.Stmt) bool {
	if pat == nil || s == nil {
		return pat == nil && s == nil
	}
	return m.stmt(pat, s)
}

// A step is the normal form of `x op= y`, `x++` and `x = x op y`. A nil y is 1.
type step struct {
	x, y ast.Expr
	op   token.Token
}

var operators = map[token.Token]token.Token{token.ADD_ASSIGN: token.ADD, token.SUB_ASSIGN: token.SUB,
	token.MUL_ASSIGN: token.MUL, token.QUO_ASSIGN: token.QUO, token.REM_ASSIGN: token.REM,
	token.AND_ASSIGN: token.AND, token.OR_ASSIGN: token.OR, token.XOR_ASSIGN: token.XOR,
	token.SHL_ASSIGN: token.SHL, token.SHR_ASSIGN: token.SHR, token.AND_NOT_ASSIGN: token.AND_NOT}

// stepOf reads a step. same compares the two spellings of x.
func stepOf(s ast.Stmt, same func(a, b ast.Expr) bool) (step, bool) {
	// x++ and x += y are steps, and so is x = x op y.
	switch s := s.(type) {
	case *ast.IncDecStmt:
		op := token.ADD
		if s.Tok == token.DEC {
			op = token.SUB
		}
		return step{x: s.X, op: op}, true
	case *ast.AssignStmt:
		if len(s.Lhs) != 1 || len(s.Rhs) != 1 {
			return step{}, false
		}
		if op, ok := operators[s.Tok]; ok {
			return step{s.Lhs[0], s.Rhs[0], op}, true
		}
		// A comparison or a connection gives another type than x, and is no step.
		b, ok := ast.Unparen(s.Rhs[0]).(*ast.BinaryExpr)
		if !ok || s.Tok != token.ASSIGN || negated[b.Op] != 0 || b.Op == token.LAND || b.Op == token.LOR {
			return step{}, false
		}
		if same(s.Lhs[0], b.X) {
			return step{s.Lhs[0], b.Y, b.Op}, true
		}
	}
	return step{}, false
}

// assignment matches a declaration, a step or an assignment, in any of their spellings.
func (m *matcher) assignment(pat, s ast.Stmt) bool {
	// A variable is declared by := or by var, with or without a value.
	if d, ok := m.pair.rule.declaration(pat); ok {
		got, ok := facts.Declares(m.Pass, s)
		return ok && m.firstValue(d.value, got.Value, got.Var.Type()) && m.ownType(d.obj, got) &&
			m.declare(d.obj, got.Var)
	}
	// x++ and x += 1 and x = x + 1 are one step.
	want, isStep := stepOf(pat, m.pair.rule.alike)
	got, ok := stepOf(s, m.Pass.Same)
	if isStep && ok && want.op == got.op &&
		m.try(func() bool { return m.expr(want.x, got.x) && m.amount(want.y, got.y) }) {
		return true
	}
	// All else must be spelled alike, value by value, before any name is bound.
	a, ok := pat.(*ast.AssignStmt)
	b, isAssign := s.(*ast.AssignStmt)
	if !ok || !isAssign || a.Tok != b.Tok || len(a.Lhs) != len(b.Lhs) || !m.exprs2(a.Rhs, b.Rhs) {
		return false
	}
	for i, l := range a.Lhs {
		if !m.target(l, b.Lhs[i], a.Tok == token.DEFINE) {
			return false
		}
	}
	return true
}

// ownType reports whether a variable of the code has the type that Before gives its own. Where a
// function of a stand-in leaves that open, it is the type of the value, and that of the result.
func (m *matcher) ownType(obj *types.Var, got facts.Declaration) bool {
	if obj.Type() != types.Typ[types.Invalid] || got.Type == nil {
		return true // declare compares, or the value decides
	}
	for k, e := range m.pair.before.outputs {
		if m.pair.rule.obj(e.(*ast.Ident)) == obj &&
			!m.unify(m.pair.before.sig.Results().At(k).Type(), got.Var.Type()) {
			return false
		}
	}
	return got.Value == nil || types.Identical(got.Var.Type(), m.Pass.Info.TypeOf(got.Value))
}

// amount matches the right side of a step. nil stands for 1.
func (m *matcher) amount(pat, e ast.Expr) bool {
	switch {
	case pat == nil && e == nil:
		return true
	case pat == nil:
		return m.Pass.IsInt(e, 1)
	case e == nil:
		v := m.pair.rule.info.Types[pat].Value
		return v != nil && constant.Compare(v, token.EQL, constant.MakeInt64(1))
	}
	return m.expr(pat, e)
}

// target matches the left side of an assignment.
func (m *matcher) target(pat, e ast.Expr, define bool) bool {
	id, ok := pat.(*ast.Ident)
	if ok && id.Name == "_" {
		got, ok := e.(*ast.Ident)
		return ok && got.Name == "_"
	}
	if !define {
		return m.expr(pat, e)
	}
	// On the left of := stands a new variable on both sides.
	obj, _ := m.pair.rule.info.Defs[id].(*types.Var)
	got, ok := e.(*ast.Ident)
	if !ok {
		return false
	}
	v, _ := m.Pass.Info.Defs[got].(*types.Var)
	return m.declare(obj, v)
}

// firstValue matches the first value of a variable. A missing one is the zero value.
func (m *matcher) firstValue(pat, e ast.Expr, t types.Type) bool {
	switch {
	// `var n int` and `n := 0` are the same.
	case pat == nil && e == nil:
		return true
	case pat == nil:
		return facts.IsZero(m.Pass, e, t)
	case e == nil:
		v := m.pair.rule.info.Types[pat].Value
		if v == nil {
			id, ok := pat.(*ast.Ident)
			return ok && id.Name == "nil"
		}
		return facts.ZeroConstant(v)
	}
	return m.expr(pat, e)
}

// A declared is `v := e`, `var v T` or `var v T = e` of an example.
type declared struct {
	obj   *types.Var
	value ast.Expr
}

// declaration recognises a statement of the example that declares one variable.
func (c *compiled) declaration(s ast.Stmt) (d declared, ok bool) {
	var name *ast.Ident
	// Both spellings declare one variable; of several, the order of their values would matter.
	switch s := s.(type) {
	case *ast.AssignStmt:
		if s.Tok != token.DEFINE || len(s.Lhs) != 1 || len(s.Rhs) != 1 {
			return d, false
		}
		name, _ = s.Lhs[0].(*ast.Ident)
		d.value = s.Rhs[0]
	case *ast.DeclStmt:
		g := s.Decl.(*ast.GenDecl)
		if g.Tok != token.VAR || len(g.Specs) != 1 {
			return d, false
		}
		spec := g.Specs[0].(*ast.ValueSpec)
		if len(spec.Names) != 1 {
			return d, false
		}
		name = spec.Names[0]
		if len(spec.Values) == 1 {
			d.value = spec.Values[0]
		}
	}
	if name == nil {
		return d, false
	}
	d.obj, _ = c.info.Defs[name].(*types.Var)
	return d, d.obj != nil
}

// alike reports whether two expressions of an example are alike.
func (c *compiled) alike(a, b ast.Expr) bool {
	return types.ExprString(ast.Unparen(a)) == types.ExprString(ast.Unparen(b))
}
