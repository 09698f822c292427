package memory

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// callerAlloc (catalogue A8) matches a constructor that allocates its result and then fills it. It
// leaves the allocation in the constructor, small enough to be inlined, and moves the rest into a
// function of its own.
var callerAlloc = &mutate.Mutator{
	Name: "caller-alloc",
	Doc: "Split a constructor into the allocation and a function that fills it in. The first is small enough to be " +
		"inlined, so that a caller that does not keep the result has it on its own stack, and nothing is allocated. " +
		"Exact: the second part gets the same memory and the same arguments.",
	Example: mutate.Shows(`func newState(seed []byte) *state {
	s := &state{}
	for i, b := range seed {
		s.mix(i, b)
	}
	return s
}`,
		`func newState(seed []byte) *state {
	s := &state{}
	fillState(s, seed)
	return s
}

func fillState(s *state, seed []byte) {
	for i, b := range seed {
		s.mix(i, b)
	}
}`),
	Class:   beagle.E0,
	Gain:    1.3,
	Find:    findCallerAlloc,
	Rewrite: edit.Precomputed,
}

// findCallerAlloc looks for helpers that allocate a value first, fill it in, and return it.
func findCallerAlloc(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, fn := range mutate.Nodes[*ast.FuncDecl](p, nil) {
		// The target keeps its shape. A deferred call or a recover would belong to another function
		// after the split.
		if fn == p.Func || fn.Body == nil || len(fn.Body.List) < 3 || !syntax.PlainSignature(fn) ||
			facts.UsesNameOrLabel(p, fn, "recover") || facts.HasDefer(p, fn.Body) {
			continue
		}
		// The first statement allocates a value, and the last one returns it. The statements
		// between them must be long enough to keep the whole from being inlined.
		d, ok := facts.Declares(p, fn.Body.List[0])
		if !ok || !allocatesFixed(p, d) || facts.Captured.Of(p)[d.Var] || reassignedIn(p, d.Var, fn.Body) {
			continue
		}
		last := fn.Body.List[len(fn.Body.List)-1]
		if !returnsOnly(p, fn, last, d.Var) || facts.LineCount(p, fn.Body) < 6 || readsAfterChange(p, fn, d) {
			continue
		}
		if edits := callerAllocEdits(p, fn, d, last); edits != nil {
			sites = append(sites, edit.Site(fn, "allocation of "+fn.Name.Name, edits...))
		}
	}
	return sites
}

// allocatesFixed recognises &T{...}, new(T) and make([]T, constant).
func allocatesFixed(p *mutate.Pass, d facts.Declaration) bool {
	switch v := d.Value.(type) {
	case *ast.UnaryExpr:
		_, lit := v.X.(*ast.CompositeLit)
		return v.Op == token.AND && lit
	case *ast.CallExpr:
		if _, ok := p.IsBuiltin(v, "new"); ok {
			return true
		}
		if _, ok := p.IsBuiltin(v, "make"); ok && len(v.Args) == 2 && facts.IsSlice(d.Var.Type()) {
			n, constant := p.Int(v.Args[1])
			// A value that is too large goes to the heap wherever it is made.
			return constant && n > 0 && n*facts.ElementSize(d.Var.Type().Underlying().(*types.Slice).Elem()) <= 64<<10
		}
	}
	return false
}

// returnsOnly reports whether the last statement returns v and no other statement returns.
func returnsOnly(p *mutate.Pass, fn *ast.FuncDecl, last ast.Stmt, v *types.Var) bool {
	r, ok := last.(*ast.ReturnStmt)
	if !ok || len(r.Results) != 1 || p.Var(r.Results[0]) != v {
		return false
	}
	// An earlier return would hand out something else, or nothing.
	only := true
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		if other, isReturn := n.(*ast.ReturnStmt); isReturn && other != r {
			only = false
		}
		_, lit := n.(*ast.FuncLit)
		return !lit
	})
	return only
}

// readsAfterChange reports whether the allocation holds the address of a parameter, or a literal
// that captures one. The rest would then work on a copy.
func readsAfterChange(p *mutate.Pass, fn *ast.FuncDecl, d facts.Declaration) bool {
	// Its address, a literal or a slice of an array are ways to hold a variable and not its value.
	for _, u := range mutate.Nodes[*ast.UnaryExpr](p, fn.Body.List[0]) {
		if u.Op == token.AND && u != d.Value {
			return true
		}
	}
	for range mutate.Nodes[*ast.FuncLit](p, fn.Body.List[0]) {
		return true
	}
	for _, sel := range mutate.Nodes[*ast.SelectorExpr](p, fn.Body.List[0]) {
		if p.PointerMethod(sel) {
			return true // a method value keeps the address
		}
	}
	for _, s := range mutate.Nodes[*ast.SliceExpr](p, fn.Body.List[0]) {
		if _, array := p.Info.TypeOf(s.X).Underlying().(*types.Array); array {
			return true
		}
	}
	return false
}

// callerAllocEdits leaves the declaration and the return in fn, which is then small enough to be
// inlined, and moves the statements between them to a new function. The caller's compiler sees
// where the value goes, and may keep it on the stack.
func callerAllocEdits(p *mutate.Pass, fn *ast.FuncDecl, d facts.Declaration, last ast.Stmt) []mutate.Edit {
	// The value becomes a parameter of the new function. A second variable of its name would hide
	// it.
	typ, ok := facts.TypeText(p, d.Var.Type())
	if !ok || facts.DeclaresName(p, &ast.BlockStmt{Lbrace: d.Stmt.End(), Rbrace: fn.Body.Rbrace}, d.Var.Name()) {
		return nil
	}
	rest := fn.Body.List[1:]
	if calls := soleCall(rest); calls {
		return nil // the rule has split it before
	}
	// The new function takes the value and all parameters of fn, since its statements may read any
	// of them.
	name := p.Fresh("fill"+edit.UpperFirst(strings.TrimPrefix(fn.Name.Name, "new")), edit.LowerFirst(fn.Name.Name)+
		"Fill")
	var args []string
	for _, v := range facts.ParametersOf(p, fn) {
		args = append(args, v.Name())
	}
	params := strings.TrimSuffix(strings.TrimPrefix(p.Text(fn.Type.Params), "("), ")")
	if params != "" {
		params = ", " + params
	}
	call := strings.Join(append([]string{d.Var.Name()}, args...), ", ")
	// A variadic parameter is a slice by now, and is passed on as one.
	if n := len(fn.Type.Params.List); n > 0 {
		if _, variadic := fn.Type.Params.List[n-1].Type.(*ast.Ellipsis); variadic {
			call += "..."
		}
	}
	// Whatever stands between the declaration and the last statement moves.
	from, to := d.Stmt.End(), last.Pos()
	return []mutate.Edit{
		p.Span(from, to, fmt.Sprintf("\n%s(%s)\n", name, call)),
		p.Declare(fn,
			fmt.Sprintf("// %s fills in what %s has allocated, so that the latter can be inlined.\n"+
				"func %s(%s %s%s) {\n%s\n}",
				name, fn.Name.Name, name, d.Var.Name(), typ, params, strings.TrimSpace(p.Between(from, to)))),
	}
}

// soleCall reports whether a list is a call and a return.
func soleCall(list []ast.Stmt) bool {
	if len(list) != 2 {
		return false
	}
	e, ok := list[0].(*ast.ExprStmt)
	if !ok {
		return false
	}
	_, call := e.X.(*ast.CallExpr)
	return call
}

// reassignedIn reports whether code below root gives the variable itself, not an element, another
// value.
func reassignedIn(p *mutate.Pass, v *types.Var, root ast.Node) bool {
	for _, id := range p.Uses(v, root) {
		switch up := p.Parent(id).(type) {
		case *ast.IndexExpr, *ast.CallExpr: // an element, and copy or clear
		case *ast.SelectorExpr:
			if p.PointerMethod(up) {
				return true
			}
		default:
			if p.Changes(id) {
				return true
			}
		}
	}
	// A closure may assign it at any time.
	return facts.Captured.Of(p)[v]
}
