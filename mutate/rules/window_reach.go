package rules

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
)

// This file finds the accesses that window may count on: those that code reaches in any case, or
// ends with a bounds check of its own before.

// surelyEvaluated lists the accesses that a statement makes in any case: all of a simple statement,
// and those of an if statement's test. Nothing that may end the statement comes before them.
//
//	sum += b[i] + b[i+1]          // both
//	if ok && b[i+2] == 0 { ... }  // not b[i+2]: ok may be false
func surelyEvaluated(p *mutate.Pass, s ast.Stmt) []neighbour {
	root := ast.Node(s)
	switch s := s.(type) {
	case *ast.IfStmt:
		if s.Init != nil {
			return nil
		}
		root = s.Cond
	default:
		if !isPlainStmt(s) {
			return nil
		}
	}
	ends := endingParts(p, root)
	var out []neighbour
	for ix := range mutate.Nodes[*ast.IndexExpr](p, root) {
		// A call ends the statement after the arguments that it contains, and perhaps before the
		// rest.
		first := !slices.ContainsFunc(ends, func(e ast.Node) bool { return ix.Pos() < e.Pos() || e.End() < ix.End() })
		if !first || mayBeSkipped(p, ix, s) {
			continue
		}
		if n, ok := neighbourOf(p, ix); ok {
			out = append(out, n)
		}
	}
	return out
}

// goesOn reports whether the next statement runs after s, unless an index or a cut is out of
// bounds.
func goesOn(p *mutate.Pass, s ast.Stmt) bool {
	switch s.(type) {
	case *ast.IfStmt, *ast.SwitchStmt, *ast.BlockStmt:
	default:
		if !isPlainStmt(s) {
			return false
		}
	}
	return !p.Effects(s).Jumps && len(endingParts(p, s)) == 0
}

// endingParts lists the parts of a piece of code after which nothing else may run: they may wait,
// loop or panic. Indices and cuts that are out of bounds do not count.
func endingParts(p *mutate.Pass, root ast.Node) []ast.Node {
	var out []ast.Node
	ast.Inspect(root, func(n ast.Node) bool {
		if n != nil && mayEnd(p, n) {
			out = append(out, n)
		}
		_, later := n.(*ast.FuncLit) // its body runs when a call runs it
		return !later
	})
	return out
}

// mayEnd reports whether nothing may run after a node, apart from what its operands do.
func mayEnd(p *mutate.Pass, n ast.Node) bool {
	switch n := n.(type) {
	// These wait, run any number of times, or run other code.
	case *ast.ForStmt, *ast.RangeStmt, *ast.SelectStmt, *ast.SendStmt, *ast.GoStmt, *ast.DeferStmt:
		return true
	// A call may panic or never return.
	case *ast.CallExpr:
		return mayNotReturn(p, n)
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
		return mayFail(p, n.Op, n.Y)
	case *ast.AssignStmt:
		return mayFail(p, n.Tok, n.Rhs[0])
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
	return tv.Value != nil || tv.IsNil() || plainKind(tv.Type) != 0
}

// mayFail reports whether a division has a divisor that may be zero, or a shift a count that may be
// negative.
func mayFail(p *mutate.Pass, op token.Token, y ast.Expr) bool {
	tv := p.Info.Types[y]
	switch op {
	case token.QUO, token.REM, token.QUO_ASSIGN, token.REM_ASSIGN:
		return tv.Value == nil && plainKind(tv.Type)&(types.IsFloat|types.IsComplex) == 0
	case token.SHL, token.SHR, token.SHL_ASSIGN, token.SHR_ASSIGN:
		return tv.Value == nil && plainKind(tv.Type)&types.IsUnsigned == 0
	}
	return false
}

// mayNotReturn reports whether a call may panic or not return. Conversions return, unless they ask
// for the length of a slice, and so do the builtins that only look, count or append.
func mayNotReturn(p *mutate.Pass, call *ast.CallExpr) bool {
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
