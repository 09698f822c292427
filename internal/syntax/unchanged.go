package syntax

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// Unchanged names the unexported package variables that always hold what their initialisers give
// them, with the elements of their slices and maps. No code of the files may assign them or a part
// of them, take an address of a part, receive from a channel in them, or hand a slice, map or
// pointer on to code that may. A loop that gets pointers as keys or values counts as such code.
// Other packages cannot reach the variables.
func Unchanged(files []*ast.File, pkg *types.Package, info *types.Info) map[string]bool {
	return NewWatch(files, info).Unchanged(pkg)
}

// A Watch tells which variables the code of some files may change.
type Watch struct {
	// Beyond reports whether a function whose body is not in the files only looks at its i-th
	// parameter. Without it, all such functions may change their arguments.
	Beyond func(fn *types.Func, i int) bool

	info   *types.Info
	params map[*types.Var]bool         // whether code only looks at a parameter
	bodies map[*types.Var]ast.Node     // of the functions that have the parameters
	uses   map[*types.Var][][]ast.Node // the nodes around each use, the use first
	funcs  []*types.Func               // that have a body
}

// NewWatch reads files that info describes.
func NewWatch(files []*ast.File, info *types.Info) *Watch {
	w := &Watch{info: info, params: map[*types.Var]bool{}, bodies: map[*types.Var]ast.Node{},
		uses: map[*types.Var][][]ast.Node{}}
	for _, f := range files {
		w.read(f)
	}
	return w
}

// Unchanged names the package's variables that the files leave as they are: see [Unchanged].
func (w *Watch) Unchanged(pkg *types.Package) map[string]bool {
	out := map[string]bool{}
	for _, name := range pkg.Scope().Names() {
		if v, ok := pkg.Scope().Lookup(name).(*types.Var); ok && !v.Exported() && w.onlyLooks(v) {
			out[name] = true
		}
	}
	return out
}

// SetOnce returns the values that the package's init functions give to unexported variables that
// nothing else changes, except for an initialiser. The assignment stands among the statements of
// the function itself, which does not return in front of it.
func (w *Watch) SetOnce(files []*ast.File, pkg *types.Package) map[string]ast.Expr {
	// Find the assignments to one variable, in init functions that run to their ends.
	out, times := map[string]ast.Expr{}, map[string]int{}
	for _, f := range files {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv != nil || fn.Name.Name != "init" || fn.Body == nil || departs(fn.Body) {
				continue
			}
			for _, s := range fn.Body.List {
				as, ok := s.(*ast.AssignStmt)
				if !ok || as.Tok != token.ASSIGN || len(as.Lhs) != 1 || len(as.Rhs) != 1 {
					continue
				}
				id, ok := as.Lhs[0].(*ast.Ident)
				if !ok {
					continue
				}
				v, ok := w.info.Uses[id].(*types.Var)
				if ok && v.Parent() == pkg.Scope() && !v.Exported() && w.changes(v) == 1 {
					out[v.Name()] = as.Rhs[0]
					times[v.Name()]++
				}
			}
		}
	}
	// A second assignment makes the value unknown.
	for name, n := range times {
		if n != 1 {
			delete(out, name)
		}
	}
	return out
}

// departs reports whether a function may leave its list of statements early, except by a panic.
func departs(body *ast.BlockStmt) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			found = true
		case *ast.BranchStmt:
			found = found || n.Tok == token.GOTO
		}
		return !found
	})
	return found
}

// changes counts the uses of a variable that may change it.
func (w *Watch) changes(v *types.Var) (n int) {
	for _, path := range w.uses[v] {
		if !w.looks(path) {
			n++
		}
	}
	return n
}

// Lookers returns for each function of the files which of its parameters it only looks at, by
// [FuncName].
func (w *Watch) Lookers() map[string][]bool {
	out := map[string][]bool{}
	for _, fn := range w.funcs {
		var all []bool
		for v := range fn.Signature().Params().Variables() {
			all = append(all, w.onlyLooked(v))
		}
		out[FuncName(fn)] = all
	}
	return out
}

// read notes the uses of all variables of a file, and the parameters of its functions.
func (w *Watch) read(f *ast.File) {
	// Keep the way from the file to the current node.
	var path []ast.Node
	ast.Inspect(f, func(n ast.Node) bool {
		if n == nil {
			path = path[:len(path)-1]
			return true
		}
		path = append(path, n)
		switch n := n.(type) {
		case *ast.FuncDecl:
			if fn, ok := w.info.Defs[n.Name].(*types.Func); ok && n.Body != nil {
				w.funcs = append(w.funcs, fn)
			}
			for _, field := range n.Type.Params.List {
				for _, id := range field.Names {
					if v, ok := w.info.Defs[id].(*types.Var); ok && n.Body != nil {
						w.bodies[v] = n.Body
					}
				}
			}
		case *ast.Ident:
			v, ok := w.info.Uses[n].(*types.Var)
			if !ok {
				return true
			}
			// Note what stands around the use, from the inside, without parentheses.
			around := make([]ast.Node, 0, len(path))
			for i := len(path) - 1; i >= 0; i-- {
				if _, paren := path[i].(*ast.ParenExpr); !paren {
					around = append(around, path[i])
				}
			}
			w.uses[v] = append(w.uses[v], around)
		}
		return true
	})
}

// looks reports whether the code around a use of a variable changes neither it nor a part of it,
// and gives no part another name under which it could be changed.
func (w *Watch) looks(path []ast.Node) bool {
	e := path[0].(ast.Expr)
	for _, up := range path[1:] {
		switch up := up.(type) {
		case *ast.IndexExpr:
			if ast.Unparen(up.X) != e {
				// A map may keep a key, and a loop over the map gets the key back.
				return !sharesElements(w.info.TypeOf(e))
			}
			e = up
			continue
		case *ast.SelectorExpr:
			s := w.info.Selections[up]
			switch {
			case s == nil:
				return true // the variable is named through its package
			case s.Kind() == types.FieldVal:
				e = up
				continue
			}
			if isPattern(w.info.TypeOf(e)) {
				return up.Sel.Name != "Longest" && up.Sel.Name != "UnmarshalText"
			}
			// A value that shares nothing is no pointer: a method with a pointer receiver takes its
			// address.
			_, byAddress := s.Obj().(*types.Func).Signature().Recv().Type().(*types.Pointer)
			return !byAddress && !sharesElements(w.info.TypeOf(e))
		case *ast.SliceExpr:
			if Is[*types.Array](w.info.TypeOf(up.X)) && ast.Unparen(up.X) == e {
				return false
			}
			if ast.Unparen(up.X) != e {
				return true
			}
			e = up
			continue
		case *ast.UnaryExpr:
			return up.Op != token.AND && up.Op != token.ARROW
		case *ast.IncDecStmt:
			return false
		case *ast.AssignStmt:
			for _, l := range up.Lhs {
				if ast.Unparen(l) == e {
					return false
				}
			}
		case *ast.RangeStmt:
			if ast.Unparen(up.X) != e {
				return false
			}
			return w.looksOver(up)
		case *ast.BinaryExpr:
			return true
		case *ast.CallExpr:
			return !sharesElements(w.info.TypeOf(e)) || w.callLooks(up, e)
		}
		return !sharesElements(w.info.TypeOf(e))
	}
	return true
}

// looksOver reports whether a loop over a variable takes nothing out of it, and gets no key and no
// value that shares elements with it.
func (w *Watch) looksOver(loop *ast.RangeStmt) bool {
	if Is[*types.Chan](w.info.TypeOf(loop.X)) {
		return false
	}
	for _, got := range []ast.Expr{loop.Key, loop.Value} {
		if id, ok := got.(*ast.Ident); got == nil || ok && id.Name == "_" {
			continue
		}
		if sharesElements(w.info.TypeOf(got)) {
			return false
		}
	}
	return true
}

// callLooks reports whether a call only looks at an argument.
func (w *Watch) callLooks(call *ast.CallExpr, e ast.Expr) bool {
	fun, name := Called(call)
	if name == nil || call.Ellipsis.IsValid() {
		return false
	}
	if sel, ok := fun.(*ast.SelectorExpr); ok {
		if s := w.info.Selections[sel]; s != nil && s.Kind() == types.MethodExpr {
			return false // its first argument is the receiver
		}
	}
	switch f := w.info.Uses[name].(type) {
	case *types.Builtin:
		return f.Name() == "len" || f.Name() == "cap"
	case *types.Func:
		sig := f.Origin().Signature()
		for i, arg := range call.Args {
			if ast.Unparen(arg) != e {
				continue
			}
			if sig.Variadic() || i >= sig.Params().Len() {
				return false
			}
			v := sig.Params().At(i)
			return w.onlyLooked(v) || w.bodies[v] == nil && w.Beyond != nil && w.Beyond(f.Origin(), i)
		}
	}
	return false
}

// onlyLooked reports whether a function only looks at a parameter. One that hands it to itself
// counts as one that does not.
func (w *Watch) onlyLooked(v *types.Var) bool {
	if known, ok := w.params[v]; ok {
		return known
	}
	if w.bodies[v] == nil {
		return false
	}
	w.params[v] = false
	w.params[v] = w.onlyLooks(v)
	return w.params[v]
}

// onlyLooks reports whether no use of a variable changes it.
func (w *Watch) onlyLooks(v *types.Var) bool {
	return !slices.ContainsFunc(w.uses[v], func(path []ast.Node) bool { return !w.looks(path) })
}

// sharesElements reports whether a copy of a value has elements in common with it.
func sharesElements(t types.Type) bool {
	if t == nil {
		return true
	}
	if p, ok := types.Unalias(t).(*types.TypeParam); ok {
		return !plainTerms(p)
	}
	switch t := t.Underlying().(type) {
	case *types.Basic:
		return t.Kind() == types.UnsafePointer
	case *types.Slice, *types.Map, *types.Pointer, *types.Chan:
		return true
	case *types.Array:
		return sharesElements(t.Elem())
	case *types.Struct:
		for f := range t.Fields() {
			if sharesElements(f.Type()) {
				return true
			}
		}
	case *types.Interface:
		return true
	}
	return false
}

// isPattern reports whether a type is *regexp.Regexp, whose methods only read it, except for two.
func isPattern(t types.Type) bool {
	p, ok := types.Unalias(t).(*types.Pointer)
	if !ok {
		return false
	}
	return IsNamed(p.Elem(), "regexp", "Regexp")
}

// plainTerms reports whether no type that a type parameter may be shares elements.
func plainTerms(p *types.TypeParam) bool {
	all, ok := p.Constraint().Underlying().(*types.Interface)
	if !ok || all.NumEmbeddeds() == 0 {
		return false
	}
	for e := range all.EmbeddedTypes() {
		union, ok := e.(*types.Union)
		if !ok {
			union = types.NewUnion([]*types.Term{types.NewTerm(false, e)})
		}
		for term := range union.Terms() {
			if sharesElements(term.Type()) {
				return false
			}
		}
	}
	return true
}
