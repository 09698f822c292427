package mutate

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// This file evaluates a test of one byte for all 256 values.

type byteSet struct {
	set [256]bool
	err error
}

// ByteSet evaluates a test of one byte for all 256 values. Every expression that is the Same as
// operand stands for the byte.
func (vs Values) ByteSet(test, operand ast.Expr) (set [256]bool, err error) {
	b := vs.p.Once(tested{test, operand}, func() any {
		set, ok := vs.compared(test, operand)
		if ok {
			return byteSet{set, nil}
		}
		set, err := vs.byteSet(test, operand)
		return byteSet{set, err}
	}).(byteSet)
	return b.set, b.err
}

// tested is the key of the set of a test.
type tested struct{ test, operand ast.Expr }

func (vs Values) byteSet(test, operand ast.Expr) (set [256]bool, err error) {
	_, err = vs.guarded(func(ev *evaluator) Value {
		ev.operand = operand
		for c := range set {
			ev.steps, ev.byte = 0, uint64(c)
			is, ok := ev.expr(test).(bool)
			if !ok {
				ev.fail(test)
			}
			set[c] = is
		}
		return nil
	})
	return set, err
}

// compared returns the set of a simple test without evaluating it for each value. Simple tests
// compare the byte with constants, look it up in a table, or pass it to a function of the
// candidate. ok is false for any other test.
func (vs Values) compared(test, operand ast.Expr) (set [256]bool, ok bool) {
	switch e := ast.Unparen(test).(type) {
	case *ast.UnaryExpr:
		set, ok = vs.compared(e.X, operand)
		for c := range set {
			set[c] = !set[c]
		}
		return set, ok && e.Op == token.NOT
	case *ast.BinaryExpr:
		if e.Op != token.LAND && e.Op != token.LOR {
			return vs.comparison(e, operand)
		}
		set, ok = vs.compared(e.X, operand)
		if !ok {
			return set, false
		}
		other, ok := vs.compared(e.Y, operand)
		for c := range set {
			if set[c] == (e.Op == token.LAND) {
				set[c] = other[c]
			}
		}
		return set, ok
	case *ast.IndexExpr:
		return vs.entries(e, operand)
	case *ast.CallExpr:
		return vs.answers(e, operand)
	}
	return set, false
}

// entries returns the set of a table that the byte indexes.
func (vs Values) entries(e *ast.IndexExpr, operand ast.Expr) (set [256]bool, ok bool) {
	v := vs.p.Var(e.X)
	if !vs.p.IsGlobal(v) || !vs.p.Same(e.Index, operand) || vs.p.Same(e.X, operand) || vs.p.Same(e, operand) {
		return set, false
	}
	table, _ := vs.guarded(func(ev *evaluator) Value { return ev.valueOfGlobal(v) })
	list, _ := table.([]Value)
	if len(list) < len(set) {
		return set, false
	}
	for c := range set {
		if set[c], ok = list[c].(bool); !ok {
			return set, false
		}
	}
	return set, true
}

// answers returns the set of a function that takes the byte and nothing else. The set is the same
// wherever code calls the function.
func (vs Values) answers(call *ast.CallExpr, operand ast.Expr) (set [256]bool, ok bool) {
	fn, isFunc := vs.p.Callee(call).(*types.Func)
	if !isFunc || fn.Signature().TypeParams().Len() > 0 || len(call.Args) != 1 || !vs.p.Same(call.Args[0], operand) {
		return set, false
	}
	d := vs.p.Decl(fn)
	if d == nil || d.Body == nil || !vs.strange(operand, d) {
		return set, false
	}
	b := vs.p.Once(byteSetKey{d}, func() any {
		set, err := vs.byteSet(call, operand)
		return byteSet{set, err}
	}).(byteSet)
	return b.set, b.err == nil
}

// byteSetKey is the key of the set of a function.
type byteSetKey struct{ *ast.FuncDecl }

// strange reports whether an expression cannot occur in a function or its callees, because the byte
// has another name there.
func (vs Values) strange(e ast.Expr, d *ast.FuncDecl) bool {
	if d.Pos() <= e.Pos() && e.Pos() < d.End() {
		return false
	}
	for _, call := range Nodes[*ast.CallExpr](vs.p, d.Body) {
		if vs.p.Decl(vs.p.Callee(call)) != nil {
			return false
		}
	}
	for _, id := range Nodes[*ast.Ident](vs.p, e) {
		if v := vs.p.Var(id); v != nil && !v.IsField() && !vs.p.IsGlobal(v) {
			return true
		}
	}
	return false
}

// comparison returns the set of a comparison of the byte with a constant.
func (vs Values) comparison(e *ast.BinaryExpr, operand ast.Expr) (set [256]bool, ok bool) {
	x, y := vs.p.Same(e.X, operand), vs.p.Same(e.Y, operand)
	if x == y || vs.p.Info.Types[e].Value != nil || vs.p.Same(e, operand) {
		return set, false
	}
	constant := e.Y
	if y {
		constant = e.X
	}
	tv := vs.p.Info.Types[constant]
	if tv.Value == nil || !vs.Portable(constant) {
		return set, false
	}
	limit, err := vs.guarded(func(ev *evaluator) Value { return ev.constant(tv.Value, tv.Type) })
	n, isByte := limit.(uint64)
	if err != nil || !isByte {
		return set, false
	}
	for c := range set {
		order := cmp.Compare(uint64(c), n)
		if y {
			order = -order
		}
		set[c] = compareHolds(e.Op, order)
	}
	return set, slices.Contains(comparisons, e.Op)
}

var comparisons = []token.Token{token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ}

// EvalByte evaluates an expression that depends on one byte. Every expression that is the Same as
// operand stands for the byte.
func (vs Values) EvalByte(e, operand ast.Expr, c byte) (Value, error) {
	return vs.EvalByteWith(e, operand, c, map[*types.Var]Value{})
}

// EvalByteWith is EvalByte with given values for some variables, too. A nil operand stands for
// nothing.
func (vs Values) EvalByteWith(e, operand ast.Expr, c byte, env map[*types.Var]Value) (Value, error) {
	return vs.guarded(func(ev *evaluator) Value {
		ev.operand, ev.byte, ev.vars = operand, uint64(c), env
		return ev.expr(e)
	})
}
