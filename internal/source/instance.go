package source

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/syntax"
)

// instantiate returns the target's signature with the type arguments to measure. It takes the first
// that fit, from the package, its tests, the rest of the module, and then int, string and the like.
func (u *Unit) instantiate(ctx context.Context, fn *types.Func) (*types.Signature, error) {
	sig := fn.Signature()
	params := sig.TypeParams()
	if params.Len() == 0 {
		params = sig.RecvTypeParams()
	}
	// Type arguments of the user count, but only a generic function has some.
	_, wanted := syntax.CutTypeArgs(u.opts.Spec)
	switch {
	case params.Len() == 0 && len(wanted) > 0:
		return nil, &beagle.UsageError{What: u.Target.Spec() + " has no type parameters",
			Remedy: "leave the type arguments out"}
	case params.Len() == 0:
		return sig, nil
	}
	// Try what code uses for arguments, in the order of its nearness.
	generic := genericName(fn)
	if len(wanted) > 0 {
		return u.instanceFor(fn, generic, wanted)
	}
	for _, args := range (instances{u.Package}).candidates(ctx, generic, params) {
		if s := tryInstance(fn, generic, args); s != nil {
			u.Args = args
			for _, a := range args {
				u.Target.TypeArgs = append(u.Target.TypeArgs, u.Package.TypeString(a))
			}
			return s, nil
		}
	}
	return nil, &beagle.UsageError{
		What: fmt.Sprintf("%s: no instantiation found in the package, its tests or its module, and int and string "+
			"do not satisfy the constraints", u.Target.Spec()),
		Remedy: "call it in a test with the types that matter",
	}
}

// instanceFor returns the signature with the type arguments that the user named.
func (u *Unit) instanceFor(fn *types.Func, generic types.Object, texts []string) (*types.Signature, error) {
	// Each argument must be a type that the package can name, and together they must fit.
	var args []types.Type
	for _, text := range texts {
		t := instances{u.Package}.parseType(text)
		if t == nil {
			return nil, &beagle.UsageError{
				What:   fmt.Sprintf("%s: %q is not a type that a file of its package can name", u.opts.Spec, text),
				Remedy: "write types as the package's files do: int, []byte, *pkg.Type",
			}
		}
		args = append(args, t)
	}
	s := tryInstance(fn, generic, args)
	if s == nil {
		return nil, &beagle.UsageError{
			What:   fmt.Sprintf("%s: the type arguments do not fit the type parameters", u.opts.Spec),
			Remedy: "give one for each, which satisfies its constraint",
		}
	}
	u.Args = args
	for _, a := range args {
		u.Target.TypeArgs = append(u.Target.TypeArgs, u.Package.TypeString(a))
	}
	return s, nil
}

// parseType reads a type as a file of the package may write it, or returns nil.
func (in instances) parseType(text string) types.Type {
	for _, f := range in.pkg.files {
		for _, at := range []token.Pos{f.ast.FileStart, f.ast.Name.End()} {
			if tv, err := types.Eval(in.pkg.fset, in.pkg.Types, at, text); err == nil && tv.IsType() {
				return tv.Type
			}
		}
	}
	return nil
}

// genericName returns the object with the type parameters: the function, or the receiver's type.
func genericName(fn *types.Func) types.Object {
	r := fn.Signature().Recv()
	if r == nil {
		return fn
	}
	t := r.Type()
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	return t.(*types.Named).Obj()
}

// tryInstance instantiates the target; nil if the arguments do not fit.
func tryInstance(fn *types.Func, generic types.Object, args []types.Type) *types.Signature {
	// A function is instantiated itself, a method by its receiver's type.
	if generic == types.Object(fn) {
		t, err := types.Instantiate(nil, fn.Signature(), args, true)
		if err != nil {
			return nil
		}
		return t.(*types.Signature)
	}
	t, err := types.Instantiate(nil, generic.Type(), args, true)
	if err != nil {
		return nil
	}
	// Methods on the pointer include those on the value.
	obj, _, _ := types.LookupFieldOrMethod(types.NewPointer(t), true, fn.Pkg(), fn.Name())
	m, ok := obj.(*types.Func)
	if !ok {
		return nil
	}
	return m.Signature()
}

// instances finds type arguments for the generic functions and types of the package.
type instances struct{ pkg *Package }

// candidates lists type arguments to try, best first.
func (in instances) candidates(ctx context.Context, generic types.Object, params *types.TypeParamList) [][]types.Type {
	found := in.collect(in.pkg.info, generic.Name(), in.pkg.Path)
	found = append(found, in.testInstances(generic.Name())...)
	if len(found) == 0 {
		found = in.moduleInstances(ctx, generic.Name())
	}
	// Basic types first: they have the plainest records and the most regular code.
	inorder.By(found, func(a, b []types.Type) int { return notBasic(a) - notBasic(b) })
	for _, t := range []types.BasicKind{types.Int, types.String, types.Float64, types.Uint64, types.Byte} {
		args := make([]types.Type, params.Len())
		for i := range args {
			args[i] = types.Typ[t]
		}
		found = append(found, args)
	}
	return append(append(found, coreArgs(params)...), firstTerms(params)...)
}

// firstTerms takes the first type of each constraint that lists types.
func firstTerms(params *types.TypeParamList) [][]types.Type {
	var args []types.Type
	for p := range params.TypeParams() {
		limits, ok := p.Constraint().Underlying().(*types.Interface)
		if !ok || limits.NumEmbeddeds() != 1 {
			return nil
		}
		terms, ok := limits.EmbeddedType(0).(*types.Union)
		if !ok {
			return nil
		}
		// ~ or not, a type of the list is one that fits.
		args = append(args, terms.Term(0).Type())
	}
	return [][]types.Type{args}
}

// coreArgs guesses arguments for constraints such as ~[]E, whose parameters
// depend on each other.
func coreArgs(params *types.TypeParamList) [][]types.Type {
	var out [][]types.Type
	// Two kinds of elements: some constraints take only numbers, some only texts.
	for _, elem := range []types.Type{types.Typ[types.Int], types.Typ[types.String]} {
		args := make([]types.Type, params.Len())
		for i := range args {
			args[i] = elem
		}
		// A parameter that is built of another one follows from it.
		for i := range args {
			iface, ok := params.At(i).Constraint().Underlying().(*types.Interface)
			if !ok || iface.NumEmbeddeds() != 1 {
				continue
			}
			if un, ok := iface.EmbeddedType(0).(*types.Union); ok && un.Len() > 0 {
				args[i] = substitute(un.Term(0).Type(), params, args)
			}
		}
		out = append(out, args)
	}
	return out
}

// substitute replaces the type parameters directly below a slice or a map.
func substitute(t types.Type, params *types.TypeParamList, args []types.Type) types.Type {
	// Only the forms that constraints have are followed.
	switch t := t.(type) {
	case *types.TypeParam:
		for i := range params.Len() {
			if params.At(i) == t {
				return args[i]
			}
		}
	case *types.Slice:
		return types.NewSlice(substitute(t.Elem(), params, args))
	case *types.Map:
		return types.NewMap(substitute(t.Key(), params, args), substitute(t.Elem(), params, args))
	case *types.Pointer:
		return types.NewPointer(substitute(t.Elem(), params, args))
	}
	return t
}

func notBasic(args []types.Type) int {
	n := 0
	for _, a := range args {
		if _, ok := a.(*types.Basic); !ok {
			n++
		}
	}
	return n
}

// collect finds the instances of a generic object of the target's package,
// with arguments that the package can name.
func (in instances) collect(info *types.Info, name, pkgPath string) [][]types.Type {
	var ids []*ast.Ident
	for id := range info.Instances {
		if obj := info.Uses[id]; obj != nil && obj.Name() == name && obj.Pkg() != nil && obj.Pkg().Path() == pkgPath &&
			obj.Parent() == obj.Pkg().Scope() {
			ids = append(ids, id)
		}
	}
	// In the order of the text, as maps have none.
	inorder.By(ids, func(a, b *ast.Ident) int { return int(a.Pos() - b.Pos()) })
	var out [][]types.Type
	for _, id := range ids {
		var args []types.Type
		// One argument that cannot be named makes the instance useless.
		for t := range info.Instances[id].TypeArgs.Types() {
			if t = in.nameable(t); t != nil {
				args = append(args, t)
			}
		}
		if len(args) == info.Instances[id].TypeArgs.Len() {
			out = append(out, args)
		}
	}
	return out
}

// nameable translates a type into this package's type check; nil if the
// package cannot write it: a type parameter, a local type, another package's.
func (in instances) nameable(t types.Type) types.Type {
	// Names of this package are written without it, as its own files do.
	text := types.TypeString(t, func(p *types.Package) string {
		if p.Path() == in.pkg.Path {
			return ""
		}
		return p.Name()
	})
	if strings.Contains(text, "invalid type") {
		return nil
	}
	// Imports differ from file to file, so each is asked. The same text must be the same type.
	for _, f := range in.pkg.files {
		tv, err := types.Eval(in.pkg.fset, in.pkg.Types, f.ast.FileStart, text)
		if err != nil {
			tv, err = types.Eval(in.pkg.fset, in.pkg.Types, f.ast.Name.End(), text)
		}
		if err == nil && tv.IsType() && tv.Type.String() == t.String() {
			return tv.Type
		}
	}
	return nil
}

// testInstances looks into the package's test files.
func (in instances) testInstances(name string) [][]types.Type {
	tests, _ := filepath.Glob(filepath.Join(in.pkg.Dir, "*_test.go"))
	return in.instancesIn(tests, name)
}

// moduleInstances looks into the packages of the module that import the
// target's.
func (in instances) moduleInstances(ctx context.Context, name string) [][]types.Type {
	const enough = 5000 // files read
	// Only a file that imports the package can have instances.
	quoted := `"` + in.pkg.Path + `"`
	var files []string
	seen := 0
	filepath.WalkDir(in.pkg.Root, func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil || ctx.Err() != nil || seen > enough:
			return filepath.SkipAll
		case d.IsDir() && path != in.pkg.Root &&
			(strings.HasPrefix(d.Name(), ".") || d.Name() == "vendor" || d.Name() == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go"):
			return nil
		}
		seen++
		if text, err := os.ReadFile(path); err == nil && strings.Contains(string(text), quoted) {
			files = append(files, path)
		}
		return nil
	})
	return in.instancesIn(files, name)
}

// instancesIn type-checks files, one directory and package at a time. Failing imports stay
// unknown: most uses do not need them.
func (in instances) instancesIn(files []string, name string) [][]types.Type {
	// Parse the files, and group them by directory and package.
	fset := token.NewFileSet()
	groups := map[string][]*ast.File{}
	var keys []string
	for _, path := range files {
		f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			continue
		}
		key := filepath.Dir(path) + " " + f.Name.Name
		if groups[key] == nil {
			keys = append(keys, key)
		}
		groups[key] = append(groups[key], f)
	}
	// The package itself has its types already. Any other is checked with the target's package as
	// it is, so that its types are the same.
	var out [][]types.Type
	for _, key := range keys {
		info := newInfo(nil)
		inside := key == in.pkg.Dir+" "+in.pkg.Name
		if inside {
			out = append(out, in.insideInstances(groups[key], fset, name)...)
			continue
		}
		conf := in.pkg.config(func(error) {})
		conf.Importer = targetImporter(in)
		conf.Check(strings.ReplaceAll(key, " ", "/"), fset, groups[key], info)
		out = append(out, in.collect(info, name, in.pkg.Path)...)
	}
	return out
}

// insideInstances checks test files together with the package that they
// belong to.
func (in instances) insideInstances(tests []*ast.File, fset *token.FileSet, name string) [][]types.Type {
	all := slices.Clone(tests)
	for _, f := range in.pkg.files {
		if g, err := parser.ParseFile(fset, f.path, f.text, parser.SkipObjectResolution); err == nil {
			all = append(all, g)
		}
	}
	info := newInfo(nil)
	conf := in.pkg.config(func(error) {})
	conf.Importer = targetImporter(in)
	conf.Check(in.pkg.Path, fset, all, info)
	return in.collect(info, name, in.pkg.Path)
}

// A targetImporter imports the target's package as the type checker read it from source, and the
// others from their export data.
type targetImporter struct{ pkg *Package }

func (w targetImporter) Import(path string) (*types.Package, error) {
	if path == w.pkg.Path {
		return w.pkg.Types, nil
	}
	if !w.pkg.exports.Has(path) && path != "unsafe" {
		return nil, fmt.Errorf("%s is not loaded", path) // not worth a go command
	}
	return w.pkg.exports.Import(path)
}
