package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
)

// bitLoop (catalogue N2) matches a loop that counts the ones of an unsigned variable, or its length
// in bits, until the variable is zero. It calls math/bits and sets the variable to zero.
var bitLoop = &mutate.Mutator{
	Name: "bit-loop",
	Doc: "Count bits with math/bits, which is one instruction, instead of a loop over them. Legal because the loop " +
		"only counts, and x ends at zero either way.",
	Before: `for x != 0 {
	x &= x - 1
	n++
}`,
	After: `n += bits.OnesCount64(x)
x = 0`,
	Class:   beagle.E0,
	Gain:    4,
	Find:    findBitLoop,
	Rewrite: precomputed,
}

func findBitLoop(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for f := range mutate.Nodes[*ast.ForStmt](p, nil) {
		x := untilZero(p, f)
		if x == nil || len(f.Body.List) != 2 && (len(f.Body.List) != 1 || f.Post == nil) {
			continue
		}
		steps := f.Body.List
		if f.Post != nil {
			steps = append(append([]ast.Stmt{}, steps...), f.Post)
		}
		if len(steps) != 2 {
			continue
		}
		n, fn := countedBits(p, x, steps[0], steps[1])
		if n == nil {
			n, fn = countedBits(p, x, steps[1], steps[0])
		}
		if n == nil || !isBasicType(n.Type(), types.Int) || n == x {
			continue
		}
		sites = append(sites, site(f, "loop over the bits of "+x.Name(), bitEdits(p, f, x, n, fn)...))
	}
	return sites
}

// untilZero returns x for the heads `for x != 0` and `for x > 0`, if x is unsigned.
func untilZero(p *mutate.Pass, f *ast.ForStmt) *types.Var {
	cond, ok := f.Cond.(*ast.BinaryExpr)
	if !ok || f.Init != nil || cond.Op != token.NEQ && cond.Op != token.GTR || !p.IsInt(cond.Y, 0) {
		return nil
	}
	x := p.Var(cond.X)
	if !local(p, x) || captured(p, x) || orderedKind(p, cond.X)&types.IsUnsigned == 0 || bitsSuffix(x.Type()) == "?" {
		return nil
	}
	return x
}

func bitsSuffix(t types.Type) string {
	b, ok := t.Underlying().(*types.Basic)
	if !ok {
		return "?"
	}
	suffix, ok := map[types.BasicKind]string{types.Uint: "", types.Uint8: "8", types.Uint16: "16", types.Uint32: "32",
		types.Uint64: "64"}[b.Kind()]
	if !ok {
		return "?"
	}
	return suffix
}

// countedBits reads a step and a count. A step x &= x-1 with n++ counts ones, and so does x >>= 1
// behind n += int(x & 1). A step x >>= 1 with n++ counts the length.
func countedBits(p *mutate.Pass, x *types.Var, count, step ast.Stmt) (n *types.Var, fn string) {
	clear, shift := stepOf(p, x, step)
	if inc, ok := count.(*ast.IncDecStmt); ok && inc.Tok == token.INC && plainLocal(p, inc.X) {
		switch {
		case clear:
			return p.Var(inc.X), "OnesCount"
		case shift:
			return p.Var(inc.X), "Len"
		}
	}
	lhs, rhs, ok := assigned(count, token.ADD_ASSIGN)
	if !ok || !shift || !plainLocal(p, lhs) || count.Pos() > step.Pos() {
		return nil, ""
	}
	if call, isCall := rhs.(*ast.CallExpr); isCall && len(call.Args) == 1 && p.Info.Types[call.Fun].IsType() {
		rhs = ast.Unparen(call.Args[0])
	}
	and, isAnd := rhs.(*ast.BinaryExpr)
	if isAnd && and.Op == token.AND && p.Var(and.X) == x && p.IsInt(and.Y, 1) {
		return p.Var(lhs), "OnesCount"
	}
	return nil, ""
}

// stepOf recognises x &= x - 1 and x >>= 1, also as plain assignments.
func stepOf(p *mutate.Pass, x *types.Var, s ast.Stmt) (clear, shift bool) {
	lhs, rhs, ok := assigned(s, token.AND_ASSIGN)
	if ok && p.Var(lhs) == x {
		return minusOne(p, x, rhs), false
	}
	if lhs, rhs, ok = assigned(s, token.SHR_ASSIGN); ok && p.Var(lhs) == x {
		return false, p.IsInt(rhs, 1)
	}
	lhs, rhs, ok = assigned(s, token.ASSIGN)
	b, isBinary := rhs.(*ast.BinaryExpr)
	if !ok || !isBinary || p.Var(lhs) != x || p.Var(b.X) != x {
		return false, false
	}
	return b.Op == token.AND && minusOne(p, x, b.Y), b.Op == token.SHR && p.IsInt(b.Y, 1)
}

func minusOne(p *mutate.Pass, x *types.Var, e ast.Expr) bool {
	b, ok := ast.Unparen(e).(*ast.BinaryExpr)
	return ok && b.Op == token.SUB && p.Var(b.X) == x && p.IsInt(b.Y, 1)
}

func bitEdits(p *mutate.Pass, f *ast.ForStmt, x, n *types.Var, fn string) []mutate.Edit {
	suffix := bitsSuffix(x.Type())
	arg := x.Name()
	if b, ok := types.Unalias(x.Type()).(*types.Basic); !ok || b.Kind() != x.Type().Underlying().(*types.Basic).Kind() {
		arg = "uint" + suffix + "(" + arg + ")"
	}
	pkg, edits := p.Import("math/bits")
	text := fmt.Sprintf("%s += %s.%s%s(%s)", n.Name(), pkg, fn, suffix, arg)
	if usedAfter(p, x, p.FuncOf(f), f.End()) || p.InLoop(f) {
		text += "\n" + x.Name() + " = 0"
	}
	return append(edits, p.Replace(f, text))
}
