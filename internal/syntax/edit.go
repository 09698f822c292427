package syntax

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"

	"github.com/beagle-go/beagle/internal/inorder"
)

// An Edit replaces text[Start:End] by New.
type Edit struct {
	Start, End int
	New        string
}

// Apply carries out edits that do not overlap. Insertions at one place keep their order.
func Apply(text string, edits []Edit) string {
	edits = slices.Clone(edits)
	inorder.By(edits, func(a, b Edit) int { return a.Start - b.Start })
	var b strings.Builder
	last := 0
	for _, e := range edits {
		b.WriteString(text[last:e.Start] + e.New)
		last = e.End
	}
	b.WriteString(text[last:])
	return b.String()
}

// A Parameter is the receiver or a parameter of a function.
type Parameter struct {
	Name     string // by which the function's body can name it
	Declared string // as declared; empty if the declaration gives no name
	Type     ast.Expr
}

// Parameters lists the receiver and the parameters of a function. The edits give names to those
// that have none.
func Parameters(fset *token.FileSet, fn *ast.FuncDecl) (all []Parameter, edits []Edit) {
	offset := func(p token.Pos) int { return fset.PositionFor(p, false).Offset }
	for _, list := range []*ast.FieldList{fn.Recv, fn.Type.Params} {
		if list == nil {
			continue
		}
		for _, f := range list.List {
			if len(f.Names) == 0 {
				name, at := fmt.Sprintf("beagle%d", len(all)), offset(f.Type.Pos())
				edits = append(edits, Edit{at, at, name + " "})
				all = append(all, Parameter{Name: name, Type: f.Type})
			}
			for _, id := range f.Names {
				p := Parameter{id.Name, id.Name, f.Type}
				if id.Name == "_" {
					p.Name, p.Declared = fmt.Sprintf("beagle%d", len(all)), ""
					edits = append(edits, Edit{offset(id.Pos()), offset(id.End()), p.Name})
				}
				all = append(all, p)
			}
		}
	}
	return all, edits
}
