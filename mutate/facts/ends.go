package facts

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
)

// MayEnd reports whether nothing may run after a node, apart from what its operands do.
func MayEnd(p *mutate.Pass, n ast.Node) bool {
	switch n := n.(type) {
	// These wait, run any number of times, or run other code.
	case *ast.ForStmt, *ast.RangeStmt, *ast.SelectStmt, *ast.SendStmt, *ast.GoStmt, *ast.DeferStmt:
		return true
	// A call may panic or never return.
	case *ast.CallExpr:
		return MayNotReturn(p, n)
	case *ast.UnaryExpr:
		return n.Op == token.ARROW
	// A nil pointer panics, in a dereference and in a field or method through one.
	case *ast.StarExpr:
		return !p.Info.Types[n].IsType()
	case *ast.SelectorExpr:
		s := p.Info.Selections[n]
		return s != nil && (s.Indirect() || syntax.Is[*types.Pointer](s.Recv()) || types.IsInterface(s.Recv()))
	// A type assertion panics unless its second result is asked for.
	case *ast.TypeAssertExpr:
		_, asks := p.Info.TypeOf(n).(*types.Tuple)
		return n.Type != nil && !asks
	// A slice's own index is the rule's business. A map, or an array through a pointer, may be nil.
	case *ast.IndexExpr:
		t := p.Info.TypeOf(n.X).Underlying()
		_, isMap := t.(*types.Map) // a nil map takes no element, and a key may have no hash
		return isMap || syntax.Is[*types.Pointer](t)
	case *ast.SliceExpr:
		return syntax.Is[*types.Pointer](p.Info.TypeOf(n.X))
	// A comparison of interfaces panics for types that cannot be compared, and a division by zero.
	case *ast.BinaryExpr:
		if n.Op == token.EQL || n.Op == token.NEQ {
			return p.Effects(n).Panics && !plainOperand(p, n.X)
		}
		return MayFail(p, n.Op, n.Y)
	case *ast.AssignStmt:
		return MayFail(p, n.Tok, n.Rhs[0])
	case *ast.CaseClause:
		return slices.ContainsFunc(n.List, func(e ast.Expr) bool {
			return !p.Info.Types[e].IsType() && !plainOperand(p, e)
		})
	}
	return false
}

// plainOperand reports whether comparing an operand needs no look into an interface.
func plainOperand(p *mutate.Pass, e ast.Expr) bool {
	tv := p.Info.Types[e]
	return tv.Value != nil || tv.IsNil() || syntax.PlainKind(tv.Type) != 0
}

// MayFail reports whether a division has a divisor that may be zero, or a shift a count that may be
// negative.
func MayFail(p *mutate.Pass, op token.Token, y ast.Expr) bool {
	tv := p.Info.Types[y]
	switch op {
	case token.QUO, token.REM, token.QUO_ASSIGN, token.REM_ASSIGN:
		return tv.Value == nil && syntax.PlainKind(tv.Type)&(types.IsFloat|types.IsComplex) == 0
	case token.SHL, token.SHR, token.SHL_ASSIGN, token.SHR_ASSIGN:
		return tv.Value == nil && syntax.PlainKind(tv.Type)&types.IsUnsigned == 0
	}
	return false
}

// MayNotReturn reports whether a call may panic or not return. Conversions return, unless they ask
// for the length of a slice, and so do the builtins that only look, count or append.
func MayNotReturn(p *mutate.Pass, call *ast.CallExpr) bool {
	if tv := p.Info.Types[call.Fun]; tv.IsType() {
		from, to := p.Info.TypeOf(call.Args[0]), tv.Type
		_, list := from.Underlying().(*types.Slice)
		_, array := to.Underlying().(*types.Array)
		return list && (array || syntax.Is[*types.Pointer](to))
	}
	b, ok := p.Callee(call).(*types.Builtin)
	if !ok {
		return true
	}
	switch b.Name() {
	case "len", "cap", "min", "max", "append", "copy", "new", "real", "imag", "complex":
		return false
	}
	return true
}
