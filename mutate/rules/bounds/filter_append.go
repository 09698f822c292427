package bounds

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// filterAppend (catalogue B10) matches a loop that filters a slice in place with an index and a
// counter. It appends to the slice's empty head, so that the stores need no check of the counter.
var filterAppend = &mutate.Mutator{
	Name: "filter-append",
	Doc: "Filter a slice in place by appending to its empty head instead of storing at an index that is counted by " +
		"hand. Nothing proves to the compiler that the count stays below the length, so it checks each store. " +
		"Exact: at most one element is kept an iteration, so the append never outgrows the slice and writes the same " +
		"places.",
	Example: mutate.Shows(`n := 0
for _, x := range s {
	if keep(x) {
		s[n] = x
		n++
	}
}
return s[:n]`,
		`kept := s[:0]
for _, x := range s {
	if keep(x) {
		kept = append(kept, x)
	}
}
return kept`),
	Class:   beagle.E0,
	Gain:    1.05,
	Find:    findFilterAppend,
	Rewrite: edit.Precomputed,
}

// A filter is a counter, the loop that counts, and the store.
type filter struct {
	count, list *types.Var
	loop        *ast.RangeStmt
	store, step ast.Stmt
	value       ast.Expr
}

// findFilterAppend looks for a counter from 0 and the loop after it, which moves the kept elements
// to the front.
func findFilterAppend(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for list, i := range facts.Statements(p) {
		d, ok := facts.Declares(p, list[i])
		// The counter starts at 0, in front of the loop, and nothing else sees it.
		if !ok || i+1 >= len(list) || !syntax.IsPredeclared(d.Var.Type(), types.Int) || facts.Captured.Of(p)[d.Var] ||
			d.Value != nil && !p.IsInt(d.Value, 0) {
			continue
		}
		// The loop must follow at once, and compact the list that it goes through.
		loop, ok := list[i+1].(*ast.RangeStmt)
		if !ok {
			continue
		}
		f := &filter{count: d.Var, loop: loop}
		if !f.read(p) {
			continue
		}
		if edits := f.edits(p, d); edits != nil {
			sites = append(sites, edit.Site(loop, "filter of "+f.list.Name(), edits...))
		}
	}
	return sites
}

// read finds the only two uses of the counter in the loop: s[n] = x and n++.
func (f *filter) read(p *mutate.Pass) bool {
	// The loop ranges over the list that it compacts.
	f.list = p.Var(f.loop.X)
	if f.list == nil || !facts.IsSlice(f.list.Type()) || !facts.IsLocal(p, f.list) || facts.Captured.Of(p)[f.list] ||
		facts.Pointed(p, f.list) || len(p.Uses(f.count, f.loop)) != 2 {
		return false
	}
	// Find the store at the counter. In an inner loop it could happen more often than once an
	// element.
	for _, as := range mutate.Nodes[*ast.AssignStmt](p, f.loop.Body) {
		lhs, rhs, ok := syntax.SplitAssign(as, token.ASSIGN)
		ix, isIndex := ast.Unparen(syntax.OrNil(lhs)).(*ast.IndexExpr)
		if !ok || !isIndex || p.Var(ix.X) != f.list || p.Var(ix.Index) != f.count {
			continue
		}
		f.store, f.value = as, rhs
	}
	if f.store == nil || facts.InInnerLoop(p, f.store, f.loop.Body) {
		return false
	}
	// The step must follow it at once: else the two would not belong together.
	list, at := p.Siblings(f.store)
	if at < 0 || at+1 >= len(list) {
		return false
	}
	step, ok := list[at+1].(*ast.IncDecStmt)
	if !ok || step.Tok != token.INC || p.Var(step.X) != f.count {
		return false
	}
	f.step = step
	return f.keepsList(p) && !facts.CallsFunction(p, f.value)
}

// keepsList reports whether the loop never assigns the slice variable itself, and changes elements
// only through the store.
func (f *filter) keepsList(p *mutate.Pass) bool {
	for _, id := range p.Uses(f.list, f.loop.Body) {
		// The slice as a whole could be appended to, or cut.
		ix, ok := p.Parent(id).(*ast.IndexExpr)
		if !ok || ix.X != ast.Expr(id) {
			return false
		}
		// A second store could change an element before the loop reads it.
		if as, ok := p.Parent(ix).(*ast.AssignStmt); ok && as != f.store && facts.AssignedTo(p, ix) {
			return false
		}
		// Through an address anybody can.
		if u, ok := p.Parent(ix).(*ast.UnaryExpr); ok && u.Op == token.AND {
			return false
		}
	}
	return true
}

// edits replaces s[:n] after the loop by the kept elements, and n by their number.
func (f *filter) edits(p *mutate.Pass, d facts.Declaration) []mutate.Edit {
	kept := p.Fresh("kept", "filtered")
	s := f.list.Name()
	// The kept elements share the list's memory, as before.
	edits := []mutate.Edit{
		p.Replace(d.Stmt, kept+" := "+s+"[:0]"),
		p.Span(f.store.Pos(), f.step.End(), kept+" = append("+kept+", "+p.Text(f.value)+")"),
	}
	// Behind the loop, list[:n] is what was kept, as long as the list is still the same. Any other
	// use of n is their number, if n does not change.
	behind := &ast.BlockStmt{Lbrace: f.loop.End(), Rbrace: p.FuncOf(f.loop).End() - 1}
	for _, id := range p.Uses(f.count, p.FuncOf(f.loop)) {
		if id.Pos() < f.loop.End() {
			continue
		}
		sl, ok := p.Parent(id).(*ast.SliceExpr)
		switch {
		case ok && sl.High == ast.Expr(id) && sl.Low == nil && !sl.Slice3 && p.Var(sl.X) == f.list &&
			(!p.Assigned(f.list, behind) || isNext(p, f.loop, sl)):
			edits = append(edits, p.Replace(sl, kept))
		case p.Assigned(f.count, behind):
			return nil
		default:
			edits = append(edits, p.Replace(id, "len("+kept+")"))
		}
	}
	// Without such a use the elements are of no interest.
	if len(edits) == 2 {
		return nil
	}
	return edits
}

// isNext reports whether e stands in the statement right after the loop.
func isNext(p *mutate.Pass, loop ast.Stmt, e ast.Expr) bool {
	list, at := p.Siblings(loop)
	return at >= 0 && at+1 < len(list) && facts.Inside(e, list[at+1])
}
