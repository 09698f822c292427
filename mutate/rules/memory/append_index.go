package memory

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// appendIndex (catalogue A2) matches a loop that appends exactly one element in each iteration to a
// slice made with room for all. It makes the slice at its full length and stores by index.
var appendIndex = &mutate.Mutator{
	Name: "append-to-index",
	Doc: "Fill a slice by index when each iteration of the loop appends exactly one element, and the slice has room " +
		"for all. It saves the test for room, and costs clearing the slice first: whether it pays depends on the " +
		"element and the toolchain. Exact: length, capacity and elements are the same.",
	Example: mutate.Shows(`out := make([]int, 0, len(in))
for _, x := range in {
	out = append(out, x*x)
}`,
		`out := make([]int, len(in))
for i, x := range in {
	out[i] = x * x
}`),
	Class:   beagle.E0,
	Gain:    1.05,
	Find:    findAppendIndex,
	Rewrite: edit.Precomputed,
}

// findAppendIndex looks for an empty slice that is made with room for all elements that the
// next loop appends.
func findAppendIndex(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for list, i := range facts.Statements(p) {
		d, ok := facts.Declares(p, list[i])
		// A closure could see the elements that are not set yet.
		if !ok || i+1 >= len(list) || facts.Captured.Of(p)[d.Var] {
			continue
		}
		call, made := p.IsBuiltin(d.Value, "make")
		loop, isRange := list[i+1].(*ast.RangeStmt)
		// The room must be the number of iterations, or the length would be another one in the end.
		if !made || !isRange || len(call.Args) != 3 || !p.IsInt(call.Args[1], 0) || !overAll(p, loop, call.Args[2]) {
			continue
		}
		if edits := indexEdits(p, d.Var, call, loop); edits != nil {
			sites = append(sites, edit.Site(loop, d.Var.Name()+" filled by a loop", edits...))
		}
	}
	return sites
}

// overAll reports whether the loop runs from the first to the last element of the slice, array or
// integer whose length is given.
func overAll(p *mutate.Pass, loop *ast.RangeStmt, length ast.Expr) bool {
	switch p.Info.TypeOf(loop.X).Underlying().(type) {
	case *types.Slice, *types.Array:
		seq := p.LenOf(length)
		return seq != nil && seq == p.Var(loop.X) && facts.IsLocal(p, seq) && !facts.Captured.Of(p)[seq]
	}
	return false
}

// indexEdits returns the edits for a loop whose last statement is the append. Every iteration must
// reach the append, and the body may not use the slice otherwise.
func indexEdits(p *mutate.Pass, v *types.Var, made *ast.CallExpr, loop *ast.RangeStmt) []mutate.Edit {
	body := loop.Body.List
	// Whatever may skip the append leaves a gap in the result.
	if len(body) == 0 || loop.Tok == token.ASSIGN || p.Effects(loop.Body).Jumps || facts.HoldsBranch(p, loop.Body) ||
		facts.DeclaresName(p, loop.Body, v.Name()) {
		return nil
	}
	// The append must come last and add exactly one element.
	last := body[len(body)-1]
	w, call, ok := facts.AppendsTo(p, last)
	if !ok || w != v || len(call.Args) != 2 || call.Ellipsis.IsValid() || len(p.Uses(v, loop)) != 2 {
		return nil
	}
	index := ""
	var edits []mutate.Edit
	// The position of the element is the loop's own index, which the body may not change; a range
	// without one is given one.
	switch {
	case !syntax.IsBlank(loop.Key) && p.Var(loop.Key) != nil:
		index = p.Text(loop.Key)
		if p.Assigned(p.Var(loop.Key), loop.Body) || facts.DeclaresName(p, loop.Body, index) {
			return nil
		}
	case syntax.IsBlank(loop.Key) && loop.Key != nil:
		index = p.Fresh("i", "at")
		edits = append(edits, p.Replace(loop.Key, index))
	default:
		return nil
	}
	return append(edits,
		// The slice is made with its full length now, where it had room only.
		p.Span(made.Args[0].End(), made.Rparen, ", "+p.Text(made.Args[2])),
		p.Replace(last, fmt.Sprintf("%s[%s] = %s", v.Name(), index, p.Text(call.Args[1]))))
}
