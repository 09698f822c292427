package sorting

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// This file reads sorts: their lists, their orders, and the keys that these compare.

// A sortCall is sort.Slice(x, less) with a less that compares keys.
type sortCall struct {
	call   *ast.CallExpr
	list   ast.Expr   // a variable, or a field of one
	slice  *types.Var // the variable, nil for a field
	elem   string
	stable bool
	i, j   *types.Var
	keys   []sortKey
}

// A sortKey decides if all keys before it are equal.
type sortKey struct {
	less, more ast.Expr // the key of the element that sorts first, and of the other
	reversed   bool     // the first one is x[j]'s
	method     string   // of the key, which compares it
	compares   ast.Expr // the function that does, or nil
}

// sortOf recognises a sort by an order of indexes that compares keys of the elements.
func sortOf(p *mutate.Pass, call *ast.CallExpr) *sortCall {
	_, slice := p.IsCall(call, "sort", "Slice")
	_, stable := p.IsCall(call, "sort", "SliceStable")
	if !slice && !stable || len(call.Args) != 2 || !p.GoAtLeast(21) {
		return nil
	}
	s := &sortCall{call: call, stable: stable, list: ast.Unparen(call.Args[0]), slice: p.Var(call.Args[0])}
	// The list is named by a variable or by fields, and the order is a function literal.
	lit, ok := call.Args[1].(*ast.FuncLit)
	of := p.Info.TypeOf(s.list)
	if s.slice == nil && !facts.FieldChain(p, s.list) || !ok || !facts.IsSlice(of) {
		return nil
	}
	if s.elem, ok = facts.TypeText(p, of.Underlying().(*types.Slice).Elem()); !ok {
		return nil
	}
	// The literal has two parameters, the indexes of the two elements.
	var names []*ast.Ident
	for _, f := range lit.Type.Params.List {
		names = append(names, f.Names...)
	}
	if len(names) != 2 {
		return nil
	}
	s.i, _ = p.Info.Defs[names[0]].(*types.Var)
	s.j, _ = p.Info.Defs[names[1]].(*types.Var)
	// The elements take the place of the indexes, so the body may use these for nothing else.
	if s.i == nil || s.j == nil || !s.parseLess(p, lit.Body.List) || !s.indexesOnly(p, lit.Body) {
		return nil
	}
	return s
}

// parseLess reads any number of `if x[i].A != x[j].A { return x[i].A < x[j].A }`, and then `return
// x[i].B < x[j].B`.
func (s *sortCall) parseLess(p *mutate.Pass, list []ast.Stmt) bool {
	for n, st := range list {
		// The last statement decides by the last key.
		if ret, ok := st.(*ast.ReturnStmt); ok {
			return n == len(list)-1 && s.key(p, ret, nil)
		}
		branch, ok := st.(*ast.IfStmt)
		if !ok || branch.Init != nil || branch.Else != nil || len(branch.Body.List) != 1 {
			return false
		}
		// A key before it decides only where the two elements differ in it, by the same
		// expressions.
		ret, ok := branch.Body.List[0].(*ast.ReturnStmt)
		cond, isBinary := ast.Unparen(branch.Cond).(*ast.BinaryExpr)
		if !ok || !isBinary || cond.Op != token.NEQ || !s.key(p, ret, cond) {
			return false
		}
	}
	return false
}

// key reads `return x[i].K < x[j].K`; unequal is the test in front of it.
func (s *sortCall) key(p *mutate.Pass, ret *ast.ReturnStmt, unequal *ast.BinaryExpr) bool {
	if len(ret.Results) != 1 {
		return false
	}
	// Read the return as "less comes before more". Integers and strings are ordered by < itself;
	// floats have NaN, which < does not order.
	var k sortKey
	switch e := ast.Unparen(ret.Results[0]).(type) {
	case *ast.BinaryExpr:
		if k.compared(p, e) {
			break
		}
		if e.Op != token.LSS && e.Op != token.GTR || facts.OrderedKind(p, e.X)&(types.IsInteger|types.IsString) == 0 {
			return false
		}
		k.less, k.more = e.X, e.Y
		if e.Op == token.GTR {
			k.less, k.more = e.Y, e.X
		}
	case *ast.CallExpr:
		if _, ok := p.IsCall(e, "time", "Time.Before"); !ok {
			return false
		}
		k.less, k.more, k.method = e.Fun.(*ast.SelectorExpr).X, e.Args[0], "Compare"
	default:
		return false
	}
	// Both sides must be the same expression, one of x[i] and one of x[j]: then it is the key of an
	// element. With i on the right the order is reversed.
	first, second := s.with(p, k.less, "?"), s.with(p, k.more, "?")
	if first != second || !s.oneSided(p, k.less) || !s.oneSided(p, k.more) ||
		s.mentions(p, k.less, s.i) == s.mentions(p, k.more, s.i) {
		return false
	}
	k.reversed = s.mentions(p, k.less, s.j)
	// A key function is called once for each comparison now, so the key may have no effects.
	if f := p.Effects(k.less); f.Writes {
		return false
	}
	for _, u := range mutate.Nodes[*ast.UnaryExpr](p, k.less) {
		if u.Op == token.AND {
			return false // the copy of an element has another address
		}
	}
	for _, sel := range mutate.Nodes[*ast.SelectorExpr](p, ret) {
		ofElement := s.mentions(p, sel.X, s.i) || s.mentions(p, sel.X, s.j)
		if ofElement && p.PointerMethod(sel) && !looksThroughReceiver(p, sel) {
			return false
		}
	}
	if k.compares != nil && (s.mentions(p, k.compares, s.i) || s.mentions(p, k.compares, s.j)) {
		return false // a method of an element, whose names another i may have outside
	}
	// The test in front must compare the same keys, so that equal elements go on to the next key.
	if unequal != nil &&
		(k.method != "" || k.compares != nil ||
			s.with(p, unequal.X, "?") != first || s.with(p, unequal.Y, "?") != first ||
			s.mentions(p, unequal.X, s.i) == s.mentions(p, unequal.Y, s.i)) {
		return false
	}
	s.keys = append(s.keys, k)
	return true
}

// compared reads `compare(x[i], x[j]) < 0` and `x[i].Compare(x[j]) < 0`. With > the result must
// change its sign with the order of the arguments, as that of the library's functions does.
func (k *sortKey) compared(p *mutate.Pass, e *ast.BinaryExpr) bool {
	// The comparison with 0 must call a function without effects, whose result is an int.
	call, ok := ast.Unparen(e.X).(*ast.CallExpr)
	zero := p.Info.Types[e.Y].Value
	if !ok || zero == nil || zero.ExactString() != "0" || p.Effects(call).Writes || call.Ellipsis.IsValid() ||
		e.Op != token.LSS && e.Op != token.GTR {
		return false
	}
	fn, ok := p.Callee(call).(*types.Func)
	if !ok || !types.Identical(p.Info.TypeOf(call), types.Typ[types.Int]) {
		return false
	}
	// compare(a, b) > 0 is compare(b, a) < 0 only if the sign changes with the order. That is known
	// of the library's functions.
	library := fn.Name() == "Compare" && fn.Pkg() != nil &&
		slices.Contains([]string{"bytes", "cmp", "strings", "time"}, fn.Pkg().Path())
	if e.Op == token.GTR && !library {
		return false
	}
	sel, selected := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	// Take the arguments of a function, or the receiver and the argument of a method. For > they
	// change places.
	switch {
	case len(call.Args) == 2:
		k.less, k.more, k.compares = call.Args[0], call.Args[1], call.Fun
	case len(call.Args) == 1 && selected && p.Info.Selections[sel] != nil:
		k.less, k.more, k.method = sel.X, call.Args[0], sel.Sel.Name
	default:
		return false
	}
	if e.Op == token.GTR {
		k.less, k.more = k.more, k.less
	}
	return true
}

// looksThroughReceiver reports whether a method only reads what its receiver points to, and does
// not care where that is.
func looksThroughReceiver(p *mutate.Pass, sel *ast.SelectorExpr) bool {
	d := p.Decl(p.Info.Uses[sel.Sel])
	if d == nil || d.Body == nil || len(d.Recv.List[0].Names) == 0 {
		return d != nil && d.Body != nil
	}
	v, ok := p.Info.Defs[d.Recv.List[0].Names[0]].(*types.Var)
	return ok && facts.ReadsOnly(p, d, v)
}

// is reports whether an expression is the list. A field of a variable has no object of its own.
func (s *sortCall) is(p *mutate.Pass, e ast.Expr) bool {
	if s.slice != nil {
		return p.Var(e) == s.slice
	}
	return p.Text(e) == p.Text(s.list) && facts.RootVar(p, e) == facts.RootVar(p, s.list)
}

// uses counts where code names the list.
func (s *sortCall) uses(p *mutate.Pass, body ast.Node) (n int) {
	if s.slice != nil {
		return len(p.Uses(s.slice, body))
	}
	for _, sel := range mutate.Nodes[*ast.SelectorExpr](p, body) {
		if s.is(p, sel) {
			n++
		}
	}
	return n
}

func (s *sortCall) mentions(p *mutate.Pass, e ast.Expr, v *types.Var) bool {
	return len(p.Uses(v, e)) > 0
}

// oneSided reports whether exactly one of x[i] and x[j] occurs in e.
func (s *sortCall) oneSided(p *mutate.Pass, e ast.Expr) bool {
	return s.mentions(p, e, s.i) != s.mentions(p, e, s.j)
}

// with writes a key with name in place of x[i] and x[j].
func (s *sortCall) with(p *mutate.Pass, e ast.Expr, name string) string {
	return p.TextWith(e, func(n ast.Node) (string, bool) {
		ix, ok := n.(*ast.IndexExpr)
		if ok && s.is(p, ix.X) && (p.Var(ix.Index) == s.i || p.Var(ix.Index) == s.j) {
			return name, true
		}
		return "", false
	})
}

// indexesOnly reports whether body uses i and j only for x[i] and x[j], and x in no other way.
func (s *sortCall) indexesOnly(p *mutate.Pass, body ast.Node) bool {
	n := 0
	for _, ix := range mutate.Nodes[*ast.IndexExpr](p, body) {
		if s.is(p, ix.X) && (p.Var(ix.Index) == s.i || p.Var(ix.Index) == s.j) {
			n++
		}
	}
	return n == len(p.Uses(s.i, body))+len(p.Uses(s.j, body)) && n == s.uses(p, body)
}

// withoutReverse takes calls of sort.Reverse away. reversed says that an odd number was there.
func withoutReverse(p *mutate.Pass, e ast.Expr) (list ast.Expr, reversed bool) {
	for {
		e = ast.Unparen(e)
		call, ok := p.IsCall(e, "sort", "Reverse")
		if !ok || len(call.Args) != 1 {
			return e, reversed
		}
		e, reversed = call.Args[0], !reversed
	}
}

// keepsValueInSort reports whether an expression is a local variable that no function sets, so that
// it keeps its value while order and the methods of its type run.
func keepsValueInSort(p *mutate.Pass, e, order ast.Expr) bool {
	v := p.Var(e)
	// Code with a pointer to the variable may set it, and so may the order.
	if !facts.IsLocal(p, v) || facts.Pointed(p, v) || order != nil && p.Assigned(v, order) {
		return false
	}
	if !facts.Captured.Of(p)[v] {
		return true
	}
	// The variable is captured, but no function literal sets it.
	for _, lit := range mutate.Nodes[*ast.FuncLit](p, p.FuncOf(e)) {
		if p.Assigned(v, lit) {
			return false
		}
	}
	// The body of a range over a function is a function, too.
	for _, r := range mutate.Nodes[*ast.RangeStmt](p, p.FuncOf(e)) {
		_, calls := p.Info.TypeOf(r.X).Underlying().(*types.Signature)
		if calls && p.Assigned(v, r.Body) {
			return false // an iterator runs the body whenever it likes
		}
	}
	return true
}
