package mutate

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
)

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

// operate applies a binary operation to values of type t. Comparisons yield bool.
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
		return compareHolds(op, cmp.Compare(x, y.(string)))
	case int64:
		if y, ok := y.(int64); ok {
			return compareHolds(op, cmp.Compare(x, y))
		}
	case uint64:
		if y, ok := y.(uint64); ok {
			return compareHolds(op, cmp.Compare(x, y))
		}
	}
	panic(evalFailure{"a comparison"})
}

// compareHolds returns the outcome of a comparison of two values. order is their order, as
// [cmp.Compare] returns it.
func compareHolds(op token.Token, order int) bool {
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

// shift evaluates x << y or x >> y in type t.
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

// integers applies an operator; ok is false for a division by zero or an unknown operator.
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
