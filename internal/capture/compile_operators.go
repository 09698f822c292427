package capture

import (
	"go/ast"
	"go/token"
	"slices"

	"github.com/beagle-go/beagle/probe/wire"
)

// binary compiles an operator with two operands.
func (c *compiler) binary(x *ast.BinaryExpr) typed {
	switch x.Op {
	case token.LAND, token.LOR:
		return c.logic(x)
	case token.EQL, token.NEQ:
		return c.equal(x)
	case token.LSS, token.LEQ:
		return c.less(x.X, x.Y, x.Op == token.LEQ)
	case token.GTR, token.GEQ:
		return c.less(x.Y, x.X, x.Op == token.GEQ)
	}
	ops := map[token.Token]byte{token.ADD: wire.OpAdd, token.SUB: wire.OpSub, token.MUL: wire.OpMul,
		token.QUO: wire.OpDiv, token.REM: wire.OpMod}
	op, ok := ops[x.Op]
	a, b := c.expr(x.X), c.expr(x.Y)
	numbers := func(t typed) bool { return t.kind == "int" || t.kind == "float" }
	if !ok || !numbers(a) || !numbers(b) || x.Op == token.REM && (a.kind == "float" || b.kind == "float") {
		return c.fail("%s does not fit %s and %s", x.Op, a.describe(), b.describe())
	}
	c.emit(op)
	if a.kind == "float" || b.kind == "float" {
		return typed{kind: "float"}
	}
	return typed{kind: "int"}
}

// logic evaluates the right side only where it decides.
// logic compiles && and ||.
func (c *compiler) logic(x *ast.BinaryExpr) typed {
	a := c.expr(x.X)
	at := len(c.code)
	op := byte(wire.OpAnd)
	if x.Op == token.LOR {
		op = wire.OpOr
	}
	c.emitN(op, 0)
	b := c.expr(x.Y)
	c.code[at].n = int64(len(c.code) - at - 1)
	if a.kind != "bool" || b.kind != "bool" {
		return c.fail("%s does not fit %s and %s", x.Op, a.describe(), b.describe())
	}
	return typed{kind: "bool"}
}

// equal compiles == and !=.
func (c *compiler) equal(x *ast.BinaryExpr) typed {
	a := c.expr(x.X)
	b := c.expr(x.Y)
	switch {
	case a.kind == "nil" || b.kind == "nil":
		if a.kind == "nil" {
			a = b
		}
		nilable := []string{"ptr", "slice", "map", "interface", "func", "chan"}
		if a.t == nil || !slices.Contains(nilable, a.t.Kind) {
			return c.fail("%s is never nil", a.describe())
		}
		c.emit(wire.OpIsNil)
	case !comparable(a, b):
		return c.fail("%s and %s cannot be compared", a.describe(), b.describe())
	default:
		c.emit(wire.OpEqual)
	}
	if x.Op == token.NEQ {
		c.emit(wire.OpNot)
	}
	return typed{kind: "bool"}
}

// comparable reports whether == can compare two values.
func comparable(a, b typed) bool {
	number := func(t typed) bool { return t.kind == "int" || t.kind == "float" }
	return number(a) && number(b) || a.kind == b.kind && (a.kind == "text" || a.kind == "bool")
}

// less compiles x < y, or x <= y with orEqual.
func (c *compiler) less(x, y ast.Expr, orEqual bool) typed {
	a, b := c.expr(x), c.expr(y)
	if !comparable(a, b) || a.kind == "bool" {
		return c.fail("%s and %s have no order", a.describe(), b.describe())
	}
	op := byte(wire.OpLess)
	if orEqual {
		op = wire.OpLessEqual
	}
	c.emit(op)
	return typed{kind: "bool"}
}

// call compiles len, cap, or a call of one of wire.Functions.
func (c *compiler) call(x *ast.CallExpr) typed {
	name := ""
	switch f := x.Fun.(type) {
	case *ast.Ident:
		name = f.Name
	case *ast.SelectorExpr:
		if id, ok := f.X.(*ast.Ident); ok {
			name = id.Name + "." + f.Sel.Name
		}
	}
	if name == "len" || name == "cap" {
		return c.size(name, x)
	}
	i := slices.IndexFunc(wire.Functions, func(f wire.Function) bool { return f.Name == name })
	if i < 0 {
		return c.fail("a condition cannot call %s", name)
	}
	if f := wire.Functions[i]; len(x.Args) != f.Args {
		return c.fail("%s takes %d arguments, not %d", name, f.Args, len(x.Args))
	}
	for _, arg := range x.Args {
		t := c.expr(arg)
		if list := name == "sorted" || name == "unique"; list != isList(t) || !list && !isText(t) {
			return c.fail("%s does not fit %s", name, t.describe())
		}
	}
	c.emitN(wire.OpCall, int64(i))
	return typed{kind: "bool"}
}

// isText reports whether a value is a string or a slice of bytes.
func isText(t typed) bool {
	return t.kind == "text" || t.t != nil && t.t.Kind == "slice" && t.t.Elem != nil && t.t.Elem.Kind == "uint8"
}

// isList reports whether a value is a list of numbers or text, which have an order.
func isList(t typed) bool {
	if t.t == nil || t.t.Kind != "slice" && t.t.Kind != "array" || t.t.Elem == nil || isText(t) {
		return false
	}
	e := stackType(t.t.Elem)
	return e.kind == "int" || e.kind == "float" || e.kind == "text"
}

// size compiles len or cap.
func (c *compiler) size(name string, x *ast.CallExpr) typed {
	if len(x.Args) != 1 {
		return c.fail("%s takes one argument", name)
	}
	t := c.expr(x.Args[0])
	kind := t.kind
	if t.t != nil {
		kind = t.t.Kind
	}
	switch {
	case name == "cap" && kind == "slice":
		c.emit(wire.OpCap)
	case name == "len" && slices.Contains([]string{"text", "string", "slice", "array", "map"}, kind):
		c.emit(wire.OpLen)
	default:
		return c.fail("%s does not fit %s", name, t.describe())
	}
	return typed{kind: "int"}
}
