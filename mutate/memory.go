package mutate

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle/internal/syntax"
)

// This file finds out whose memory a variable holds, and which code may change it.

// Frozen reports whether a package-level variable of the candidate file always has the value of its
// initialiser. It must be unexported. No code may assign it, an element or a field of it, take its
// address, or give its elements another name.
func (p *Pass) Frozen(v *types.Var) bool {
	if !p.IsGlobal(v) || v.Exported() || p.Initialiser(v) == nil {
		return false
	}
	return !p.Assigned(v, p.File) && !p.isShared(v)
}

// NeverChanges reports whether a package-level variable, with its elements, always has the value of
// its initialiser, which may stand in another file than the candidate's.
func (p *Pass) NeverChanges(v *types.Var) bool {
	if !p.IsGlobal(v) || v.Pkg() != p.Pkg {
		return false
	}
	if p.declares(v) { // the candidate may use it in ways that the package does not
		return p.Frozen(v) || p.Initialiser(v) != nil && p.unchangedHere()[v.Name()]
	}
	return p.Unchanged[v.Name()] && !p.Assigned(v, p.File)
}

// unchangedKey is the key of unchangedHere in Once.
type unchangedKey struct{}

// unchangedHere names the variables that nothing in the candidate file changes.
func (p *Pass) unchangedHere() map[string]bool {
	return p.Once(unchangedKey{}, func() any {
		return syntax.Unchanged([]*ast.File{p.File}, p.Pkg, p.Info)
	}).(map[string]bool)
}

// declares reports whether the candidate file declares a package-level variable.
func (p *Pass) declares(v *types.Var) bool {
	for _, d := range p.File.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		for _, s := range g.Specs {
			for _, id := range s.(*ast.ValueSpec).Names {
				if p.Info.Defs[id] == v {
					return true
				}
			}
		}
	}
	return false
}

// isShared reports whether a slice or a map in v gets another name, through which code may change
// its elements.
func (p *Pass) isShared(v *types.Var) bool {
	if !holdsElements(v.Type()) {
		return false
	}
	for _, id := range p.Uses(v, p.File) {
		if e, up := p.partOf(id); holdsElements(p.Info.TypeOf(e)) && !p.looksOnly(e, up) {
			return true
		}
	}
	return false
}

// partOf returns the longest expression that names a part of a variable by indices and fields, and
// the node around it.
func (p *Pass) partOf(e ast.Expr) (part ast.Expr, up ast.Node) {
	for {
		up = p.Parent(e)
		switch n := up.(type) {
		case *ast.IndexExpr:
			if ast.Unparen(n.X) == e {
				e = n
				continue
			}
		case *ast.SelectorExpr:
			if s := p.Info.Selections[n]; s != nil && s.Kind() == types.FieldVal {
				e = n
				continue
			}
		}
		return e, up
	}
}

// looksOnly reports whether the node around a slice or a map only reads it.
func (p *Pass) looksOnly(e ast.Expr, up ast.Node) bool {
	switch up := up.(type) {
	case *ast.CallExpr:
		fn := p.Callee(up)
		if fn == nil || fn.Pkg() == nil {
			return fn != nil && (fn.Name() == "len" || fn.Name() == "cap")
		}
		_, known := stdEffects(fn.Pkg().Path(), fn.Name())
		return known && p.Decl(fn) == nil && !holdsElements(p.Info.TypeOf(up))
	case *ast.RangeStmt:
		return ast.Unparen(up.X) == e && (up.Value == nil || !holdsElements(p.Info.TypeOf(up.Value)))
	case *ast.BinaryExpr:
		return true // a comparison with nil
	}
	return false
}

// holdsElements reports whether copies of a value share the elements of a slice or a map.
func holdsElements(t types.Type) bool {
	if t == nil {
		return false // a blank variable
	}
	return holds(t, func(u types.Type) bool {
		switch u.(type) {
		case *types.Slice, *types.Map:
			return true
		}
		return false
	})
}

// Initialiser returns the initial expression of a package-level variable of the candidate file, or
// nil.
func (p *Pass) Initialiser(v *types.Var) ast.Expr {
	for _, d := range p.File.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		for _, s := range g.Specs {
			spec := s.(*ast.ValueSpec)
			for i, id := range spec.Names {
				if p.Info.Defs[id] == v && len(spec.Values) == len(spec.Names) {
					return spec.Values[i]
				}
			}
		}
	}
	return nil
}

// keepsToOwn reports whether a slice declared below root only ever holds memory made for it. A copy
// of another slice shares that slice's memory.
func (p *Pass) keepsToOwn(v *types.Var, root ast.Node) bool {
	// gets asks about one value that an assignment or a declaration gives to v.
	declared, own := false, true
	gets := func(to ast.Expr, from func() ast.Expr) {
		id, ok := ast.Unparen(to).(*ast.Ident)
		if !ok || p.Info.ObjectOf(id) != v {
			return
		}
		declared = declared || p.Info.Defs[id] == v
		own = own && p.OwnMemory(v, from())
	}
	ast.Inspect(root, func(n ast.Node) bool {
		switch n := n.(type) {
		// Each value that v gets must be its own memory. Several may come from one call.
		case *ast.AssignStmt:
			for i, l := range n.Lhs {
				gets(l, func() ast.Expr { return n.Rhs[min(i, len(n.Rhs)-1)] })
			}
		case *ast.ValueSpec:
			for i, l := range n.Names {
				if len(n.Values) == 0 {
					declared = declared || p.Info.Defs[l] == v
					continue
				}
				gets(l, func() ast.Expr { return n.Values[min(i, len(n.Values)-1)] })
			}
		// A range gives v memory of another slice, and by an address other code may do so.
		case *ast.RangeStmt:
			own = own && (n.Value == nil || p.Var(n.Value) != v)
		case *ast.UnaryExpr:
			own = own && (n.Op != token.AND || p.Var(n.X) != v)
		}
		return own
	})
	return declared && own
}

// OwnMemory reports whether no other slice has the memory that v gets by e: e is nil, new memory,
// or v itself, appended to or cut. For a nil v, e must be new.
func (p *Pass) OwnMemory(v *types.Var, e ast.Expr) bool {
	isV := func(e ast.Expr) bool { return v != nil && p.Var(e) == v }
	e = ast.Unparen(e)
	if _, literal := e.(*ast.CompositeLit); literal || p.isNil(e) {
		return true
	}
	if cut, ok := e.(*ast.SliceExpr); ok {
		return isV(cut.X)
	}
	if _, made := p.IsBuiltin(e, "make"); made {
		return true
	}
	if call, more := p.IsBuiltin(e, "append"); more {
		return isV(call.Args[0]) || p.OwnMemory(v, call.Args[0])
	}
	if call, ok := e.(*ast.CallExpr); ok && p.Info.Types[call.Fun].IsType() {
		return p.isNil(call.Args[0]) || p.Basic(call.Args[0]) != types.Invalid // nil, or the bytes of a string
	}
	for pkg, names := range makers {
		if _, ok := p.IsCall(e, pkg, names...); ok {
			return true
		}
	}
	return false
}

// makers are functions whose results are new memory.
var makers = map[string][]string{
	"strings": {"Fields", "FieldsFunc", "Split", "SplitN", "SplitAfter"},
	"slices":  {"Clone", "Collect", "Sorted", "Concat", "Repeat"},
	"bytes":   {"Clone", "Repeat", "ToUpper", "ToLower"},
}
