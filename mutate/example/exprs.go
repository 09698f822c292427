package example

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle/mutate/facts"
)

// expr reports whether code matches an expression of Before. It may bind parameters and variables.
func (m *matcher) expr(pat, e ast.Expr) bool {
	pat, e = ast.Unparen(pat), ast.Unparen(e)
	// Constants are compared by value and types by unification, whatever their spelling.
	info := m.pair.rule.info
	switch tv := info.Types[pat]; {
	case tv.Value != nil:
		return sameConstant(tv.Value, m.Pass.Info.Types[e].Value)
	case tv.IsType():
		return m.Pass.Info.Types[e].IsType() && m.unify(tv.Type, m.Pass.Info.TypeOf(e))
	}
	// A variable that only names a value is as good as the value.
	if d, ok := m.nameOf(pat, e); ok {
		bind(&m.bindings, m.named, d.Var, d)
		e = ast.Unparen(d.Value)
	}
	// All else matches by its form, part by part.
	switch pat := pat.(type) {
	case *ast.Ident:
		return m.ident(pat, e)
	case *ast.CallExpr:
		return m.call(pat, e)
	case *ast.BinaryExpr:
		return m.binary(pat, e)
	case *ast.IndexExpr:
		return m.index(pat, e)
	case *ast.UnaryExpr:
		u, ok := e.(*ast.UnaryExpr)
		return ok && u.Op == pat.Op && m.expr(pat.X, u.X)
	case *ast.StarExpr:
		s, ok := e.(*ast.StarExpr)
		return ok && m.expr(pat.X, s.X)
	case *ast.SliceExpr:
		s, ok := e.(*ast.SliceExpr)
		return ok && pat.Slice3 == s.Slice3 && m.expr(pat.X, s.X) && m.lowBound(pat.Low, s.Low) &&
			m.optional(pat.High, s.High) && m.optional(pat.Max, s.Max)
	case *ast.SelectorExpr:
		s, ok := e.(*ast.SelectorExpr)
		return ok && pat.Sel.Name == s.Sel.Name && m.expr(pat.X, s.X)
	case *ast.CompositeLit:
		lit, ok := e.(*ast.CompositeLit)
		return ok && m.unify(info.TypeOf(pat), m.Pass.Info.TypeOf(lit)) && m.exprs2(pat.Elts, lit.Elts)
	case *ast.KeyValueExpr:
		kv, ok := e.(*ast.KeyValueExpr)
		return ok && m.expr(pat.Key, kv.Key) && m.expr(pat.Value, kv.Value)
	case *ast.FuncLit:
		lit, ok := e.(*ast.FuncLit)
		return ok && m.literal(pat, lit)
	}
	return false
}

// nameOf returns the declaration of a variable that stands where Before has a call, an element or a
// part, if the variable is only a name for that value.
func (m *matcher) nameOf(pat, e ast.Expr) (d facts.Declaration, ok bool) {
	id, isName := e.(*ast.Ident)
	if !isName || m.frozen || m.spelled {
		return d, false
	}
	value := facts.Single.Of(m.Pass)[m.Pass.Var(id)].Value
	switch pat := pat.(type) {
	case *ast.CallExpr:
		// Code is taken as it is spelled.
		_, ok = value.(*ast.CallExpr)
		ok = ok && m.pair.before.codeOf(pat) == nil
	case *ast.IndexExpr:
		// An element of a loop has names of its own.
		_, ok = value.(*ast.IndexExpr)
		ix, named := pat.Index.(*ast.Ident)
		ok = ok && !(named && m.loops[m.pair.rule.obj(ix)].loop != nil)
	case *ast.SliceExpr:
		_, ok = value.(*ast.SliceExpr)
	}
	if !ok {
		return d, false
	}
	return facts.OnlyNames(m.Pass, id, m.head)
}

func sameConstant(a, b constant.Value) bool {
	if b == nil {
		return false
	}
	if a.Kind() != b.Kind() {
		a, b = constant.ToInt(a), constant.ToInt(b)
	}
	return a.Kind() == b.Kind() && a.Kind() != constant.Unknown && constant.Compare(a, token.EQL, b)
}

func (m *matcher) optional(pat, e ast.Expr) bool {
	if pat == nil || e == nil {
		return pat == nil && e == nil
	}
	return m.expr(pat, e)
}

// lowBound is optional for the lower bound of a slice, where 0 may be left out.
func (m *matcher) lowBound(pat, e ast.Expr) bool {
	if pat == nil && e != nil {
		return m.Pass.IsInt(e, 0)
	}
	return m.optional(pat, e)
}

// exprs2 matches two lists place by place.
func (m *matcher) exprs2(pats, list []ast.Expr) bool {
	if len(pats) != len(list) {
		return false
	}
	for i := range pats {
		if !m.expr(pats[i], list[i]) {
			return false
		}
	}
	return true
}

// ident matches a name of Before: one of its own variables, a parameter that is a place or stands
// for an expression, nil, or a predeclared name.
func (m *matcher) ident(pat *ast.Ident, e ast.Expr) bool {
	obj := m.pair.rule.obj(pat)
	switch obj := obj.(type) {
	case *types.Var:
		// Before's own variables are matched with variables that the code declares; parameters with
		// code.
		if m.pair.before.params[obj] == nil {
			return m.localVariable(obj, e)
		}
		if m.pair.before.assigns[obj] {
			return m.place(obj, e)
		}
		return m.bind(obj, e)
	case *types.Nil:
		return m.Pass.Info.Types[e].IsNil()
	}
	// A predeclared name must be predeclared in the code, too, which may have given it another
	// meaning.
	id, ok := e.(*ast.Ident)
	return ok && obj != nil && obj.Parent() == types.Universe && m.Pass.Info.Uses[id] == obj
}

// localVariable compares with a variable that Before declares.
func (m *matcher) localVariable(obj *types.Var, e ast.Expr) bool {
	if r, ok := m.loops[obj]; ok {
		if r.value {
			return r.loop.IsElem(m.Pass, e)
		}
		return r.loop.Index != nil && m.Pass.Var(e) == r.loop.Index
	}
	v := m.Pass.Var(e)
	return v != nil && m.locals[obj] == v
}

// place binds a parameter that Before assigns to a local variable.
func (m *matcher) place(obj *types.Var, e ast.Expr) bool {
	v := m.Pass.Var(e)
	// The second time it must be the same variable.
	if old := m.places[obj.Name()]; old != nil {
		return v == old
	}
	// A global may change at any time, and a variable of Before's own has its match already.
	if m.frozen || !facts.IsLocal(m.Pass, v) || m.standsFor(v) || !m.unify(obj.Type(), v.Type()) {
		return false
	}
	// Two places that are one variable would be assigned in an order that Before does not have.
	for _, other := range m.places {
		if other == v {
			return false
		}
	}
	bind(&m.bindings, m.places, obj.Name(), v)
	return true
}

// bind makes a parameter stand for an expression, or compares with the one that it stands for.
func (m *matcher) bind(obj *types.Var, e ast.Expr) bool {
	if old := m.exprs[obj.Name()]; old != nil {
		return m.Pass.Same(old, e)
	}
	if m.frozen || m.Pass.Parent(e) == nil || !m.Pass.Info.Types[e].IsValue() && !m.Pass.Info.Types[e].IsNil() ||
		!m.fits(obj.Type(), m.Pass.Info.TypeOf(e)) || m.mentionsLocal(e) {
		return false
	}
	bind(&m.bindings, m.exprs, obj.Name(), e)
	return true
}

// mentionsLocal reports whether code mentions a variable that Before declares. A parameter cannot
// stand for such code: outside of the match there is no such variable.
func (m *matcher) mentionsLocal(n ast.Node) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			if v, ok := m.Pass.Info.Uses[id].(*types.Var); ok && m.standsFor(v) {
				found = true
			}
		}
		return !found
	})
	return found
}

// call matches calls of builtins, functions, methods and conversions by their callee.
func (m *matcher) call(pat *ast.CallExpr, e ast.Expr) bool {
	// A call of a parameter stands for code.
	if obj := m.pair.before.codeOf(pat); obj != nil {
		return m.code(obj, pat.Args, nil, e)
	}
	c, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	// First the call as it is written, and then other spellings of it.
	if len(c.Args) == len(pat.Args) && c.Ellipsis.IsValid() == pat.Ellipsis.IsValid() &&
		m.try(func() bool { return m.callee(pat, c) && m.exprs2(pat.Args, c.Args) }) {
		return true
	}
	sel, ok := pat.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg := m.pair.rule.packageOf(sel)
	if pkg == nil {
		return false
	}
	args, ok := respelled(m.Pass, pkg.Path()+"."+sel.Sel.Name, c)
	return ok && m.exprs2(pat.Args, args)
}

// callee matches what a call calls: a type, a builtin, a function of a package, or a method.
func (m *matcher) callee(pat, c *ast.CallExpr) bool {
	rule, p := m.pair.rule, m.Pass
	// A conversion has a type where a call has a function.
	if tv := rule.info.Types[pat.Fun]; tv.IsType() {
		return p.Info.Types[c.Fun].IsType() && m.unify(tv.Type, p.Info.TypeOf(c.Fun))
	}
	switch fun := ast.Unparen(pat.Fun).(type) {
	case *ast.Ident:
		// len is matched with the builtin, and not with a variable of this name.
		if b, ok := rule.obj(fun).(*types.Builtin); ok {
			got, ok := p.Callee(c).(*types.Builtin)
			return ok && got.Name() == b.Name()
		}
	case *ast.SelectorExpr:
		// By path, since the file may import a package under any name. A method with the name of a
		// function is another thing.
		if pkg := rule.packageOf(fun); pkg != nil {
			fn, ok := p.Callee(c).(*types.Func)
			return ok && fn.Pkg() != nil && fn.Pkg().Path() == pkg.Path() && fn.Name() == fun.Sel.Name &&
				fn.Signature().Recv() == nil
		}
		return m.method(fun, ast.Unparen(c.Fun))
	}
	return m.expr(pat.Fun, c.Fun)
}

// method matches the selector of a method call. Go takes a variable's address for a method with a
// pointer receiver, and so does the match.
func (m *matcher) method(pat *ast.SelectorExpr, fun ast.Expr) bool {
	sel, ok := fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != pat.Sel.Name {
		return false
	}
	// A field that holds a function may hold any.
	s := m.Pass.Info.Selections[sel]
	if s == nil || s.Kind() != types.MethodVal {
		return false
	}
	if m.try(func() bool { return m.expr(pat.X, sel.X) }) {
		return true
	}
	// Otherwise the receiver may be a pointer that a parameter stands for, while the code has the
	// variable: Go takes its address.
	id, ok := pat.X.(*ast.Ident)
	if !ok {
		return false
	}
	param, ok := m.pair.rule.obj(id).(*types.Var)
	if !ok || m.pair.before.params[param] == nil {
		return false
	}
	if m.exprs[param.Name()] != nil || m.frozen ||
		!m.fits(param.Type(), types.NewPointer(m.Pass.Info.TypeOf(sel.X))) || m.mentionsLocal(sel.X) {
		return false
	}
	bind(&m.bindings, m.exprs, param.Name(), sel.X)
	bind(&m.bindings, m.addressed, param.Name(), true)
	return true
}

func (c *compiled) packageOf(sel *ast.SelectorExpr) *types.Package {
	if id, ok := sel.X.(*ast.Ident); ok {
		if pkg, ok := c.obj(id).(*types.PkgName); ok {
			return pkg.Imported()
		}
	}
	return nil
}

// binary matches an operation in each of its spellings.
func (m *matcher) binary(pat *ast.BinaryExpr, e ast.Expr) bool {
	// x > 0 of a length is x != 0, which is how rules spell it.
	if b, ok := e.(*ast.BinaryExpr); ok {
		if op := m.zeroTest(b.Op, b.X, b.Y); op == pat.Op && op != b.Op {
			return m.expr(pat.X, b.X) && m.expr(pat.Y, b.Y)
		}
	}
	// !(a < b) is a >= b for integers only: a NaN is neither.
	if not, ok := e.(*ast.UnaryExpr); ok && not.Op == token.NOT {
		inner, ok := ast.Unparen(not.X).(*ast.BinaryExpr)
		return ok && negated[inner.Op] != 0 && (inner.Op == token.EQL || inner.Op == token.NEQ ||
			m.basic(inner.X)&types.IsInteger != 0) && m.operands(pat, negated[inner.Op], inner.X, inner.Y)
	}
	b, ok := e.(*ast.BinaryExpr)
	return ok && m.operands(pat, b.Op, b.X, b.Y)
}

// zeroTest returns the operator of x == 0 for x <= 0, and that of x != 0 for x > 0, if x is never
// negative: a length, the index of a loop, or an unsigned number.
func (m *matcher) zeroTest(op token.Token, x, y ast.Expr) token.Token {
	if op != token.LEQ && op != token.GTR || !m.Pass.IsInt(y, 0) {
		return op
	}
	// A length, an index and an unsigned number are never negative.
	never := m.basic(x)&types.IsUnsigned != 0
	if call, ok := ast.Unparen(x).(*ast.CallExpr); ok {
		b, isBuiltin := m.Pass.Callee(call).(*types.Builtin)
		never = never || isBuiltin && (b.Name() == "len" || b.Name() == "cap")
	}
	if v := m.Pass.Var(x); v != nil {
		for _, r := range m.loops {
			never = never || r.loop.Index == v
		}
	}
	switch {
	case !never:
		return op
	case op == token.LEQ:
		return token.EQL
	}
	return token.NEQ
}

// operands matches two operands in the order of Before, or in the other order if the operator
// allows that. swapFirst tries the other order first, for a second attempt at the whole match.
func (m *matcher) operands(pat *ast.BinaryExpr, op token.Token, x, y ast.Expr) bool {
	straight := func() bool {
		return op == pat.Op && m.try(func() bool { return m.expr(pat.X, x) && m.expr(pat.Y, y) })
	}
	if !m.swapFirst && straight() {
		return true
	}
	swaps := mirrored[op] == pat.Op
	// Strings add up in one order only, and floats are left alone.
	switch op {
	case token.ADD, token.MUL, token.AND, token.OR, token.XOR:
		swaps = op == pat.Op && m.basic(x)&(types.IsInteger) != 0
	}
	if swaps && m.try(func() bool { return m.expr(pat.X, y) && m.expr(pat.Y, x) }) {
		return true
	}
	return m.swapFirst && straight()
}

// basic returns the kind of a basic type, 0 for others.
func (m *matcher) basic(e ast.Expr) types.BasicInfo {
	if t := m.Pass.Info.TypeOf(e); t != nil {
		if b, ok := t.Underlying().(*types.Basic); ok {
			return b.Info()
		}
	}
	return 0
}

// index matches an element. s[i] of a loop through s also matches the loop's value variable.
func (m *matcher) index(pat *ast.IndexExpr, e ast.Expr) bool {
	if ix, ok := e.(*ast.IndexExpr); ok {
		return m.expr(pat.X, ix.X) && m.expr(pat.Index, ix.Index)
	}
	id, ok := ast.Unparen(pat.Index).(*ast.Ident)
	if !ok {
		return false
	}
	r, ok := m.loops[m.pair.rule.obj(id)]
	return ok && !r.value && r.loop.IsElem(m.Pass, e) && m.expr(pat.X, r.loop.Seq)
}

// literal matches a function literal, whose parameters may have other names.
func (m *matcher) literal(pat, lit *ast.FuncLit) bool {
	return m.tuple(pat.Type.Params, lit.Type.Params) && m.tuple(pat.Type.Results, lit.Type.Results) &&
		m.block(pat.Body, lit.Body)
}

// tuple matches parameters or results by their number and types, and binds their names.
func (m *matcher) tuple(pat, got *ast.FieldList) bool {
	a, b := names(pat), names(got)
	if len(a) != len(b) || pat.NumFields() != got.NumFields() {
		// Names are bound in order, and _ binds nothing. Where there are no names at all, the types
		// are matched.
		return false
	}
	for i := range a {
		obj, _ := m.pair.rule.obj(a[i]).(*types.Var)
		v, _ := m.Pass.Info.Defs[b[i]].(*types.Var)
		if a[i].Name == "_" {
			continue
		}
		if !m.declare(obj, v) {
			return false
		}
	}
	if len(a) == 0 && pat != nil {
		for i, f := range pat.List {
			if !m.unify(m.pair.rule.info.TypeOf(f.Type), m.Pass.Info.TypeOf(got.List[i].Type)) {
				return false
			}
		}
	}
	return true
}

func names(list *ast.FieldList) []*ast.Ident {
	var out []*ast.Ident
	if list != nil {
		for _, f := range list.List {
			out = append(out, f.Names...)
		}
	}
	return out
}

// declare makes a variable of Before stand for one of the code.
func (m *matcher) declare(obj, v *types.Var) bool {
	if obj == nil || v == nil || m.frozen || m.standsFor(v) {
		return false
	}
	if _, again := m.locals[obj]; again {
		return false
	}
	if obj.Type() != types.Typ[types.Invalid] && !m.unify(obj.Type(), v.Type()) {
		return false
	}
	bind(&m.bindings, m.locals, types.Object(obj), v)
	return true
}
