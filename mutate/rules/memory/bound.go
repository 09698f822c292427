package memory

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// A bound is the greatest number of iterations of a loop, as an expression that code in front of
// the loop can evaluate.
type bound struct {
	text     string
	negative bool // it may be below 0
	positive bool // it is above 0
}

// loopBound finds the bound of a loop that stands in front of n. It handles a range over an integer
// or over anything with a length, and a loop that counts up by one.
func loopBound(p *mutate.Pass, s ast.Stmt) (b bound, ok bool) {
	switch s := s.(type) {
	case *ast.RangeStmt:
		return rangeBound(p, s)
	case *ast.ForStmt:
		if b, ok := cutBound(p, s); ok {
			return b, true
		}
		// A counting loop has a bound if it steps by one up to a value that stays.
		l, ok := p.Counted(s)
		if !ok || !l.Strict || l.Start == nil || l.Skips || !facts.Stable(p, l.Bound, s) ||
			!facts.Stable(p, l.Start, s) {
			return b, false
		}
		if cond := ast.Unparen(s.Cond).(*ast.BinaryExpr); cond.Op != token.LSS ||
			!types.Identical(p.Info.TypeOf(l.Bound), types.Typ[types.Int]) {
			return b, false
		}
		if p.Effects(s.Body).Jumps {
			return b, false // the loop may stop long before
		}
		// From 0 the bound is the number of iterations. A bound that is no length may be negative,
		// so the code that uses it has to ask.
		if p.IsInt(l.Start, 0) {
			return bound{text: p.Text(l.Bound), negative: !facts.IsLength(p, l.Bound)}, true
		}
		start := edit.RightOperand(l.Start, p.Text(l.Start), token.SUB)
		return bound{text: p.Text(l.Bound) + "-" + start, negative: true}, true
	}
	return b, false
}

// partsBound handles a loop over the parts of a string that the loop does not change: it counts the
// separators. The library counts many bytes at a time.
func partsBound(p *mutate.Pass, s *ast.RangeStmt) (b bound, ok bool) {
	call, ok := p.IsCall(s.X, "strings", "Split", "SplitSeq")
	if !ok {
		return b, false
	}
	return boundBySeparators(p, s, call, p.Var(call.Args[0]))
}

// cutBound does the same for the form that split-seq writes:
//
//	for rest, more := text, true; more; {
//		var part string
//		part, rest, more = strings.Cut(rest, sep)
func cutBound(p *mutate.Pass, s *ast.ForStmt) (b bound, ok bool) {
	// Match the head and the first two statements of the body.
	init, ok := s.Init.(*ast.AssignStmt)
	if !ok || init.Tok != token.DEFINE || len(init.Lhs) != 2 || len(init.Rhs) != 2 || s.Cond == nil || s.Post != nil ||
		len(s.Body.List) < 2 {
		return b, false
	}
	rest, more, text := p.Var(init.Lhs[0]), p.Var(init.Lhs[1]), p.Var(init.Rhs[0])
	if runs := p.Info.Types[init.Rhs[1]].Value; runs == nil || runs.Kind() != constant.Bool || !constant.BoolVal(runs) {
		return b, false
	}
	as, ok := s.Body.List[1].(*ast.AssignStmt)
	if _, first := s.Body.List[0].(*ast.DeclStmt); !ok || !first || p.Var(s.Cond) != more || len(as.Lhs) != 3 ||
		len(as.Rhs) != 1 || text == nil {
		return b, false
	}
	// The body must cut the same text that the head begins with, and use the rest and the flag for
	// nothing else: then each piece ends at a separator.
	call, ok := p.IsCall(as.Rhs[0], "strings", "Cut")
	if !ok || p.Var(call.Args[0]) != rest || p.Var(as.Lhs[1]) != rest || p.Var(as.Lhs[2]) != more ||
		len(p.Uses(rest, s.Body)) != 2 || len(p.Uses(more, s.Body)) != 1 {
		return b, false
	}
	return boundBySeparators(p, s, call, text)
}

// boundBySeparators returns the number of parts of a string, for a loop over all of them.
func boundBySeparators(p *mutate.Pass, loop ast.Stmt, call *ast.CallExpr, v *types.Var) (b bound, ok bool) {
	sep, constant := facts.ConstString(p, call.Args[1])
	if !constant || sep == "" || !facts.IsLocal(p, v) || facts.Captured.Of(p)[v] || p.Assigned(v, loop) ||
		facts.Loops.Of(p)[loop].StopsEarly(p) {
		return b, false
	}
	pkg := p.Text(call.Fun.(*ast.SelectorExpr).X)
	return bound{text: pkg + ".Count(" + v.Name() + ", " + p.Text(call.Args[1]) + ")+1", positive: true}, true
}

// rangeBound finds the bound of a range: the length of what it goes over, or the number that it
// counts to.
func rangeBound(p *mutate.Pass, s *ast.RangeStmt) (b bound, ok bool) {
	if b, ok := partsBound(p, s); ok {
		return b, true
	}
	if f := p.Effects(s.X); f.Writes || f.Panics || f.Allocs || facts.CallsFunction(p, s.X) {
		return b, false // the code will evaluate it again, so it must be cheap and without effects
	}
	// A map, a slice and an array have a length. A range over an int counts to it, unless the loop
	// stops before.
	switch t := p.Info.TypeOf(s.X).Underlying().(type) {
	case *types.Slice, *types.Map, *types.Array:
		return bound{text: "len(" + p.Text(s.X) + ")"}, true
	case *types.Basic:
		if t.Info()&types.IsString != 0 {
			return bound{text: "len(" + p.Text(s.X) + ")"}, true
		}
		if facts.IsPredeclared(p, s.X, types.Int) && !p.Effects(s.Body).Jumps && facts.Stable(p, s.X, s.Body) {
			return bound{text: p.Text(s.X), negative: !facts.IsLength(p, s.X)}, true
		}
	}
	return b, false
}

// times returns a multiple of the bound.
func (b bound) times(n int) bound {
	if n == 1 {
		return b
	}
	text := b.text
	if strings.ContainsAny(text, "-+ ") {
		text = "(" + text + ")"
	}
	return bound{strconv.Itoa(n) + "*" + text, b.negative, b.positive}
}

// capacity returns the bound as an argument of make.
func (b bound) capacity() string {
	if b.negative {
		return "max(" + b.text + ", 0)"
	}
	return b.text
}
