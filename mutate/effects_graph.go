package mutate

import "go/ast"

// A summary holds the effects of a function: its own, and those of all functions of the candidate
// file that a call may reach.
type summary struct {
	Effects
	calls []*ast.FuncDecl // the functions of the candidate file that the body calls
}

// graphKey is the key of the call graph in Once.
type graphKey struct{}

// callGraph returns the call graph of the candidate file, with a summary of each function that has
// a body.
func (p *Pass) callGraph() *graph {
	return p.Once(graphKey{}, func() any {
		g := &graph{
			p:     p,
			of:    map[*ast.FuncDecl]*summary{},
			order: map[*ast.FuncDecl]int{},
			open:  map[*ast.FuncDecl]bool{},
		}
		for _, d := range Nodes[*ast.FuncDecl](p, nil) {
			if d.Body != nil && g.order[d] == 0 {
				g.visit(d)
			}
		}
		return g
	}).(*graph)
}

// addSummary adds the effects of a called function.
func addSummary(a *effectsVisitor, d *ast.FuncDecl) { a.merge(a.p.callGraph().of[d].Effects) }

// A graph is the call graph of the candidate file. Tarjan's algorithm finds its strongly connected
// components. It visits each function once, and completes a component after all components that it
// calls.
type graph struct {
	p     *Pass
	of    map[*ast.FuncDecl]*summary
	order map[*ast.FuncDecl]int  // numbers of the visits, from 1
	stack []*ast.FuncDecl        // visited functions of incomplete components
	open  map[*ast.FuncDecl]bool // the functions on the stack

	analysed int // how many bodies were analysed, for tests
}

// visit summarises d and all that it calls. It returns the earliest visit on the stack that d
// reaches.
func (g *graph) visit(d *ast.FuncDecl) int {
	own := g.analyseBody(d)
	place, depth := len(g.order)+1, len(g.stack)
	g.of[d], g.order[d], g.open[d] = own, place, true
	g.stack = append(g.stack, d)
	first := place
	for _, callee := range own.calls {
		switch {
		case g.order[callee] == 0:
			first = min(first, g.visit(callee))
		case g.open[callee]:
			first = min(first, g.order[callee])
		}
	}
	if first == place {
		g.complete(g.stack[depth:])
		g.stack = g.stack[:depth]
	}
	return first
}

// analyseBody analyses the body of d without the functions that it calls. A loop that may go on for
// ever counts as a panic, as endless recursion does.
func (g *graph) analyseBody(d *ast.FuncDecl) *summary {
	g.analysed++
	s := &summary{}
	a := effectsVisitor{p: g.p, root: d, follow: func(_ *effectsVisitor, callee *ast.FuncDecl) {
		s.calls = append(s.calls, callee)
	}}
	ast.Inspect(d.Body, a.visit)
	s.Effects = a.Effects
	for _, f := range Nodes[*ast.ForStmt](g.p, d.Body) {
		s.Panics = s.Panics || !g.p.ends(f)
	}
	return s
}

// complete gives the functions of a component their common effects. Recursion counts as a panic,
// because it may overflow the stack, and a program cannot recover from that.
func (g *graph) complete(component []*ast.FuncDecl) {
	all := effectsVisitor{}
	for _, d := range component {
		all.merge(g.of[d].Effects)
		for _, callee := range g.of[d].calls {
			all.merge(g.of[callee].Effects)
			all.Panics = all.Panics || g.open[callee]
		}
	}
	for _, d := range component {
		g.of[d].merge(all.Effects)
	}
	for _, d := range component {
		delete(g.open, d)
	}
}
