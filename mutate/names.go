package mutate

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"go/version"
	"slices"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle/internal/syntax"
)

// Fresh returns the first of the names that nothing in the package uses, or the last one with a
// number. It does not reserve a name: ask once for each name of a rewrite, and wish for different
// names.
func (p *Pass) Fresh(names ...string) string {
	for _, n := range names {
		if !p.isTaken(n) {
			return n
		}
	}
	for i := 2; ; i++ {
		if n := names[len(names)-1] + strconv.Itoa(i); !p.isTaken(n) {
			return n
		}
	}
}

// isTaken reports whether a name means anything anywhere in the candidate file or at package level.
func (p *Pass) isTaken(name string) bool {
	if token.IsKeyword(name) || types.Universe.Lookup(name) != nil {
		return true
	}
	if p.Pkg != nil && p.Pkg.Scope().Lookup(name) != nil {
		return true
	}
	if p.indexed().names[name] {
		return true
	}
	for _, s := range p.File.Imports {
		if path, err := strconv.Unquote(s.Path.Value); err == nil && s.Name == nil && importName(path) == name {
			return true
		}
	}
	return false
}

// Import returns the name by which the candidate can call a package of the standard library, and
// the edits that import it. There are no edits if the candidate imports it already.
func (p *Pass) Import(path string) (string, []Edit) {
	for _, s := range p.File.Imports {
		if s.Path.Value != strconv.Quote(path) {
			continue
		}
		if s.Name == nil {
			return importName(path), nil
		}
		if s.Name.Name != "_" && s.Name.Name != "." {
			return s.Name.Name, nil
		}
	}
	name, spec := importName(path), strconv.Quote(path)
	if p.isTaken(name) {
		name = p.Fresh("std" + name)
		spec = name + " " + spec
	}
	for _, d := range p.File.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
			if g.Lparen.IsValid() {
				return name, []Edit{p.Insert(g.Rparen, "\t"+spec+"\n")}
			}
			old := p.Text(g.Specs[0])
			return name, []Edit{p.Replace(g, fmt.Sprintf("import (\n\t%s\n\t%s\n)", old, spec))}
		}
	}
	return name, []Edit{p.Insert(p.File.Name.End(), "\n\nimport "+spec+"\n")}
}

// Imports is [Pass.Import] for several packages. Their edits fit together.
func (p *Pass) Imports(paths ...string) (names []string, edits []Edit) {
	for _, path := range paths {
		name, more := p.Import(path)
		names, edits = append(names, name), append(edits, more...)
	}
	return names, MergeImports(edits)
}

// MergeImports joins edits that each turn the same single import into a group.
func MergeImports(edits []Edit) []Edit {
	var out []Edit
	for _, e := range edits {
		if n := len(out); n > 0 && e.Start == out[n-1].Start && e.End == out[n-1].End && e.Start < e.End {
			added := strings.TrimSuffix(strings.SplitN(e.New, "\n", 3)[2], ")")
			out[n-1].New = strings.TrimSuffix(out[n-1].New, ")") + added + ")"
			continue
		}
		out = append(out, e)
	}
	return out
}

// Var returns the variable that an expression names, or nil.
//
// Rules call this, and seven more that are marked like it, in hundreds of places. Inlined there,
// they took a sixth of the rules' compile time. The calls cost nothing noticeable.
//
//go:noinline
func (p *Pass) Var(e ast.Expr) *types.Var {
	if id, ok := ast.Unparen(e).(*ast.Ident); ok {
		v, _ := p.Info.ObjectOf(id).(*types.Var)
		return v
	}
	return nil
}

// IsGlobal reports whether v is declared at package level.
//
//go:noinline
func (p *Pass) IsGlobal(v *types.Var) bool {
	return v != nil && v.Pkg() != nil && v.Parent() == v.Pkg().Scope()
}

// Callee returns the function, method or builtin that a call names statically. It returns nil for a
// conversion, a function value, or a method of an interface that anyone may implement.
func (p *Pass) Callee(call *ast.CallExpr) types.Object {
	fun, name := syntax.Called(call)
	if sel, ok := fun.(*ast.SelectorExpr); ok {
		if s := p.Info.Selections[sel]; s != nil && types.IsInterface(s.Recv()) && !p.isClosed(s.Recv()) {
			return nil
		}
	}
	if name == nil {
		return nil
	}
	obj := p.Info.Uses[name]
	switch obj.(type) {
	case *types.Func, *types.Builtin:
		return obj
	}
	return nil
}

// isClosed reports whether a type is an interface whose methods do what the functions of its own
// package do. Other packages can implement it only by a struct that embeds it, which may have a
// method of its own that writes. So no struct of the version's package, or of one that it imports,
// embeds it.
func (p *Pass) isClosed(t types.Type) bool {
	return syntax.IsNamed(t, "reflect", "Type") && !p.Once(embeddedKey{}, func() any { return p.embeds(t) }).(bool)
}

type embeddedKey struct{}

// embeds reports whether a struct of the version's package, or of one that it imports, embeds an
// interface. A struct that a function declares has no methods of its own.
func (p *Pass) embeds(iface types.Type) bool {
	for _, pkg := range slices.Concat(p.Pkg.Imports(), []*types.Package{p.Pkg}) {
		for _, name := range pkg.Scope().Names() {
			if embedsIn(pkg.Scope().Lookup(name), iface) {
				return true
			}
		}
	}
	return false
}

// embedsIn reports whether an object is a struct type that embeds an interface, or one that holds
// all its methods.
func embedsIn(obj types.Object, iface types.Type) bool {
	n, ok := obj.(*types.TypeName)
	if !ok {
		return false
	}
	s, ok := n.Type().Underlying().(*types.Struct)
	if !ok {
		return false
	}
	for f := range s.Fields() {
		if f.Embedded() && types.IsInterface(f.Type()) && types.AssignableTo(f.Type(), iface) {
			return true
		}
	}
	return false
}

// IsCall reports whether e calls one of the named functions of a package: IsCall(e, "strings",
// "Index", "IndexByte"). Methods have names like "Builder.Grow".
func (p *Pass) IsCall(e ast.Node, pkg string, names ...string) (*ast.CallExpr, bool) {
	if x, ok := e.(ast.Expr); ok {
		e = ast.Unparen(x)
	}
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return nil, false
	}
	fn, ok := p.Callee(call).(*types.Func)
	if !ok || fn.Pkg() == nil || fn.Pkg().Path() != pkg {
		return nil, false
	}
	name := syntax.FuncName(fn)
	for _, n := range names {
		if n == name {
			return call, true
		}
	}
	return nil, false
}

// IsBuiltin reports whether e calls the builtin of that name, and returns the call.
func (p *Pass) IsBuiltin(e ast.Node, name string) (*ast.CallExpr, bool) {
	if x, ok := e.(ast.Expr); ok {
		e = ast.Unparen(x)
	}
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return nil, false
	}
	b, ok := p.Callee(call).(*types.Builtin)
	return call, ok && b.Name() == name
}

// LenOf returns s if e is len(s) and s names a variable.
func (p *Pass) LenOf(e ast.Expr) *types.Var {
	if call, ok := p.IsBuiltin(e, "len"); ok && len(call.Args) == 1 {
		return p.Var(call.Args[0])
	}
	return nil
}

// Decl returns the declaration of a function in the candidate file, or nil.
func (p *Pass) Decl(obj types.Object) *ast.FuncDecl {
	fn, ok := obj.(*types.Func)
	if !ok {
		return nil
	}
	return p.indexed().decls[fn.Origin()]
}

// Body returns the declaration of a function of the package and the Pass of its file: this one, or
// that of a file which a candidate cannot change. It returns nil if neither holds the function.
func (p *Pass) Body(fn *types.Func) (*Pass, *ast.FuncDecl) {
	if d := p.Decl(fn); d != nil {
		return p, d
	}
	if p.Elsewhere == nil || fn.Pkg() == nil || p.Pkg == nil || fn.Pkg().Path() != p.Pkg.Path() {
		return nil, nil
	}
	if q := p.Elsewhere(syntax.FuncName(fn.Origin())); q != nil {
		return q, q.Func
	}
	return nil, nil
}

// Int returns the value of a constant integer expression.
func (p *Pass) Int(e ast.Expr) (int64, bool) {
	tv, ok := p.Info.Types[e]
	if !ok || tv.Value == nil {
		return 0, false
	}
	v := constant.ToInt(tv.Value)
	if v.Kind() != constant.Int {
		return 0, false
	}
	return constant.Int64Val(v)
}

// IsInt reports whether e is the constant n.
//
//go:noinline
func (p *Pass) IsInt(e ast.Expr, n int64) bool {
	v, ok := p.Int(e)
	return ok && v == n
}

// Basic returns the basic type under e's type, or Invalid.
func (p *Pass) Basic(e ast.Expr) types.BasicKind {
	t := p.Info.TypeOf(e)
	if t == nil {
		return types.Invalid
	}
	return syntax.Kind(t)
}

// IsBytes reports whether an index into t yields a byte: t is a string, or a slice or array of
// bytes.
func IsBytes(t types.Type) bool {
	if t == nil {
		return false
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return u.Info()&types.IsString != 0
	case *types.Slice:
		return syntax.IsByte(u.Elem())
	case *types.Array:
		return syntax.IsByte(u.Elem())
	}
	return false
}

// Same reports whether two expressions have the same text, apart from blank space and parentheses,
// and name the same objects. Their values may still differ at two times.
func (p *Pass) Same(a, b ast.Expr) bool {
	a, b = ast.Unparen(a), ast.Unparen(b)
	switch a := a.(type) {
	case *ast.Ident:
		b, ok := b.(*ast.Ident)
		return ok && p.Info.ObjectOf(a) == p.Info.ObjectOf(b)
	case *ast.BasicLit:
		b, ok := b.(*ast.BasicLit)
		return ok && a.Kind == b.Kind && a.Value == b.Value
	case *ast.SelectorExpr:
		b, ok := b.(*ast.SelectorExpr)
		return ok && p.Info.ObjectOf(a.Sel) == p.Info.ObjectOf(b.Sel) && p.Same(a.X, b.X)
	case *ast.IndexExpr:
		b, ok := b.(*ast.IndexExpr)
		return ok && p.Same(a.X, b.X) && p.Same(a.Index, b.Index)
	case *ast.StarExpr:
		b, ok := b.(*ast.StarExpr)
		return ok && p.Same(a.X, b.X)
	case *ast.UnaryExpr:
		b, ok := b.(*ast.UnaryExpr)
		return ok && a.Op == b.Op && p.Same(a.X, b.X)
	case *ast.BinaryExpr:
		b, ok := b.(*ast.BinaryExpr)
		return ok && a.Op == b.Op && p.Same(a.X, b.X) && p.Same(a.Y, b.Y)
	case *ast.CallExpr:
		b, ok := b.(*ast.CallExpr)
		return ok && p.sameCall(a, b)
	}
	return false
}

func (p *Pass) sameCall(a, b *ast.CallExpr) bool {
	if len(a.Args) != len(b.Args) || !p.Same(a.Fun, b.Fun) || a.Ellipsis.IsValid() != b.Ellipsis.IsValid() {
		return false
	}
	for i := range a.Args {
		if !p.Same(a.Args[i], b.Args[i]) {
			return false
		}
	}
	return true
}

// GoAtLeast reports whether the module's language version is at least 1.minor. If it is not known,
// all versions are taken for enough.
func (p *Pass) GoAtLeast(minor int) bool {
	if p.Target == nil || p.Target.Go == "" || minor == 0 {
		return true
	}
	return version.Compare("go"+p.Target.Go, fmt.Sprintf("go1.%d", minor)) >= 0
}
