package mutate

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"unicode"
	"unicode/utf8"

	"github.com/beagle-go/beagle/internal/syntax"
)

// A flow says how a statement ended.
type flow int

const (
	flowNext flow = iota
	flowBreak
	flowContinue
	flowReturn
)

func (ev *evaluator) block(list []ast.Stmt) (flow, Value) {
	for _, s := range list {
		if c, v := ev.stmt(s); c != flowNext {
			return c, v
		}
	}
	return flowNext, nil
}

// stmt runs a statement. It returns how control goes on, and the result of a return.
func (ev *evaluator) stmt(s ast.Stmt) (flow, Value) {
	ev.tick(s)
	switch s := s.(type) {
	case *ast.EmptyStmt:
		return flowNext, nil
	case *ast.BlockStmt:
		return ev.block(s.List)
	// The evaluator handles functions with at most one result.
	case *ast.ReturnStmt:
		if len(s.Results) == 0 {
			return flowReturn, nil
		}
		if len(s.Results) == 1 {
			return flowReturn, ev.expr(s.Results[0])
		}
	case *ast.AssignStmt:
		ev.assign(s)
		return flowNext, nil
	case *ast.IncDecStmt:
		op, t := token.ADD, ev.p.Info.TypeOf(s.X)
		if s.Tok == token.DEC {
			op = token.SUB
		}
		ev.store(s.X, ev.arith(s, op, ev.expr(s.X), ev.fit(int64(1), t), t))
		return flowNext, nil
	case *ast.DeclStmt:
		ev.declare(s)
		return flowNext, nil
	case *ast.IfStmt:
		return ev.ifStmt(s)
	case *ast.ForStmt:
		return ev.forStmt(s)
	case *ast.RangeStmt:
		return ev.rangeStmt(s)
	case *ast.SwitchStmt:
		return ev.switchStmt(s)
	case *ast.BranchStmt:
		if s.Label == nil && s.Tok == token.BREAK {
			return flowBreak, nil
		}
		if s.Label == nil && s.Tok == token.CONTINUE {
			return flowContinue, nil
		}
	}
	ev.fail(s)
	return flowNext, nil
}

func (ev *evaluator) assign(s *ast.AssignStmt) {
	if len(s.Lhs) != len(s.Rhs) {
		ev.fail(s)
	}
	vals := make([]Value, len(s.Rhs))
	for i, r := range s.Rhs {
		vals[i] = clone(ev.expr(r))
	}
	for i, l := range s.Lhs {
		if s.Tok != token.ASSIGN && s.Tok != token.DEFINE {
			op := s.Tok - token.ADD_ASSIGN + token.ADD
			vals[i] = ev.operate(s, op, ev.expr(l), vals[i], ev.p.Info.TypeOf(l))
		}
		ev.store(l, vals[i])
	}
}

func (ev *evaluator) store(l ast.Expr, v Value) {
	switch l := ast.Unparen(l).(type) {
	case *ast.Ident:
		if l.Name == "_" {
			return
		}
		if obj, ok := ev.p.Info.ObjectOf(l).(*types.Var); ok && !ev.p.IsGlobal(obj) {
			ev.vars[obj] = ev.fit(v, obj.Type())
			return
		}
	case *ast.IndexExpr:
		list, ok := ev.place(l.X).([]Value)
		if i := ev.index(l.Index); ok && i < len(list) {
			list[i] = ev.fit(v, ev.p.Info.TypeOf(l))
			return
		}
	}
	ev.fail(l)
}

// place returns the storage of a local array, nested arrays included. The evaluator does not write
// to package variables.
func (ev *evaluator) place(e ast.Expr) Value {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		if v := ev.p.Var(e); v != nil && !ev.p.IsGlobal(v) {
			return ev.vars[v]
		}
	case *ast.IndexExpr:
		list, ok := ev.place(e.X).([]Value)
		if i := ev.index(e.Index); ok && i < len(list) {
			return list[i]
		}
	}
	ev.fail(e)
	return nil
}

func (ev *evaluator) index(e ast.Expr) int {
	switch i := ev.expr(e).(type) {
	case int64:
		if i >= 0 && i < 1<<30 {
			return int(i)
		}
	case uint64:
		if i < 1<<30 {
			return int(i)
		}
	}
	ev.fail(e)
	return 0
}

func (ev *evaluator) element(e *ast.IndexExpr) Value {
	i := ev.index(e.Index)
	switch x := ev.expr(e.X).(type) {
	case string:
		if i < len(x) {
			return uint64(x[i])
		}
	case []Value:
		if i < len(x) {
			return x[i]
		}
	}
	ev.fail(e)
	return nil
}

// slice evaluates a slice expression. It fails if the bounds are out of range.
func (ev *evaluator) slice(e *ast.SliceExpr) Value {
	if e.Slice3 {
		ev.fail(e)
	}
	// Without bounds, a part is the whole.
	x := ev.expr(e.X)
	lo, hi := 0, 0
	switch x := x.(type) {
	case string:
		hi = len(x)
	case []Value:
		hi = len(x)
	}
	if e.High != nil {
		hi = ev.index(e.High)
	}
	if e.Low != nil {
		lo = ev.index(e.Low)
	}
	// Bounds out of range would panic, and spare capacity has no value here.
	switch x := x.(type) {
	case string:
		if lo <= hi && hi <= len(x) {
			return x[lo:hi]
		}
	case []Value:
		if lo <= hi && hi <= len(x) {
			return x[lo:hi]
		}
	}
	ev.fail(e)
	return nil
}

// composite evaluates a literal of an array or a slice with at most 65,536 elements.
func (ev *evaluator) composite(e *ast.CompositeLit) Value {
	// Find the type of the elements, and for an array their number.
	var elem types.Type
	n := int64(-1)
	switch u := ev.p.Info.TypeOf(e).Underlying().(type) {
	case *types.Array:
		elem, n = u.Elem(), u.Len()
	case *types.Slice:
		elem = u.Elem()
	default:
		ev.fail(e)
	}
	var list []Value
	if n > 1<<16 {
		ev.fail(e)
	}
	// Evaluate the elements. A key says where the next ones stand, and a gap holds zeros.
	at := 0
	for _, x := range e.Elts {
		if kv, ok := x.(*ast.KeyValueExpr); ok {
			at, x = ev.index(kv.Key), kv.Value
		}
		if at > 1<<16 {
			ev.fail(e)
		}
		for len(list) <= at {
			list = append(list, ev.zeroValue(elem))
		}
		list[at] = ev.fit(ev.expr(x), elem)
		at++
	}
	// The rest of an array is zero.
	for int64(len(list)) < n {
		list = append(list, ev.zeroValue(elem))
	}
	return list
}

// callExpr evaluates a call, a conversion or a builtin.
func (ev *evaluator) callExpr(e *ast.CallExpr) Value {
	// A conversion, or a literal that is called at once, is no call of a name.
	if tv := ev.p.Info.Types[e.Fun]; tv.IsType() {
		return ev.convert(e, tv.Type)
	}
	if lit, ok := ast.Unparen(e.Fun).(*ast.FuncLit); ok && len(e.Args) == 0 {
		around := map[*types.Var]Value{}
		maps.Copy(around, ev.vars)
		return ev.call(lit.Type, lit.Body, around, nil)
	}
	switch f := ev.p.Callee(e).(type) {
	case *types.Builtin:
		return ev.builtin(e, f.Name())
	case *types.Func:
		// A function on characters is called itself; one of the candidate is evaluated.
		if answer, known := characters[f.FullName()]; known && len(e.Args) == 1 {
			if r, ok := ev.expr(e.Args[0]).(int64); ok {
				return answer(rune(r))
			}
		}
		d := ev.p.Decl(f)
		if d == nil || d.Recv != nil || e.Ellipsis.IsValid() || f.Signature().Variadic() {
			ev.fail(e)
		}
		args := make([]Value, len(e.Args))
		for i, a := range e.Args {
			args[i] = ev.expr(a)
		}
		return ev.call(d.Type, d.Body, map[*types.Var]Value{}, args)
	}
	ev.fail(e)
	return nil
}

// characters are questions about one character that the library answers, the same at rewrite time
// as at run time. If the answer follows the tables of Unicode, only ASCII counts: a later toolchain
// may have newer tables.
var characters = map[string]func(rune) Value{
	"unicode.IsControl": ofASCII(unicode.IsControl),
	"unicode.IsDigit":   ofASCII(unicode.IsDigit),
	"unicode.IsGraphic": ofASCII(unicode.IsGraphic),
	"unicode.IsLetter":  ofASCII(unicode.IsLetter),
	"unicode.IsLower":   ofASCII(unicode.IsLower),
	"unicode.IsNumber":  ofASCII(unicode.IsNumber),
	"unicode.IsPrint":   ofASCII(unicode.IsPrint),
	"unicode.IsPunct":   ofASCII(unicode.IsPunct),
	"unicode.IsSpace":   ofASCII(unicode.IsSpace),
	"unicode.IsSymbol":  ofASCII(unicode.IsSymbol),
	"unicode.IsUpper":   ofASCII(unicode.IsUpper),
}

func ofASCII(is func(rune) bool) func(rune) Value {
	return func(r rune) Value {
		if r < 0 || r >= utf8.RuneSelf {
			panic(evalFailure{"a question about a character above ASCII"})
		}
		return is(r)
	}
}

// convert evaluates a conversion between integers, strings and slices of bytes.
func (ev *evaluator) convert(e *ast.CallExpr, to types.Type) Value {
	v := ev.expr(e.Args[0])
	switch v := v.(type) {
	case int64, uint64:
		if syntax.IsInteger(to) {
			return ev.fit(v, to)
		}
	case string:
		if s, ok := to.Underlying().(*types.Slice); ok && syntax.IsByte(s.Elem()) {
			var list []Value
			for i := range len(v) {
				list = append(list, uint64(v[i]))
			}
			return list
		}
		if syntax.IsText(to) {
			return v
		}
	case bool:
		return v
	}
	ev.fail(e)
	return nil
}

// builtin evaluates a call of a predeclared function.
func (ev *evaluator) builtin(e *ast.CallExpr, name string) Value {
	switch name {
	case "len":
		switch x := ev.expr(e.Args[0]).(type) {
		case string:
			return int64(len(x))
		case []Value:
			return int64(len(x))
		}
	case "min", "max":
		best := ev.expr(e.Args[0])
		for _, a := range e.Args[1:] {
			v := ev.expr(a)
			if compare(token.LSS, v, best).(bool) == (name == "min") {
				best = v
			}
		}
		return best
	case "make":
		s, ok := ev.p.Info.TypeOf(e).Underlying().(*types.Slice)
		if n := ev.index(e.Args[1]); ok && n <= 1<<16 {
			list := make([]Value, n)
			for i := range list {
				list[i] = ev.zeroValue(s.Elem())
			}
			return list
		}
	}
	ev.fail(e)
	return nil
}

func (ev *evaluator) declare(s *ast.DeclStmt) {
	g := s.Decl.(*ast.GenDecl)
	for _, spec := range g.Specs {
		vs, ok := spec.(*ast.ValueSpec)
		if !ok || g.Tok == token.CONST {
			continue
		}
		for i, id := range vs.Names {
			v, ok := ev.p.Info.Defs[id].(*types.Var)
			switch {
			case !ok:
			case len(vs.Values) == len(vs.Names):
				ev.vars[v] = ev.fit(clone(ev.expr(vs.Values[i])), v.Type())
			case len(vs.Values) == 0:
				ev.vars[v] = ev.zeroValue(v.Type())
			default:
				ev.fail(s)
			}
		}
	}
}

func (ev *evaluator) ifStmt(s *ast.IfStmt) (flow, Value) {
	if s.Init != nil {
		ev.stmt(s.Init)
	}
	if ev.expr(s.Cond).(bool) {
		return ev.block(s.Body.List)
	}
	if s.Else != nil {
		return ev.stmt(s.Else)
	}
	return flowNext, nil
}

func (ev *evaluator) forStmt(s *ast.ForStmt) (flow, Value) {
	if s.Init != nil {
		ev.stmt(s.Init)
	}
	for s.Cond == nil || ev.expr(s.Cond).(bool) {
		ev.tick(s)
		switch c, v := ev.block(s.Body.List); c {
		case flowBreak:
			return flowNext, nil
		case flowReturn:
			return c, v
		}
		if s.Post != nil {
			ev.stmt(s.Post)
		}
	}
	return flowNext, nil
}

// rangeStmt runs a loop over a number or a list.
func (ev *evaluator) rangeStmt(s *ast.RangeStmt) (flow, Value) {
	var n int
	x := ev.expr(s.X)
	list, _ := x.([]Value)
	switch x := x.(type) {
	case int64:
		n = int(x)
	case uint64:
		n = int(x)
	case []Value:
		n = len(x)
	default:
		ev.fail(s) // a string yields runes
	}
	for i := range n {
		ev.tick(s)
		if s.Key != nil {
			ev.store(s.Key, int64(i))
		}
		if s.Value != nil && i < len(list) {
			ev.store(s.Value, clone(list[i]))
		}
		switch c, v := ev.block(s.Body.List); c {
		case flowBreak:
			return flowNext, nil
		case flowReturn:
			return c, v
		}
	}
	return flowNext, nil
}

// switchStmt runs the first clause that matches the tag, or the default.
func (ev *evaluator) switchStmt(s *ast.SwitchStmt) (flow, Value) {
	if s.Init != nil {
		ev.stmt(s.Init)
	}
	var tag Value = true
	if s.Tag != nil {
		tag = ev.expr(s.Tag)
	}
	var chosen *ast.CaseClause
	for _, c := range s.Body.List {
		clause := c.(*ast.CaseClause)
		if clause.List == nil && chosen == nil {
			chosen = clause
		}
		for _, e := range clause.List {
			if compare(token.EQL, tag, ev.expr(e)).(bool) {
				return ev.clause(clause)
			}
		}
	}
	if chosen == nil {
		return flowNext, nil
	}
	return ev.clause(chosen)
}

func (ev *evaluator) clause(c *ast.CaseClause) (flow, Value) {
	end, v := ev.block(c.Body)
	if end == flowBreak {
		return flowNext, nil
	}
	return end, v
}
