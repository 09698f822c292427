package loops

import (
	_ "embed"
	"go/ast"
	"go/token"
	"go/types"
	"sync"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// spliceIterator (catalogue D4) matches a loop over an iterator that is one loop itself. It writes
// the iterator's loop, with the body of the other in the place of the call of yield.
var spliceIterator = &mutate.Mutator{
	Name: "splice-iterator",
	Doc: "Write the loop of an iterator instead of ranging over the iterator. The compiler inlines both where the " +
		"body is short and has no return; otherwise the iterator calls the body as a function, and the variables " +
		"that it changes stay in memory. The iterator is one of the library's, or a function or method of the " +
		"package. Exact: operands are evaluated once and in their order, the iterator calls yield at one place of " +
		"its loop and ends when yield asks for it, so that break, continue and return mean the same in its loop.",
	Example: mutate.Shows(`for i, v := range slices.Backward(s) {
	if v == x {
		return i
	}
}`,
		`for i := len(s) - 1; i >= 0; i-- {
	v := s[i]
	if v == x {
		return i
	}
}`),
	Class:   beagle.E0,
	Gain:    1.2,
	Find:    findIterators,
	Rewrite: edit.Precomputed,
}

// An iterator is a function that returns a function of yield, and that does no more than that.
// The returned function is a list of plain statements and one loop, which calls yield.
type iterator struct {
	p     *mutate.Pass // of the file that declares it
	fn    *ast.FuncDecl
	body  *ast.BlockStmt // of the function that it returns
	loop  ast.Stmt       // the last statement of body
	test  *ast.IfStmt    // if cond && !yield(values...) { return }
	cond  ast.Expr       // nil if test always calls yield
	yield *ast.CallExpr
	// returns are the other returns, which leave the loop as a break would.
	returns []*ast.ReturnStmt
	// last says that after yield the innermost loop goes on with its next turn.
	last bool
	// inner is the innermost loop around test.
	inner ast.Stmt
	// deepReturn says that the iterator returns in an inner loop.
	deepReturn bool
}

const iteratorLines = 60 // of an iterator that is spliced

func findIterators(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	// Variables of loops are new in each turn since Go 1.22, and iterators came with 1.23.
	if !p.GoAtLeast(23) {
		return nil
	}
	for _, loop := range mutate.Nodes[*ast.RangeStmt](p, nil) {
		call, ok := ast.Unparen(loop.X).(*ast.CallExpr)
		if !ok || !syntax.Is[*types.Signature](p.Info.TypeOf(call)) || p.FuncOf(loop) == nil ||
			!facts.TakesTime(p, loop) {
			continue
		}
		fn, _ := p.Callee(call).(*types.Func)
		it := iteratorOf(p, fn)
		if it == nil || it.fn == p.FuncOf(loop) {
			continue
		}
		w := &iteratorSplice{iterator: it, at: p, over: loop, call: call}
		if edits := w.edits(); edits != nil {
			sites = append(sites, edit.Site(loop, "loop over "+edit.OneLine(p.Text(call)), edits...))
		}
	}
	return sites
}

//go:embed library_iterators.go
var libraryIterators string

// library is the Pass of the iterators of the library.
var library = sync.OnceValue(func() *mutate.Pass {
	p, err := mutate.Check(libraryIterators, "", nil)
	if err != nil {
		panic("iterators of the library: " + err.Error())
	}
	return p
})

// iteratorOf returns what a function iterates over, or nil if it is no iterator that can be
// spliced.
func iteratorOf(p *mutate.Pass, fn *types.Func) *iterator {
	if fn == nil || fn.Pkg() == nil {
		return nil
	}
	if path := fn.Pkg().Path(); path == "slices" || path == "maps" {
		return libraryIterator(path + fn.Name())
	}
	if q, decl := p.Body(fn); decl != nil {
		return readIterator(q, decl)
	}
	return nil
}

func libraryIterator(name string) *iterator {
	for _, fn := range mutate.Nodes[*ast.FuncDecl](library(), nil) {
		if fn.Name.Name == name {
			return readIterator(library(), fn)
		}
	}
	return nil
}

// readIterator reads the declaration of an iterator.
func readIterator(p *mutate.Pass, fn *ast.FuncDecl) *iterator {
	// The function returns a function of yield and does nothing else.
	if fn.Body == nil || len(fn.Body.List) != 1 || facts.LineCount(p, fn) > iteratorLines {
		return nil
	}
	ret, ok := fn.Body.List[0].(*ast.ReturnStmt)
	if !ok || len(ret.Results) != 1 {
		return nil
	}
	lit, ok := ast.Unparen(ret.Results[0]).(*ast.FuncLit)
	if !ok || len(lit.Type.Params.List) != 1 || len(lit.Type.Params.List[0].Names) != 1 || len(lit.Body.List) == 0 {
		return nil
	}
	// All statements but the last one are plain, and the last one is a loop.
	n := len(lit.Body.List) - 1
	it := &iterator{p: p, fn: fn, body: lit.Body, loop: lit.Body.List[n]}
	for _, s := range lit.Body.List[:n] {
		if !syntax.IsPlainStmt(s) {
			return nil
		}
	}
	if syntax.LoopBody(it.loop) == nil || !movesWhole(p, lit.Body) {
		return nil
	}
	// The loop asks yield at one place.
	yield, _ := p.Info.Defs[lit.Type.Params.List[0].Names[0]].(*types.Var)
	uses := p.Uses(yield, fn)
	if len(uses) != 1 || !it.readTest(uses[0]) || !it.readReturns() {
		return nil
	}
	return it
}

// movesWhole reports whether code can stand in another function: it has no label, no jump to one,
// nothing that a function does at its end, and names no type parameter.
func movesWhole(p *mutate.Pass, code ast.Node) bool {
	for _, n := range mutate.Nodes[ast.Node](p, code) {
		switch n := n.(type) {
		case *ast.LabeledStmt, *ast.DeferStmt:
			return false
		case *ast.BranchStmt:
			if n.Label != nil {
				return false
			}
		case *ast.Ident:
			if n.Name == "recover" {
				return false
			}
			// The variable of a type switch is another one in each of its cases.
			if obj, ok := p.Info.Defs[n]; ok && obj == nil {
				return false
			}
			if t, ok := p.Info.Uses[n].(*types.TypeName); ok && syntax.IsTypeParam(t.Type()) {
				return false
			}
		}
	}
	return true
}

// readTest reads the statement around the only use of yield. It must stand in the loop or in loops
// of it, at most in an if, where continue means the innermost one.
func (it *iterator) readTest(yield *ast.Ident) bool {
	call, ok := it.p.Parent(yield).(*ast.CallExpr)
	if !ok || call.Fun != ast.Expr(yield) || call.Ellipsis.IsValid() {
		return false
	}
	not, ok := it.p.Parent(call).(*ast.UnaryExpr)
	if !ok || not.Op != token.NOT {
		return false
	}
	it.yield = call
	up := it.p.Parent(not)
	if both, ok := up.(*ast.BinaryExpr); ok && both.Op == token.LAND && both.Y == ast.Expr(not) {
		it.cond, up = both.X, it.p.Parent(both)
	}
	it.test, ok = up.(*ast.IfStmt)
	if !ok || it.test.Init != nil || it.test.Else != nil || !facts.EndsIn(it.test.Body.List[:1], token.RETURN) {
		return false
	}
	_, listed := it.p.Parent(it.test).(*ast.BlockStmt)
	it.inner, it.last = it.loopOf(it.test)
	return listed && it.inner != nil
}

// loopOf returns the innermost loop around a statement, or nil if anything but blocks, ifs and
// loops lies between the statement and the iterator's loop. last says that a turn of the innermost
// one ends with the statement.
func (it *iterator) loopOf(s ast.Stmt) (inner ast.Stmt, last bool) {
	last = true
	for {
		switch up := it.p.Parent(s).(type) {
		case *ast.BlockStmt:
			last = last && (inner != nil || up.List[len(up.List)-1] == s)
			s = up
		case *ast.IfStmt:
			s = up
		case *ast.ForStmt, *ast.RangeStmt:
			s = up.(ast.Stmt)
			if inner == nil {
				inner = s
			}
			if s == it.loop {
				return inner, last
			}
		default:
			return nil, false
		}
	}
}

// readReturns finds the other returns. Each must stand where a break can leave the loop.
func (it *iterator) readReturns() bool {
	all := true
	ast.Inspect(it.body, func(n ast.Node) bool {
		if ret, ok := n.(*ast.ReturnStmt); ok && !facts.Inside(ret, it.test) {
			it.returns = append(it.returns, ret)
			loop, _ := it.loopOf(ret)
			all = all && loop != nil
			it.deepReturn = it.deepReturn || loop != it.loop
		}
		_, literal := n.(*ast.FuncLit)
		return !literal
	})
	return all
}
