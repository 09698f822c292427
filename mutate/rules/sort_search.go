package rules

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
)

// sortSearch (part of catalogue O3) matches a sort of the function's own list for a single binary
// search. It calls slices.Contains and drops the sort.
var sortSearch = &mutate.Mutator{
	Name: "sort-search",
	Doc: "Look through a list instead of sorting it for a single search. Sorting visits every element many times, " +
		"the look once. Legal because the list belongs to the function, nothing else asks for its order, and the " +
		"search asks only whether the value is there.",
	Before: `ids := slices.Clone(list)
slices.Sort(ids)
_, found := slices.BinarySearch(ids, id)`,
	After: `ids := slices.Clone(list)
found := slices.Contains(ids, id)`,
	Class:   beagle.E4,
	Gain:    4,
	Find:    findSortSearch,
	Rewrite: precomputed,
}

func findSortSearch(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for list, i := range statements(p) {
		st, ok := list[i].(*ast.ExprStmt)
		if !ok || i+1 >= len(list) {
			continue
		}
		call, ok := p.IsCall(st.X, "slices", "Sort")
		if !ok {
			if call, ok = p.IsCall(st.X, "sort", "Strings", "Ints"); !ok {
				continue
			}
		}
		v := p.Var(call.Args[0])
		if v == nil || !exactlyComparable(v.Type()) || p.IsGlobal(v) || captured(p, v) || !ownList(p, v, list[:i]) {
			continue
		}
		if edits := searchEdits(p, v, st, list[i+1]); edits != nil {
			sites = append(sites, site(st, "sort of "+v.Name()+" for one search", edits...))
		}
	}
	return sites
}

// searchEdits accepts `_, found := slices.BinarySearch(v, x)` right behind the sort, as a statement
// or as the head of an if. Behind it, code may use v only in len.
func searchEdits(p *mutate.Pass, v *types.Var, sort ast.Stmt, next ast.Stmt) []mutate.Edit {
	as, ok := next.(*ast.AssignStmt)
	if i, isIf := next.(*ast.IfStmt); isIf {
		as, ok = i.Init.(*ast.AssignStmt)
	}
	if !ok || len(as.Lhs) != 2 || len(as.Rhs) != 1 || !isBlank(as.Lhs[0]) {
		return nil
	}
	search, ok := p.IsCall(as.Rhs[0], "slices", "BinarySearch")
	if !ok || p.Var(search.Args[0]) != v || len(p.Uses(v, search.Args[1])) > 0 {
		return nil
	}
	for _, id := range p.Uses(v, p.FuncOf(sort)) {
		if id.Pos() < search.End() {
			continue
		}
		if call, isCall := p.Parent(id).(*ast.CallExpr); !isCall || p.LenOf(call) != v {
			return nil
		}
	}
	if p.InLoop(next) && !declaredInLoop(p, v, next) {
		return nil // the code sorts once and searches often
	}
	pkg := p.Text(search.Fun.(*ast.SelectorExpr).X)
	if as.Tok == token.DEFINE && isBlank(as.Lhs[1]) {
		return nil
	}
	return []mutate.Edit{p.Delete(sort),
		p.Replace(as, p.Text(as.Lhs[1])+" "+as.Tok.String()+" "+pkg+".Contains("+p.Text(search.Args[0])+", "+
			p.Text(search.Args[1])+")")}
}

// declaredInLoop reports whether the innermost loop around s declares v anew in every turn.
func declaredInLoop(p *mutate.Pass, v *types.Var, s ast.Stmt) bool {
	for _, up := range p.Path(s) {
		if body := loopBody(up); body != nil {
			return body.Pos() <= v.Pos() && v.Pos() < body.End()
		}
	}
	return true
}
