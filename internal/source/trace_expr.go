package source

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strconv"

	"github.com/beagle-go/beagle/internal/syntax"
)

// Kinds of operands that rt can compare.
const (
	integers = 1 + iota
	texts
	floats
)

func (t *tracer) isConstant(e ast.Expr) bool { return t.f.Info.Types[e].Value != nil }

// kind returns the kind of an expression's values; 0 for values that rt cannot compare.
func (t *tracer) kind(e ast.Expr) int {
	typ := t.f.Info.Types[e].Type
	if typ == nil {
		return 0
	}
	b, ok := typ.Underlying().(*types.Basic)
	switch {
	// An untyped value has no width yet.
	case !ok || b.Info()&types.IsUntyped != 0:
	case b.Info()&types.IsInteger != 0:
		return integers
	case b.Info()&types.IsString != 0:
		return texts
	case b.Info()&types.IsFloat != 0:
		return floats
	}
	return 0
}

// plainBool reports whether an expression may pass through a bool.
func (t *tracer) plainBool(e ast.Expr) bool {
	typ := t.f.Info.Types[e].Type
	return typ == types.Typ[types.Bool] || typ == types.Typ[types.UntypedBool]
}

// holdsUntypedShift reports whether an expression holds a shift of an untyped constant, whose type
// comes from the code around it.
func holdsUntypedShift(info *types.Info, e ast.Expr) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		b, ok := n.(*ast.BinaryExpr)
		if ok && (b.Op == token.SHL || b.Op == token.SHR) && info.Types[b].Value == nil &&
			info.Types[b.X].Value != nil {
			found = true
		}
		return !found
	})
	return found
}

// expr is visit for expressions.
func (t *tracer) expr(e ast.Expr) bool {
	if tv, ok := t.f.Info.Types[e]; ok && (tv.Value != nil || tv.IsType()) {
		return false // constants and types hold no decisions
	}
	// Each kind of expression that decides something has a call of its own.
	switch e := e.(type) {
	case *ast.FuncLit:
		t.edge(e.Body.Lbrace, e.Type, "")
		t.walk(e.Body)
		return false
	case *ast.CompositeLit:
		for _, x := range e.Elts {
			t.walk(x)
		}
		return false
	case *ast.BinaryExpr:
		if e.Op == token.LAND || e.Op == token.LOR {
			t.cond(e)
			return false
		}
		return !t.comparison(e)
	case *ast.CallExpr:
		return !t.textCall(e) && !t.narrowing(e)
	case *ast.IndexExpr:
		return !t.index(e)
	}
	return true
}

// cond traces what a condition is made of.
func (t *tracer) cond(e ast.Expr) {
	// Take the condition apart: each operand of && and || is a decision.
	switch x := e.(type) {
	case *ast.ParenExpr:
		t.cond(x.X)
		return
	case *ast.UnaryExpr:
		if x.Op == token.NOT && !t.isConstant(x) {
			t.cond(x.X)
			return
		}
	case *ast.BinaryExpr:
		if (x.Op == token.LAND || x.Op == token.LOR) && !t.isConstant(x) {
			t.cond(x.X)
			t.cond(x.Y)
			return
		}
		if !t.isConstant(x) && t.comparison(x) {
			return
		}
	}
	// The rest is a bool by itself, which is traced as a branch.
	if t.isConstant(e) || !t.plainBool(e) {
		t.walk(e)
		return
	}
	t.insert(e.Pos(), fmt.Sprintf("%s.TraceBranch(%d, ", traceName, t.site(e, "true", "false")))
	t.walk(e)
	t.insert(e.End(), ")")
}

var operators = map[token.Token]string{
	token.EQL: "TraceEq", token.NEQ: "TraceNe", token.LSS: "TraceLt", token.LEQ: "TraceLe", token.GTR: "TraceGt",
	token.GEQ: "TraceGe",
}

// comparison traces a comparison of two numbers or strings; it reports false
// for any other expression, which is not touched.
func (t *tracer) comparison(e *ast.BinaryExpr) bool {
	op := operators[e.Op]
	kind := t.kind(e.X)
	// A constant comparison, or one whose type the insertion would change, stays.
	if op == "" || kind == 0 || t.kind(e.Y) != kind || !t.plainBool(e) || holdsUntypedShift(t.f.Info, e) {
		return false
	}
	name := map[int]string{integers: "TraceInt", texts: "TraceText", floats: "TraceFloat"}[kind]
	// Operands become arguments, in their order, so that each is still evaluated once.
	t.insert(e.Pos(), fmt.Sprintf("%s.%s(%d, %s.%s, ", traceName, name, t.site(e, "true", "false"), traceName, op))
	t.walk(e.X)
	t.replace(e.OpPos, e.OpPos+token.Pos(len(e.Op.String())), ", ")
	t.walk(e.Y)
	t.insert(e.End(), ")")
	return true
}

// textCall traces a call of a function of strings or bytes whose parameters are
// two texts.
func (t *tracer) textCall(e *ast.CallExpr) bool {
	name := t.textFunc(e)
	if name == "" {
		return false
	}
	t.insert(e.Pos(), fmt.Sprintf("%s.%s(%d, ", traceName, name, t.site(e)))
	t.replace(e.Lparen, e.Lparen+1, ", ")
	for _, a := range e.Args {
		t.walk(a)
	}
	return true
}

// textFunc returns rt's name for calls of such a function; "" for any other.
func (t *tracer) textFunc(e *ast.CallExpr) string {
	// The function must have two arguments of one type, a text or bytes.
	sel, ok := e.Fun.(*ast.SelectorExpr)
	if !ok || len(e.Args) != 2 || e.Ellipsis.IsValid() {
		return ""
	}
	fn, ok := t.f.Info.Uses[sel.Sel].(*types.Func)
	if !ok || fn.Pkg() == nil || fn.Pkg().Path() != "strings" && fn.Pkg().Path() != "bytes" {
		return ""
	}
	sig := fn.Signature()
	if sig.Recv() != nil || sig.Params().Len() != 2 || sig.Variadic() || sig.TypeParams().Len() > 0 {
		return ""
	}
	x, y := sig.Params().At(0).Type(), sig.Params().At(1).Type()
	n := sig.Results().Len()
	if n < 1 || n > 3 || !types.Identical(x, y) {
		return ""
	}
	// The name says which type the arguments have, and how many results there are.
	switch {
	case types.Identical(x, types.Typ[types.String]):
		return "TraceS" + strconv.Itoa(n)
	case types.Identical(x, types.NewSlice(types.Typ[types.Byte])):
		return "TraceB" + strconv.Itoa(n)
	}
	return ""
}

// narrow are the largest numbers of the types that a conversion may cut to.
var narrow = map[types.BasicKind]uint64{
	types.Int8: 1<<7 - 1, types.Uint8: 1<<8 - 1, types.Int16: 1<<15 - 1, types.Uint16: 1<<16 - 1,
	types.Int32: 1<<31 - 1, types.Uint32: 1<<32 - 1,
}

// narrowing traces a conversion of an integer to a smaller type.
func (t *tracer) narrowing(e *ast.CallExpr) bool {
	if len(e.Args) != 1 || !t.f.Info.Types[e.Fun].IsType() || t.kind(e) != integers || t.kind(e.Args[0]) != integers ||
		holdsUntypedShift(t.f.Info, e.Args[0]) {
		return false
	}
	limit, ok := narrow[syntax.Kind(t.f.Info.Types[e].Type)]
	// Only a conversion to fewer bits loses something.
	if old, small := narrow[syntax.Kind(t.f.Info.Types[e.Args[0]].Type)]; !ok || small && old <= limit {
		return false
	}
	t.insert(e.Args[0].Pos(), fmt.Sprintf("%s.TraceNarrow(%d, %d, ", traceName, t.site(e), limit))
	t.walk(e.Args[0])
	t.insert(e.Args[0].End(), ")")
	return true
}

// index traces an index into an array or a table of the package.
func (t *tracer) index(e *ast.IndexExpr) bool {
	x := t.f.Info.Types[e.X]
	// A map's index is a key, and its own trace.
	if t.key(e, x) {
		return true
	}
	if !x.IsValue() || t.isConstant(e.Index) || t.kind(e.Index) != integers || holdsUntypedShift(t.f.Info, e.Index) {
		return false
	}
	// Only a table of the package has places worth counting; a list of the caller's has any.
	n, ok := t.table(e.X, x.Type)
	if !ok {
		return false
	}
	t.walk(e.X)
	t.insert(e.Index.Pos(), fmt.Sprintf("%s.TraceIndex(%d, %d, ", traceName, t.site(e), n))
	t.walk(e.Index)
	t.insert(e.Index.End(), ")")
	return true
}

// key traces the key of a map look-up, so that the search can try the keys that the map has.
func (t *tracer) key(e *ast.IndexExpr, x types.TypeAndValue) bool {
	if !x.IsValue() || !isPath(e.X) || t.isConstant(e.Index) || holdsUntypedShift(t.f.Info, e.Index) {
		return false
	}
	m, ok := x.Type.Underlying().(*types.Map)
	name := map[int]string{integers: "TraceKeyInt", texts: "TraceKeyText"}[t.kind(e.Index)]
	// The key must have the map's own type: an interface may hold any.
	if !ok || name == "" || !types.Identical(m.Key(), t.f.Info.Types[e.Index].Type) {
		return false
	}
	asked := t.f.Src[t.offset(e.X.Pos()):t.offset(e.X.End())]
	t.insert(e.Index.Pos(), fmt.Sprintf("%s.%s(%d, %s, ", traceName, name, t.site(e), asked))
	t.walk(e.Index)
	t.insert(e.Index.End(), ")")
	return true
}

// isPath reports whether an expression is a variable or a field of one, which
// may stand twice without being worked out twice.
func isPath(e ast.Expr) bool {
	switch x := e.(type) {
	case *ast.Ident:
		return true
	case *ast.SelectorExpr:
		return isPath(x.X)
	case *ast.ParenExpr:
		return isPath(x.X)
	}
	return false
}

// table reports whether an expression is an array, or a slice or string that belongs to the
// package. It returns the length of an array.
func (t *tracer) table(e ast.Expr, typ types.Type) (n int64, ok bool) {
	// An index through a pointer is one into the array.
	if p, is := typ.Underlying().(*types.Pointer); is {
		typ = p.Elem()
	}
	switch u := typ.Underlying().(type) {
	case *types.Array:
		return u.Len(), true
	case *types.Slice, *types.Basic:
		if v := t.f.Info.Types[e].Value; v != nil {
			return 0, true
		}
		id, is := ast.Unparen(e).(*ast.Ident)
		if !is {
			return 0, false
		}
		obj := t.f.Info.Uses[id]
		return 0, obj != nil && obj.Pkg() != nil && obj.Parent() == obj.Pkg().Scope()
	}
	return 0, false
}
