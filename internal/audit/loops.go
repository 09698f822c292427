package audit

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"
)

// loopConditions looks for b.Loop beside something else in a condition: the compiler keeps values
// alive only in loops whose condition is b.Loop alone. They may count beside it.
func loopConditions(x *pass) {
	whole := map[ast.Node]bool{}
	x.inspect(x.body, func(n ast.Node) bool {
		if f, ok := n.(*ast.ForStmt); ok && f.Cond != nil {
			whole[ast.Unparen(f.Cond)] = true
		}
		if call, ok := n.(*ast.CallExpr); ok && x.method(call) == "Loop" && !whole[call] {
			x.report(call.Pos(),
				"b.Loop is not the whole condition of a 'for': the compiler may delete the measured code",
				"write 'for b.Loop() { ... }', and count beside it if need be")
		}
		return true
	})
}

// assignments looks for assignments to b.N.
func assignments(x *pass) {
	x.inspect(x.body, func(n ast.Node) bool {
		var to []ast.Expr
		switch n := n.(type) {
		case *ast.AssignStmt:
			to = n.Lhs
		case *ast.IncDecStmt:
			to = []ast.Expr{n.X}
		}
		for _, e := range to {
			if x.isN(ast.Unparen(e)) {
				x.report(e.Pos(),
					"b.N is the testing package's, which divides the time by it: assigning to it changes the result",
					"leave b.N as it is, and loop over a number of your own within an iteration")
			}
		}
		return true
	})
}

// loopless looks for benchmarks that the testing package calls and that have no loop, start no
// other benchmark, and never hand b on.
func loopless(x *pass) {
	if !x.run || x.b == nil || len(x.loops) > 0 {
		return
	}
	handed := false
	x.inspect(x.body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			handed = handed || x.isN(n) ||
				x.isVariable(n.X, x.b) && slices.Contains([]string{"Run", "RunParallel", "Loop"}, n.Sel.Name)
			return !x.isVariable(n.X, x.b)
		case *ast.Ident:
			handed = handed || x.pkg.TypesInfo.Uses[n] == x.b
		}
		return true
	})
	if handed || skips(x) || len(x.body.List) == 0 {
		return
	}
	x.report(x.body.Pos(), "there is no loop: the work is done once and divided by b.N",
		"put the measured code into 'for b.Loop() { ... }'")
}

// skips reports whether a benchmark may end without work on purpose.
func skips(x *pass) bool {
	found := false
	x.inspect(x.body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			name := x.method(call)
			found = found || strings.HasPrefix(name, "Skip") || name == "ReportMetric"
		}
		return !found
	})
	return found
}

// wrongSizes looks for inputs whose size is b.N.
func wrongSizes(x *pass) {
	sizes(x)
	growing(x)
}

// sizes looks for benchmarks without a loop that give b.N to a function which does
// not loop so often itself. (Cheney's second example of a wrong benchmark.)
func sizes(x *pass) {
	if !x.run || len(x.loops) > 0 {
		return
	}
	x.inspect(x.body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		f := callee(x.pkg.TypesInfo, call)
		if f == nil || f.Pkg() != x.pkg.Types {
			return true
		}
		for i, arg := range call.Args {
			if x.isN(ast.Unparen(arg)) && !x.loopsOver(f, i) {
				x.report(arg.Pos(),
					fmt.Sprintf("%s gets b.N as an input, so that each round measures another problem", f.Name()),
					"give it a fixed size, and call it in 'for b.Loop() { ... }'")
			}
		}
		return true
	})
}

// growing looks for iterations that make something as long as the number of iterations.
func growing(x *pass) {
	for _, l := range x.loops {
		x.inspect(l.body, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || !x.makes(call) {
				return true
			}
			for _, arg := range call.Args[1:] {
				if x.isN(ast.Unparen(arg)) {
					x.report(arg.Pos(),
						"each iteration makes something of b.N elements, so that it grows with their number",
						"give it a fixed size")
				}
			}
			return true
		})
	}
}

// makes reports whether a call makes something of the size that an argument after the first says.
func (x *pass) makes(call *ast.CallExpr) bool {
	if id, ok := ast.Unparen(call.Fun).(*ast.Ident); ok {
		b, ok := x.pkg.TypesInfo.Uses[id].(*types.Builtin)
		return ok && b.Name() == "make"
	}
	f := callee(x.pkg.TypesInfo, call)
	return f != nil && f.Pkg() != nil && f.Name() == "Repeat" &&
		slices.Contains([]string{"strings", "bytes", "slices"}, f.Pkg().Path())
}

// loopsOver reports whether a function may loop as often as a parameter says: it
// mentions the parameter in a loop's clause, or hands it on.
func (x *pass) loopsOver(f *types.Func, i int) bool {
	decl := x.declaration(f)
	params := f.Signature().Params()
	if decl == nil || decl.Body == nil || i >= params.Len() {
		return true // unknown code may do anything
	}
	v, found := params.At(i), false
	info := x.pkg.TypesInfo
	in := func(n ast.Node) bool { return n != nil && mentions(info, n, v) }
	ast.Inspect(decl.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ForStmt:
			found = found || n.Init != nil && in(n.Init) || n.Cond != nil && in(n.Cond) || n.Post != nil && in(n.Post)
		case *ast.RangeStmt:
			found = found || in(n.X)
		case *ast.CallExpr:
			if callee(info, n) != f { // a call of itself with less is recursion over the size
				for _, arg := range n.Args {
					found = found || in(arg)
				}
			}
		}
		return !found
	})
	return found
}

// nested looks for loops over b.N within loops over b.N.
func nested(x *pass) {
	for _, outer := range x.loops {
		for _, inner := range x.loops {
			if outer.stmt != inner.stmt && contains(outer.body, inner.stmt.Pos()) && outer.kind != parallel &&
				inner.kind == overN {
				x.report(inner.stmt.Pos(),
					"this loop over b.N stands within another: an iteration grows with their number",
					"loop over a fixed number within")
			}
		}
	}
}

// timers looks for a timer that is reset in each iteration, and for one that is
// stopped in an iteration and not started again.
func timers(x *pass) {
	for _, l := range x.loops {
		started, stopped := false, []*ast.CallExpr{}
		x.inspect(l.body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.IfStmt, *ast.SwitchStmt: // once, as it seems
				return false
			case *ast.CallExpr:
				switch x.method(n) {
				case "ResetTimer":
					x.report(n.Pos(),
						"the timer is reset in each iteration: the result is the time of the last one, divided by b.N",
						"reset it before the loop; 'for b.Loop()' does so by itself")
				case "StopTimer":
					stopped = append(stopped, n)
				case "StartTimer":
					started = true
				}
			}
			return true
		})
		for _, call := range stopped {
			if !started {
				x.report(call.Pos(), "the timer is stopped in the first iteration and not started again",
					"start it again in the same iteration")
			}
		}
	}
}
