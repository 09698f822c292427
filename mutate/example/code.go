package example

import (
	"go/ast"
	"go/token"
	"go/types"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle/mutate/facts"
)

// A block is the code that a parameter of a function type stands for.
type block struct {
	args  []ast.Expr // the arguments at its first call in Before
	stmts []ast.Stmt
	expr  ast.Expr
}

// codeOf returns the parameter of a function type that a call of Before calls, or nil.
func (s *side) codeOf(call *ast.CallExpr) *types.Var {
	id, ok := ast.Unparen(call.Fun).(*ast.Ident)
	if !ok {
		return nil
	}
	obj, ok := s.rule.obj(id).(*types.Var)
	if !ok || s.params[obj] == nil {
		return nil
	}
	if _, ok := obj.Type().Underlying().(*types.Signature); !ok {
		return nil
	}
	return obj
}

// codeStmt returns the parameter and the arguments of a statement that stands for statements.
func (s *side) codeStmt(st ast.Stmt) (*types.Var, []ast.Expr) {
	e, ok := st.(*ast.ExprStmt)
	if !ok {
		return nil, nil
	}
	call, ok := e.X.(*ast.CallExpr)
	if !ok {
		return nil, nil
	}
	obj := s.codeOf(call)
	if obj == nil || obj.Type().Underlying().(*types.Signature).Results().Len() > 0 {
		return nil, nil
	}
	return obj, call.Args
}

// code makes a parameter stand for statements or an expression. These may use variables of Before
// only through the arguments, as the function in Before can.
func (m *matcher) code(obj *types.Var, args []ast.Expr, stmts []ast.Stmt, e ast.Expr) bool {
	if !m.pair.mayLeave(obj.Name()) && facts.Leaves(m.Pass, stmts) {
		return false
	}
	return m.withArguments(args, e, func() bool { return m.take(obj, &block{args: args, stmts: stmts, expr: e}) })
}

// withArguments makes the parameters in arguments stand for parts of an expression of the code, if
// nothing has bound them yet.
func (m *matcher) withArguments(args []ast.Expr, e ast.Expr, then func() bool) bool {
	for _, a := range args {
		// An argument that is bound already must be found, not chosen.
		if e == nil || m.frozen || m.isBound(a) {
			continue
		}
		// Every part is a candidate. The rest of the match decides which one holds, by coming back
		// if not.
		for part := range nodesOf[ast.Expr](e) {
			if m.try(func() bool { return m.asSpelled(a, part) && then() }) {
				return true
			}
		}
		return false
	}
	return then()
}

// asSpelled matches an expression whose text the code keeps: names in it stay.
func (m *matcher) asSpelled(pat, e ast.Expr) bool {
	old := m.spelled
	m.spelled = true
	defer func() { m.spelled = old }()
	return m.expr(pat, e)
}

// isBound reports whether all parameters in an expression of Before stand for something.
func (m *matcher) isBound(e ast.Expr) bool {
	for id := range nodesOf[*ast.Ident](e) {
		obj, ok := m.pair.rule.obj(id).(*types.Var)
		if ok && m.pair.before.params[obj] != nil && m.exprs[id.Name] == nil && m.places[id.Name] == nil {
			return false
		}
	}
	return true
}

// codeLeaving is code for statements that end in a return, the only one among them.
func (m *matcher) codeLeaving(obj *types.Var, args []ast.Expr, stmts []ast.Stmt) bool {
	return !facts.Leaves(m.Pass, stmts[:len(stmts)-1]) && m.take(obj, &block{args: args, stmts: stmts})
}

// take binds code to a parameter of a function type, or compares it with the code that the
// parameter has already.
func (m *matcher) take(obj *types.Var, b *block) bool {
	args, stmts, e := b.args, b.stmts, b.expr
	if old := m.blocks[obj.Name()]; old != nil {
		return m.blockText(old, old.args, marks) == m.blockText(b, args, marks)
	}
	// Within a condition of the pair nothing may be bound any more.
	if m.frozen {
		return false
	}
	// An expression must give a value of the parameter's result type, and have no effects: the
	// example's function may be called at another time or not at all.
	if e != nil {
		sig := obj.Type().Underlying().(*types.Signature)
		if m.Pass.Parent(e) == nil || sig.Results().Len() != 1 || !m.Pass.Info.Types[e].IsValue() ||
			!m.fits(sig.Results().At(0).Type(), m.Pass.Info.TypeOf(e)) || m.Pass.Effects(e).Writes {
			return false
		}
	}
	// The code may use the example's arguments, but no other variable that the example declares.
	if !m.ownNamesStay(stmts) {
		return false
	}
	for _, n := range b.nodes() {
		if !m.usesOnly(obj.Name(), args, n) {
			return false
		}
	}
	bind(&m.bindings, m.blocks, obj.Name(), b)
	return true
}

// ownVariable reports whether code may assign the variable of its k-th argument as its own: it is a
// variable of each iteration, and nothing reads it after the code.
func (p *compiledPair) ownVariable(name string, k int) bool {
	if !p.before.readsLast(name, k) {
		return false
	}
	for _, way := range p.ways {
		if !way.readsLast(name, k) {
			return false
		}
	}
	return true
}

// readsLast reports whether the k-th argument of the only call of a parameter is a variable that
// the function declares in the loop around the call, if there is one, and does not use after it.
func (s *side) readsLast(name string, k int) bool {
	// Find the only call of the parameter.
	var call *ast.CallExpr
	for e := range nodesOf[*ast.ExprStmt](s.body) {
		if obj, _ := s.codeStmt(e); obj != nil && obj.Name() == name {
			if call != nil {
				return false
			}
			call = e.X.(*ast.CallExpr)
		}
	}
	if call == nil {
		return false
	}
	// Its argument must be a variable that the function declares itself.
	id, ok := call.Args[k].(*ast.Ident)
	if !ok {
		return false
	}
	obj, ok := s.rule.obj(id).(*types.Var)
	if !ok || s.params[obj] != nil {
		return false
	}
	// A use after the call would see what the code has done to the variable.
	for other := range nodesOf[*ast.Ident](s.body) {
		if other.Pos() > id.Pos() && s.rule.obj(other) == obj {
			return false
		}
	}
	// A variable from outside of the loop lives on to the next iteration.
	for up := s.up[call]; up != nil; up = s.up[up] {
		switch up := up.(type) {
		case *ast.ForStmt:
			return up.Body.Pos() <= obj.Pos() // a variable of the head lives on
		case *ast.RangeStmt:
			return up.Pos() <= obj.Pos()
		}
	}
	return true
}

// mayLeave reports whether code may return, break or continue: it runs last in Before and After,
// and in a loop of both or of neither.
func (p *compiledPair) mayLeave(name string) bool {
	loops, ok := p.before.lastCall(name)
	if !ok {
		return false
	}
	for _, way := range p.ways {
		if n, ok := way.lastCall(name); !ok || n != loops {
			return false
		}
	}
	return true
}

// lastCall reports whether a function calls a parameter once, as the last that it does, and in how
// many loops.
func (s *side) lastCall(name string) (loops int, ok bool) {
	// Find the only call of the parameter.
	var call ast.Node
	for e := range nodesOf[*ast.ExprStmt](s.body) {
		if obj, _ := s.codeStmt(e); obj != nil && obj.Name() == name {
			if call != nil {
				return 0, false
			}
			call = e
		}
	}
	if call == nil || s.expr != nil {
		return 0, false
	}
	// Climb to the body: on each level the call must stand in the last statement, so that nothing
	// follows it.
	for child, up := call, s.up[call]; up != nil; child, up = up, s.up[up] {
		switch up := up.(type) {
		case *ast.BlockStmt:
			list := up.List
			if up == s.body {
				list = s.list
			}
			if len(list) == 0 || list[len(list)-1] != child {
				return 0, false
			}
		case *ast.ForStmt, *ast.RangeStmt:
			loops++
		case *ast.IfStmt:
		default:
			return 0, false
		}
	}
	return loops, loops <= 1
}

func (b *block) nodes() []ast.Node {
	if b.expr != nil {
		return []ast.Node{b.expr}
	}
	var out []ast.Node
	for _, s := range b.stmts {
		out = append(out, s)
	}
	return out
}

// ownNamesStay reports whether variables that the statements declare are not used after them.
func (m *matcher) ownNamesStay(stmts []ast.Stmt) bool {
	if len(stmts) == 0 {
		return true
	}
	end := stmts[len(stmts)-1].End()
	for _, s := range stmts {
		// A label could be the target of a jump from outside.
		if l, ok := s.(*ast.LabeledStmt); ok && l != nil {
			return false
		}
		for id := range nodesOf[*ast.Ident](s) {
			// Such a variable would be gone with the code that declares it.
			if v := m.Pass.Info.Defs[id]; v != nil && facts.UsedAfter(m.Pass, asVar(v), m.Pass.FuncOf(s), end) {
				return false
			}
		}
	}
	return true
}

func asVar(o types.Object) *types.Var {
	v, _ := o.(*types.Var)
	return v
}

// nodesOf yields the nodes of a type below a root.
func nodesOf[N ast.Node](root ast.Node) func(func(N) bool) {
	return func(yield func(N) bool) {
		stop := false
		ast.Inspect(root, func(n ast.Node) bool {
			if m, ok := n.(N); ok && !stop {
				stop = !yield(m)
			}
			return !stop
		})
	}
}

// usesOnly reports whether code mentions the variables of Before in the arguments only. It may
// assign an argument that is passed by its address, or a variable that nothing else reads.
func (m *matcher) usesOnly(name string, args []ast.Expr, n ast.Node) bool {
	ok := true
	m.eachUse(args, n, func(k int, e ast.Expr) {
		// Reading an argument is always allowed: After has it too.
		if m.runsLater(e, n) && !m.pair.argumentIsName(name, k) {
			ok = false // its value may be another one by then
		}
		if !m.Pass.Changes(e) {
			return
		}
		// Through an address, After passes the same place. A variable of Before that nothing else
		// reads can be assigned: nothing sees the value.
		u, isAddr := args[k].(*ast.UnaryExpr)
		_, variable := e.(*ast.Ident)
		if !(isAddr && u.Op == token.AND) && !(variable && m.pair.ownVariable(name, k)) {
			ok = false
		}
	}, func(id *ast.Ident) {
		// A name that no argument stands for would not be there in After.
		v, isVar := m.Pass.Info.ObjectOf(id).(*types.Var)
		if isVar && (m.standsFor(v) || m.isPlace(v)) {
			ok = false
		}
	})
	return ok
}

// runsLater reports whether an expression stands in a function literal of a piece of code.
func (m *matcher) runsLater(e ast.Expr, code ast.Node) bool {
	for _, up := range m.Pass.Path(e) {
		if _, literal := up.(*ast.FuncLit); literal {
			return true
		}
		if up == code {
			return false
		}
	}
	return false
}

// argumentIsName reports whether Before and After pass variables as the k-th argument of a
// parameter that stands for code.
func (p *compiledPair) argumentIsName(name string, k int) bool {
	for _, s := range append([]*side{p.before}, p.ways...) {
		for call := range nodesOf[*ast.CallExpr](s.body) {
			if obj := s.codeOf(call); obj != nil && obj.Name() == name {
				if _, ok := call.Args[k].(*ast.Ident); !ok {
					return false
				}
			}
		}
	}
	return true
}

// eachUse calls use for every part of code that an argument stands for, and other for every name
// outside these.
func (m *matcher) eachUse(args []ast.Expr, n ast.Node, use func(int, ast.Expr), other func(*ast.Ident)) {
	ast.Inspect(n, func(n ast.Node) bool {
		e, ok := n.(ast.Expr)
		if !ok {
			return true
		}
		if k := m.argument(args, e); k >= 0 {
			// An argument is used as a whole; the names in it are not mentions.
			use(k, e)
			return false
		}
		if id, ok := n.(*ast.Ident); ok {
			other(id)
		}
		return true
	})
}

// argument returns which argument an expression of the code is, or -1.
func (m *matcher) argument(args []ast.Expr, e ast.Expr) int {
	// Nothing may be bound by asking.
	old := m.frozen
	m.frozen = true
	defer func() { m.frozen = old }()
	for k, a := range args {
		// Behind an address the place itself is meant.
		if u, ok := a.(*ast.UnaryExpr); ok && u.Op == token.AND {
			a = u.X
		}
		if m.expr(a, e) {
			return k
		}
	}
	return -1
}

// marks writes arguments as numbers, to compare code.
func marks(k int, _ ast.Expr) string { return "\x00" + strconv.Itoa(k) }

// blockText writes code with other texts for the arguments.
func (m *matcher) blockText(b *block, args []ast.Expr, text func(k int, at ast.Expr) string) string {
	// Arguments become other texts, and matches within the code become what they are rewritten to.
	sub := func(n ast.Node) (string, bool) {
		if e, ok := n.(ast.Expr); ok {
			if k := m.argument(args, e); k >= 0 {
				return text(k, e), true
			}
		}
		if m.inner != nil {
			return m.inner(n)
		}
		return "", false
	}
	if b.expr != nil {
		return m.Pass.TextWith(b.expr, sub)
	}
	if len(b.stmts) == 0 {
		return ""
	}
	// Comments between statements belong to the code.
	var out strings.Builder
	at := b.stmts[0].Pos()
	around, whole := m.Pass.Parent(b.stmts[0]).(*ast.BlockStmt)
	if whole && len(around.List) == len(b.stmts) {
		at = around.Lbrace + 1 // with its comments
	}
	for _, s := range b.stmts {
		out.WriteString(m.Pass.Between(at, s.Pos()))
		out.WriteString(m.Pass.TextWith(s, sub))
		at = s.End()
	}
	if whole && len(around.List) == len(b.stmts) {
		out.WriteString(m.Pass.Between(at, around.Rbrace))
	}
	return strings.TrimSpace(out.String())
}
