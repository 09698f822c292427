package source

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"math"

	"github.com/beagle-go/beagle/internal/syntax"
)

// A prover shows conditions over a target's parameters for one call. It knows the arguments, the
// definitions of the caller's local variables, and the conditions that must hold for the call to
// be reached. It claims only conditions that it can show.
type prover struct {
	info   *types.Info
	fn     ast.Node // the calling function
	values map[string]value
	facts  []fact
	depth  int
}

// A value is the argument for a parameter.
type value struct {
	expr   ast.Expr // in the caller
	list   bool     // the arguments of a variadic parameter; length is their number
	length int64
}

// A span is an interval of integers; the ends of int64 are no bound.
type span struct{ lo, hi int64 }

var (
	anySpan    = span{math.MinInt64, math.MaxInt64}
	lengthSpan = span{0, 1 << 48} // a length: no machine addresses more bytes
)

func exactly(n int64) span { return span{n, n} }

func (a span) intersect(b span) span { return span{max(a.lo, b.lo), min(a.hi, b.hi)} }

// holds reports whether a condition, in the target's words, is true.
func (v *prover) holds(e ast.Expr) bool {
	switch x := ast.Unparen(e).(type) {
	case *ast.BinaryExpr:
		switch x.Op {
		case token.LAND:
			// Both parts, or one of them: each proof is for itself.
			return v.holds(x.X) && v.holds(x.Y)
		case token.LOR:
			return v.holds(x.X) || v.holds(x.Y)
		case token.LSS, token.LEQ, token.GTR, token.GEQ, token.EQL, token.NEQ:
			// By bounds if possible, and else by what a branch said in the same words.
			return v.compared(x.X, x.Op, x.Y) || v.isFact(e)
		}
	case *ast.CallExpr:
		if b, ok := v.constantCall(x); ok {
			return b
		}
	}
	return v.isFact(e)
}

// compared decides a comparison by intervals, by facts about the very two operands, or as a
// comparison with nil.
func (v *prover) compared(x ast.Expr, op token.Token, y ast.Expr) bool {
	if id, ok := ast.Unparen(y).(*ast.Ident); ok && id.Name == "nil" && op == token.NEQ {
		return v.notNil(x)
	}
	// Intervals decide if they do not overlap, whatever the values are.
	a, b := v.span(x), v.span(y)
	switch op {
	case token.LSS:
		if a.hi < b.lo {
			return true
		}
	case token.LEQ:
		if a.hi <= b.lo && a.hi != math.MaxInt64 {
			return true
		}
	case token.GTR:
		if a.lo > b.hi {
			return true
		}
	case token.GEQ:
		if a.lo >= b.hi && a.lo != math.MinInt64 {
			return true
		}
	case token.EQL:
		if a.lo == a.hi && a == b {
			return true
		}
	case token.NEQ:
		if a.hi < b.lo || a.lo > b.hi {
			return true
		}
	}
	// Otherwise the condition may have been tested before, in these words.
	return v.related(v.text(x), op, v.text(y))
}

// span bounds an integer expression of a condition.
func (v *prover) span(e ast.Expr) span {
	// Constants have one value.
	if c, err := types.Eval(token.NewFileSet(), nil, token.NoPos, types.ExprString(e)); err == nil && c.Value != nil {
		return constantSpan(c.Value)
	}
	switch x := ast.Unparen(e).(type) {
	case *ast.Ident:
		if p, ok := v.values[x.Name]; ok && p.expr != nil {
			return v.boundAtCall(p.expr)
		}
	case *ast.CallExpr:
		// A length is never negative, and often known.
		if f, ok := x.Fun.(*ast.Ident); ok && f.Name == "len" && len(x.Args) == 1 {
			if id, ok := ast.Unparen(x.Args[0]).(*ast.Ident); ok {
				if p, ok := v.values[id.Name]; ok && p.list {
					return exactly(p.length)
				} else if ok {
					return v.length(p.expr)
				}
			}
			return lengthSpan
		}
		if n, ok := v.constantNumber(x); ok {
			return exactly(n)
		}
	}
	return anySpan
}

func constantSpan(c constant.Value) span {
	if c = constant.ToInt(c); c.Kind() == constant.Int {
		// A constant that no int64 holds is beyond all bounds.
		if n, exact := constant.Int64Val(c); exact {
			return exactly(n)
		}
		if constant.Sign(c) > 0 {
			return exactly(math.MaxInt64) // above all that fits
		}
	}
	return anySpan
}

// boundAtCall bounds an integer expression of the caller.
func (v *prover) boundAtCall(e ast.Expr) span {
	// Definitions may form long chains: give up on a bound after 20.
	if v.depth > 20 {
		return anySpan
	}
	v.depth++
	defer func() { v.depth-- }()
	e = ast.Unparen(e)
	// All that is known of an expression holds at once: its type, its definition, and what branches
	// say.
	out := v.typed(e)
	if c := v.info.Types[e].Value; c != nil {
		return constantSpan(c)
	}
	switch x := e.(type) {
	case *ast.Ident:
		if def := v.definition(x); def != nil {
			out = out.intersect(v.boundAtCall(def))
		}
	case *ast.CallExpr:
		out = out.intersect(v.callSpan(x))
	case *ast.BinaryExpr:
		out = out.intersect(v.computed(x))
	}
	return out.intersect(v.bounded(v.callerText(e)))
}

// callSpan bounds conversions and the lengths of things.
func (v *prover) callSpan(x *ast.CallExpr) span {
	if len(x.Args) == 0 {
		return anySpan
	}
	// A conversion keeps a value that fits the type. Any other may wrap around.
	if v.info.Types[x.Fun].IsType() {
		from := v.boundAtCall(x.Args[0])
		if to := v.typed(x); from.lo >= to.lo && from.hi <= to.hi {
			return from
		}
		return anySpan
	}
	if id, ok := x.Fun.(*ast.Ident); ok {
		if b, ok := v.info.Uses[id].(*types.Builtin); ok {
			switch b.Name() {
			case "len":
				return v.length(x.Args[0])
			case "cap":
				return lengthSpan
			// min and max bound their result by all of their operands.
			case "min", "max":
				out := v.boundAtCall(x.Args[0])
				for _, a := range x.Args[1:] {
					s := v.boundAtCall(a)
					if b.Name() == "min" {
						out = span{min(out.lo, s.lo), min(out.hi, s.hi)}
					} else {
						out = span{max(out.lo, s.lo), max(out.hi, s.hi)}
					}
				}
				return out
			}
		}
	}
	return anySpan
}

// computed bounds sums and the like, when nothing can overflow.
func (v *prover) computed(x *ast.BinaryExpr) span {
	const far = 1 << 50 // so that no sum of two overflows
	a, b := v.boundAtCall(x.X), v.boundAtCall(x.Y)
	near := func(s span) bool { return s.lo > -far && s.hi < far }
	// Masks and remainders are bounded by the constant, and quotients by the dividend.
	switch {
	case x.Op == token.AND && b.lo == b.hi && b.lo >= 0:
		return span{0, b.hi}
	case x.Op == token.REM && b.lo == b.hi && b.lo > 0:
		if a.lo >= 0 {
			return span{0, b.hi - 1}
		}
		return span{1 - b.hi, b.hi - 1}
	case (x.Op == token.QUO || x.Op == token.SHR) && a.lo >= 0 && b.lo > 0:
		return span{0, a.hi}
	// The rest must not overflow.
	case !near(a) || !near(b) || wordSize(v.info.TypeOf(x)) < 64:
		return anySpan
	case x.Op == token.ADD:
		return span{a.lo + b.lo, a.hi + b.hi}
	case x.Op == token.SUB:
		return span{a.lo - b.hi, a.hi - b.lo}
	case x.Op == token.MUL && a.lo >= 0 && b.lo >= 0 && a.hi < 1<<20 && b.hi < 1<<20:
		return span{a.lo * b.lo, a.hi * b.hi}
	}
	return anySpan
}

// wordSize returns the width of an integer type; that of int is 64 here.
func wordSize(t types.Type) int {
	if syntax.IsInteger(t) {
		return int(8 * sizes().Sizeof(t))
	}
	return 0
}

// typed returns the range of an expression's type.
func (v *prover) typed(e ast.Expr) span {
	t := v.info.TypeOf(e)
	if t == nil {
		return anySpan
	}
	b, ok := t.Underlying().(*types.Basic)
	if !ok || b.Info()&types.IsInteger == 0 || b.Info()&types.IsUntyped != 0 {
		return anySpan
	}
	// Spans hold 63 bits, so one end of a 64-bit type is their limit.
	bits := wordSize(t)
	switch {
	case b.Info()&types.IsUnsigned != 0 && bits < 64:
		return span{0, 1<<bits - 1}
	case b.Info()&types.IsUnsigned != 0:
		return span{0, math.MaxInt64} // the upper half counts as no bound
	case bits < 64:
		return span{-1 << (bits - 1), 1<<(bits-1) - 1}
	}
	return anySpan
}

// length bounds the length of an expression of the caller.
func (v *prover) length(e ast.Expr) span {
	// Definitions may refer to each other.
	if v.depth > 20 {
		return lengthSpan
	}
	v.depth++
	defer func() { v.depth-- }()
	e = ast.Unparen(e)
	if c := v.info.Types[e].Value; c != nil && c.Kind() == constant.String {
		return exactly(int64(len(constant.StringVal(c))))
	}
	// The type and the definition each bound the length, and both hold.
	out := lengthSpan
	switch t := v.info.TypeOf(e).Underlying().(type) {
	case *types.Array:
		return exactly(t.Len())
	case *types.Slice:
		// A slice of empty elements may have any length, for it takes no memory.
		if sizes().Sizeof(t.Elem()) == 0 {
			out.hi = math.MaxInt64
		}
	}
	switch x := e.(type) {
	case *ast.Ident:
		if x.Name == "nil" {
			return exactly(0)
		}
		if def := v.definition(x); def != nil {
			out = out.intersect(v.length(def))
		}
	case *ast.CompositeLit:
		if syntax.Is[*types.Slice](v.info.TypeOf(x)) && !keyed(x) {
			return exactly(int64(len(x.Elts)))
		}
	case *ast.CallExpr:
		out = out.intersect(v.madeLength(x))
	case *ast.SliceExpr:
		out = out.intersect(v.sliced(x))
	}
	return out.intersect(v.bounded("len(" + v.callerText(e) + ")"))
}

func keyed(x *ast.CompositeLit) bool {
	for _, e := range x.Elts {
		if _, ok := e.(*ast.KeyValueExpr); ok {
			return true
		}
	}
	return false
}

func (v *prover) madeLength(x *ast.CallExpr) span {
	// make says the length itself.
	if id, ok := x.Fun.(*ast.Ident); ok && len(x.Args) > 1 {
		if b, ok := v.info.Uses[id].(*types.Builtin); ok && b.Name() == "make" {
			return v.boundAtCall(x.Args[1]).intersect(lengthSpan)
		}
	}
	// A conversion between bytes and text keeps the length.
	if v.info.Types[x.Fun].IsType() && len(x.Args) == 1 && bytesOrString(v.info.TypeOf(x)) &&
		bytesOrString(v.info.TypeOf(x.Args[0])) {
		return v.length(x.Args[0])
	}
	return lengthSpan
}

func bytesOrString(t types.Type) bool {
	switch t := t.Underlying().(type) {
	case *types.Basic:
		return t.Info()&types.IsString != 0
	case *types.Slice:
		return syntax.IsByte(t.Elem())
	}
	return false
}

// sliced bounds x[i:j]: j-i, or what there is.
func (v *prover) sliced(x *ast.SliceExpr) span {
	// Without ends, it is all of it.
	low, high := exactly(0), v.length(x.X)
	if p, ok := v.info.TypeOf(x.X).Underlying().(*types.Pointer); ok {
		if a, ok := p.Elem().Underlying().(*types.Array); ok {
			high = exactly(a.Len())
		}
	}
	if x.Low != nil {
		low = v.boundAtCall(x.Low).intersect(lengthSpan)
	}
	if x.High != nil {
		high = v.boundAtCall(x.High).intersect(lengthSpan)
	}
	// The least and the greatest difference that the ends allow.
	out := span{0, max(high.hi-low.lo, 0)}
	if low.hi != math.MaxInt64 && high.lo > low.hi {
		out.lo = high.lo - low.hi
	}
	return out
}

// notNil reports whether a parameter is never nil in the call.
func (v *prover) notNil(e ast.Expr) bool {
	id, ok := ast.Unparen(e).(*ast.Ident)
	if !ok {
		return false
	}
	p, ok := v.values[id.Name]
	if !ok || p.list {
		return ok && p.length > 0
	}
	return v.isPresent(p.expr) || v.related(v.text(e), token.NEQ, "nil")
}

// isPresent reports whether an expression is certainly not nil: it is made on the spot, or has
// elements.
func (v *prover) isPresent(e ast.Expr) bool {
	switch x := ast.Unparen(e).(type) {
	case *ast.CompositeLit, *ast.FuncLit:
		// A literal is never nil, and neither is a list made of a text, even an empty one.
		return true
	case *ast.UnaryExpr:
		return x.Op == token.AND
	case *ast.Ident:
		if def := v.definition(x); def != nil {
			return v.isPresent(def)
		}
	case *ast.CallExpr:
		if id, ok := x.Fun.(*ast.Ident); ok {
			b, ok := v.info.Uses[id].(*types.Builtin)
			return ok && (b.Name() == "make" || b.Name() == "new")
		}
		if v.info.Types[x.Fun].IsType() && len(x.Args) == 1 {
			return syntax.IsText(v.info.TypeOf(x.Args[0])) // []byte(s)
		}
	}
	return v.length(e).lo > 0
}
