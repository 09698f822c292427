package source

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/beagle-go/beagle/internal/syntax"
)

// layout refuses a type whose fields may not change, because other code sees them or depends on
// their layout in memory.
func (sc *Scope) layout(name string) error {
	obj := sc.pkg.Types.Scope().Lookup(name).(*types.TypeName)
	p := sc.pkg.typePiece(name)
	s, isStruct := obj.Type().Underlying().(*types.Struct)
	// The type must be a struct that is declared by itself, and that Go code alone uses.
	switch {
	case obj.IsAlias():
		return sc.refuseGroup(name+" is another name for a type", "name that type")
	case !isStruct:
		return sc.refuseGroup(fmt.Sprintf("%s is not a struct, but %s: any code can take its values apart", name,
			types.TypeString(obj.Type().Underlying(), types.RelativeTo(sc.pkg.Types))),
			"name a struct with unexported fields, or functions")
	case len(p.names) > 1:
		return sc.refuseGroup(fmt.Sprintf("%s is declared in one block with %s", name, strings.Join(p.keys(), ", ")),
			"give it a declaration of its own")
	case sc.pkg.graph.uses[p].cgo:
		return sc.refuseGroup(name+" needs cgo", "name a type that does not")
	}
	// Without an unexported field there is nothing that a version may change.
	if !slices.ContainsFunc(slices.Collect(s.Fields()), func(f *types.Var) bool { return !f.Exported() }) {
		return sc.refuseGroup("all fields of "+name+" are exported, so that other packages may use them",
			fmt.Sprintf("name functions that work on it: '%s.{FuncA,FuncB}'", sc.of.PkgPath))
	}
	// Code of other platforms can't be checked, and may use the fields.
	if file := sc.pkg.excludedFile(name); file != "" {
		return sc.refuseGroup(fmt.Sprintf("%s uses %s, and the build tags exclude that file: no version can be "+
			"checked with it", file, name), "name functions that files of other platforms do not use")
	}
	// The same goes for code that shows how the fields lie.
	if at, why := sc.pkg.laidOpen(obj); why != "" {
		where := sc.pkg.fset.Position(at)
		return sc.refuseGroup(fmt.Sprintf("%s:%d %s, which shows how the fields of %s lie",
			filepath.Base(where.Filename), where.Line, why, name),
			"name functions instead, or let the code ask the type's methods")
	}
	return nil
}

// excludedFile returns a file of the package that names a type and that this build leaves out,
// tests aside.
func (pkg *Package) excludedFile(name string) string {
	files, _ := filepath.Glob(filepath.Join(pkg.Dir, "*.go"))
	for _, path := range files {
		// Files of this build have been looked at by the type checker.
		if strings.HasSuffix(path, "_test.go") ||
			slices.ContainsFunc(pkg.files, func(f *srcFile) bool { return f.path == path }) {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		// Without types, a name is all that there is: one use is enough to keep the type as it is.
		f, _ := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
		if f == nil || f.Name.Name != pkg.Name {
			continue
		}
		for n := range ast.Preorder(f) {
			if id, ok := n.(*ast.Ident); ok && id.Name == name {
				return filepath.Base(path)
			}
		}
	}
	return ""
}

// shows lists the packages whose functions take a value apart, with its unexported fields, and the
// methods by which a type decides how such functions show it.
var shows = map[string][]string{
	"reflect": nil, "unsafe": nil, "encoding/binary": nil,
	"fmt": {"String", "Error", "Format", "GoString"}, "log": {"String", "Error", "Format"},
	"log/slog": {"String", "Error", "LogValue"}, "text/template": {"String", "Error"},
	"html/template": {"String", "Error"},
}

// laidOpen finds code of the package that shows how the fields of a type lie: a comparison of whole
// values, a key of a map, a conversion, or a function that takes values apart.
func (pkg *Package) laidOpen(t *types.TypeName) (at token.Pos, why string) {
	// The first finding is enough.
	report := func(p token.Pos, format string, args ...any) {
		if why == "" {
			at, why = p, fmt.Sprintf(format, args...)
		}
	}
	for _, f := range pkg.files {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BinaryExpr:
				if (n.Op == token.EQL || n.Op == token.NEQ) && holdsValue(pkg.info.TypeOf(n.X), t, false) {
					report(n.Pos(), "compares values of it")
				}
			case *ast.MapType:
				if holdsValue(pkg.info.TypeOf(n.Key), t, false) {
					report(n.Pos(), "has it as the key of a map")
				}
			case *ast.CallExpr:
				pkg.reportConversion(n, t, report)
			}
			return why == ""
		})
	}
	return at, why
}

// reportConversion reports a call that converts a value or takes it apart.
func (pkg *Package) reportConversion(call *ast.CallExpr, t *types.TypeName, report func(token.Pos, string, ...any)) {
	// A conversion to or from another struct type needs equal fields.
	if tv := pkg.info.Types[call.Fun]; tv.IsType() && len(call.Args) == 1 {
		if from := pkg.info.TypeOf(call.Args[0]); converts(tv.Type, from, t) {
			report(call.Pos(), "converts it")
		}
		return
	}
	// Functions that look into values are known by their packages, unless the type says itself how
	// it is shown.
	path, name := "", ""
	switch fn := pkg.info.Uses[calledIdent(call)].(type) {
	case *types.Builtin:
		if fn.Pkg() == types.Unsafe {
			path, name = "unsafe", "unsafe."+fn.Name()
		}
	case *types.Func:
		if fn.Pkg() == nil {
			return
		}
		path, name = fn.Pkg().Path(), shortName(fn)
	}
	own, ok := shows[path]
	if !ok {
		return
	}
	for _, arg := range call.Args {
		if at := pkg.info.TypeOf(arg); at != nil && holdsValue(at, t, true) && !hasMethod(t, own) {
			report(call.Pos(), "hands it to %s", name)
		}
	}
}

// calledIdent returns the identifier of a called function.
func calledIdent(call *ast.CallExpr) *ast.Ident {
	switch fn := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		return fn
	case *ast.SelectorExpr:
		return fn.Sel
	}
	return nil
}

// converts reports whether a conversion takes a type for another one.
func converts(to, from types.Type, t *types.TypeName) bool {
	if from == nil {
		return false
	}
	is := func(x types.Type) bool {
		n, ok := types.Unalias(syntax.Pointee(x)).(*types.Named)
		return ok && n.Origin().Obj() == t
	}
	// Both or neither: no value changes its type.
	if is(to) == is(from) {
		return false
	}
	other := to
	if is(to) {
		other = from
	}
	// unsafe.Pointer takes memory for a value of another type. Other basic types never do.
	if b, ok := other.Underlying().(*types.Basic); ok {
		return b.Kind() == types.UnsafePointer
	}
	return !types.IsInterface(other)
}

// holdsValue reports whether values of a type hold some of another, behind pointers and in lists
// too if that is asked for.
func holdsValue(in types.Type, t *types.TypeName, behind bool) bool {
	seen := map[types.Type]bool{}
	// A recursive type leads back to itself.
	var holds func(types.Type) bool
	holds = func(x types.Type) bool {
		if x == nil || seen[x] {
			return false
		}
		seen[x] = true
		if n, ok := types.Unalias(x).(*types.Named); ok && n.Origin().Obj() == t {
			return true
		}
		switch x := x.Underlying().(type) {
		case *types.Array:
			return holds(x.Elem())
		case *types.Struct:
			for f := range x.Fields() {
				if holds(f.Type()) {
					return true
				}
			}
		// Memory behind a reference is apart from the value.
		case *types.Pointer:
			return behind && holds(x.Elem())
		case *types.Slice:
			return behind && holds(x.Elem())
		case *types.Map:
			return behind && (holds(x.Key()) || holds(x.Elem()))
		}
		return false
	}
	return holds(in)
}

// hasMethod reports whether a type has one of some methods.
func hasMethod(t *types.TypeName, methods []string) bool {
	set := types.NewMethodSet(types.NewPointer(t.Type()))
	return slices.ContainsFunc(methods, func(name string) bool { return set.Lookup(t.Pkg(), name) != nil })
}
