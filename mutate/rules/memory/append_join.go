package memory

import (
	"go/ast"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// appendJoin (part of catalogue A1) matches appends to one slice that follow each other. It writes
// one append of all elements.
var appendJoin = &mutate.Mutator{
	Name: "append-join",
	Doc: "Append elements that follow each other in one call. Each append tests for room and updates the length. " +
		"The elements are the same; the capacity may differ, since the slice grows once. Legal because evaluating " +
		"the later elements has no effects and does not look at the slice.",
	Example: mutate.Shows(`b = append(b, byte(n>>8))
b = append(b, byte(n))`,
		`b = append(b, byte(n>>8), byte(n))`),
	Class:   beagle.E2,
	Gain:    1.2,
	Find:    findAppendJoin,
	Rewrite: edit.Precomputed,
}

// findAppendJoin looks for runs of at least two appends to one slice. A run that is a site has no
// smaller ones.
func findAppendJoin(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, list := range p.Lists() {
		for i := 0; i < len(list); i++ {
			run := appendRun(p, list[i:])
			if len(run) < 2 {
				continue
			}
			edits := joinedAppends(p, list[i:], run)
			sites = append(sites, edit.Site(list[i], "appends to "+p.Text(run[0].Args[0]), edits...))
			// Behind the run, the search goes on: a part of it is no run of its own.
			i += len(run) - 1
		}
	}
	return sites
}

// appendRun returns the appends at the head of a list that can be one.
func appendRun(p *mutate.Pass, list []ast.Stmt) []*ast.CallExpr {
	var run []*ast.CallExpr
	for _, s := range list {
		call, ok := facts.ElementAppend(p, s)
		if !ok || len(run) > 0 && !(p.Same(run[0].Args[0], call.Args[0]) && independentOf(p, call)) {
			break
		}
		run = append(run, call)
	}
	return run
}

// independentOf reports whether the elements of an append are the same before the append in front
// of it: they have no effects, cannot panic, and do not mention the slice. Where they read other
// memory, the slice has to be one that nothing else can reach by its spare room, so they may not.
func independentOf(p *mutate.Pass, call *ast.CallExpr) bool {
	root := call.Args[0]
	// A field's slice belongs to the variable in front of the dot.
	if sel, ok := root.(*ast.SelectorExpr); ok {
		root = sel.X
	}
	v := p.Var(root)
	for _, arg := range call.Args[1:] {
		// An element is now evaluated before the append in front of it, so nothing may tell the
		// difference.
		f := p.Effects(arg)
		if f.Writes || f.Panics || f.Reads || v == nil || len(p.Uses(v, arg)) > 0 || readsPointed(p, arg) {
			return false
		}
	}
	return true
}

// readsPointed reports whether an expression names a local variable whose memory has another name,
// such as an array that a slice was cut from.
func readsPointed(p *mutate.Pass, e ast.Expr) bool {
	for _, id := range mutate.Nodes[*ast.Ident](p, e) {
		if facts.Pointed(p, p.Var(id)) {
			return true
		}
	}
	return false
}

func joinedAppends(p *mutate.Pass, list []ast.Stmt, run []*ast.CallExpr) []mutate.Edit {
	var args []string
	for _, call := range run {
		for _, arg := range call.Args[1:] {
			args = append(args, p.Text(arg))
		}
	}
	first, last := run[0], list[len(run)-1]
	return []mutate.Edit{p.Span(first.Args[1].Pos(), last.End(), strings.Join(args, ", ")+")")}
}
