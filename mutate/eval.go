package mutate

import (
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/types"
)

// A Value is the result of evaluating candidate code at rewrite time: int64 for signed integers,
// uint64 for unsigned ones, bool, string, or []Value for arrays and slices.
type Value any

// ErrEval says that the evaluator cannot evaluate some code at rewrite time. It handles integers,
// booleans, strings, arrays and slices of these, functions of the candidate file, and a bounded
// number of steps.
var ErrEval = errors.New("cannot be evaluated before it runs")

const evalSteps = 2_000_000

// Values evaluates code of a candidate at rewrite time, as far as [ErrEval] says.
type Values struct{ p *Pass }

// Values returns what evaluates code of the candidate.
func (p *Pass) Values() Values { return Values{p} }

// Call evaluates a function of the candidate file.
func (vs Values) Call(fn *ast.FuncDecl, args ...Value) (Value, error) {
	return vs.guarded(func(ev *evaluator) Value { return ev.call(fn.Type, fn.Body, map[*types.Var]Value{}, args) })
}

// Eval evaluates an expression with given values for some variables.
func (vs Values) Eval(e ast.Expr, env map[*types.Var]Value) (Value, error) {
	return vs.guarded(func(ev *evaluator) Value {
		ev.vars = env
		return ev.expr(e)
	})
}

// EvalGlobal evaluates the initialiser of a frozen package-level variable. Rules recognise tables
// with it, whatever code fills them.
func (vs Values) EvalGlobal(v *types.Var) (Value, error) {
	if !vs.p.Frozen(v) {
		return nil, fmt.Errorf("%s may change: %w", v.Name(), ErrEval)
	}
	return vs.guarded(func(ev *evaluator) Value { return ev.valueOfGlobal(v) })
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

func (vs Values) guarded(f func(*evaluator) Value) (v Value, err error) {
	ev := &evaluator{p: vs.p, vars: map[*types.Var]Value{}}
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

// valueOfGlobal returns the value of a package-level variable, and computes it once.
func (ev *evaluator) valueOfGlobal(v *types.Var) Value {
	k := &ev.p.base().known
	k.mu.Lock()
	g, ok := k.globals[v]
	k.mu.Unlock()
	if !ok {
		g = ev.initialValue(v)
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

// initialValue evaluates an initialiser, with its own count of steps and of calls. Its outcome must
// not depend on which code asks first.
func (ev *evaluator) initialValue(v *types.Var) (g globalValue) {
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

// call evaluates a function. around holds the variables that it sees; from here on they are its
// own.
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

// result declares the single result that a function may have.
func (ev *evaluator) result(ft *ast.FuncType) *types.Var {
	if ft.Results == nil || ft.Results.NumFields() != 1 {
		ev.fail(ft)
	}
	if names := ft.Results.List[0].Names; len(names) == 1 {
		v := ev.p.Info.Defs[names[0]].(*types.Var)
		ev.vars[v] = ev.zeroValue(v.Type())
		return v
	}
	return nil
}

// zeroValue returns the zero value of a type, and fails for types that the evaluator lacks.
func (ev *evaluator) zeroValue(t types.Type) Value {
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
				list[i] = ev.zeroValue(u.Elem())
			}
			return list
		}
	}
	panic(evalFailure{t.String()})
}

// clone copies arrays, which are values in Go. It copies slices too, because the evaluator refuses
// code that writes through a shared slice.
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

// fit converts a value to a type. Integers wrap.
func (ev *evaluator) fit(v Value, t types.Type) Value {
	b, ok := t.Underlying().(*types.Basic)
	if !ok {
		return v
	}
	// Only integers wrap: take the bits of one, whatever its sign.
	var bits uint64
	switch n := v.(type) {
	case int64:
		bits = uint64(n)
	case uint64:
		bits = n
	default:
		return v
	}
	// Cut them to the type's width. int and uint have 64 bits here.
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

// expr evaluates an expression.
func (ev *evaluator) expr(e ast.Expr) Value {
	ev.tick(e)
	// The byte under test and constants have their values.
	if ev.operand != nil && ev.p.Same(e, ev.operand) {
		return ev.byte
	}
	if tv := ev.p.Info.Types[e]; tv.Value != nil {
		if !ev.p.Values().Portable(e) {
			ev.fail(e)
		}
		return ev.constant(tv.Value, tv.Type)
	}
	// All other expressions are computed from their parts.
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
	return ev.valueOfGlobal(v)
}
