package bounds

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/symbol"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// localField (catalogue L4) matches a loop that updates a field, such as the position of a scanner,
// or appends to a list in one. It updates a local variable, and stores that into the field where
// control leaves the loop.
var localField = &mutate.Mutator{
	Name: "local-field",
	Doc: "Keep a field that a loop updates, or a list that it appends to, in a local variable, and store it where " +
		"control leaves the loop. Otherwise each iteration loads the field, and waits for the store of the one " +
		"before. Legal because nothing in the loop sees or changes the field in another way; after a panic in the " +
		"loop it has its earlier value.",
	Example: mutate.Shows(`for s.pos < len(s.text) && s.text[s.pos] == ' ' {
	s.pos++
}`,
		`pos := s.pos
for pos < len(s.text) && s.text[pos] == ' ' {
	pos++
}
if s.pos != pos {
	s.pos = pos
}`),
	Class:   beagle.E1,
	Gain:    1.15,
	Find:    findLocalField,
	Rewrite: edit.Precomputed,
}

// A fieldLoop is a loop that updates a field of what a variable holds or points to.
type fieldLoop struct {
	stmt  ast.Stmt
	base  *types.Var
	field *types.Selection
	uses  []*ast.SelectorExpr // of the field, in the loop
	exits []ast.Stmt          // the returns in the loop
}

// findLocalField looks for the outermost loops in which a field that they update can be a local
// variable.
func findLocalField(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, s := range mutate.Nodes[ast.Stmt](p, nil) {
		if syntax.LoopBody(s) == nil || !facts.CanDeclare(p, s) {
			continue
		}
		if _, at := p.Siblings(edit.LabelOf(p, s)); at < 0 {
			continue
		}
		for _, sel := range mutate.Nodes[*ast.SelectorExpr](p, s) {
			l, ok := fieldLoopOf(p, s, sel)
			inner := func(o mutate.Site) bool {
				return facts.Inside(s, o.Node) && slices.Contains(o.Data.(*fieldLoop).uses, sel)
			}
			if ok && !slices.ContainsFunc(sites, inner) && l.alone(p) {
				sites = append(sites, mutate.Site{Node: s, Label: p.Text(sel) + " in a loop", Data: l})
			}
		}
	}
	for i := range sites {
		l := sites[i].Data.(*fieldLoop)
		sites[i] = edit.Site(sites[i].Node, sites[i].Label, l.edits(p)...)
	}
	return sites
}

// fieldLoopOf recognises the first update of a field in a loop.
func fieldLoopOf(p *mutate.Pass, s ast.Stmt, sel *ast.SelectorExpr) (*fieldLoop, bool) {
	if !facts.IsTarget(p, sel) {
		return nil, false
	}
	base, at := p.Var(sel.X), p.Info.Selections[sel]
	if _, named := sel.X.(*ast.Ident); !named || !facts.IsLocal(p, base) || at == nil || len(at.Index()) != 1 ||
		!facts.IsBasic(at.Type()) && !facts.IsSlice(at.Type()) || syntax.Has(at.Type(), types.IsComplex) {
		return nil, false
	}
	l := &fieldLoop{stmt: s, base: base, field: at}
	for _, use := range mutate.Nodes[*ast.SelectorExpr](p, s) {
		if p.Same(use, sel) {
			l.uses = append(l.uses, use)
		}
	}
	// By its length a list shows whether it changed, if the loop only appends to it.
	updates := slices.DeleteFunc(slices.Clone(l.uses), func(use *ast.SelectorExpr) bool {
		return !facts.IsTarget(p, use)
	})
	if facts.IsSlice(at.Type()) && slices.ContainsFunc(updates, func(use *ast.SelectorExpr) bool {
		return !growsItself(p, use)
	}) {
		return nil, false
	}
	return l, updates[0] == sel
}

// growsItself reports whether the target of an assignment is a list that gets some elements more.
func growsItself(p *mutate.Pass, list ast.Expr) bool {
	as, ok := p.Parent(list).(*ast.AssignStmt)
	if !ok || len(as.Lhs) != 1 || len(as.Rhs) != 1 || as.Tok != token.ASSIGN {
		return false
	}
	call, ok := p.IsBuiltin(as.Rhs[0], "append")
	return ok && p.Same(call.Args[0], list)
}

// alone reports whether nothing but the loop's own uses of the field sees or changes it while the
// loop runs, and control leaves the loop at its end or by a return.
func (l *fieldLoop) alone(p *mutate.Pass) bool {
	// A function that recovers from a panic may see what the field holds then. In front of the
	// loop, the name of a variable that its head declares may mean another one.
	if facts.Captured.Of(p)[l.base] || facts.MayRecover(p, p.File) || facts.DeclaredIn(l.base, l.stmt) {
		return false
	}
	// The compiler keeps the fields of a variable itself, unless something points to that. A nil
	// pointer must not panic where the loop does not run.
	if pointer := syntax.Is[*types.Pointer](l.base.Type()); pointer && !facts.DereferencedBefore(p, l.base, l.stmt) ||
		!pointer && !facts.Pointed(p, l.base) {
		return false
	}
	if _, _, clean := p.Branches(syntax.LoopBody(l.stmt)); !clean {
		return false
	}
	// The variable stays, and code names nothing but fields of it.
	for _, id := range p.Uses(l.base, l.stmt) {
		sel, ok := p.Parent(id).(*ast.SelectorExpr)
		if !ok || sel.X != ast.Expr(id) {
			return false
		}
		if s := p.Info.Selections[sel]; s == nil || s.Kind() != types.FieldVal || len(s.Index()) != 1 {
			return false
		}
	}
	alone := true
	ast.Inspect(l.stmt, func(n ast.Node) bool {
		alone = alone && l.passes(p, n)
		return alone
	})
	return alone
}

// passes reports whether a node leaves the field alone, apart from the loop's own uses of it. It
// notes a return.
func (l *fieldLoop) passes(p *mutate.Pass, n ast.Node) bool {
	switch n := n.(type) {
	case *ast.FuncLit, *ast.GoStmt, *ast.DeferStmt, *ast.SelectStmt, *ast.SendStmt:
		return false
	case *ast.ReturnStmt:
		l.exits = append(l.exits, n)
		_, at := p.Siblings(n)
		return at >= 0 && facts.Means(p, n.Pos(), l.base.Name(), l.base)
	case *ast.RangeStmt:
		return n.Tok != token.ASSIGN && !mutate.RangeRunsOther(p.Info.TypeOf(n.X)) &&
			(n.Value == nil || facts.ElemOf(p.Info.TypeOf(n.X)) == nil || !l.mayHold(facts.ElemOf(p.Info.TypeOf(n.X))))
	case *ast.CallExpr:
		return l.passesCall(p, n)
	case *ast.UnaryExpr:
		sel, ok := ast.Unparen(n.X).(*ast.SelectorExpr)
		return n.Op != token.ARROW && (n.Op != token.AND || !ok || !l.names(p, sel))
	case *ast.SelectorExpr:
		s := p.Info.Selections[n]
		switch {
		case s == nil:
			return true
		case s.Kind() != types.FieldVal: // a method, which may keep the address of a field
			call, called := p.Parent(n).(*ast.CallExpr)
			x, ok := ast.Unparen(n.X).(*ast.SelectorExpr)
			return called && call.Fun == ast.Expr(n) && !(ok && l.names(p, x))
		case l.names(p, n):
			return slices.Contains(l.uses, n) // of another variable, which may hold the same
		}
		// Another field is other memory.
		return !l.mayHold(s.Type()) || syntax.Is[*types.Basic](s.Type()) || facts.IsSlice(s.Type())
	case *ast.StarExpr:
		return p.Info.Types[n].IsType() || !l.mayHold(p.Info.TypeOf(n))
	case *ast.IndexExpr:
		if t := p.Info.TypeOf(n.X); t != nil && !syntax.Is[*types.Map](t) && !syntax.IsText(t) {
			return !l.mayHold(p.Info.TypeOf(n))
		}
	case *ast.Ident:
		// A variable that the base may point into.
		v := p.Var(n)
		return v == nil || v.IsField() || v == l.base || syntax.Is[*types.Basic](v.Type()) || !l.mayHold(v.Type()) ||
			facts.IsLocal(p, v) && !facts.Pointed(p, v)
	}
	return true
}

// names reports whether an expression names the field, of any variable.
func (l *fieldLoop) names(p *mutate.Pass, e *ast.SelectorExpr) bool {
	s := p.Info.Selections[e]
	return s != nil && s.Kind() == types.FieldVal && facts.SameField(s, l.field)
}

// passesCall reports whether a call neither changes memory nor reads the field.
func (l *fieldLoop) passesCall(p *mutate.Pass, call *ast.CallExpr) bool {
	// A conversion may read the elements of a slice.
	if p.Info.Types[call.Fun].IsType() {
		from := p.Info.TypeOf(call.Args[0])
		return !facts.IsSlice(from) || !l.mayHold(facts.ElemOf(from))
	}
	switch fn := p.Callee(call).(type) {
	case *types.Builtin:
		switch fn.Name() {
		case "len", "cap", "min", "max", "new", "make":
			return true
		case "append", "copy":
			return !l.mayHold(facts.ElemOf(p.Info.TypeOf(call.Args[0])))
		}
	case *types.Func:
		effects := p.Effects(call)
		if effects.Writes || fn.Pkg() == nil {
			return false
		}
		// The library knows the memory that it is called with, and no other of the program's.
		if !symbol.Standard(fn.Pkg().Path()) || fn.Pkg() == p.Pkg {
			return !effects.Reads
		}
		operands := call.Args
		if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok && fn.Signature().Recv() != nil {
			operands = append(slices.Clone(operands), sel.X)
		}
		return !slices.ContainsFunc(operands, func(e ast.Expr) bool { return l.mayReach(p.Info.TypeOf(e)) })
	}
	return false
}

// mayReach reports whether code may read the field through a value of a type.
func (l *fieldLoop) mayReach(t types.Type) bool {
	if t == nil {
		return true
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return u.Kind() == types.UnsafePointer
	case *types.Slice:
		return l.mayHold(u.Elem()) || l.mayReach(u.Elem())
	case *types.Array:
		return l.mayReach(u.Elem())
	case *types.Struct:
		for f := range u.Fields() {
			if l.mayReach(f.Type()) {
				return true
			}
		}
		return false
	}
	return true
}

// mayHold reports whether a variable of a type may be the field or contain it.
func (l *fieldLoop) mayHold(t types.Type) bool {
	if t == nil {
		return true
	}
	switch u := t.Underlying().(type) {
	case *types.Struct:
		// A pointer may have been converted to the type of a like struct.
		if types.IdenticalIgnoreTags(u, syntax.Pointee(l.base.Type()).Underlying()) {
			return true
		}
		for f := range u.Fields() {
			if f.Origin() == l.field.Obj().(*types.Var).Origin() || !facts.IsBasic(f.Type()) && l.mayHold(f.Type()) {
				return true
			}
		}
		return false
	case *types.Array:
		return l.mayHold(u.Elem())
	case *types.Basic, *types.Slice:
		return types.IdenticalIgnoreTags(u, l.field.Type().Underlying())
	}
	return syntax.IsTypeParam(t)
}

// edits reads the field in front of the loop, and stores it at the exits if it has changed: callers
// may read the field at the same time as long as nobody changes it.
func (l *fieldLoop) edits(p *mutate.Pass) []mutate.Edit {
	field := l.field.Obj().Name()
	name := p.Fresh(edit.LowerFirst(field), field+"Now")
	text := p.Text(l.uses[0])
	changed, edits := l.changed(p, text, name)
	store := "if " + changed + " {\n" + text + " = " + name + "\n}"
	edits = append(edits, edit.InsertBefore(p, edit.LabelOf(p, l.stmt), name+" := "+text))
	if !endless(p, l.stmt) {
		edits = append(edits, p.Insert(l.stmt.End(), "\n"+store))
	}
	for _, exit := range l.exits {
		edits = append(edits, edit.InsertBefore(p, exit, store))
	}
	for _, use := range l.uses {
		edits = append(edits, p.Replace(use, name))
	}
	return edits
}

// changed is the test whether the field and the variable differ. Numbers with a fraction differ in
// their bits: 0 and -0 are equal, and NaN is not equal to itself.
func (l *fieldLoop) changed(p *mutate.Pass, text, name string) (test string, edits []mutate.Edit) {
	t := l.field.Type()
	if facts.IsSlice(t) {
		return "len(" + text + ") != len(" + name + ")", nil
	}
	if !syntax.Has(t, types.IsFloat) {
		return text + " != " + name, nil
	}
	kind := t.Underlying().(*types.Basic)
	math, edits := p.Import("math")
	bits := func(e string) string {
		if !types.Identical(t, kind) {
			e = kind.Name() + "(" + e + ")"
		}
		return math + "." + edit.UpperFirst(kind.Name()) + "bits(" + e + ")"
	}
	return bits(text) + " != " + bits(name), edits
}

// endless reports whether control never comes from a loop to the statement that follows.
func endless(p *mutate.Pass, loop ast.Stmt) bool {
	s, ok := loop.(*ast.ForStmt)
	if !ok || s.Cond != nil {
		return false
	}
	breaks, _, _ := p.Branches(s.Body)
	return len(breaks) == 0
}
