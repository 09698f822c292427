package memory

import (
	"fmt"
	"go/ast"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// partsSites finds append(append([]T{}, a...), b...) and append([]T{x}, a...), a list of several
// parts. The first of them is too short for the next.
func partsSites(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, call := range mutate.Nodes[*ast.CallExpr](p, nil) {
		// An append within another one is a part of that.
		if _, ok := p.IsBuiltin(call, "append"); !ok || p.FuncOf(call) == nil || innerAppend(p, call) {
			continue
		}
		base, room := partsOf(p, call)
		if base == nil || facts.RedefinesAny(p, call, "len", "make") {
			continue
		}
		text := ""
		if f, ok := firstOf(p, base); ok && strings.Contains(room, "len(") {
			text = f.roomFor(room)
		} else if !ok && strings.Count(room, "len(") > 1 { // with one part only, the first append makes room enough
			_, typ := facts.EmptyValue(p, facts.Declaration{Value: base})
			text = fmt.Sprintf("make(%s, 0, %s)", typ, room)
		}
		if text != "" {
			sites = append(sites, edit.Site(call, "list of "+room, p.Replace(base, text)))
		}
	}
	return sites
}

// innerAppend reports whether a call is an argument of another append: the list that it adds to, or
// one that it copies and nothing keeps.
func innerAppend(p *mutate.Pass, call *ast.CallExpr) bool {
	up, ok := p.Parent(call).(*ast.CallExpr)
	if !ok {
		return false
	}
	_, ok = p.IsBuiltin(up, "append")
	return ok && (ast.Unparen(up.Args[0]) == ast.Expr(call) || up.Ellipsis.IsValid())
}

// partsOf returns the slice that nested appends begin with, which is new, and the number of
// elements that they add. partsOf refuses a nil slice, since it may stay nil.
func partsOf(p *mutate.Pass, call *ast.CallExpr) (base ast.Expr, room string) {
	// Peel off the calls from the outermost, which appends last.
	var parts []string
	var values, lists []ast.Expr
	single := 0
	for {
		// A whole slice counts by its length.
		if call.Ellipsis.IsValid() {
			lists = append(lists, call.Args[1])
			parts = append([]string{"len(" + p.Text(call.Args[1]) + ")"}, parts...)
		} else {
			single += len(call.Args) - 1
			values = append(values, call.Args[1:]...)
		}
		// The innermost first argument is what they all append to.
		first := ast.Unparen(call.Args[0])
		inner, ok := p.IsBuiltin(first, "append")
		if !ok {
			base = first
			break
		}
		call = inner
	}
	// A nil base would stay nil if all parts are empty, and a slice with room is not nil.
	kind, _ := facts.EmptyValue(p, facts.Declaration{Value: base})
	if kind != "empty" || !facts.IsSlice(p.Info.TypeOf(base)) {
		f, ok := firstOf(p, base)
		if !ok {
			return nil, ""
		}
		values = append(values, f.value)
	}
	if !lengthsFirst(p, lists, values) {
		return nil, ""
	}
	if single > 0 {
		parts = append(parts, strconv.Itoa(single))
	}
	return base, strings.Join(parts, "+")
}

// lengthsFirst reports whether code can ask for the lengths of lists before it evaluates all that
// is appended. Either nothing else could change the lists, or there is nothing that changes or
// stops anything.
func lengthsFirst(p *mutate.Pass, lists, values []ast.Expr) bool {
	plain := true
	for _, v := range values {
		plain = plain && p.Pure(v)
	}
	for _, l := range lists {
		f := p.Effects(l)
		if p.Info.Types[l].IsNil() || f.Writes || f.Allocs || facts.CallsFunction(p, l) ||
			!(plain || p.Var(l) != nil && facts.KeepsValueOver(p, l)) {
			return false
		}
	}
	return true
}
