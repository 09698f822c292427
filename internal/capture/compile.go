package capture

import (
	"encoding/binary"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"slices"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/probe/wire"
)

// Compile makes the byte code of a predicate over the parameters and results of a site. The
// predicate is a Go expression; a mistake in it is a *beagle.UsageError.
func Compile(text string, site wire.Site) (*wire.Program, error) {
	x, err := parser.ParseExpr(text)
	if err != nil {
		why := err.Error()
		if list := (scanner.ErrorList)(nil); errors.As(err, &list) && len(list) > 0 {
			why = fmt.Sprintf("%s at column %d", list[0].Msg, list[0].Pos.Column)
		}
		return nil, questionError(text, site, "it is not a Go expression: "+why)
	}
	c := compiler{site: site, prog: &wire.Program{Text: text}}
	t := c.expr(x)
	if c.err == "" && t.kind != "bool" {
		c.err = "it is not a condition: it gives " + t.describe()
	}
	if c.err != "" {
		return nil, questionError(text, site, c.err)
	}
	for _, o := range c.code {
		c.prog.Code = append(c.prog.Code, o.code)
		if o.operand {
			c.prog.Code = binary.AppendVarint(c.prog.Code, o.n)
		}
	}
	if len(c.prog.Code) > wire.MaxCode {
		why := fmt.Sprintf("it needs %d bytes of code, more than %d", len(c.prog.Code), wire.MaxCode)
		return nil, questionError(text, site, why)
	}
	return c.prog, nil
}

// questionError returns a *beagle.UsageError that lists the names and functions of a condition.
func questionError(text string, site wire.Site, why string) error {
	var names, calls []string
	for _, p := range slices.Concat(site.Params, site.Results) {
		names = append(names, p.Name+" "+p.Type)
	}
	for _, f := range wire.Functions {
		calls = append(calls, f.Name)
	}
	return &beagle.UsageError{What: fmt.Sprintf("cannot ask %q: %s", text, why),
		Remedy: fmt.Sprintf("%s has %s. Conditions may use len, cap, %s, panicked, comparisons, + - * / %%, && || !, "+
			"fields and indexes.", site.Name, strings.Join(names, ", "), strings.Join(calls, ", "))}
}

// An instruction is an opcode with its operand.
type instruction struct {
	code    byte
	operand bool
	n       int64
}

// A compiler makes a program of a condition. err is the first fault.
type compiler struct {
	site wire.Site
	prog *wire.Program
	code []instruction
	err  string
}

// A typed is the type of an expression's value on the stack. kind is bool, int, float, text, nil or
// memory.
type typed struct {
	kind string
	t    *wire.Type // of memory, and of what was read from it
}

// describe names the type for messages.
func (t typed) describe() string {
	if t.t != nil {
		return t.t.Type
	}
	return t.kind
}

// fail keeps the first fault, and returns a type with which the compiler goes on.
func (c *compiler) fail(format string, args ...any) typed {
	if c.err == "" {
		c.err = fmt.Sprintf(format, args...)
	}
	return typed{kind: "bool"}
}

func (c *compiler) emit(code byte)           { c.code = append(c.code, instruction{code: code}) }
func (c *compiler) emitN(code byte, n int64) { c.code = append(c.code, instruction{code, true, n}) }

// expr compiles an expression and returns its type on the stack.
func (c *compiler) expr(x ast.Expr) typed {
	switch x := x.(type) {
	case *ast.ParenExpr:
		return c.expr(x.X)
	case *ast.BasicLit:
		return c.literal(x)
	case *ast.Ident:
		return c.ident(x.Name)
	case *ast.SelectorExpr:
		return c.selector(x)
	case *ast.IndexExpr:
		return c.index(x)
	case *ast.StarExpr:
		return c.deref(c.expr(x.X))
	case *ast.UnaryExpr:
		return c.unary(x)
	case *ast.BinaryExpr:
		return c.binary(x)
	case *ast.CallExpr:
		return c.call(x)
	}
	return c.fail("a condition cannot hold %T", x)
}

// literal compiles a constant.
func (c *compiler) literal(x *ast.BasicLit) typed {
	// An instruction holds an integer itself. It holds the index of any other constant.
	switch x.Kind {
	case token.INT:
		n, err := strconv.ParseInt(x.Value, 0, 64)
		if err != nil {
			return c.fail("%s does not fit 64 bits", x.Value)
		}
		c.emitN(wire.OpInt, n)
		return typed{kind: "int"}
	case token.CHAR:
		r, _, _, err := strconv.UnquoteChar(x.Value[1:], '\'')
		if err != nil {
			return c.fail("%s is not a character", x.Value)
		}
		c.emitN(wire.OpInt, int64(r))
		return typed{kind: "int"}
	case token.FLOAT:
		f, err := strconv.ParseFloat(x.Value, 64)
		if err != nil {
			return c.fail("%s is not a number", x.Value)
		}
		c.emitN(wire.OpFloat, int64(len(c.prog.Floats)))
		c.prog.Floats = append(c.prog.Floats, f)
		return typed{kind: "float"}
	case token.STRING:
		s, err := strconv.Unquote(x.Value)
		if err != nil {
			return c.fail("%s is not a text", x.Value)
		}
		c.emitN(wire.OpText, int64(len(c.prog.Texts)))
		c.prog.Texts = append(c.prog.Texts, s)
		return typed{kind: "text"}
	}
	return c.fail("%s is not a constant that a condition can hold", x.Value)
}

// ident compiles a name: a predeclared constant, a parameter, a result, or panicked.
func (c *compiler) ident(name string) typed {
	switch name {
	case "true":
		c.emitN(wire.OpBool, 1)
		return typed{kind: "bool"}
	case "false":
		c.emitN(wire.OpBool, 0)
		return typed{kind: "bool"}
	case "nil":
		return typed{kind: "nil"}
	}
	named := func(t wire.Type) bool { return t.Name == name }
	if i := slices.IndexFunc(c.site.Params, named); i >= 0 {
		c.emitN(wire.OpArg, int64(i))
		return stackType(&c.site.Params[i])
	}
	if i := slices.IndexFunc(c.site.Results, named); i >= 0 {
		c.emitN(wire.OpResult, int64(i))
		return stackType(&c.site.Results[i])
	}
	if name == "panicked" {
		c.emit(wire.OpPanicked)
		return typed{kind: "bool"}
	}
	return c.fail("there is no %s", name)
}

// stackType returns the form that a variable has on the stack.
func stackType(t *wire.Type) typed {
	switch k := t.Kind; {
	case k == "bool":
		return typed{"bool", t}
	case k == "string":
		return typed{"text", t}
	case strings.HasPrefix(k, "int") && k != "interface", strings.HasPrefix(k, "uint"):
		return typed{"int", t}
	case strings.HasPrefix(k, "float"):
		return typed{"float", t}
	}
	return typed{"memory", t}
}

// selector compiles a field, of a struct or of a pointer to one.
func (c *compiler) selector(x *ast.SelectorExpr) typed {
	t := c.expr(x.X)
	if t.t != nil && t.t.Kind == "ptr" {
		t = c.deref(t)
	}
	if c.err != "" {
		return t
	}
	if t.t == nil || t.t.Kind != "struct" {
		return c.fail("%s has no fields", t.describe())
	}
	i := slices.IndexFunc(t.t.Fields, func(f wire.Type) bool { return f.Name == x.Sel.Name })
	if i < 0 {
		return c.fail("%s has no field %s that the probe describes", t.t.Type, x.Sel.Name)
	}
	c.emitN(wire.OpField, int64(i))
	return stackType(&t.t.Fields[i])
}

// deref compiles the load of a pointer on the stack.
func (c *compiler) deref(t typed) typed {
	if t.t == nil || t.t.Kind != "ptr" || t.t.Elem == nil {
		return c.fail("%s is not a pointer", t.describe())
	}
	c.emit(wire.OpDeref)
	return stackType(t.t.Elem)
}

// index compiles an element of a list or a text.
func (c *compiler) index(x *ast.IndexExpr) typed {
	t := c.expr(x.X)
	if at := c.expr(x.Index); at.kind != "int" {
		return c.fail("an index must be an integer, not %s", at.describe())
	}
	c.emit(wire.OpIndex)
	switch {
	case t.kind == "text":
		return typed{kind: "int"}
	case t.t != nil && (t.t.Kind == "slice" || t.t.Kind == "array") && t.t.Elem != nil:
		return stackType(t.t.Elem)
	}
	return c.fail("%s has no elements that a condition can read", t.describe())
}

// unary compiles an operator with one operand.
func (c *compiler) unary(x *ast.UnaryExpr) typed {
	t := c.expr(x.X)
	switch {
	case x.Op == token.NOT && t.kind == "bool":
		c.emit(wire.OpNot)
	case x.Op == token.SUB && (t.kind == "int" || t.kind == "float"):
		c.emit(wire.OpNeg)
	default:
		return c.fail("%s does not fit %s", x.Op, t.describe())
	}
	return typed{kind: t.kind}
}
