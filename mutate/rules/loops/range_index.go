package loops

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

// rangeIndex (catalogue L5) matches a range loop over large elements that only reads their fields.
// It ranges over the index and reads through a pointer to the element.
var rangeIndex = &mutate.Mutator{
	Name: "range-pointer",
	Doc: "Read large elements in place instead of copying each into the loop variable. Legal because only fields of " +
		"the element are read, and nothing in the body can change the slice or its elements.",
	Example: mutate.Shows(`for _, r := range records {
	sum += r.Size
}`,
		`for i := range records {
	r := &records[i] // not copied: the element is large
	sum += r.Size
}`),
	Class:   beagle.E0,
	Gain:    1.1,
	Find:    findRangeIndex,
	Rewrite: edit.Precomputed,
}

// rangeArray (catalogue L6) matches a range loop over an array that nothing changes meanwhile. It
// ranges over a pointer to the array, which saves the copy.
var rangeArray = &mutate.Mutator{
	Name: "range-array",
	Doc: "Range over a pointer to an array instead of a copy of it. Legal because nothing changes the array while " +
		"the loop runs.",
	Example: mutate.Shows(`for _, x := range table {
	sum += x
}`, `for _, x := range &table {
	sum += x
}`),
	Class:   beagle.E0,
	Gain:    1.05,
	Find:    findRangeArray,
	Rewrite: edit.Precomputed,
}

// largeElement is the size from which a copy costs more than a pointer.
const largeElement = 64

// findRangeIndex looks for loops that copy large elements of a slice only to read their fields. A
// pointer to the element serves as well, as long as nothing changes the elements or the slice
// meanwhile.
func findRangeIndex(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for r := range mutate.Nodes[*ast.RangeStmt](p, nil) {
		elem, ok := r.Value.(*ast.Ident)
		if !ok || elem.Name == "_" || r.Tok != token.DEFINE || p.Info.TypeOf(r.X) == nil {
			continue
		}
		// The slice must be a local variable that the loop leaves alone, for the element is read
		// where the original copied it in advance. Small elements are as cheap to copy as to point
		// at.
		s, isSlice := p.Info.TypeOf(r.X).Underlying().(*types.Slice)
		seq := p.Var(r.X)
		if !isSlice || !facts.IsLocal(p, seq) || facts.ElementSize(s.Elem()) < largeElement ||
			p.Assigned(seq, r.Body) ||
			facts.Captured.Of(p)[seq] {
			continue
		}
		// The body may only read fields of the element, and do nothing that could write to memory
		// like the element's.
		v, _ := p.Info.Defs[elem].(*types.Var)
		if v == nil || !fieldReadsOnly(p, v, r.Body) || mayReplaceMemory(p, r.Body, seq) {
			continue
		}
		// Use the loop's own index, or give it one.
		index := "i"
		edits := []mutate.Edit{}
		if syntax.IsBlank(r.Key) {
			index = p.Fresh("i", "n")
		} else {
			index = p.Text(r.Key)
			if p.Assigned(p.Var(r.Key), r.Body) {
				continue
			}
		}
		// The copy in the head becomes a pointer in the body, under the same name.
		edits = append(edits, p.Span(r.Key.Pos(), r.Value.End(), index),
			p.Insert(r.Body.Lbrace+1, "\n"+elem.Name+" := &"+seq.Name()+"["+index+
				"] // not copied: the element is large\n"))
		sites = append(sites, edit.Site(r, "loop over "+seq.Name(), edits...))
	}
	return sites
}

// fieldReadsOnly reports whether code uses v only to read fields of basic or reference type, and
// never whole, assigned, or by address.
func fieldReadsOnly(p *mutate.Pass, v *types.Var, body ast.Node) bool {
	// An index reads the element when it is used, and the copy held it as it was.
	if p.Assigned(v, body) || facts.Captured.Of(p)[v] {
		return false
	}
	for _, id := range p.Uses(v, body) {
		sel, ok := p.Parent(id).(*ast.SelectorExpr)
		if !ok || sel.X != ast.Expr(id) {
			return false
		}
		if s := p.Info.Selections[sel]; s == nil || s.Kind() != types.FieldVal {
			return false
		}
		// Its address would be that of the element.
		if u, ok := p.Parent(sel).(*ast.UnaryExpr); ok && u.Op == token.AND {
			return false
		}
	}
	return true
}

// mayReplaceMemory reports whether the body may write memory that could hold the elements of a
// slice: anything but local variables, maps, and slices that share no memory with it.
func mayReplaceMemory(p *mutate.Pass, body ast.Node, seq *types.Var) bool {
	return !facts.ChangesOnly(p, body, func(l ast.Expr) bool { return facts.MapElement(p, l) },
		func(call *ast.CallExpr) bool {
			_, grown, ok := facts.AppendsTo(p, p.Parent(call))
			return ok && grown == call && facts.GrowsAnother(p, call, seq)
		})
}

// findRangeArray looks for ranges over large arrays. A range over the array copies it, one over its
// address does not. The copy may not be missed: nothing may change the array during the loop.
func findRangeArray(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for r := range mutate.Nodes[*ast.RangeStmt](p, nil) {
		if syntax.IsBlank(r.Value) || p.Info.TypeOf(r.X) == nil {
			continue
		}
		_, isArray := p.Info.TypeOf(r.X).Underlying().(*types.Array)
		v := p.Var(r.X)
		// A small array is copied in no time.
		if !isArray || v == nil || facts.ElementSize(v.Type()) <= largeElement {
			continue
		}
		// The loop would now see changes of the array.
		if p.IsGlobal(v) && !p.Frozen(v) ||
			!p.IsGlobal(v) && (facts.Captured.Of(p)[v] || facts.Pointed(p, v) || p.Assigned(v, r)) {
			continue
		}
		sites = append(sites, edit.Site(r, "loop over array "+v.Name(), p.Replace(r.X, "&"+p.Text(r.X))))
	}
	return sites
}
