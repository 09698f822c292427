package rules

import (
	"fmt"
	"go/ast"
	"go/types"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// partsSites finds append(append([]T{}, a...), b...), a list of several others. The first append
// makes a list that is too short for the next.
func partsSites(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for call := range mutate.Nodes[*ast.CallExpr](p, nil) {
		// An append within another one is a part of that.
		if _, ok := p.IsBuiltin(call, "append"); !ok || p.FuncOf(call) == nil || innerAppend(p, call) {
			continue
		}
		base, room := partsOf(p, call)
		// With one part only, the first append makes room enough.
		if base == nil || strings.Count(room, "len(") < 2 || redefinesAny(p, call, "len", "make") {
			continue
		}
		_, typ := emptyValue(p, facts.Declaration{Value: base})
		sites = append(sites, site(call, "list of "+room, p.Replace(base, fmt.Sprintf("make(%s, 0, %s)", typ, room))))
	}
	return sites
}

// innerAppend reports whether a call is the first argument of another append.
func innerAppend(p *mutate.Pass, call *ast.CallExpr) bool {
	up, ok := p.Parent(call).(*ast.CallExpr)
	if !ok {
		return false
	}
	_, ok = p.IsBuiltin(up, "append")
	return ok && ast.Unparen(up.Args[0]) == ast.Expr(call)
}

// partsOf returns the empty slice that nested appends begin with, and the number of elements that
// they add. They may add variables, whose length code can read before, and values without effects.
// partsOf refuses a nil slice, since it may stay nil.
func partsOf(p *mutate.Pass, call *ast.CallExpr) (base ast.Expr, room string) {
	// Peel off the calls from the outermost, which appends last. Every argument must be free of
	// effects: the length is computed in front of all of them.
	var parts []string
	single := 0
	for {
		for _, arg := range call.Args[1:] {
			if !p.Pure(arg) {
				return nil, ""
			}
		}
		// A whole slice counts by its length, which needs a variable to ask.
		if call.Ellipsis.IsValid() {
			v := p.Var(call.Args[1])
			if v == nil || p.Info.Types[call.Args[1]].IsNil() {
				return nil, ""
			}
			parts = append([]string{"len(" + v.Name() + ")"}, parts...)
		} else {
			single += len(call.Args) - 1
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
	kind, _ := emptyValue(p, facts.Declaration{Value: base})
	if _, ok := p.Info.TypeOf(base).Underlying().(*types.Slice); !ok || kind != "empty" {
		return nil, ""
	}
	if single > 0 {
		parts = append(parts, strconv.Itoa(single))
	}
	return base, strings.Join(parts, "+")
}
