package sorting

import (
	"fmt"
	"go/ast"
	"go/types"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// sortKeys (catalogue O4) matches sort.Slice whose comparison computes a key of each element with a
// pure function. It computes all keys once, sorts keys with elements, and copies the elements back.
var sortKeys = &mutate.Mutator{
	Name: "sort-keys",
	Doc: "Compute the sort key of every element once instead of twice in every comparison. Legal because the key " +
		"function has no effects and cannot panic, so it gives the same keys however often it is called.",
	Example: mutate.Shows(`sort.Slice(names, func(i, j int) bool {
	return strings.ToLower(names[i]) < strings.ToLower(names[j])
})`,
		`type keyed struct {
	key  string
	elem string
}
byKey := make([]keyed, len(names))
for i, e := range names {
	byKey[i] = keyed{strings.ToLower(e), e}
}
slices.SortFunc(byKey, func(a, b keyed) int { return strings.Compare(a.key, b.key) })
for i := range byKey {
	names[i] = byKey[i].elem
}`),
	Class:   beagle.E0,
	Gain:    2,
	Find:    findSortKeys,
	Rewrite: rewriteSortKeys,
}

// findSortKeys looks for sorts by a single key whose computation costs a call.
func findSortKeys(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, st := range mutate.Nodes[*ast.ExprStmt](p, nil) {
		call, ok := st.X.(*ast.CallExpr)
		if !ok {
			continue
		}
		s := sortOf(p, call)
		// One key fits into one list of keys; a method or a comparison of its own is no plain
		// value.
		if s == nil || len(s.keys) != 1 || s.slice == nil || s.keys[0].method != "" || s.keys[0].compares != nil ||
			!callsSomething(p, s, s.keys[0].less) || !calmKey(p, s, s.keys[0].less) {
			continue
		}
		sites = append(sites, mutate.Site{Node: call, Label: "keys of " + s.slice.Name(), Data: s})
	}
	return sites
}

// callsSomething reports whether the key is worth keeping: it calls a function that is pure apart
// from the element that it reads.
func callsSomething(p *mutate.Pass, s *sortCall, key ast.Expr) bool {
	found := false
	// Each call in the key must be pure except for the element, so that one call can replace many.
	for _, call := range mutate.Nodes[*ast.CallExpr](p, key) {
		if p.Info.Types[call.Fun].IsType() {
			continue
		}
		// The called function must be known: a variable of a function type could do anything.
		fn := p.Callee(call)
		if fn == nil || fn.Pkg() == nil {
			return false
		}
		// Arguments are evaluated with the call, so they must be as harmless.
		for _, arg := range call.Args {
			if f := p.Effects(arg); f.Writes {
				return false
			}
		}
		if f := p.Effects(call); f.Writes || f.Panics && !panicsByElement(p, s, call) {
			return false
		}
		found = true
	}
	return found
}

// panicsByElement reports whether a call of a pure standard function can panic only through x[i]
// itself, which is within bounds while sorting.
func panicsByElement(p *mutate.Pass, s *sortCall, call *ast.CallExpr) bool {
	for _, arg := range call.Args {
		e := ast.Unparen(arg)
		for {
			sel, ok := e.(*ast.SelectorExpr)
			if !ok {
				break
			}
			if s := p.Info.Selections[sel]; s == nil || s.Indirect() {
				return false
			}
			e = ast.Unparen(sel.X)
		}
		if s.isElement(p, e) {
			continue
		}
		if !p.Pure(e) {
			return false
		}
	}
	// The function must be harmless apart from its arguments.
	bare := &ast.CallExpr{Fun: call.Fun}
	f := p.Effects(bare)
	return !f.Writes && !f.Panics
}

// isElement recognises x[i] and x[j].
func (s *sortCall) isElement(p *mutate.Pass, e ast.Expr) bool {
	ix, ok := e.(*ast.IndexExpr)
	return ok && s.is(p, ix.X) && (p.Var(ix.Index) == s.i || p.Var(ix.Index) == s.j)
}

// calmKey reports whether nothing of a key but its calls and x[i] itself may panic. A sort of one
// element asks for no key.
func calmKey(p *mutate.Pass, s *sortCall, key ast.Expr) bool {
	calm := true
	ast.Inspect(key, func(n ast.Node) bool {
		e, ok := n.(ast.Expr)
		if ok && s.isElement(p, e) {
			return false
		}
		switch e := n.(type) {
		case *ast.IndexExpr, *ast.SliceExpr, *ast.StarExpr, *ast.TypeAssertExpr:
			calm = false
		case *ast.SelectorExpr:
			sel := p.Info.Selections[e]
			calm = calm && (sel == nil || !sel.Indirect() && !syntax.Is[*types.Pointer](sel.Recv()))
		case *ast.BinaryExpr:
			calm = calm && !facts.MayEnd(p, e)
		}
		return calm
	})
	return calm
}

// rewriteSortKeys computes the keys once, and sorts pairs of a key and an element.
func rewriteSortKeys(p *mutate.Pass, site mutate.Site, _ mutate.Param) ([]mutate.Edit, error) {
	s := site.Data.(*sortCall)
	k := s.keys[0]
	keyType, ok := facts.TypeText(p, p.Info.TypeOf(k.less))
	if !ok {
		return nil, fmt.Errorf("the type of the key cannot be written here")
	}
	// The generated names are fresh in this file.
	typ, byKey, i, e, a, b := p.Fresh("keyed"), p.Fresh("byKey"), p.Fresh("i", "n"), p.Fresh("e", "elem"),
		p.Fresh("a"), p.Fresh("b")
	name, x := "SortFunc", s.slice.Name()
	if s.stable {
		name = "SortStableFunc"
	}
	// A reversed order swaps the arguments.
	first, second := a, b
	if k.reversed {
		first, second = b, a
	}
	compare := "cmp.Compare"
	if facts.IsExactString(p, k.less) {
		compare = "strings.Compare"
	}
	text := fmt.Sprintf(`type %[1]s struct {
	key %[2]s
	elem %[3]s
}
%[4]s := make([]%[1]s, len(%[5]s)) // each key is computed once
for %[6]s, %[7]s := range %[5]s {
	%[4]s[%[6]s] = %[1]s{%[8]s, %[7]s}
}
slices.%[9]s(%[4]s, func(%[10]s, %[11]s %[1]s) int { return %[12]s(%[13]s.key, %[14]s.key) })
for %[6]s := range %[4]s {
	%[5]s[%[6]s] = %[4]s[%[6]s].elem
}`, typ, keyType, s.elem, byKey, x, i, e, s.with(p, k.less, e), name, a, b, compare, first, second)
	return edit.WithImports(p, []mutate.Edit{p.Replace(s.call, text)}, "slices", "cmp", "strings"), nil
}
