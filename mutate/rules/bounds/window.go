package bounds

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// window (catalogue B4 for neighbours) matches code that reads or writes several neighbours of one
// place: b[i], b[i+1], b[i+3]. It cuts them out once, so that constant indexes reach them.
var window = &mutate.Mutator{
	Name: "window",
	Doc: "Cut the neighbours of a place out of the slice once, and reach them by constant indexes. One test covers " +
		"them all, where the compiler tests each index that is a sum. Legal because all of the outermost are " +
		"reached, so a slice that is too short panics in any case; it panics earlier.",
	Example: mutate.Shows(`dst[o+2] = src[i]
dst[o+1] = src[i+1]
dst[o] = src[i+2]`,
		`part := dst[o : o+3 : len(dst)]
part[2] = src[i]
part[1] = src[i+1]
part[0] = src[i+2]`),
	Class:   beagle.E1,
	Gain:    1.15,
	Find:    findWindow,
	Rewrite: edit.Precomputed,
}

// A neighbour is an access at a place plus a constant.
type neighbour struct {
	ix     *ast.IndexExpr
	place  ast.Expr
	offset int64
}

// findWindow looks for accesses that stand a constant distance apart, in code that runs often.
func findWindow(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	covered := map[*ast.IndexExpr]bool{}
	for _, list := range p.Lists() {
		for i, s := range list {
			// Jumps into or out of the list make it unknown what is reached.
			if fn := p.FuncOf(s); fn == nil || !facts.TakesTime(p, s) || facts.HasGoto(p, fn) ||
				facts.IsLabelled(p, s) {
				continue
			}
			// Each access that certainly happens may begin a window, unless it is in one already.
			for _, first := range surelyEvaluated(p, s) {
				if covered[first.ix] {
					continue
				}
				if edits, all := windowAt(p, list[i:], first); edits != nil {
					for _, n := range all {
						covered[n.ix] = true
					}
					label := fmt.Sprintf("%d neighbours in %s", len(all), p.Text(first.ix.X))
					sites = append(sites, edit.Site(s, label, edits...))
				}
			}
		}
	}
	return sites
}

// windowAt cuts out the neighbours of an access that the statements of a list reach, from the first
// statement on.
func windowAt(p *mutate.Pass, list []ast.Stmt, first neighbour) ([]mutate.Edit, []neighbour) {
	v := p.Var(first.ix.X)
	// steady says that a statement changes neither the list nor what the place consists of.
	steady := func(s ast.Stmt) bool {
		if p.Reassigned(v, s) {
			return false
		}
		for _, id := range mutate.Nodes[*ast.Ident](p, first.place) {
			if w := p.Var(id); w != nil && p.Assigned(w, s) {
				return false
			}
		}
		return true
	}
	// Walk through the statements as long as the place is the same. straight says that no earlier
	// statement may have left the list of statements.
	lo, hi, straight := first.offset, first.offset, true
	var found []neighbour
	for _, s := range list {
		if !steady(s) {
			break
		}
		// Accesses that every path reaches set the bounds of the window: the original panics for
		// each of them, too, if the list is too short.
		if straight {
			for _, n := range surelyEvaluated(p, s) {
				if p.Var(n.ix.X) == v && p.Same(n.place, first.place) {
					lo, hi = min(lo, n.offset), max(hi, n.offset)
				}
			}
		}
		// All other accesses in reach may use the window if they fall inside it.
		straight = straight && goesOn(p, s)
		for _, ix := range mutate.Nodes[*ast.IndexExpr](p, s) {
			if n, ok := neighbourOf(p, ix); ok && p.Var(ix.X) == v && p.Same(n.place, first.place) {
				found = append(found, n)
			}
		}
	}
	found = slices.DeleteFunc(found, func(n neighbour) bool { return n.offset < lo || n.offset > hi })
	// Fewer than three different neighbours are not worth the cut, and a wide window would mostly
	// be checked for nothing.
	different := map[int64]bool{}
	for _, n := range found {
		different[n.offset] = true
	}
	if len(different) < 3 || hi-lo > 64 || facts.IsRedefined(p, list[0], "len") {
		return nil, nil
	}
	name := p.Fresh("part", "window")
	// Each access becomes one with a constant index.
	var edits []mutate.Edit
	for _, n := range found {
		edits = append(edits, p.Replace(n.ix, fmt.Sprintf("%s[%d]", name, n.offset-lo)))
	}
	if len(edit.OutermostOnly(edits)) != len(edits) {
		return nil, nil // one is the index of another
	}
	limit := ""
	if _, slice := v.Type().Underlying().(*types.Slice); slice {
		limit = " : len(" + v.Name() + ")" // the capacity must not count
	}
	from, to := plusConstant(p, first.place, lo), plusConstant(p, first.place, hi+1)
	cut := fmt.Sprintf("%s := %s[%s : %s%s]", name, v.Name(), from, to, limit)
	return append(edits, edit.InsertBefore(p, list[0], cut)), found
}

// plusConstant writes a place plus a constant.
func plusConstant(p *mutate.Pass, place ast.Expr, n int64) string {
	text := edit.Operand(place, p.Text(place), token.ADD)
	switch {
	case n > 0:
		return fmt.Sprintf("%s+%d", text, n)
	case n < 0:
		return fmt.Sprintf("%s-%d", text, -n)
	}
	return text
}

// neighbourOf splits the index of an access into a place and a constant. The place depends on
// variables of the function only, and is as wide as a length.
func neighbourOf(p *mutate.Pass, ix *ast.IndexExpr) (neighbour, bool) {
	// The list is a local variable that nothing else can change between two accesses.
	v := p.Var(ix.X)
	if v == nil || !facts.IsLocal(p, v) || facts.Captured.Of(p)[v] || !syntax.SlicedOrString(v.Type()) ||
		p.Info.Types[ix.Index].Value != nil || facts.AddressTaking(p, ix) != nil {
		return neighbour{}, false
	}
	// Narrower types wrap around where the sum of the window would not.
	if !facts.IsWideInteger(p, ix.Index) || facts.Pointed(p, v) {
		return neighbour{}, false
	}
	n := neighbour{ix: ix}
	// Take the constant off the index. The rest must have no effects, and consist of local
	// variables: it is evaluated once for all.
	n.place, n.offset = placeOf(p, ix.Index)
	f := p.Effects(n.place)
	if f.Writes || f.Reads || f.Panics || facts.CallsFunction(p, n.place) {
		return neighbour{}, false
	}
	names := 0
	for _, id := range mutate.Nodes[*ast.Ident](p, n.place) {
		if w := p.Var(id); w != nil && (!facts.IsLocal(p, w) || facts.Captured.Of(p)[w] || facts.Pointed(p, w)) {
			return neighbour{}, false
		}
		names++
	}
	return n, names > 0
}
