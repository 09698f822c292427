package verify

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/beagle-go/beagle/internal/effects"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/internal/syntax"
)

// helpers holds the facts about the rest of the target's package: the effects of its functions,
// which functions are pure, and which variables never change after the program's start.
type helpers struct {
	summaries map[string]*effects.Summary
	methods   map[string][]*types.Func // that a function may call through interfaces, by effects.Name
	pure      map[string]bool          // by effects.Name
	digests   map[string]bool          // pure functions with a result that is a digest of an argument
	constant  map[string]bool          // variables, by objectName
	err       error                    // the analysis of the package failed, so nothing is known
}

// newHelpers analyses the package of a target as its user wrote it.
func newHelpers(of *source.Package, target string) *helpers {
	var err error
	for _, whole := range []bool{true, false} {
		h := &helpers{summaries: map[string]*effects.Summary{}, methods: map[string][]*types.Func{},
			pure: map[string]bool{}, constant: map[string]bool{}}
		if err = h.read(of, target, whole); err == nil {
			return h
		}
	}
	return &helpers{err: err}
}

// read analyses the whole package if whole is set. Otherwise the package is too large, and read
// analyses single functions, each with its callees. It takes only functions whose text calls
// nothing but each other and pure library functions, and those that the target reaches. In that
// case a variable is constant if the text only reads it.
func (h *helpers) read(of *source.Package, target string, whole bool) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("analysing %s: %v", of.Path, r)
		}
	}()
	// Build the package in SSA form.
	fset, files, info := of.Syntax()
	c := &typedText{fset, of.Types, info}
	prog, pkg := buildSSA(fset, of.Types, files, info)
	fns, all := declared(prog, info, files), declared(prog, info, files)
	// In a large package, keep only the functions that are pure by their text.
	if !whole {
		h.findPure(c, files)
		fns = slices.DeleteFunc(fns, func(f *ssa.Function) bool {
			return !h.pure[effects.Name(f.Object().(*types.Func))]
		})
		clear(h.pure)
	}
	// Analyse the functions, and note the variables that they touch.
	own := func(f *ssa.Function) bool { return f.Pkg == pkg || f.Pkg == nil }
	touched := c.escaping(files)
	study := &helperStudy{prog, own, effects.Standard(), func(p *effects.Program, fns ...*ssa.Function) {
		for _, f := range fns {
			found := p.Effects(f) // may take too long, and nothing is known then
			noteTouched(found, touched)
			name := effects.Name(f.Object().(*types.Func))
			h.summaries[name] = p.SummaryOf(f)
			for _, m := range found.Methods {
				h.methods[name] = append(h.methods[name], m.Func)
			}
		}
	}}
	if whole {
		p := effects.NewProgram(prog, own, effects.Standard())
		p.Limit = helperSteps
		p.Values(append([]*ssa.Function{pkg.Func("init")}, fns...))
		p.Analyse(fns)
		study.note(p, fns...)
	} else {
		for _, f := range fns {
			study.analyseOne(f, fns, oneHelperSteps)
		}
		// A version holds copies of the functions that the original reaches, so these count most.
		// They may call others through values and interfaces: the values of the whole package.
		study.analyseGroup(reachedFunctions(prog, of, target), append([]*ssa.Function{pkg.Func("init")}, all...),
			helperSteps)
		h.constant = c.onlyRead(files, unexported)
	}
	h.noteKept(c, files, touched)
	// A variable stays constant if no function touches it, or if it leads to no memory.
	for _, name := range of.Types.Scope().Names() {
		v, ok := of.Types.Scope().Lookup(name).(*types.Var)
		if ok && (whole && !v.Exported() && !touched[objectName(v)] || sizes.Sizeof(v.Type()) == 0) {
			h.constant[objectName(v)] = true
		}
	}
	// With the effects known, more functions turn out to be pure.
	h.findPure(c, files)
	h.findDigests(c, fns)
	return nil
}

// findDigests notes the pure functions that fold an argument to a digest. A version may call them,
// and its own text does not show their digests.
func (h *helpers) findDigests(c *typedText, fns []*ssa.Function) {
	h.digests = map[string]bool{}
	for _, f := range fns {
		name := effects.Name(f.Object().(*types.Func))
		if !h.pure[name] || !folds(f.Signature) {
			continue
		}
		d := newDigestFlow(&code{typedText: *c, ssaFuncs: reachedFrom(f, fns)})
		for i := range f.Signature.Results().Len() {
			h.digests[name] = h.digests[name] || d.level[result{f, i}] == strong
		}
	}
}

// folds reports whether a function gets a value of many parts and yields a number.
func folds(s *types.Signature) bool {
	many, number := s.Recv() != nil, false
	for p := range s.Params().Variables() {
		many = many || !isPlain(p.Type()) || syntax.IsText(p.Type())
	}
	for r := range s.Results().Variables() {
		number = number || isPlain(r.Type()) && !syntax.IsText(r.Type())
	}
	return many && number
}

// escaping returns the package variables whose memory another variable may lead to. The analysis
// does not see a write through that other variable as a write to them.
func (c *typedText) escaping(files []*ast.File) map[string]bool {
	out := map[string]bool{}
	note := func(e ast.Expr) { c.noteRoot(e, out) }
	// Look for addresses, slices, and variables whose initialiser names another variable, and for
	// that other one: a write through one of the two changes both.
	for _, file := range files {
		for _, d := range file.Decls {
			gen, isVar := d.(*ast.GenDecl)
			isVar = isVar && gen.Tok == token.VAR
			if isVar {
				c.borrowers(gen, note)
			}
			ast.Inspect(d, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.UnaryExpr:
					if n.Op == token.AND {
						note(n.X)
					}
				case *ast.SliceExpr:
					note(n.X)
				case *ast.Ident:
					if isVar && c.info.Uses[n] != nil {
						note(n)
					}
				}
				return true
			})
		}
	}
	return out
}

// noteRoot adds the variable at the start of an assignable expression to a set.
func (c *typedText) noteRoot(e ast.Expr, to map[string]bool) {
	if id := root(e); id != nil {
		if obj := c.info.ObjectOf(id); obj != nil && obj.Pkg() != nil {
			to[objectName(obj)] = true
		}
	}
}

// noteKept records the variables whose address goes to a method that may keep it, or to a method
// value.
func (h *helpers) noteKept(c *typedText, files []*ast.File, touched map[string]bool) {
	// Note which method values are called at once: those do not outlive the call.
	for _, f := range files {
		called := map[*ast.SelectorExpr]bool{}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if sel, ok := ast.Unparen(n.Fun).(*ast.SelectorExpr); ok {
					called[sel] = true
				}
			// Look at methods with a pointer receiver on a variable.
			case *ast.SelectorExpr:
				s, id := c.info.Selections[n], root(n.X)
				if s == nil || s.Kind() != types.MethodVal || id == nil || syntax.Is[*types.Pointer](s.Recv()) {
					return true
				}
				fn := s.Obj().(*types.Func)
				if !syntax.Is[*types.Pointer](recvType(fn)) {
					return true
				}
				// The method keeps its receiver unless a summary says that it does not.
				does := h.summaries[effects.Name(fn)]
				if does == nil {
					does = effects.Standard().SummaryOf(objectName(fn))
				}
				if obj := c.info.ObjectOf(id); obj != nil && (!called[n] || does == nil || len(does.Stores) > 0) {
					touched[objectName(obj)] = true
				}
			}
			return true
		})
	}
}

// borrowers notes the variables whose initialiser leads to the memory of another variable.
func (c *typedText) borrowers(gen *ast.GenDecl, note func(ast.Expr)) {
	for _, spec := range gen.Specs {
		spec := spec.(*ast.ValueSpec)
		for i, value := range spec.Values {
			borrows := false
			ast.Inspect(value, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.FuncLit:
					return false
				case *ast.UnaryExpr:
					borrows = borrows || n.Op == token.AND && root(n.X) != nil
				case *ast.SliceExpr:
					borrows = borrows || lists(c.info.TypeOf(n)) && root(n.X) != nil
				case *ast.Ident:
					v, ok := c.info.Uses[n].(*types.Var)
					borrows = borrows || ok && !v.IsField() && v.Parent() == c.pkg.Scope() &&
						(lists(v.Type()) || syntax.Is[*types.Pointer](v.Type()) && !isNeverChanged(v.Type()))
				}
				return !borrows
			})
			if borrows {
				note(spec.Names[min(i, len(spec.Names)-1)])
			}
		}
	}
}

// helperSteps bounds the analysis of a package to less than a second. In a package that needs more
// steps, helpers are analysed one by one.
const helperSteps = 1 << 18

// A helperStudy finds the effects of functions on memory. It notes nothing of an analysis that
// needs more steps than it may take, as one function in a large package does.
type helperStudy struct {
	prog  *ssa.Program
	isOwn func(*ssa.Function) bool
	table *effects.Table
	note  func(*effects.Program, ...*ssa.Function) // takes functions that were analysed
}

// analyseOne analyses one of the functions with its callees.
func (s *helperStudy) analyseOne(f *ssa.Function, among []*ssa.Function, steps int) {
	group := reachedFrom(f, among)
	s.analyse(group, group, steps, f)
}

// analyseGroup analyses a group of functions. A call of a value may reach the functions given as
// values.
func (s *helperStudy) analyseGroup(group, values []*ssa.Function, steps int) {
	s.analyse(group, values, steps, group...)
}

// analyse analyses a group and notes some of its functions.
func (s *helperStudy) analyse(group, values []*ssa.Function, steps int, noted ...*ssa.Function) {
	defer func() { _ = recover() }()
	p := effects.NewProgram(s.prog, s.isOwn, s.table)
	p.Limit = steps
	p.Values(values)
	p.Analyse(group)
	s.note(p, noted...)
}

// reachedFunctions returns the target and the functions of its package that it reaches by its text.
func reachedFunctions(prog *ssa.Program, of *source.Package, target string) []*ssa.Function {
	var out []*ssa.Function
	for obj := range reaches(of, target) {
		fn := obj.(*types.Func)
		if f := prog.FuncValue(fn); f != nil {
			out = append(out, f)
		}
	}
	inorder.By(out, func(a, b *ssa.Function) int { return int(a.Pos() - b.Pos()) })
	return out
}

// oneHelperSteps bounds the analysis of one helper.
const oneHelperSteps = 1 << 13

// reachedFrom returns a function and the functions that it names, directly or through others,
// restricted to the given ones.
func reachedFrom(f *ssa.Function, among []*ssa.Function) []*ssa.Function {
	list := []*ssa.Function{f}
	for i := 0; i < len(list); i++ {
		for _, g := range functionsIn(list[i]) {
			if slices.Contains(among, g) && !slices.Contains(list, g) {
				list = append(list, g)
			}
		}
	}
	return list
}

// functionsIn returns the functions that a function and its closures name.
func functionsIn(f *ssa.Function) (list []*ssa.Function) {
	for _, b := range f.Blocks {
		for _, in := range b.Instrs {
			for _, op := range in.Operands(nil) {
				if g, ok := (*op).(*ssa.Function); ok {
					list = append(list, g)
				}
			}
		}
	}
	for _, g := range f.AnonFuncs {
		list = append(list, functionsIn(g)...)
	}
	return list
}

// noteTouched records the package variables that a function writes, or whose memory it gives away
// or lets another variable lead to.
func noteTouched(found *effects.Effects, touched map[string]bool) {
	for _, list := range [][]effects.Effect{found.Writes, found.Stores, found.Runs, found.Shares, found.Moves} {
		for _, w := range list {
			if w.Ref.Kind == effects.Shared {
				touched[w.Ref.Name] = true
			}
		}
	}
}

// findPure marks the functions that touch nothing but their arguments and call only such functions.
func (h *helpers) findPure(c *typedText, files []*ast.File) {
	decls := map[string]*ast.FuncDecl{}
	for _, f := range files {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				if obj, ok := c.info.Defs[fn.Name].(*types.Func); ok {
					decls[effects.Name(obj)] = fn
					h.pure[effects.Name(obj)] = true
				}
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for name, fn := range decls {
			if h.pure[name] && !h.isPure(c, name, fn) {
				h.pure[name] = false
				changed = true
			}
		}
	}
}

// isPure reports whether a function touches nothing but its arguments, as far as its summary and
// its text show.
func (h *helpers) isPure(c *typedText, name string, fn *ast.FuncDecl) bool {
	if s := h.summaries[name]; s != nil {
		for _, w := range s.Writes {
			if w.Kind == effects.Shared {
				return false
			}
		}
	} else if len(h.summaries) > 0 {
		return false // the analysis left it out
	}
	pure := !slices.ContainsFunc(h.methods[name], func(f *types.Func) bool { return !h.harmless(c, f) })
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt, *ast.SelectStmt, *ast.SendStmt, *ast.ChanType:
			pure = false
		case *ast.UnaryExpr:
			pure = pure && n.Op != token.ARROW
		case *ast.RangeStmt:
			pure = pure && !syntax.Is[*types.Map](c.info.TypeOf(n.X))
		case *ast.Ident:
			pure = pure && h.harmless(c, syntax.Origin(c.info.Uses[n]))
		}
		return pure
	})
	return pure
}

// harmless reports whether the use of an object has no effect beside its result.
func (h *helpers) harmless(c *typedText, obj types.Object) bool {
	switch o := obj.(type) {
	case *types.Func:
		if types.IsInterface(recvType(o)) {
			return true
		}
		if o.Pkg() == c.pkg {
			return h.pure[effects.Name(o)]
		}
		return o.Pkg() != nil && isAllowed(o.Pkg().Path(), objectName(o))
	case *types.Var:
		if o.IsField() || o.Pkg() == nil || o.Parent() != o.Pkg().Scope() || syntax.IsError(o.Type()) {
			return true
		}
		if o.Pkg() == c.pkg {
			return h.constant[objectName(o)]
		}
		return isAllowed(o.Pkg().Path(), objectName(o))
	case *types.Builtin:
		construct, _ := objectToBuiltin(o, builtinPath(o))
		return construct == ""
	case *types.TypeName:
		return o.Pkg() == nil || !stateful[o.Pkg().Path()] && !impure[objectName(o)]
	}
	return true
}

func builtinPath(b *types.Builtin) string {
	if b.Pkg() != nil {
		return b.Pkg().Path()
	}
	return ""
}

// buildSSA builds a package from its syntax. Imported packages have types only.
func buildSSA(fset *token.FileSet, t *types.Package, files []*ast.File, info *types.Info) (*ssa.Program, *ssa.Package) {
	prog := ssa.NewProgram(fset, 0)
	for _, p := range t.Imports() {
		if prog.Package(p) == nil {
			prog.CreatePackage(p, nil, nil, true)
		}
	}
	pkg := prog.CreatePackage(t, files, info, false)
	pkg.Build()
	return prog, pkg
}

// declared returns the functions of some files that have bodies.
func declared(prog *ssa.Program, info *types.Info, files []*ast.File) []*ssa.Function {
	var out []*ssa.Function
	for _, file := range files {
		for _, d := range file.Decls {
			decl, ok := d.(*ast.FuncDecl)
			if !ok || decl.Body == nil {
				continue
			}
			obj, _ := info.Defs[decl.Name].(*types.Func)
			if f := prog.FuncValue(obj); f != nil {
				out = append(out, f)
			}
		}
	}
	return out
}
