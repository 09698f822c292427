package audit

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/beagle-go/beagle/internal/syntax"
)

// A benchmark is a function with a parameter of type *testing.B: one that the go
// command runs, a part of one that b.Run runs, or a helper of either. Functions
// within it that have a parameter of their own are benchmarks of their own.
type benchmark struct {
	pkg      *packages.Package
	name     string
	b        *types.Var // the *testing.B; nil when it has no name
	body     *ast.BlockStmt
	loops    []loop
	declared bool // it is a Benchmark function
	run      bool // the testing package calls it: it must loop
}

// A loopKind tells what ends a loop.
type loopKind int

const (
	overN    loopKind = iota // b.N
	overLoop                 // b.Loop, which keeps arguments and results alive
	parallel                 // pb.Next
)

// A loop is a loop of a benchmark whose iterations are measured.
type loop struct {
	kind loopKind
	stmt ast.Stmt
	body *ast.BlockStmt
}

// benchmarksOf finds the benchmarks of a package.
func benchmarksOf(p *packages.Package) []*benchmark {
	var out []*benchmark
	for _, f := range p.Syntax {
		if !strings.HasSuffix(p.Fset.Position(f.FileStart).Filename, "_test.go") {
			continue
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				out = append(out, benchmarksIn(p, fn)...)
			}
		}
	}
	return out
}

// benchmarksIn returns a declared function, if it is a benchmark, and those in it.
func benchmarksIn(p *packages.Package, fn *ast.FuncDecl) []*benchmark {
	var out []*benchmark
	add := func(t *ast.FuncType, body *ast.BlockStmt) *benchmark {
		b, ok := parameter(p.TypesInfo, t)
		if !ok {
			return nil
		}
		x := &benchmark{pkg: p, name: fn.Name.Name, b: b, body: body}
		x.loops = x.findLoops()
		out = append(out, x)
		return x
	}
	if x := add(fn.Type, fn.Body); x != nil && fn.Recv == nil && isBenchmark(fn) {
		x.declared, x.run = true, true
	}
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr: // b.Run("name", func(b *testing.B) { ... })
			if calls(p.TypesInfo, n, "Run") && len(n.Args) == 2 {
				if lit, ok := ast.Unparen(n.Args[1]).(*ast.FuncLit); ok {
					if x := add(lit.Type, lit.Body); x != nil {
						x.run = true
					}
				}
			}
		case *ast.FuncLit:
			known := false
			for _, x := range out {
				known = known || x.body == n.Body
			}
			if !known {
				add(n.Type, n.Body)
			}
		}
		return true
	})
	return out
}

// isBenchmark reports whether the go command runs a function.
func isBenchmark(fn *ast.FuncDecl) bool {
	rest, ok := strings.CutPrefix(fn.Name.Name, "Benchmark")
	return ok && (rest == "" || strings.ToLower(rest[:1]) != rest[:1] || rest[0] < 'A') &&
		fn.Type.Params.NumFields() == 1
}

// parameter returns a function's *testing.B. It is nil when the function gives it no name.
func parameter(info *types.Info, t *ast.FuncType) (b *types.Var, ok bool) {
	for _, field := range t.Params.List {
		if !isTesting(info.TypeOf(field.Type), "B") {
			continue
		}
		for _, name := range field.Names {
			if v, is := info.Defs[name].(*types.Var); is && name.Name != "_" {
				return v, true
			}
		}
		return nil, true
	}
	return nil, false
}

// isTesting reports whether a type is a pointer to a type of package testing.
func isTesting(t types.Type, name string) bool {
	p, ok := types.Unalias(t).(*types.Pointer)
	if !ok {
		return false
	}
	return syntax.IsNamed(p.Elem(), "testing", name)
}

// calls reports whether a call is of a method of *testing.B.
func calls(info *types.Info, call *ast.CallExpr, method string) bool {
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	return ok && sel.Sel.Name == method && isTesting(info.TypeOf(sel.X), "B")
}

// inspect walks what belongs to the benchmark itself: functions with a *testing.B
// of their own are left out.
func (x *benchmark) inspect(root ast.Node, visit func(ast.Node) bool) {
	ast.Inspect(root, func(n ast.Node) bool {
		if lit, ok := n.(*ast.FuncLit); ok && lit.Body != x.body {
			if _, own := parameter(x.pkg.TypesInfo, lit.Type); own {
				return false
			}
		}
		return n == nil || visit(n)
	})
}

// isVariable reports whether an expression is a variable.
func (x *benchmark) isVariable(e ast.Expr, v *types.Var) bool {
	id, ok := ast.Unparen(e).(*ast.Ident)
	return ok && v != nil && x.pkg.TypesInfo.Uses[id] == v
}

// isN reports whether an expression is b.N.
func (x *benchmark) isN(e ast.Node) bool {
	sel, ok := e.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "N" && x.isVariable(sel.X, x.b)
}

// method returns the name of the method of b that a call calls, or "".
func (x *benchmark) method(call *ast.CallExpr) string {
	if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok && x.isVariable(sel.X, x.b) {
		return sel.Sel.Name
	}
	return ""
}

// findLoops finds the loops that are measured.
func (x *benchmark) findLoops() []loop {
	var out []loop
	x.inspect(x.body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ForStmt:
			if kind, ok := x.kind(n.Init, n.Cond, n.Post); ok {
				out = append(out, loop{kind, n, n.Body})
			}
		case *ast.RangeStmt:
			if x.isN(ast.Unparen(n.X)) {
				out = append(out, loop{overN, n, n.Body})
			}
		}
		return true
	})
	return out
}

// kind returns what ends a loop with these parts, if that is the testing package.
func (x *benchmark) kind(parts ...ast.Node) (kind loopKind, ok bool) {
	for _, part := range parts {
		if part == nil || part == ast.Stmt(nil) || part == ast.Expr(nil) {
			continue
		}
		ast.Inspect(part, func(n ast.Node) bool {
			call, isCall := n.(*ast.CallExpr)
			switch {
			case n != nil && x.isN(n):
				kind, ok = overN, true
			case !isCall:
			case x.method(call) == "Loop":
				kind, ok = overLoop, true
			case isPBNext(x.pkg.TypesInfo, call):
				kind, ok = parallel, true
			}
			return true
		})
	}
	return kind, ok
}

// isPBNext reports whether a call is of (*testing.PB).Next.
func isPBNext(info *types.Info, call *ast.CallExpr) bool {
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "Next" && isTesting(info.TypeOf(sel.X), "PB")
}

// contains reports whether a place is within a node.
func contains(n ast.Node, at token.Pos) bool { return n.Pos() <= at && at < n.End() }
