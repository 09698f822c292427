package loops

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strconv"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// fixedTrips (catalogue L1 for known counts) matches a loop whose iterations the source knows: over
// a short list of constants, a short array, or from one constant to another. It writes each
// iteration out.
var fixedTrips = &mutate.Mutator{
	Name: "fixed-trips",
	Doc: "Write out the iterations of a loop over a short list of constants, or between two constants. The compiler " +
		"does not unroll loops; written out, indices and masks are constants, accesses need no check, and no list is " +
		"built. Exact: the body assigns no loop variable, and neither breaks nor continues.",
	Example: mutate.Shows(`for i, at := range [4]int{0, 2, 5, 7} {
	dst[at] = digits[id[i]>>4]
}`,
		`dst[0] = digits[id[0]>>4]
dst[2] = digits[id[1]>>4]
dst[5] = digits[id[2]>>4]
dst[7] = digits[id[3]>>4]`),
	Class:   beagle.E0,
	Gain:    1.25,
	Find:    findFixedTrips,
	Rewrite: rewriteFixedTrips,
}

// Limits of what is written out.
const (
	maxTrips        = 32
	maxWrittenLines = 96
)

// A fixedLoop is a loop whose iterations are known.
type fixedLoop struct {
	stmt  ast.Stmt
	body  *ast.BlockStmt
	trips []map[*types.Var]mutate.Value // the loop variables that are known in each iteration
	texts []map[*types.Var]string       // the others: elements of an array
	array *types.Var                    // the array, if there are others
}

// findFixedTrips looks for loops with a known and small number of iterations.
func findFixedTrips(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, s := range mutate.Nodes[ast.Stmt](p, nil) {
		l := fixedLoopOf(p, s)
		// A label could be the target of a continue, of which there is none without a loop.
		if l == nil || !facts.TakesTime(p, s) || facts.IsLabelled(p, s) || !l.repeats(p) {
			continue
		}
		// The copies need a list of statements to stand in.
		if _, i := p.Siblings(s); i < 0 {
			continue
		}
		label := fmt.Sprintf("%d turns of a loop in %s", len(l.trips), p.FuncOf(s).Name.Name)
		sites = append(sites, mutate.Site{Node: s, Label: label, Data: l})
	}
	return sites
}

func fixedLoopOf(p *mutate.Pass, s ast.Stmt) *fixedLoop {
	switch s := s.(type) {
	case *ast.ForStmt:
		return countedTrips(p, s)
	case *ast.RangeStmt:
		return rangedTrips(p, s)
	}
	return nil
}

// countedTrips reads `for i := a; i < b; i += c` with constants.
func countedTrips(p *mutate.Pass, s *ast.ForStmt) *fixedLoop {
	// Match init: i := a, with an integer variable of the loop's own.
	init, ok := s.Init.(*ast.AssignStmt)
	if !ok || init.Tok != token.DEFINE || len(init.Lhs) != 1 || len(init.Rhs) != 1 {
		return nil
	}
	v, _ := p.Info.Defs[identOf(init.Lhs[0])].(*types.Var)
	if v == nil || syntax.PlainKind(v.Type())&types.IsInteger == 0 {
		return nil
	}
	// Match cond and post: i < b and i += c, both constant. A step of 0 never ends.
	cond, ok := s.Cond.(*ast.BinaryExpr)
	if !ok || p.Var(cond.X) != v {
		return nil
	}
	at, ok := p.Int(init.Rhs[0])
	limit, ok2 := p.Int(cond.Y)
	step, ok3 := stepOf(p, s.Post, v)
	if !ok || !ok2 || !ok3 || step == 0 || !facts.SameEverywhere(p, cond.Y) || !facts.SameEverywhere(p, init) ||
		!facts.SameEverywhere(p, s.Post) {
		return nil
	}
	// Run the loop on numbers to learn its iterations.
	going := map[token.Token]func(int64) bool{
		token.LSS: func(i int64) bool { return i < limit },
		token.LEQ: func(i int64) bool { return i <= limit },
		token.GTR: func(i int64) bool { return i > limit },
		token.GEQ: func(i int64) bool { return i >= limit },
		token.NEQ: func(i int64) bool { return i != limit },
	}[cond.Op]
	if going == nil {
		return nil
	}
	l := &fixedLoop{stmt: s, body: s.Body}
	// A counter that leaves its type wraps around, so its loop is not the one that was counted.
	for ; going(at); at += step {
		value, fits := valueOf(constant.MakeInt64(at), v.Type())
		if !fits || len(l.trips) == maxTrips {
			return nil
		}
		l.trips = append(l.trips, map[*types.Var]mutate.Value{v: value})
	}
	if _, fits := valueOf(constant.MakeInt64(at), v.Type()); !fits {
		return nil // the value that would end the loop wraps around, and the loop goes on
	}
	return l
}

func identOf(e ast.Expr) *ast.Ident {
	id, _ := ast.Unparen(e).(*ast.Ident)
	return id
}

// rangedTrips reads a range over a constant number, a list of constants, or an array that stays.
func rangedTrips(p *mutate.Pass, s *ast.RangeStmt) *fixedLoop {
	if s.Tok == token.ASSIGN || !facts.SameEverywhere(p, s.X) {
		return nil
	}
	l := &fixedLoop{stmt: s, body: s.Body}
	// Blank and missing variables are nil: their values are not asked for.
	key, value := loopVar(p, s.Key), loopVar(p, s.Value)
	// A number gives its own iterations: 0 to n-1.
	if n, ok := p.Int(s.X); ok {
		if key == nil || n < 1 || n > maxTrips || syntax.PlainKind(key.Type())&types.IsInteger == 0 {
			return nil
		}
		return l.over(p, int(n), key, value, nil, nil)
	}
	// A list in place of the operand is known element by element, whether its elements are
	// constants or not.
	if lit, ok := ast.Unparen(s.X).(*ast.CompositeLit); ok {
		return l.overLiteral(p, lit, key, value)
	}
	// A range over a pointer to an array visits the array.
	x := ast.Unparen(s.X)
	if u, ok := x.(*ast.UnaryExpr); ok && u.Op == token.AND {
		x = u.X
	}
	v := p.Var(x)
	if v == nil {
		return nil
	}
	// A variable of the package that never changes is known with its values.
	if values, err := p.Values().EvalGlobal(v); err == nil {
		if list, ok := values.([]mutate.Value); ok && len(list) > 0 && len(list) <= maxTrips {
			return l.over(p, len(list), key, value, list, nil)
		}
		return nil
	}
	// A local array has a known length only. The elements are read where they are used, so the
	// array must stay as it is.
	a, ok := v.Type().Underlying().(*types.Array)
	if !ok || a.Len() < 1 || a.Len() > maxTrips || !facts.IsLocal(p, v) || !staysArray(p, v, s) {
		return nil
	}
	return l.over(p, int(a.Len()), key, value, nil, v)
}

func loopVar(p *mutate.Pass, e ast.Expr) *types.Var {
	if syntax.IsBlank(e) {
		return nil
	}
	v, _ := p.Info.Defs[identOf(e)].(*types.Var)
	return v
}

// overLiteral takes the elements of a list of constants.
func (l *fixedLoop) overLiteral(p *mutate.Pass, lit *ast.CompositeLit, key, value *types.Var) *fixedLoop {
	n := int64(len(lit.Elts))
	// An array literal may be longer than its elements, by a key or by its type.
	switch t := p.Info.TypeOf(lit).Underlying().(type) {
	case *types.Array:
		n = t.Len()
	case *types.Slice:
	default:
		return nil
	}
	if n != int64(len(lit.Elts)) || n < 1 || n > maxTrips {
		return nil
	}
	// Each element must be a constant of a type that the interpreter knows.
	values := make([]mutate.Value, n)
	for i, e := range lit.Elts {
		c := p.Info.Types[e].Value
		if c == nil {
			return nil
		}
		v, ok := valueOf(c, p.Info.TypeOf(e))
		if !ok {
			return nil
		}
		values[i] = v
	}
	return l.over(p, int(n), key, value, values, nil)
}

// over fills the iterations: the value's constants, or the elements of an array by their index.
func (l *fixedLoop) over(
	p *mutate.Pass, n int, key, value *types.Var, values []mutate.Value, array *types.Var,
) *fixedLoop {
	// Say for each iteration what the variables are: a known value, or the text of an element.
	for i := range n {
		known, text := map[*types.Var]mutate.Value{}, map[*types.Var]string{}
		// The index has the number of the iteration, if its type can hold it.
		if key != nil {
			v, ok := valueOf(constant.MakeInt64(int64(i)), key.Type())
			if !ok {
				return nil
			}
			known[key] = v
		}
		switch {
		case value == nil:
		case array != nil:
			text[value] = array.Name() + "[" + strconv.Itoa(i) + "]"
		case values == nil || syntax.PlainKind(value.Type()) == 0:
			return nil
		default:
			known[value] = values[i]
		}
		l.trips, l.texts = append(l.trips, known), append(l.texts, text)
	}
	l.array = array
	return l
}

// valueOf is a constant as the evaluator has it.
func valueOf(c constant.Value, t types.Type) (mutate.Value, bool) {
	// Constants have no width; the type decides how the evaluator holds them.
	info := syntax.PlainKind(t)
	switch {
	case info&types.IsBoolean != 0 && c.Kind() == constant.Bool:
		return constant.BoolVal(c), true
	case info&types.IsString != 0 && c.Kind() == constant.String:
		return constant.StringVal(c), true
	case info&types.IsUnsigned != 0:
		n, exact := constant.Uint64Val(constant.ToInt(c))
		return n, exact && syntax.FitsIn(c, t)
	case info&types.IsInteger != 0:
		n, exact := constant.Int64Val(constant.ToInt(c))
		return n, exact && syntax.FitsIn(c, t)
	}
	return nil, false
}

// staysArray reports whether nothing changes an array while a loop runs over it, so that its
// elements are those of the copy that the loop makes.
func staysArray(p *mutate.Pass, v *types.Var, loop *ast.RangeStmt) bool {
	// The loop runs over a copy. If no code changes the array, the copies are the same.
	return !facts.Captured.Of(p)[v] && !p.Assigned(v, loop.Body) && !facts.AddressTaken(p, v, p.FuncOf(loop))
}

// repeats reports whether the body can be written once for each iteration.
func (l *fixedLoop) repeats(p *mutate.Pass) bool {
	// The result must stay readable, and its size times the number of iterations bounded.
	if len(l.trips) < 2 || len(l.body.List) == 0 || len(l.trips)*facts.LineCount(p, l.body) > maxWrittenLines ||
		p.FuncOf(l.stmt) == nil {
		return false
	}
	// A break or continue has no loop to leave any more, and a jump has no single place to go to.
	breaks, continues, ok := p.Branches(l.body)
	if !ok || len(breaks) > 0 || len(continues) > 0 || facts.HasGoto(p, p.FuncOf(l.stmt)) {
		return false
	}
	// A closure or a deferred call sees a variable of its iteration, which no longer exists. The
	// address of such a variable, too, needs a variable.
	for _, n := range mutate.Nodes[ast.Node](p, l.body) {
		switch n := n.(type) {
		case *ast.ForStmt, *ast.RangeStmt, *ast.FuncLit, *ast.DeferStmt, *ast.GoStmt, *ast.SelectStmt:
			return false
		case *ast.UnaryExpr:
			if n.Op == token.AND && l.names(p, rootOf(n.X)) {
				return false
			}
		case ast.Expr:
			if t := p.Info.TypeOf(n); t != nil && syntax.PlainKind(t)&(types.IsFloat|types.IsComplex) != 0 {
				return false // expressions of constants are exact, and those of variables are rounded
			}
		}
	}
	// Each use of a loop variable becomes its value, so the body may not change it, and the value
	// needs a text.
	for _, v := range mutate.Nodes[*ast.Ident](p, l.body) {
		if l.names(p, v) && (p.Changes(v) || !l.writable(p, v)) {
			return false
		}
	}
	return true
}

// writable reports whether what takes the place of a loop variable means there what it should: the
// array's name, or the type of a constant. The body may use these names otherwise.
func (l *fixedLoop) writable(p *mutate.Pass, id *ast.Ident) bool {
	v := p.Var(id)
	// A variable without a known value is an element, read through the array's name.
	if _, known := l.trips[0][v]; !known {
		return l.array == nil || v.Name() == l.array.Name() || facts.Means(p, id.Pos(), l.array.Name(), l.array)
	}
	// true is a name, too, and may mean something else there.
	if syntax.PlainKind(v.Type())&types.IsBoolean != 0 {
		for _, name := range []string{"true", "false"} {
			if !facts.Means(p, id.Pos(), name, types.Universe.Lookup(name)) {
				return false
			}
		}
	}
	return facts.TypeMeans(p, id.Pos(), v.Type())
}

// rootOf is the innermost operand of a chain of indices and fields.
func rootOf(e ast.Expr) ast.Expr {
	for {
		switch x := ast.Unparen(e).(type) {
		case *ast.IndexExpr:
			e = x.X
		case *ast.SelectorExpr:
			e = x.X
		default:
			return x
		}
	}
}

// names reports whether an expression is a loop variable.
func (l *fixedLoop) names(p *mutate.Pass, e ast.Expr) bool {
	v := p.Var(e)
	if v == nil {
		return false
	}
	_, known := l.trips[0][v]
	return known || len(l.texts) > 0 && l.texts[0][v] != ""
}
