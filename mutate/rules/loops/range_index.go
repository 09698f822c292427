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
	Doc: "Read large elements in place instead of copying each into the loop variable. Legal because the variable is " +
		"only read, and nothing changes the element before its last use.",
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

// findRangeIndex looks for loops that copy large elements of a slice and read parts of them. A
// pointer to the element serves as well, as long as nothing changes the element in use.
func findRangeIndex(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, r := range mutate.Nodes[*ast.RangeStmt](p, nil) {
		elem, ok := r.Value.(*ast.Ident)
		if !ok || r.Tok != token.DEFINE || !facts.IsSlice(p.Info.TypeOf(r.X)) {
			continue
		}
		v, _ := p.Info.Defs[elem].(*types.Var)
		if v == nil {
			continue
		}
		edits, ok := elementCopy{v, r.X, r.Body.List}.readInPlace(p)
		if !ok {
			continue
		}
		// The loop goes through the slice that it began with. Where the body may give a variable
		// another one, or hides it, the slice gets a name of its own.
		seq := p.Text(r.X)
		if s := p.Var(r.X); !facts.IsLocal(p, s) || p.Assigned(s, r.Body) || facts.Captured.Of(p)[s] ||
			facts.Pointed(p, s) || seq == p.Text(r.Key) {
			seq = p.Fresh(sliceNames(p, r.X)...)
			edits = append(edits, edit.InsertBefore(p, edit.LabelOf(p, r), seq+" := "+p.Text(r.X)),
				p.Replace(r.X, seq))
		}
		// The body needs the index that the loop began with, too.
		index := ""
		if syntax.IsBlank(r.Key) {
			index = p.Fresh("i", "n")
		} else if index = p.Text(r.Key); p.Assigned(p.Var(r.Key), r.Body) {
			continue
		}
		// The copy in the head becomes a pointer in the body, under the same name.
		edits = append(edits, p.Span(r.Key.Pos(), r.Value.End(), index),
			p.Insert(r.Body.Lbrace+1, "\n"+elem.Name+" := &"+seq+"["+index+"] // not copied: the element is large\n"))
		sites = append(sites, edit.Site(r, "loop over "+p.Text(r.X), edits...))
	}
	return sites
}

// sliceNames proposes names for the slice that a loop goes through.
func sliceNames(p *mutate.Pass, e ast.Expr) []string {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return []string{"all" + edit.UpperFirst(e.Name), "list"}
	case *ast.SelectorExpr:
		return []string{edit.LowerFirst(e.Sel.Name), "list"}
	}
	return []string{"list", "elements"}
}

// largeArray is the size up to which an array is copied in no time.
const largeArray = 64

// findRangeArray looks for ranges over large arrays. A range over the array copies it, one over its
// address does not. The copy may not be missed: nothing may change the array during the loop.
func findRangeArray(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, r := range mutate.Nodes[*ast.RangeStmt](p, nil) {
		if syntax.IsBlank(r.Value) || p.Info.TypeOf(r.X) == nil {
			continue
		}
		_, isArray := p.Info.TypeOf(r.X).Underlying().(*types.Array)
		v := p.Var(r.X)
		if !isArray || v == nil || facts.ElementSize(v.Type()) <= largeArray {
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
