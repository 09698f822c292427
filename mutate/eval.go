package mutate

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"sync"
)

// A Value is what evaluating candidate code at rewrite time yields: int64 for
// signed integers, uint64 for unsigned ones, bool, string, or []Value for
// arrays and slices.
type Value any

// ErrEval says that code is outside of what can be evaluated at rewrite time:
// integers, booleans, strings, arrays and slices of these, functions of the
// candidate file, and a bounded number of steps.
var ErrEval = errors.New("cannot be evaluated before it runs")

const evalSteps = 2_000_000

// Call evaluates a function of the candidate file.
func (p *Pass) Call(fn *ast.FuncDecl, args ...Value) (Value, error) {
	return p.guarded(func(ev *evaluator) Value { return ev.call(fn.Type, fn.Body, map[*types.Var]Value{}, args) })
}

// Eval evaluates an expression with given values for some variables.
func (p *Pass) Eval(e ast.Expr, env map[*types.Var]Value) (Value, error) {
	return p.guarded(func(ev *evaluator) Value {
		ev.vars = env
		return ev.expr(e)
	})
}

// EvalGlobal evaluates the initialiser of a frozen package-level variable:
// how a table is recognised whatever filled it.
func (p *Pass) EvalGlobal(v *types.Var) (Value, error) {
	if !p.Frozen(v) {
		return nil, fmt.Errorf("%s may change: %w", v.Name(), ErrEval)
	}
	return p.guarded(func(ev *evaluator) Value { return ev.global(v) })
}

// known keeps what was found out about a version: one rule after the other asks
// for the same tables and the same tests of a byte, and the search again and
// again for what a rule offers.
type known struct {
	mu      sync.Mutex
	offers  map[*Mutator][]offer
	globals map[*types.Var]globalValue
	facts   map[any]any
}

// Once returns what find returned when it was first called for a key: what
// several rules want to know of a version and one finds out. It must follow from
// the version alone, and is only read from then on.
func (p *Pass) Once(key any, find func() any) any {
	k := &p.known
	k.mu.Lock()
	fact, ok := k.facts[key]
	k.mu.Unlock()
	if ok {
		return fact
	}
	fact = find()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.facts == nil {
		k.facts = map[any]any{}
	}
	k.facts[key] = fact
	return fact
}

type globalValue struct {
	val    Value
	failed *evalFailure
}

type evaluator struct {
	p       *Pass
	steps   int
	depth   int
	vars    map[*types.Var]Value
	operand ast.Expr
	byte    uint64
}

type evalFailure struct{ what string }

func (p *Pass) guarded(f func(*evaluator) Value) (v Value, err error) {
	ev := &evaluator{p: p, vars: map[*types.Var]Value{}}
	defer func() {
		switch e := recover().(type) {
		case nil:
		case evalFailure:
			err = fmt.Errorf("%s: %w", e.what, ErrEval)
		default:
			panic(e)
		}
	}()
	return f(ev), nil
}

func (ev *evaluator) fail(n ast.Node) {
	what := "the code"
	if n != nil {
		what = ev.p.Text(n)
	}
	panic(evalFailure{what})
}

func (ev *evaluator) tick(n ast.Node) {
	if ev.steps++; ev.steps > evalSteps {
		ev.fail(n)
	}
}

// global is the value of a package-level variable, worked out once.
func (ev *evaluator) global(v *types.Var) Value {
	k := &ev.p.known
	k.mu.Lock()
	g, ok := k.globals[v]
	k.mu.Unlock()
	if !ok {
		g = ev.initial(v)
		k.mu.Lock()
		if k.globals == nil {
			k.globals = map[*types.Var]globalValue{}
		}
		k.globals[v] = g
		k.mu.Unlock()
	}
	if g.failed != nil {
		panic(*g.failed)
	}
	return g.val
}

// initial evaluates an initialiser, with a count of steps and of calls of its
// own: what becomes of it must not depend on who asks first.
func (ev *evaluator) initial(v *types.Var) (g globalValue) {
	if !ev.p.Frozen(v) {
		return globalValue{failed: &evalFailure{v.Name()}}
	}
	defer func() {
		switch e := recover().(type) {
		case nil:
		case evalFailure:
			g.failed = &e
		default:
			panic(e)
		}
	}()
	own := &evaluator{p: ev.p, vars: map[*types.Var]Value{}}
	return globalValue{val: own.fit(own.expr(ev.p.Initialiser(v)), v.Type())}
}

// call evaluates a function. around are the variables that it sees, which are
// its own from here on.
func (ev *evaluator) call(ft *ast.FuncType, body *ast.BlockStmt, around map[*types.Var]Value, args []Value) Value {
	if ev.depth++; ev.depth > 60 || body == nil {
		ev.fail(ft)
	}
	defer func() { ev.depth-- }()
	saved := ev.vars
	ev.vars = around
	defer func() { ev.vars = saved }()
	i := 0
	for _, f := range ft.Params.List {
		for _, id := range f.Names {
			v := ev.p.Info.Defs[id].(*types.Var)
			ev.vars[v] = ev.fit(clone(args[i]), v.Type())
			i++
		}
	}
	if i != len(args) {
		ev.fail(ft)
	}
	result := ev.result(ft)
	switch c, v := ev.block(body.List); {
	case c != flowReturn:
		ev.fail(body)
	case v != nil:
		return ev.fit(v, ev.p.Info.TypeOf(ft.Results.List[0].Type))
	}
	return ev.vars[result]
}

// result declares the one result a function may have.
func (ev *evaluator) result(ft *ast.FuncType) *types.Var {
	if ft.Results == nil || ft.Results.NumFields() != 1 {
		ev.fail(ft)
	}
	if names := ft.Results.List[0].Names; len(names) == 1 {
		v := ev.p.Info.Defs[names[0]].(*types.Var)
		ev.vars[v] = ev.zero(v.Type())
		return v
	}
	return nil
}

func (ev *evaluator) zero(t types.Type) Value {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		switch {
		case u.Info()&types.IsBoolean != 0:
			return false
		case u.Info()&types.IsString != 0:
			return ""
		case u.Info()&types.IsUnsigned != 0:
			return uint64(0)
		case u.Info()&types.IsInteger != 0:
			return int64(0)
		}
	case *types.Array:
		if u.Len() <= 1<<16 {
			list := make([]Value, u.Len())
			for i := range list {
				list[i] = ev.zero(u.Elem())
			}
			return list
		}
	}
	panic(evalFailure{t.String()})
}

// clone copies arrays, which are values in Go. Slices are copied too: code
// that writes through a shared slice is outside of what is evaluated.
func clone(v Value) Value {
	list, ok := v.([]Value)
	if !ok {
		return v
	}
	out := make([]Value, len(list))
	for i := range list {
		out[i] = clone(list[i])
	}
	return out
}

// fit converts a value to a type, integers by wrapping.
func (ev *evaluator) fit(v Value, t types.Type) Value {
	b, ok := t.Underlying().(*types.Basic)
	if !ok {
		return v
	}
	var bits uint64
	switch n := v.(type) {
	case int64:
		bits = uint64(n)
	case uint64:
		bits = n
	default:
		return v
	}
	switch b.Kind() {
	case types.Int, types.Int64, types.UntypedInt, types.UntypedRune:
		return int64(bits)
	case types.Int32:
		return int64(int32(bits))
	case types.Int16:
		return int64(int16(bits))
	case types.Int8:
		return int64(int8(bits))
	case types.Uint, types.Uint64, types.Uintptr:
		return bits
	case types.Uint32:
		return uint64(uint32(bits))
	case types.Uint16:
		return uint64(uint16(bits))
	case types.Uint8:
		return uint64(uint8(bits))
	}
	panic(evalFailure{"a conversion to " + t.String()})
}

func (ev *evaluator) constant(v constant.Value, t types.Type) Value {
	switch v.Kind() {
	case constant.Bool:
		return constant.BoolVal(v)
	case constant.String:
		return constant.StringVal(v)
	}
	if n := constant.ToInt(v); n.Kind() == constant.Int {
		if i, exact := constant.Int64Val(n); exact {
			return ev.fit(i, t)
		}
		if u, exact := constant.Uint64Val(n); exact {
			return ev.fit(u, t)
		}
	}
	panic(evalFailure{v.String()})
}

func (ev *evaluator) expr(e ast.Expr) Value {
	ev.tick(e)
	if ev.operand != nil && ev.p.Same(e, ev.operand) {
		return ev.byte
	}
	if tv := ev.p.Info.Types[e]; tv.Value != nil {
		return ev.constant(tv.Value, tv.Type)
	}
	switch e := e.(type) {
	case *ast.ParenExpr:
		return ev.expr(e.X)
	case *ast.Ident:
		return ev.variable(e)
	case *ast.UnaryExpr:
		return ev.unary(e)
	case *ast.BinaryExpr:
		return ev.binary(e)
	case *ast.IndexExpr:
		return ev.element(e)
	case *ast.SliceExpr:
		return ev.slice(e)
	case *ast.CompositeLit:
		return ev.composite(e)
	case *ast.CallExpr:
		return ev.callExpr(e)
	}
	ev.fail(e)
	return nil
}

func (ev *evaluator) variable(id *ast.Ident) Value {
	v, ok := ev.p.Info.ObjectOf(id).(*types.Var)
	if !ok {
		ev.fail(id)
	}
	if val, ok := ev.vars[v]; ok {
		return val
	}
	if !ev.p.IsGlobal(v) {
		ev.fail(id)
	}
	return ev.global(v)
}

func (ev *evaluator) unary(e *ast.UnaryExpr) Value {
	t := ev.p.Info.TypeOf(e)
	switch x := ev.expr(e.X).(type) {
	case bool:
		if e.Op == token.NOT {
			return !x
		}
	case int64:
		if e.Op == token.XOR {
			return ev.fit(^x, t)
		}
		return ev.arith(e, e.Op, int64(0), x, t)
	case uint64:
		if e.Op == token.XOR {
			return ev.fit(^x, t)
		}
		return ev.arith(e, e.Op, uint64(0), x, t)
	}
	ev.fail(e)
	return nil
}

func (ev *evaluator) binary(e *ast.BinaryExpr) Value {
	x := ev.expr(e.X)
	if e.Op == token.LAND || e.Op == token.LOR {
		if x.(bool) == (e.Op == token.LOR) {
			return x
		}
		return ev.expr(e.Y)
	}
	return ev.operate(e, e.Op, x, ev.expr(e.Y), ev.p.Info.TypeOf(e.X))
}

// operate does a binary operation on values of type t; comparisons yield bool.
func (ev *evaluator) operate(n ast.Node, op token.Token, x, y Value, t types.Type) Value {
	switch op {
	case token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
		return compare(op, x, y)
	case token.SHL, token.SHR:
		return ev.shift(n, op, x, y, t)
	}
	if s, ok := x.(string); ok && op == token.ADD {
		return s + y.(string)
	}
	return ev.arith(n, op, x, y, t)
}

func compare(op token.Token, x, y Value) Value {
	switch x := x.(type) {
	case bool:
		if y, ok := y.(bool); ok {
			return (x == y) == (op == token.EQL)
		}
	case string:
		return ordered(op, cmp.Compare(x, y.(string)))
	case int64:
		if y, ok := y.(int64); ok {
			return ordered(op, cmp.Compare(x, y))
		}
	case uint64:
		if y, ok := y.(uint64); ok {
			return ordered(op, cmp.Compare(x, y))
		}
	}
	panic(evalFailure{"a comparison"})
}

// ordered is what a comparison yields of two values whose order is as by
// [cmp.Compare].
func ordered(op token.Token, order int) bool {
	switch op {
	case token.EQL:
		return order == 0
	case token.NEQ:
		return order != 0
	case token.LSS:
		return order < 0
	case token.LEQ:
		return order <= 0
	case token.GTR:
		return order > 0
	}
	return order >= 0
}

func (ev *evaluator) shift(n ast.Node, op token.Token, x, y Value, t types.Type) Value {
	var by uint64
	switch y := y.(type) {
	case int64:
		if y < 0 {
			ev.fail(n)
		}
		by = uint64(y)
	case uint64:
		by = y
	}
	switch x := x.(type) {
	case int64:
		if op == token.SHL {
			return ev.fit(x<<by, t)
		}
		return ev.fit(x>>by, t)
	case uint64:
		if op == token.SHL {
			return ev.fit(x<<by, t)
		}
		return ev.fit(x>>by, t)
	}
	ev.fail(n)
	return nil
}

func (ev *evaluator) arith(n ast.Node, op token.Token, x, y Value, t types.Type) Value {
	switch x := x.(type) {
	case int64:
		if y, ok := y.(int64); ok {
			if v, ok := integers(op, x, y); ok {
				return ev.fit(v, t)
			}
		}
	case uint64:
		if y, ok := y.(uint64); ok {
			if v, ok := integers(op, x, y); ok {
				return ev.fit(v, t)
			}
		}
	}
	ev.fail(n)
	return nil
}

func integers[T int64 | uint64](op token.Token, x, y T) (T, bool) {
	switch op {
	case token.ADD:
		return x + y, true
	case token.SUB:
		return x - y, true
	case token.MUL:
		return x * y, true
	case token.QUO:
		if y != 0 {
			return x / y, true
		}
	case token.REM:
		if y != 0 {
			return x % y, true
		}
	case token.AND:
		return x & y, true
	case token.OR:
		return x | y, true
	case token.XOR:
		return x ^ y, true
	case token.AND_NOT:
		return x &^ y, true
	}
	return 0, false
}
