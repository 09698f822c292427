package llm

import (
	"encoding/binary"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/scanner"
	"go/token"
	"slices"
	"strings"
)

// Leaks reports whether a version's source holds a frequent captured value that the original does
// not hold, such as a copy for a special case. With Redact no prompt shows such a version, so it
// cannot be a parent for a model.
//
// Leaks compares values, however the code spells them: 4096, 4_096, 0x1000 and 1<<12 are one. It
// finds a text in joined parts, as its bytes in a row, and packed into numbers.
func (e *Briefing) Leaks(source string) bool {
	if !e.Redact || e.Facets == nil {
		return false
	}
	captured := newConstants()
	for _, p := range e.Facets.Params {
		for _, v := range p.Top {
			captured.addFrom(v.Value)
		}
	}
	if len(captured.values) == 0 {
		return false
	}
	var own, its constants = newConstants(), newConstants()
	if e.Target != nil {
		own.addFrom(e.Target.Source)
	}
	its.addFrom(source)
	for key := range captured.values {
		if its.values[key] && !own.values[key] {
			return true
		}
		if text, ok := strings.CutPrefix(key, textKey); ok && len(text) >= shortest && its.spells(text) &&
			!own.spells(text) {
			return true
		}
	}
	return false
}

// shortest is the length from which Leaks looks for a text inside others.
const shortest = 4

const textKey, numberKey = "text ", "number "

// constants holds the values that some Go code spells.
type constants struct {
	values map[string]bool // by kind and value; without numbers of one or two digits, which reveal nothing
	texts  strings.Builder // all texts, one after the other
	bytes  []byte          // characters and numbers that may be bytes, in the order of the code
	packed []string        // the bytes that numbers hold
}

func newConstants() constants { return constants{values: map[string]bool{}} }

// addFrom adds the constants of a file or an expression, or at least the literals of anything else.
func (c *constants) addFrom(src string) {
	var tree ast.Node
	if f, err := parser.ParseFile(token.NewFileSet(), "", src, parser.SkipObjectResolution); err == nil {
		tree = f
	} else if x, err := parser.ParseExpr(src); err == nil {
		tree = x
	}
	c.literals(src)
	if tree != nil {
		ast.Inspect(tree, func(n ast.Node) bool {
			if x, ok := n.(ast.Expr); ok {
				c.add(fold(x))
			}
			return true
		})
	}
}

// literals reads the tokens, which needs no grammar.
func (c *constants) literals(src string) {
	var s scanner.Scanner
	fset := token.NewFileSet()
	s.Init(fset.AddFile("", -1, len(src)), []byte(src), func(token.Position, string) {}, 0)
	for {
		_, tok, lit := s.Scan()
		if tok == token.EOF {
			return
		}
		if !tok.IsLiteral() || tok == token.IDENT || tok == token.IMAG {
			continue
		}
		v := constant.MakeFromLiteral(lit, tok, 0)
		c.add(v)
		switch {
		case v.Kind() == constant.String:
			c.texts.WriteString(constant.StringVal(v))
		case tok == token.CHAR || tok == token.INT:
			c.asBytes(v)
		}
	}
}

func (c *constants) add(v constant.Value) {
	switch v.Kind() {
	case constant.String:
		if s := constant.StringVal(v); s != "" {
			c.values[textKey+s] = true
		}
	case constant.Int, constant.Float:
		if constant.Compare(size(v), token.GEQ, constant.MakeInt64(100)) || constant.ToInt(v).Kind() != constant.Int {
			c.values[numberKey+size(v).ExactString()] = true
		}
	}
}

// size returns a number without its sign, as an integer if it is one.
func size(v constant.Value) constant.Value {
	if i := constant.ToInt(v); i.Kind() == constant.Int {
		v = i
	}
	if constant.Sign(v) < 0 {
		v = constant.UnaryOp(token.SUB, v, 0)
	}
	return v
}

// asBytes adds the bytes of a number, for code that compares texts byte by byte or word by word.
func (c *constants) asBytes(v constant.Value) {
	n, ok := constant.Uint64Val(constant.ToInt(v))
	switch {
	case !ok:
	case n >= ' ' && n < 256:
		c.bytes = append(c.bytes, byte(n))
	case n >= 1<<24:
		little, big := binary.LittleEndian.AppendUint64(nil, n), binary.BigEndian.AppendUint64(nil, n)
		c.packed = append(c.packed, strings.Trim(string(little), "\x00"), strings.Trim(string(big), "\x00"))
	}
}

// spells reports whether the code's constants can form a text.
func (c *constants) spells(text string) bool {
	return strings.Contains(c.texts.String(), text) || strings.Contains(string(c.bytes), text) ||
		slices.ContainsFunc(c.packed, func(p string) bool { return len(p) >= shortest && strings.Contains(text, p) })
}

// fold returns the value of an expression of literals, or unknown for any other expression.
func fold(x ast.Expr) constant.Value {
	unknown := constant.MakeUnknown()
	switch x := x.(type) {
	case *ast.BasicLit:
		return constant.MakeFromLiteral(x.Value, x.Kind, 0)
	case *ast.ParenExpr:
		return fold(x.X)
	case *ast.UnaryExpr:
		if v := fold(x.X); isNumeric(v) && (x.Op == token.SUB || x.Op == token.ADD) {
			return constant.UnaryOp(x.Op, v, 0)
		}
	case *ast.BinaryExpr:
		return foldBinary(fold(x.X), x.Op, fold(x.Y))
	case *ast.CallExpr: // a conversion
		if len(x.Args) == 1 {
			if name, ok := x.Fun.(*ast.Ident); ok && isNumber(name.Name) {
				return fold(x.Args[0])
			}
		}
	}
	return unknown
}

func isNumeric(v constant.Value) bool { return v.Kind() == constant.Int || v.Kind() == constant.Float }

// maxShift bounds the numbers that code spells by shifting: no type holds a larger one.
const maxShift = 64

// foldBinary computes a constant expression; unknown where Go would not compile it.
func foldBinary(a constant.Value, op token.Token, b constant.Value) constant.Value {
	unknown := constant.MakeUnknown()
	switch {
	case a.Kind() == constant.String && b.Kind() == constant.String && op == token.ADD:
		return constant.BinaryOp(a, op, b)
	case !isNumeric(a) || !isNumeric(b):
		return unknown
	case op == token.SHL || op == token.SHR:
		n, ok := constant.Uint64Val(constant.ToInt(b))
		if whole := constant.ToInt(a); ok && n < maxShift && whole.Kind() == constant.Int {
			return constant.Shift(whole, op, uint(n))
		}
		return unknown
	}
	whole := a.Kind() == constant.Int && b.Kind() == constant.Int
	switch op {
	case token.ADD, token.SUB, token.MUL:
		return constant.BinaryOp(a, op, b)
	case token.QUO, token.REM:
		if constant.Sign(b) == 0 || op == token.REM && !whole {
			return unknown
		}
		if whole && op == token.QUO {
			op = token.QUO_ASSIGN // division of integers
		}
		return constant.BinaryOp(a, op, b)
	case token.AND, token.OR, token.XOR, token.AND_NOT:
		if whole {
			return constant.BinaryOp(a, op, b)
		}
	}
	return unknown
}
