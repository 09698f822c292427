package loops

import (
	"go/ast"
	"go/types"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// elementPointer (catalogue L5 for one element) matches a variable that takes a copy of an element
// and of which code reads parts. It keeps the element's address instead.
var elementPointer = &mutate.Mutator{
	Name: "element-pointer",
	Doc: "Read an element in place instead of copying it into a variable, when it does not fit registers and code " +
		"reads parts of it. Legal because nothing changes the element before the last use of the variable, which " +
		"stays as it is.",
	Example: mutate.Shows(`entry := table[middle]
if r < entry.first {`,
		`entry := &table[middle] // not copied
if r < entry.first {`),
	Class:   beagle.E0,
	Gain:    1.1,
	Find:    findElementPointers,
	Rewrite: edit.Precomputed,
}

// findElementPointers looks for variables that hold a copy of an element, in code that runs often.
// The statements after the copy decide whether a pointer will do.
func findElementPointers(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, list := range p.Lists() {
		for i, s := range list {
			d, ok := facts.Declares(p, s)
			// A copy costs little where it is made once.
			if !ok || p.FuncOf(s) == nil || !facts.TakesTime(p, s) {
				continue
			}
			if edits := elementEdits(p, d, list[i+1:]); edits != nil {
				sites = append(sites, edit.Site(s, "copy in "+d.Var.Name(), edits...))
			}
		}
	}
	return sites
}

// elementEdits rewrites a declaration and the uses in the statements after it.
func elementEdits(p *mutate.Pass, d facts.Declaration, rest []ast.Stmt) []mutate.Edit {
	// Only a short declaration has no type that would have to become a pointer.
	if _, short := d.Stmt.(*ast.AssignStmt); !short {
		return nil
	}
	ix, ok := d.Value.(*ast.IndexExpr)
	if !ok {
		return nil
	}
	// An element of a map has no address.
	if _, slice := p.Info.TypeOf(ix.X).Underlying().(*types.Slice); !slice {
		return nil
	}
	edits, ok := elementCopy{d.Var, ix.X, rest}.readInPlace(p)
	if !ok {
		return nil
	}
	return append(edits, p.Replace(ix, "&"+p.Text(ix)))
}
