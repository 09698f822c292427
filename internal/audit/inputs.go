package audit

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/beagle-go/beagle/internal/syntax"
)

// sorters are functions that sort their first argument in place.
var sorters = map[string]bool{
	"sort.Ints": true, "sort.Strings": true, "sort.Float64s": true, "sort.Sort": true, "sort.Stable": true,
	"sort.Slice": true, "sort.SliceStable": true, "slices.Sort": true, "slices.SortFunc": true,
	"slices.SortStableFunc": true, "container/heap.Init": true,
}

// readers are functions that read an argument, by number, to its end.
var readers = map[string]int{
	"io.ReadAll": 0, "io/ioutil.ReadAll": 0, "io.Copy": 1,
}

// usedUp looks for inputs made before the loop that an iteration sorts or reads to
// their end, and that nothing in the loop makes again.
func usedUp(x *pass) {
	for _, l := range x.loops {
		x.inspect(l.body, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			// Does it sort or drain one of its arguments?
			does := x.usesUp(callee(x.pkg.TypesInfo, call), calledDeep)
			if does == nil || does.arg >= len(call.Args) {
				return true
			}
			// Is that a variable from before the loop, which nothing in the loop makes anew?
			v := x.outerVariable(l, call.Args[does.arg])
			if v == nil || does.drains && !isReader(v.Type()) || !does.drains && x.meansSorted() ||
				x.renewed(l, v, call) {
				return true
			}
			what := "sorts"
			if does.drains {
				what = "reads"
			}
			x.report(call.Pos(), fmt.Sprintf("the first iteration %s %s, and the others find it so", what, v.Name()),
				"make it anew in each iteration: copy the input, or reset the reader")
			return true
		})
	}
}

// An argumentUse says which argument a function uses up: it reads it to its end, or sorts it.
type argumentUse struct {
	arg    int
	drains bool
}

// calledDeep bounds how many calls down a function of the package is followed.
const calledDeep = 3

// usesUp returns the argument that a function uses up, or nil. The library's functions are known by
// name. A function of the package does it if its body hands a parameter to one that does, swaps
// elements of it that it compared, in a loop, or reads from it in a loop.
func (x *pass) usesUp(f *types.Func, deep int) *argumentUse {
	if f == nil || f.Pkg() == nil || f.Signature().Recv() != nil {
		return nil
	}
	name := f.Pkg().Path() + "." + f.Name()
	if i, ok := readers[name]; ok {
		return &argumentUse{i, true}
	}
	if sorters[name] {
		return &argumentUse{}
	}
	decl := x.declaration(f)
	if decl == nil || decl.Body == nil || deep == 0 {
		return nil
	}
	for i := range f.Signature().Params().Len() {
		v := f.Signature().Params().At(i)
		if u := (&trackedParam{x, v, deep}).findUse(decl.Body, false, false); u != nil && !x.assigned(decl.Body, v) {
			return &argumentUse{i, u.drains}
		}
	}
	return nil
}

// A trackedParam is a parameter whose uses in a function's body are read.
type trackedParam struct {
	*pass
	v    *types.Var
	deep int
}

// findUse looks for code that uses the parameter up, and that no condition outside of loops may
// leave out. A swap sorts where its elements were compared; one that was not may shuffle or
// reverse.
func (p *trackedParam) findUse(code ast.Node, inLoop, compared bool) (found *argumentUse) {
	ast.Inspect(code, func(n ast.Node) bool {
		if found != nil || n == code {
			return found == nil
		}
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ForStmt:
			found = p.findUse(n, true, compared || p.compares(n.Cond))
			return false
		case *ast.RangeStmt:
			found = p.findUse(n, true, compared)
			return false
		case *ast.IfStmt:
			if inLoop {
				found = p.findUse(n, true, compared || p.compares(n.Cond))
			}
			return false
		case *ast.AssignStmt:
			if inLoop && compared && p.swaps(n) {
				found = &argumentUse{}
			}
		case *ast.CallExpr:
			found = p.call(n, inLoop)
		}
		return found == nil
	})
	return found
}

// compares reports whether a condition compares an element of the parameter.
func (p *trackedParam) compares(cond ast.Expr) (found bool) {
	if cond == nil {
		return false
	}
	ast.Inspect(cond, func(n ast.Node) bool {
		b, ok := n.(*ast.BinaryExpr)
		if ok && slices.Contains([]token.Token{token.LSS, token.GTR, token.LEQ, token.GEQ}, b.Op) {
			for _, e := range []ast.Expr{b.X, b.Y} {
				ix, ok := ast.Unparen(e).(*ast.IndexExpr)
				found = found || ok && p.isVariable(ix.X, p.v)
			}
		}
		return !found
	})
	return found
}

// swaps reports whether an assignment exchanges two elements of the parameter.
func (p *trackedParam) swaps(a *ast.AssignStmt) bool {
	if len(a.Lhs) != 2 || len(a.Rhs) != 2 {
		return false
	}
	for _, e := range slices.Concat(a.Lhs, a.Rhs) {
		if ix, ok := ast.Unparen(e).(*ast.IndexExpr); !ok || !p.isVariable(ix.X, p.v) {
			return false
		}
	}
	return true
}

// call returns how a call uses the parameter up: as an argument, or by a method that reads.
func (p *trackedParam) call(call *ast.CallExpr, inLoop bool) *argumentUse {
	if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok && inLoop && p.isVariable(sel.X, p.v) &&
		strings.HasPrefix(sel.Sel.Name, "Read") && isReader(p.v.Type()) {
		return &argumentUse{drains: true}
	}
	u := p.usesUp(callee(p.pkg.TypesInfo, call), p.deep-1)
	if u == nil || u.arg >= len(call.Args) || !p.isVariable(call.Args[u.arg], p.v) {
		return nil
	}
	return u
}

// assigned reports whether code gives a variable another value.
func (x *pass) assigned(code ast.Node, v *types.Var) (found bool) {
	ast.Inspect(code, func(n ast.Node) bool {
		if a, ok := n.(*ast.AssignStmt); ok {
			for _, e := range a.Lhs {
				found = found || x.isVariable(ast.Unparen(e), v)
			}
		}
		return !found
	})
	return found
}

// meansSorted reports whether the benchmark says that its input is sorted.
func (x *pass) meansSorted() bool { return strings.Contains(strings.ToLower(x.name), "sorted") }

// outerVariable returns the variable that an argument is made of, if it is declared outside of the
// loop. It returns nil if the argument is not one variable or a part of it.
func (x *pass) outerVariable(l loop, e ast.Expr) *types.Var {
	for {
		switch at := ast.Unparen(e).(type) {
		case *ast.UnaryExpr:
			e = at.X
		case *ast.CallExpr: // a conversion, as in sort.IntSlice(data)
			if len(at.Args) != 1 || !x.pkg.TypesInfo.Types[at.Fun].IsType() {
				return nil
			}
			e = at.Args[0]
		case *ast.Ident:
			v, ok := x.pkg.TypesInfo.Uses[at].(*types.Var)
			if !ok || contains(l.stmt, v.Pos()) {
				return nil
			}
			return v
		default:
			return nil
		}
	}
}

// isReader reports whether a value of a type is empty once it was read.
func isReader(t types.Type) bool {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	path, name := syntax.NameOf(t)
	return slices.Contains([]string{"bytes.Buffer", "bytes.Reader", "strings.Reader", "os.File"}, path+"."+name)
}

// renewed reports whether anything else in a loop may give a variable a new value:
// an assignment, another call that gets it, or a method of it.
func (x *pass) renewed(l loop, v *types.Var, but *ast.CallExpr) bool {
	info, found := x.pkg.TypesInfo, false
	x.inspect(l.body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, e := range n.Lhs {
				found = found || mentions(info, e, v)
			}
		case *ast.UnaryExpr:
			found = found || n.Op == token.AND && x.isVariable(n.X, v) && !contains(but, n.Pos())
		case *ast.CallExpr:
			if n == but {
				return true
			}
			for _, arg := range n.Args {
				found = found || mentions(info, arg, v) && !contains(but, arg.Pos())
			}
			if sel, ok := ast.Unparen(n.Fun).(*ast.SelectorExpr); ok {
				found = found || mentions(info, sel.X, v) && !contains(but, n.Pos())
			}
		}
		return !found
	})
	return found
}

// slow are packages whose functions wait for the system.
var slow = []string{"os", "os/exec", "net", "net/http", "database/sql", "io/ioutil"}

// setups looks for work before a loop over b.N that is measured with it: the timer
// runs from the start of the function. b.Loop and b.ResetTimer leave it out.
func setups(x *pass) {
	if len(x.loops) == 0 || x.loops[0].kind != overN {
		return
	}
	at := slices.IndexFunc(x.body.List, func(s ast.Stmt) bool { return s == x.loops[0].stmt })
	for i := at - 1; i >= 0; i-- {
		if x.touchesTimer(x.body.List[i]) {
			return
		}
	}
	for _, s := range x.body.List[:max(at, 0)] {
		if why := x.costly(s); why != "" {
			x.report(s.Pos(), "this is measured with the loop: "+why,
				"call b.ResetTimer after it, or loop with 'for b.Loop()', which begins to measure there")
			return
		}
	}
}

// touchesTimer reports whether a statement resets or stops the timer, or hands b to code that may.
func (x *pass) touchesTimer(s ast.Stmt) bool {
	found := false
	x.inspect(s, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		name := x.method(call)
		found = found || name == "ResetTimer" || name == "StopTimer" || name == "StartTimer"
		for _, arg := range call.Args {
			found = found || x.b != nil && mentions(x.pkg.TypesInfo, arg, x.b)
		}
		return !found
	})
	return found
}

// costly returns the reason why a statement takes long, or "".
func (x *pass) costly(s ast.Stmt) (why string) {
	x.inspect(s, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			f := callee(x.pkg.TypesInfo, call)
			if f != nil && f.Pkg() != nil && (slices.Contains(slow, f.Pkg().Path()) && f.Name() != "Getenv" ||
				f.Pkg().Path() == "time" && f.Name() == "Sleep") {
				why = f.Pkg().Name() + "." + f.Name() + " waits for the system"
			}
		}
		return why == ""
	})
	return why
}
