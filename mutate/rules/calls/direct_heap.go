package calls

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// directHeap (catalogue D5) matches calls of container/heap with a heap whose type is known. It
// writes the library's functions for that type, so that they call its methods directly.
var directHeap = &mutate.Mutator{
	Name: "direct-heap",
	Doc: "Write the functions of container/heap for the one type of heap that the code uses. The library calls " +
		"Less and Swap through an interface for each level; here they can be inlined. Exact except for the text of " +
		"the panic on a nil heap: the functions are the library's, so that the methods are called in the same " +
		"order.",
	Example: mutate.Shows(`heap.Push(&q, item)`,
		`pushQueue(&q, item)

func pushQueue(h *queue, x any) {
	h.Push(x)
	upQueue(h, h.Len()-1)
}`),
	Class: beagle.E1,
	Gain:  1.6,
	Find:  findDirectHeap,
	Rewrite: func(p *mutate.Pass, s mutate.Site, _ mutate.Param) ([]mutate.Edit, error) {
		return s.Data.(*heapCalls).rewrite(p)
	},
}

// heapCalls are the calls of container/heap with heaps of one type.
type heapCalls struct {
	of    types.Type
	text  string
	calls []*ast.CallExpr
}

// findDirectHeap collects the calls of container/heap by the type of the heap.
func findDirectHeap(p *mutate.Pass) []mutate.Site {
	var all []*heapCalls
	for _, call := range mutate.Nodes[*ast.CallExpr](p, nil) {
		_, ok := p.IsCall(call, "container/heap", "Init", "Push", "Pop", "Remove", "Fix")
		if !ok || len(call.Args) == 0 {
			continue
		}
		// A type declared in a function can't be named at package level.
		of := p.Info.TypeOf(call.Args[0])
		if !declaredOutside(of) {
			continue
		}
		text, ok := facts.TypeText(p, of)
		if !ok {
			continue
		}
		// Calls on the same type share one set of functions.
		i := slices.IndexFunc(all, func(h *heapCalls) bool { return types.Identical(h.of, of) })
		if i < 0 {
			i = len(all)
			all = append(all, &heapCalls{of: of, text: text})
		}
		all[i].calls = append(all[i].calls, call)
	}
	var sites []mutate.Site
	for _, h := range all {
		sites = append(sites, mutate.Site{Node: h.calls[0], Label: "heap of " + h.text, Data: h})
	}
	return sites
}

// declaredOutside reports whether a type is one that is declared outside of functions and no
// interface, or a pointer to one.
func declaredOutside(t types.Type) bool {
	if t == nil {
		return false
	}
	named, ok := types.Unalias(syntax.Pointee(t)).(*types.Named)
	return ok && !types.IsInterface(named) && named.Obj().Pkg() != nil && named.TypeArgs().Len() == 0 &&
		named.TypeParams().Len() == 0 && named.Obj().Parent() == named.Obj().Pkg().Scope()
}

// heapFunctions are those of container/heap, as Go 1.26 has them, with TYPE for the type, and ANY
// for the empty interface.
var heapFunctions = []struct{ name, calls, text string }{
	{"init", "down", `(h TYPE) {
	n := h.Len()
	for i := n/2 - 1; i >= 0; i-- {
		DOWN(h, i, n)
	}
}`},
	{"push", "up", `(h TYPE, x ANY) {
	h.Push(x)
	UP(h, h.Len()-1)
}`},
	{"pop", "down", `(h TYPE) ANY {
	n := h.Len() - 1
	h.Swap(0, n)
	DOWN(h, 0, n)
	return h.Pop()
}`},
	{"remove", "down up", `(h TYPE, i int) ANY {
	n := h.Len() - 1
	if n != i {
		h.Swap(i, n)
		if !DOWN(h, i, n) {
			UP(h, i)
		}
	}
	return h.Pop()
}`},
	{"fix", "down up", `(h TYPE, i int) {
	if !DOWN(h, i, h.Len()) {
		UP(h, i)
	}
}`},
	{"up", "", `(h TYPE, j int) {
	for {
		i := (j - 1) / 2
		if i == j || !h.Less(j, i) {
			break
		}
		h.Swap(i, j)
		j = i
	}
}`},
	{"down", "", `(h TYPE, from, n int) bool {
	i := from
	for {
		left := 2*i + 1
		if left >= n || left < 0 {
			break
		}
		j := left
		if right := left + 1; right < n && h.Less(right, left) {
			j = right
		}
		if !h.Less(j, i) {
			break
		}
		h.Swap(i, j)
		i = j
	}
	return i > from
}`},
}

// rewrite copies the needed functions of container/heap for one type, so that its methods are
// called directly and can be inlined.
func (h *heapCalls) rewrite(p *mutate.Pass) ([]mutate.Edit, error) {
	named := types.Unalias(syntax.Pointee(h.of)).(*types.Named)
	names, needed := map[string]string{}, map[string]bool{}
	for _, f := range heapFunctions {
		names[f.name] = p.Fresh(f.name+edit.UpperFirst(named.Obj().Name()), f.name+"Heap")
	}
	var edits []mutate.Edit
	for _, call := range h.calls {
		// Each call goes to the function of its type, which then is needed.
		name := strings.ToLower(p.Callee(call).Name())
		needed[name] = true
		edits = append(edits, p.Replace(call.Fun, names[name]))
	}
	anyType := "any"
	if !p.GoAtLeast(18) {
		anyType = "interface{}"
	}
	var decls strings.Builder
	for _, f := range heapFunctions {
		// The list is in the order of dependence, so that what a function calls is known to be
		// needed before its turn.
		if !needed[f.name] {
			continue
		}
		for _, other := range strings.Fields(f.calls) {
			needed[other] = true
		}
		words := strings.NewReplacer("TYPE", h.text, "ANY", anyType, "UP", names["up"], "DOWN", names["down"])
		fmt.Fprintf(&decls, "// %[1]s is %[2]s of container/heap for %[3]s, whose methods it calls directly.\n"+
			"func %[1]s%[4]s\n\n", names[f.name], f.name, h.text, words.Replace(f.text))
	}
	return append(edits, p.Declare(p.Func, decls.String())), nil
}
