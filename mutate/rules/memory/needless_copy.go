package memory

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// needlessCopy (catalogue A6 for copies) matches a copy of a slice of which code only reads, in the
// function that makes it or in all callers of a helper that returns it. It reads the slice itself.
var needlessCopy = &mutate.Mutator{
	Name: "needless-copy",
	Doc: "Read a slice itself instead of a copy that is only read. Accessors copy what they return so that callers " +
		"cannot change it; a caller that does not needs no copy. Legal because nothing changes memory while the " +
		"copy would live, and code only reads its elements and its length.",
	Example: mutate.Shows(`func (v *version) numbers() []int { return slices.Clone(v.parts) }

for i, n := range v.numbers() {`,
		`func (v *version) numbers() []int { return v.parts }

for i, n := range v.numbers() {`),
	Class:   beagle.E0,
	Gain:    1.4,
	Find:    findNeedlessCopies,
	Rewrite: edit.Precomputed,
}

// findNeedlessCopies looks for copies of slices that nothing changes, as long as nothing changes
// the original either.
func findNeedlessCopies(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for list, i := range facts.Statements(p) {
		c, ok := sliceCopyAt(p, list, i)
		if !ok || p.FuncOf(list[i]) == nil || !facts.TakesTime(p, list[i]) {
			continue
		}
		// A copy that is returned must not be changed by any caller, either.
		returned, ok := c.onlyRead(p)
		if ok && (!returned || readByCallers(p, p.FuncOf(list[i]))) {
			sites = append(sites, edit.Site(list[i], "copy in "+c.v.Name(), c.edits(p)...))
		}
	}
	// A copy that is returned at once has no variable. Only the callers could change it.
	for _, ret := range mutate.Nodes[*ast.ReturnStmt](p, nil) { // return slices.Clone(x)
		if len(ret.Results) != 1 || !facts.TakesTime(p, ret) {
			continue
		}
		from := clonedSlice(p, ret.Results[0])
		if from == nil || !types.Identical(p.Info.TypeOf(from), p.Info.TypeOf(ret.Results[0])) ||
			!readByCallers(p, p.FuncOf(ret)) {
			continue
		}
		sites = append(sites, edit.Site(ret, "copy of "+p.Text(from), p.Replace(ret.Results[0], p.Text(from))))
	}
	return sites
}

// A sliceCopy is a variable that holds a copy of a slice.
type sliceCopy struct {
	v    *types.Var
	made ast.Expr   // its first value
	from ast.Expr   // the slice
	fill ast.Stmt   // copy(v, from), or nil
	rest []ast.Stmt // after the copy
}

// sliceCopyAt recognises the declaration of a copy.
func sliceCopyAt(p *mutate.Pass, list []ast.Stmt, i int) (c sliceCopy, ok bool) {
	d, ok := facts.Declares(p, list[i])
	if !ok || d.Value == nil || !facts.IsSlice(d.Var.Type()) {
		return c, false
	}
	c = sliceCopy{v: d.Var, made: d.Value, rest: list[i+1:]}
	// The copy is one expression, or two statements.
	if c.from = clonedSlice(p, d.Value); c.from == nil && len(c.rest) > 0 {
		c.fill = c.rest[0]
		c.from = filledSlice(p, d, c.fill)
		c.rest = c.rest[1:]
	}
	// The types must be the same, since the name is now another variable's.
	if c.from == nil || !types.Identical(p.Info.TypeOf(c.from), d.Var.Type()) {
		return c, false
	}
	// The original must stay as it was when it was copied.
	return c, leavesUndisturbed(p, c.rest, p.Var(c.from))
}

// leavesUndisturbed reports whether statements change nothing but local variables, elements of
// maps, and slices of the function's own, apart from one.
func leavesUndisturbed(p *mutate.Pass, list []ast.Stmt, from *types.Var) bool {
	return !slices.ContainsFunc(list, func(s ast.Stmt) bool {
		return !facts.ChangesOnlyLocals(p, s, from) || facts.ChangesWhole(p, s)
	})
}

// clonedSlice returns x for slices.Clone(x) and for append([]T(nil), x...), or nil.
func clonedSlice(p *mutate.Pass, e ast.Expr) ast.Expr {
	var from ast.Expr
	if call, ok := p.IsCall(e, "slices", "Clone"); ok && len(call.Args) == 1 {
		from = call.Args[0]
	}
	if call, ok := p.IsBuiltin(e, "append"); ok && len(call.Args) == 2 && call.Ellipsis.IsValid() {
		// An append to an empty list makes a new one.
		switch first := ast.Unparen(call.Args[0]).(type) {
		case *ast.CompositeLit:
			if len(first.Elts) == 0 {
				from = call.Args[1]
			}
		case *ast.CallExpr:
			if p.Info.Types[first.Fun].IsType() && len(first.Args) == 1 && p.Info.Types[first.Args[0]].IsNil() {
				from = call.Args[1]
			}
		}
	}
	return namedSlice(p, from)
}

// filledSlice returns x for `v := make([]T, len(x))` and copy(v, x) after it, or nil.
func filledSlice(p *mutate.Pass, d facts.Declaration, next ast.Stmt) ast.Expr {
	made, ok := p.IsBuiltin(d.Value, "make")
	s, is := next.(*ast.ExprStmt)
	if !ok || !is {
		return nil
	}
	call, ok := p.IsBuiltin(s.X, "copy")
	if !ok || p.Var(call.Args[0]) != d.Var {
		return nil
	}
	// Length and, where it is given, capacity must be those of the original.
	for _, n := range made.Args[1:] {
		length, ok := p.IsBuiltin(n, "len")
		if !ok || !p.Same(length.Args[0], call.Args[1]) {
			return nil
		}
	}
	return namedSlice(p, call.Args[1])
}

// namedSlice returns an expression that names a slice in a variable or a field, or nil.
func namedSlice(p *mutate.Pass, e ast.Expr) ast.Expr {
	if e == nil || !facts.IsSlice(p.Info.TypeOf(e)) {
		return nil
	}
	// Go down from field to field, until a variable is reached.
	for at := ast.Unparen(e); ; {
		switch x := at.(type) {
		case *ast.Ident:
			if p.Var(x) == nil {
				return nil
			}
			return e
		case *ast.SelectorExpr:
			if s := p.Info.Selections[x]; s == nil || s.Kind() != types.FieldVal {
				return nil
			}
			at = ast.Unparen(x.X)
		default:
			return nil
		}
	}
}

// onlyRead reports whether code only reads the copy or returns it, and whether it returns it.
func (c *sliceCopy) onlyRead(p *mutate.Pass) (returned, ok bool) {
	fn := p.FuncOf(c.made)
	// A closure may run later, when the original has changed.
	if facts.Captured.Of(p)[c.v] {
		return false, false
	}
	// Leave out the statement that fills the copy: it goes with the copy.
	for _, id := range p.Uses(c.v, fn) {
		if c.fill != nil && facts.Inside(id, c.fill) {
			continue
		}
		// A returned copy is fine if no caller changes it, which findNeedlessCopies asks.
		if ret, is := p.Parent(id).(*ast.ReturnStmt); is && len(ret.Results) == 1 && ret.Results[0] == ast.Expr(id) {
			returned = true
			continue
		}
		// Any other use may only read: a write through the copy would now reach the original.
		if !readsSlice(p, id) {
			return false, false
		}
	}
	// A copy keeps its elements. A shared slice needs the original to stay unchanged.
	if v := p.Var(c.from); v != nil { // it must keep its value, too
		for _, s := range c.rest {
			if p.Assigned(v, s) || facts.Captured.Of(p)[v] {
				return false, false
			}
		}
	}
	// The expression that was copied is now evaluated at every use, so its variables must keep
	// their values to the end of the function.
	for _, id := range mutate.Nodes[*ast.Ident](p, c.from) {
		if v := p.Var(id); v != nil && facts.IsLocal(p, v) && p.Assigned(v, &ast.BlockStmt{
			Lbrace: c.made.Pos(), Rbrace: fn.End() - 1}) {
			return false, false
		}
	}
	return returned, true
}

// edits lets the variable be the slice itself.
func (c *sliceCopy) edits(p *mutate.Pass) []mutate.Edit {
	edits := []mutate.Edit{p.Replace(c.made, p.Text(c.from))}
	if c.fill != nil {
		edits = append(edits, p.Span(c.made.End(), c.fill.End(), ""))
	}
	return edits
}

// readsSlice reports whether the code around a slice only reads its elements or its length.
func readsSlice(p *mutate.Pass, e ast.Expr) bool {
	switch up := p.Parent(e).(type) {
	case *ast.IndexExpr:
		// An element, a range and a part of the slice are reads if nothing is written there.
		return ast.Unparen(up.X) == e && !p.Changes(up)
	case *ast.RangeStmt:
		return ast.Unparen(up.X) == e
	case *ast.SliceExpr: // the slice may have more room behind its end than the copy
		return ast.Unparen(up.X) == e && up.High == nil && readsSlice(p, up)
	case *ast.CallExpr:
		if p.Info.Types[up.Fun].IsType() {
			// A conversion to a string copies the bytes; one to another slice type does not.
			return p.Basic(up) == types.String
		}
		switch f := p.Callee(up).(type) {
		case *types.Builtin:
			// len reads, and copy and append read their second argument. A helper may read only;
			// any other function must write nothing and return nothing with memory, in which it
			// could keep the slice.
			return f.Name() == "len" || (f.Name() == "copy" || f.Name() == "append" && up.Ellipsis.IsValid()) &&
				len(up.Args) == 2 && ast.Unparen(up.Args[1]) == e
		case *types.Func:
			return f.Pkg() != nil && (readByHelper(p, up, e) ||
				!p.Effects(up).Writes && p.Decl(f) == nil && facts.SharesNoMemory(f.Signature().Results()))
		}
	}
	return false
}

// readByHelper reports whether a helper only reads the slice that is an argument of its call.
func readByHelper(p *mutate.Pass, call *ast.CallExpr, arg ast.Expr) bool {
	fn := p.Decl(p.Callee(call))
	// A recursive helper would be looked at within itself.
	if fn == nil || fn.Body == nil || fn.Recv != nil || facts.CallsItself(p, fn) || p.Effects(fn).Writes ||
		p.Callee(call).(*types.Func).Signature().Variadic() && !call.Ellipsis.IsValid() { // a list of slices
		return false
	}
	params := facts.ParametersOf(p, fn)
	at := slices.IndexFunc(call.Args, func(e ast.Expr) bool { return ast.Unparen(e) == arg })
	if at < 0 || len(params) != len(call.Args) || params[at] == nil || facts.Captured.Of(p)[params[at]] {
		return false
	}
	for _, id := range p.Uses(params[at], fn.Body) {
		if !readsSlice(p, id) {
			return false
		}
	}
	return true
}

// readByCallers reports whether all calls of a helper only read the slice that it returns, while
// nothing changes memory.
func readByCallers(p *mutate.Pass, fn *ast.FuncDecl) bool {
	if fn == nil || fn == p.Func || fn.Recv != nil || fn.Type.TypeParams != nil || facts.CallsItself(p, fn) ||
		p.Effects(fn).Writes {
		return false
	}
	calls, ok := onlyCalls(p, fn)
	for _, call := range calls {
		ok = ok && readOnce(p, call)
	}
	return ok
}

// readOnce reports whether the slice that a call returns is only read, while nothing changes
// memory.
func readOnce(p *mutate.Pass, call *ast.CallExpr) bool {
	switch up := p.Parent(call).(type) {
	// For each place of the call there is a stretch of code in which the memory must stay as it is:
	// the body of the loop, what follows the declaration, or the rest of the statement.
	case *ast.RangeStmt:
		return readsSlice(p, call) && up.Tok != token.ASSIGN && leavesUndisturbed(p, up.Body.List, nil)
	case *ast.AssignStmt:
		list, i := p.Siblings(up)
		d, ok := facts.Single.Of(p)[p.Var(up.Lhs[0])]
		if i < 0 || !ok || up.Tok != token.DEFINE || d.Stmt != ast.Stmt(up) {
			return false
		}
		for _, id := range p.Uses(d.Var, p.FuncOf(call)) {
			if !readsSlice(p, id) {
				return false
			}
		}
		return leavesUndisturbed(p, list[i+1:], nil)
	case *ast.IndexExpr:
		return readsSlice(p, call) && quietAround(p, call)
	case *ast.CallExpr:
		return readsSlice(p, call) && !p.Effects(up).Writes && quietAround(p, call)
	}
	return false
}

// quietAround reports whether the operands beside an expression change nothing. Go leaves open
// whether a call among them comes before or after the reading of an element.
func quietAround(p *mutate.Pass, e ast.Expr) bool {
	var child ast.Node = e
	// Go outwards up to the statement. On each level the other operands may not write, since Go
	// does not say when they run.
	for _, up := range p.Path(e)[1:] {
		quiet := true
		ast.Inspect(up, func(n ast.Node) bool {
			switch n := n.(type) {
			case ast.Expr:
				quiet = quiet && (n == child || n == up || !p.Effects(n).Writes)
			case ast.Stmt: // has a time of its own
			default:
				return n != nil
			}
			return n == up
		})
		if _, statement := up.(ast.Stmt); statement || !quiet {
			return quiet
		}
		child = up
	}
	return false
}
