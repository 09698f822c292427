package sorting

import (
	"errors"
	"fmt"
	"go/ast"
	"go/types"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// sortedMerge (catalogue O2) matches a target that joins and sorts two lists, if the corpus's lists
// are sorted already. It writes a test of the order and a merge in the form of B8, which consumes
// its lists so that no access is checked. The original handles other lists.
var sortedMerge = &mutate.Mutator{
	Name: "sorted-merge",
	Doc: "Merge two lists that are in order already in one pass instead of concatenating and sorting them. Pays " +
		"where the corpus shows that they nearly always are; a scan finds that out, and the original stays as the " +
		"slow path.",
	Example: mutate.Shows(`merged := append(append([]string{}, a...), b...)
sort.Strings(merged)
return slices.Compact(merged)`,
		`// The lists are nearly always in order already.
if ascending(a) && ascending(b) {
	return mergeAscending(a, b)
}
merged := append(append([]string{}, a...), b...)
...`),
	Class:   beagle.E3,
	Gain:    2,
	Find:    findSortedMerge,
	Params:  mergeParams,
	Rewrite: rewriteSortedMerge,
}

type mergeSite struct {
	a, b  string // parameter names
	slice string // the type of the lists
	item  string // the type of the elements
	dedup bool   // the body shows that it drops duplicates
}

// findSortedMerge looks for a target that takes two lists of one type, does not change them, sorts,
// and returns a list of that type. The corpus's lists must be sorted. That the result is the sorted
// union is a guess, which verification decides.
func findSortedMerge(p *mutate.Pass) []mutate.Site {
	// The target takes two lists and returns one, all of the same type.
	fn := p.Func
	sig := p.Info.Defs[fn.Name].Type().(*types.Signature)
	if fn.Recv != nil || fn.Body == nil || sig.Params().Len() != 2 || sig.Results().Len() != 1 || sig.Variadic() ||
		sig.TypeParams() != nil {
		return nil
	}
	a, b := sig.Params().At(0), sig.Params().At(1)
	s, ok := a.Type().Underlying().(*types.Slice)
	if !ok || !types.Identical(a.Type(), b.Type()) || !types.Identical(a.Type(), sig.Results().At(0).Type()) ||
		syntax.IsUnnamed(a) || syntax.IsUnnamed(b) {
		return nil
	}
	// The elements must be integers or strings, whose equal values cannot be told apart: then any
	// merge has the result of any sort.
	elem, ok := s.Elem().Underlying().(*types.Basic)
	if !ok || elem.Info()&(types.IsInteger|types.IsString) == 0 || !callsSort(p, fn) ||
		hasFastPath(p, fn, a.Type()) {
		return nil
	}
	// The guess is worth a candidate only for lists that are mostly sorted, and that the target
	// leaves alone.
	f := p.Facets
	if len(f.Mutates) > 0 || len(f.Params) != 2 || f.Params[0].Sorted < 0.6 || f.Params[1].Sorted < 0.6 {
		return nil
	}
	slice, okSlice := facts.TypeText(p, a.Type())
	item, okItem := facts.TypeText(p, s.Elem())
	if !okSlice || !okItem {
		return nil
	}
	return []mutate.Site{{Node: fn.Body, Label: "body of " + fn.Name.Name, Data: mergeSite{
		a: a.Name(), b: b.Name(), slice: slice, item: item, dedup: dropsDuplicates(p, fn),
	}}}
}

func callsSort(p *mutate.Pass, fn *ast.FuncDecl) bool {
	for _, call := range mutate.Nodes[*ast.CallExpr](p, fn.Body) {
		if _, ok := p.IsCall(call, "sort", "Strings", "Ints", "Slice", "SliceStable", "Sort", "Stable"); ok {
			return true
		}
		if _, ok := p.IsCall(call, "slices", "Sort", "SortFunc", "SortStableFunc", "Sorted"); ok {
			return true
		}
	}
	return false
}

// dropsDuplicates looks for signs that the code drops duplicates: Compact, a map, or a test of two
// elements for equality.
func dropsDuplicates(p *mutate.Pass, fn *ast.FuncDecl) bool {
	for _, e := range mutate.Nodes[ast.Expr](p, fn.Body) {
		if _, ok := p.IsCall(e, "slices", "Compact", "CompactFunc", "Contains"); ok {
			return true
		}
		switch e := e.(type) {
		case *ast.MapType:
			return true
		case *ast.BinaryExpr:
			_, x := ast.Unparen(e.X).(*ast.IndexExpr)
			_, y := ast.Unparen(e.Y).(*ast.IndexExpr)
			if (x || y) && (e.Op.String() == "==" || e.Op.String() == "!=") {
				return true
			}
		}
	}
	return false
}

// hasFastPath recognises a fast path in front, from an earlier rewrite or from the author: a test
// that only returns, and calls a helper of the candidate that takes two lists of the type.
func hasFastPath(p *mutate.Pass, fn *ast.FuncDecl, list types.Type) bool {
	s, ok := fn.Body.List[0].(*ast.IfStmt)
	if !ok || len(s.Body.List) != 1 {
		return false
	}
	if _, ok := s.Body.List[0].(*ast.ReturnStmt); !ok {
		return false
	}
	for _, call := range mutate.Nodes[*ast.CallExpr](p, s) {
		// A call of the function itself, with its lists exchanged, is no other path.
		helper := p.Decl(p.Callee(call))
		if helper == nil || helper == fn {
			continue
		}
		params := p.Info.Defs[helper.Name].Type().(*types.Signature).Params()
		if params.Len() == 2 && types.Identical(params.At(0).Type(), list) &&
			types.Identical(params.At(1).Type(), list) {
			return true
		}
	}
	return false
}

// A mergeForm is a way to ensure the order: look first, or notice while merging.
type mergeForm struct{ look, dedup bool }

func mergeParams(_ *mutate.Pass, s mutate.Site) []mutate.Param {
	site := s.Data.(mergeSite)
	if site.dedup {
		return []mutate.Param{
			{Label: "notice", Value: mergeForm{false, true}},
			{Label: "look first", Value: mergeForm{true, true}},
			{Label: "keep duplicates", Value: mergeForm{true, false}},
		}
	}
	return []mutate.Param{
		{Label: "keep duplicates", Value: mergeForm{true, false}},
		{Label: "look first", Value: mergeForm{true, true}},
	}
}

// rewriteSortedMerge puts a merge in front of the body, for lists that are in order. The original
// body handles all others.
func rewriteSortedMerge(p *mutate.Pass, s mutate.Site, param mutate.Param) ([]mutate.Edit, error) {
	m, form := s.Data.(mergeSite), param.Value.(mergeForm)
	merge := p.Fresh("mergeSorted", "mergeSortedLists")
	w := mergeWriter{mergeSite: m, merge: merge, dedup: form.dedup}
	var edits []mutate.Edit
	var guard, decls string
	// One form merges and notices disorder on the way, the others look first. With duplicates to
	// drop, the look must ask for strict order; else the library's test will do.
	switch {
	case !form.look:
		guard = fmt.Sprintf("if merged, ok := %s(%s, %s); ok {\nreturn merged\n}\n", merge, m.a, m.b)
		decls = w.noticing()
	case form.dedup:
		ordered := p.Fresh("ascending", "isAscending")
		guard = fmt.Sprintf("if len(%s)+len(%s) > 0 && %s(%s) && %s(%s) {\nreturn %s(%s, %s)\n}\n",
			m.a, m.b, ordered, m.a, ordered, m.b, merge, m.a, m.b)
		decls = w.ascending(ordered) + "\n\n" + w.merging()
	case !p.GoAtLeast(21):
		return nil, errors.New("the module's Go has no package slices")
	default:
		slices, imports := p.Import("slices")
		edits = imports
		guard = fmt.Sprintf("if len(%s)+len(%s) > 0 && %s.IsSorted(%s) && %s.IsSorted(%s) {\nreturn %s(%s, %s)\n}\n",
			m.a, m.b, slices, m.a, slices, m.b, merge, m.a, m.b)
		decls = w.merging()
	}
	return append(edits,
		p.Insert(p.Func.Body.List[0].Pos(), "// The lists are nearly always in order already.\n"+guard),
		p.Declare(p.Func, decls)), nil
}

// A mergeWriter writes the helpers for one element type.
type mergeWriter struct {
	mergeSite
	merge string
	dedup bool
}

func (w mergeWriter) ascending(name string) string {
	return fmt.Sprintf(`// %s reports whether list is sorted and without duplicates.
func %s(list %s) bool {
	for i := 1; i < len(list); i++ {
		if list[i] <= list[i-1] {
			return false
		}
	}
	return true
}`, name, name, w.slice)
}

// merging writes the merge of lists that are known to be in order.
func (w mergeWriter) merging() string {
	what, both := "Both are sorted.", ""
	// Without duplicates inside the lists, a value can only occur once in each: equal heads are
	// one.
	if w.dedup {
		what = "Both, and so the result, are sorted and without\n// duplicates."
		both = "if x == y {\n%[2]s = %[2]s[1:]\n}\n"
	}
	text := `// %[4]s merges %[1]s and %[2]s. ` + what + `
func %[4]s(%[1]s, %[2]s %[3]s) %[3]s {
	merged := make(%[3]s, 0, len(%[1]s)+len(%[2]s))
	for len(%[1]s) > 0 && len(%[2]s) > 0 {
		x, y := %[1]s[0], %[2]s[0]
		if y < x {
			merged = append(merged, y)
			%[2]s = %[2]s[1:]
			continue
		}
		` + both + `merged = append(merged, x)
		%[1]s = %[1]s[1:]
	}
	merged = append(merged, %[1]s...)
	return append(merged, %[2]s...)
}`
	return fmt.Sprintf(text, "a", "b", w.slice, w.merge)
}

// noticing writes a merge that gives up at the first element out of order. The output is ascending
// if and only if both inputs are. An element of the list that did not give the last output was
// compared with that output when it lost. Only the next element of the same list needs a new
// comparison.
func (w mergeWriter) noticing() string {
	return fmt.Sprintf(`// %[4]s merges %[1]s and %[2]s into a sorted list without duplicates. It gives up,
// and reports false, when one of them has duplicates or is not sorted.
func %[4]s(%[1]s, %[2]s %[3]s) (merged %[3]s, ok bool) {
	if len(%[1]s)+len(%[2]s) == 0 {
		return nil, false
	}
	merged = make(%[3]s, 0, len(%[1]s)+len(%[2]s))
	var last %[5]s
	fromA, fromB := false, false // where the last one was: what comes from elsewhere is greater already
	for len(%[1]s) > 0 && len(%[2]s) > 0 {
		x, y := %[1]s[0], %[2]s[0]
		switch {
		case x == y:
			if fromA && fromB && x <= last {
				return nil, false
			}
			last, fromA, fromB, %[1]s, %[2]s = x, true, true, %[1]s[1:], %[2]s[1:]
		case x < y:
			if fromA && x <= last {
				return nil, false
			}
			last, fromA, fromB, %[1]s = x, true, false, %[1]s[1:]
		default:
			if fromB && y <= last {
				return nil, false
			}
			last, fromA, fromB, %[2]s = y, false, true, %[2]s[1:]
		}
		merged = append(merged, last)
	}
	rest := %[1]s
	if len(rest) == 0 {
		rest = %[2]s
	}
	for _, next := range rest {
		if len(merged) > 0 && next <= last {
			return nil, false
		}
		last = next
		merged = append(merged, next)
	}
	return merged, true
}`, "a", "b", w.slice, w.merge, w.item)
}
