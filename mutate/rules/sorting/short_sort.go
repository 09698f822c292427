package sorting

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

// shortSort (catalogue O5) matches statements that sort by an order of their own. It sorts short
// lists where they stand, by the same steps as the library.
var shortSort = &mutate.Mutator{
	Name: "short-sort",
	Doc: "Sort short lists by insertion in place, and leave the others to the library. The library calls the order " +
		"and the exchange through an interface, through reflection or through a function value, and the first " +
		"two allocate; here both can be inlined. Exact: the library sorts up to 12 elements by insertion, up to " +
		"20 if the sort is stable, and asks and exchanges in the same order. By contract equal elements may end " +
		"in any order where the sort is not stable, so a library that sorts otherwise makes nothing wrong.",
	Example: mutate.Shows(`sort.Sort(byAge(users))`,
		`list := byAge(users)
if n := list.Len(); n <= 12 {
	for i := 1; i < n; i++ {
		for j := i; j > 0 && list.Less(j, j-1); j-- {
			list.Swap(j, j-1)
		}
	}
} else {
	sort.Sort(list)
}`),
	Class: beagle.E0,
	Gain:  1.5,
	Find: edit.SitesOf(parseShortSort, func(p *mutate.Pass, s *shortList) string {
		return "sort of " +
			p.Text(s.list)
	}),
	Rewrite: func(p *mutate.Pass, s mutate.Site, _ mutate.Param) ([]mutate.Edit, error) {
		return s.Data.(*shortList).rewrite(p)
	},
}

// The library's limits: maxInsertion of pdqsort and blockSize of stable, in package sort and in
// package slices. TestShortSort compares the steps with those of the toolchain.
const (
	insertionSorted       = 12
	stableInsertionSorted = 20
)

// A shortList is a statement that sorts.
type shortList struct {
	stmt     *ast.ExprStmt
	call     *ast.CallExpr
	list     ast.Expr // a slice, or a value with Len, Less and Swap
	order    ast.Expr // the function that compares; nil for a value that does
	elements bool     // order compares elements, not indexes
	reversed bool     // by sort.Reverse
	most     int
}

// parseShortSort recognises a call that sorts a list in place, as a statement of its own with room
// for declarations.
func parseShortSort(p *mutate.Pass, stmt *ast.ExprStmt) *shortList {
	call, ok := stmt.X.(*ast.CallExpr)
	_, at := p.Siblings(stmt)
	if !ok || at < 0 || facts.IsLabelled(p, stmt) || !facts.CanDeclare(p, stmt) || facts.IsRedefined(p, stmt, "len") {
		return nil
	}
	s := &shortList{stmt: stmt, call: call, most: insertionSorted}
	// There are three forms: a sort.Interface, an order of indexes, and an order of elements.
	_, sorts := p.IsCall(call, "sort", "Sort", "Stable")
	_, indexes := p.IsCall(call, "sort", "Slice", "SliceStable")
	_, s.elements = p.IsCall(call, "slices", "SortFunc", "SortStableFunc")
	// Below a certain length the library sorts by insertion, and stable sorts do so for longer
	// lists. Only below that length is the generated loop the same algorithm, with the same calls
	// in the same order.
	if _, stable := p.IsCall(call, "sort", "Stable", "SliceStable"); stable {
		s.most = stableInsertionSorted
	}
	if _, stable := p.IsCall(call, "slices", "SortStableFunc"); stable {
		s.most = stableInsertionSorted
	}
	// The list and the order are evaluated once in the original, and must not be nil.
	switch {
	case sorts && len(call.Args) == 1:
		s.list, s.reversed = withoutReverse(p, call.Args[0])
		ok = sortedDirectly(p, p.Info.TypeOf(s.list))
	case (indexes || s.elements) && len(call.Args) == 2:
		s.list, s.order = call.Args[0], call.Args[1]
		ok = facts.IsSlice(p.Info.TypeOf(s.list)) && !p.Info.Types[s.list].IsNil() && !p.Info.Types[s.order].IsNil()
	default:
		return nil
	}
	if !ok || s.done(p) {
		return nil
	}
	return s
}

// sortedDirectly reports whether calls of a type's methods do what calls through sort.Interface do,
// and one more call of Len changes nothing.
func sortedDirectly(p *mutate.Pass, t types.Type) bool {
	if t == nil || types.IsInterface(t) || facts.MentionsTypeParam(t) {
		return false
	}
	// Look at the three methods. A promoted or interface method is no method of the type itself.
	for _, name := range []string{"Len", "Less", "Swap"} {
		m := types.NewMethodSet(t).Lookup(p.Pkg, name)
		if m == nil {
			return false
		}
		fn := m.Obj().(*types.Func)
		recv := fn.Signature().Recv().Type()
		if syntax.Is[*types.Pointer](t) && !syntax.Is[*types.Pointer](recv) {
			return false // of a nil pointer, the call through an interface says so in other words
		}
		// Len is called once more than before, so it must be known to have no effect. That of
		// package sort has none.
		if name != "Len" || fn.Pkg() != nil && fn.Pkg().Path() == "sort" && !types.IsInterface(recv) {
			continue
		}
		q, decl := p.Body(fn)
		if decl == nil || decl.Body == nil || q.Effects(decl.Body).Writes {
			return false
		}
	}
	return true
}

// done reports whether the statement is what the rewrite leaves for long lists.
func (s *shortList) done(p *mutate.Pass) bool {
	branch, ok := p.Parent(p.Parent(s.stmt)).(*ast.IfStmt)
	if !ok || branch.Else != p.Parent(s.stmt) {
		return false
	}
	cond, ok := branch.Cond.(*ast.BinaryExpr)
	return ok && cond.Op == token.LEQ && p.IsInt(cond.Y, int64(s.most))
}

// rewrite puts the insertion sort of the library in front of the call, for short lists. It makes
// the same comparisons and swaps, so even an order that is not consistent gives the same result.
func (s *shortList) rewrite(p *mutate.Pass) ([]mutate.Edit, error) {
	var before string
	names := map[ast.Expr]string{}
	// bind gives an operand a variable, where evaluating it again could give another value.
	bind := func(e ast.Expr, wish ...string) string {
		names[e] = p.Fresh(wish...)
		before += names[e] + " := " + p.Text(e) + "\n"
		return names[e]
	}
	list := p.Text(s.list)
	if !keepsValueInSort(p, s.list, s.order) {
		list = bind(s.list, "list", "sorted")
	}
	// The comparison is less(j, j-1), and its arguments are swapped for a reversed list.
	i, j, n := p.Fresh("i", "at"), p.Fresh("j", "to"), p.Fresh("n", "length")
	length, later := "len("+list+")", fmt.Sprintf("%s, %s-1", j, j)
	swap := fmt.Sprintf("%[1]s[%[2]s], %[1]s[%[2]s-1] = %[1]s[%[2]s-1], %[1]s[%[2]s]", list, j)
	if s.reversed {
		later = fmt.Sprintf("%s-1, %s", j, j)
	}
	var less string
	switch {
	// A sort.Interface is asked for its length, its comparison and its swap. Slices are indexed
	// directly.
	case s.order == nil:
		length, less = list+".Len()", list+".Less("+later+")"
		swap = fmt.Sprintf("%s.Swap(%s, %s-1)", list, j, j)
	default:
		order := p.Text(s.order)
		if !isFunctionName(p, s.order) {
			order = bind(s.order, map[bool]string{false: "less", true: "compare"}[s.elements], "order")
		}
		less = order + "(" + later + ")"
		if s.elements {
			less = fmt.Sprintf("%s(%s[%s], %[2]s[%[3]s-1]) < 0", order, list, j)
		}
	}
	// The call for long lists uses the same variables.
	long := p.TextWith(s.call, func(n ast.Node) (string, bool) {
		e, ok := n.(ast.Expr)
		return names[e], ok && names[e] != ""
	})
	return []mutate.Edit{p.Replace(s.stmt, before+fmt.Sprintf(`if %[1]s := %[2]s; %[1]s <= %[3]d {
for %[4]s := 1; %[4]s < %[1]s; %[4]s++ {
for %[5]s := %[4]s; %[5]s > 0 && %[6]s; %[5]s-- {
%[7]s
}
}
} else {
%[8]s
}`, n, length, s.most, i, j, less, swap, long))}, nil
}

// isFunctionName reports whether an expression names a declared function. A generic one takes its
// types from its arguments, and cannot be kept in a variable.
func isFunctionName(p *mutate.Pass, e ast.Expr) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		_, ok := p.Info.Uses[e].(*types.Func)
		return ok
	case *ast.SelectorExpr:
		_, ok := p.Info.Uses[e.Sel].(*types.Func)
		return ok && p.Info.Selections[e] == nil
	}
	return false
}
