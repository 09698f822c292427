package source

import (
	"context"
	"fmt"
	"go/ast"
	"go/types"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/exports"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/syntax"
)

// A Unit is a loaded target: the plain [beagle.Target], and the parts that check and place its
// versions. All methods of a unit and its parts are safe for concurrent use.
type Unit struct {
	Target beagle.Target
	Sig    *types.Signature // the target's, instantiated if it is generic; with the receiver
	Args   []types.Type     // the type arguments of that instantiation

	// why no record can hold the arguments or results of a call, as a [beagle.UsageError]; nil if
	// records can
	Unrecordable error
	// the function that makes the target read outside of the program's memory, or print; "" for
	// none
	Outside string

	Package    *Package    // as the user wrote it
	Scope      *Scope      // the declarations that may change with the target
	Conditions *Conditions // of the target's calls
	Reader     *Reader     // of candidates
	Copies     *Copies     // private, for candidates
	Writer     *Writer     // of candidates, for other places
	Callers    *Callers    // of the target, in its module

	// a module that builds of candidates require, and go.mod does not; nil for none
	Requirement *Requirement

	opts Options
}

// newUnit reads a target in its package. Each part of the unit rests on those before it.
func newUnit(
	ctx context.Context, o Options, p *packages.Package, name string, x *exports.Importer, also otherPackages,
) (*Unit, error) {
	pkg, err := newPackage(p, x, also)
	if err != nil {
		return nil, err
	}
	if pkg.Around, err = codeIdentity(append(also.packages, p), o.Tags); err != nil {
		return nil, err
	}
	u := &Unit{opts: o, Package: pkg, Requirement: o.Requirement}
	// Find the target in the package, and read its declaration.
	u.Target = beagle.Target{Module: p.Module.Path, Dir: pkg.Root, PkgPath: pkg.Path, PkgName: pkg.Name,
		PkgDir: pkg.Dir, Name: name, Go: pkg.lang, Tags: o.Tags}
	u.Scope = &Scope{of: &u.Target, pkg: pkg}
	if err := u.find(p, name); err != nil {
		return nil, err
	}
	if err := u.describe(ctx); err != nil {
		return nil, err
	}
	// Read the contract first: it may allow a target that reads files or prints.
	u.Conditions = &Conditions{target: &u.Target, sig: u.Sig, opts: &u.opts, pkg: pkg, scope: u.Scope}
	if err := u.Conditions.readDemands(); err != nil {
		return nil, err
	}
	if err := u.io(); err != nil {
		return nil, err
	}
	// Split the package into the scope and the rest.
	if err := u.findScope(outsideNames(pkg.Dir, pkg.Name, pkg.files)); err != nil {
		return nil, err
	}
	u.Target.Facts = u.Scope.facts()
	u.Scope.buildRest()
	u.Target.Scope = u.Scope.decls()
	// Build the parts that work on candidates, and write the original as the first candidate.
	u.Reader = newReader(&u.Target, u.Scope)
	u.Copies = &Copies{target: &u.Target, opts: &u.opts, pkg: pkg, scope: u.Scope, reader: u.Reader}
	u.Writer = &Writer{target: &u.Target, pkg: pkg, scope: u.Scope, reader: u.Reader, conditions: u.Conditions,
		required: u.Requirement}
	u.Callers = &Callers{target: &u.Target, opts: &u.opts}
	return u, u.extract()
}

// findScope finds the declarations that may change with the target.
func (u *Unit) findScope(outside map[string]bool) (err error) {
	// Without a group, the scope is what the target reaches and nothing else uses.
	if u.Scope.group == nil {
		u.Scope.pieces = u.Package.graph.scope(u.Scope.target, outside, u.Package.Dir)
		return nil
	}
	if u.Scope.pieces, err = u.Scope.groupScope(outside, u.Package.Dir); err != nil {
		return err
	}
	if err := u.Scope.hold(outside); err != nil {
		return err
	}
	u.Scope.keepUsers()
	return u.Conditions.readGroup()
}

// find looks up the function by its name, and refuses functions that no version can replace.
func (u *Unit) find(p *packages.Package, name string) error {
	// Several names, or a type, are a group.
	if len(u.opts.names) > 1 {
		return u.findGroup(p, u.opts.names)
	}
	if u.Scope.target = u.Package.function(name); u.Scope.target == nil {
		if u.opts.Group && u.Package.isType(name) {
			return u.findGroup(p, []string{name})
		}
		return u.unknownFunction(p, name, u.Package.functionNames())
	}
	f := u.Scope.target.decl.(*ast.FuncDecl)
	at := u.Package.fset.PositionFor(f.Pos(), false)
	u.Target.File, u.Target.Line = at.Filename, at.Line
	refuse := func(why, remedy string) error {
		return &beagle.UsageError{What: fmt.Sprintf("%s: %s", u.Target.Spec(), why), Remedy: remedy}
	}
	// Refuse what no Go text can replace.
	switch {
	case filepath.Dir(at.Filename) != p.Dir || u.Package.graph.uses[u.Scope.target].cgo:
		return refuse("the function is in a file that uses cgo",
			"move it to a file without `import \"C\"`, with the C calls behind a Go function")
	case f.Body == nil:
		return refuse("the function has no Go body (assembly, or linked from elsewhere)",
			"name the Go function that calls it")
	case strings.Contains(u.Scope.target.doc(), "//go:linkname"):
		return refuse("the function is tied to another name by //go:linkname", "name the function that it stands for")
	case f.Name.Name == "init" || f.Name.Name == "_":
		return refuse("such a function cannot be called", "move its work to a function with a name")
	}
	return nil
}

// unknownFunction explains that a name is no function, with the names that may have been meant.
func (u *Unit) unknownFunction(p *packages.Package, name string, known []string) error {
	if hasGoFiles(filepath.Join(u.opts.Dir, u.opts.Spec)) {
		return unknownPackage(u.opts.Dir, u.opts.Spec, "")
	}
	// The specification of a group is that of its first member.
	spec := u.opts.Spec
	if !strings.HasSuffix(spec, name) {
		spec = name
	}
	// List similar names first, then names whose last part is similar.
	e := &beagle.UsageError{What: fmt.Sprintf("%s: package %s has no function %s", spec, p.PkgPath, name)}
	inorder.Sort(known)
	known = slices.DeleteFunc(slices.Compact(known), func(n string) bool { return n == "init" || n == "_" })
	last := func(n string) string { return n[strings.LastIndex(n, ".")+1:] }
	whole := func(n string) string { return n }
	near := nearestNames(name, known, whole)
	if len(near) == 0 {
		near = nearestNames(last(name), known, last)
	}
	// The name may be something else, such as a type with methods.
	if obj := u.Package.Types.Scope().Lookup(name); obj != nil {
		e.What = fmt.Sprintf("%s: %s is a %s, not a function", spec, name, objectKind(obj))
		near = slices.DeleteFunc(slices.Clone(known), func(n string) bool { return !strings.HasPrefix(n, name+".") })
		near = near[:min(5, len(near))]
		if syntax.Is[*types.Struct](obj.Type()) && objectKind(obj) == "type" {
			e.What += "; beagle evolve and beagle verify take it with all its methods, in place: without --evidence " +
				"corpus"
		}
	}
	// A name like Type.Method may be a path to no directory.
	if where, _, ok := strings.Cut(name, "."); ok && u.Package.Types.Scope().Lookup(where) == nil {
		e.What = fmt.Sprintf("%s: there is no directory %s, and package %s has no type of that name", u.opts.Spec,
			where, p.PkgPath)
		// No method was meant, unless that of a type with a similar name.
		methods := slices.DeleteFunc(slices.Clone(known), func(n string) bool { return !strings.Contains(n, ".") })
		near = nearestNames(where, methods, func(n string) string { return n[:strings.Index(n, ".")] })
	}
	if len(near) == 0 && strings.Contains(name, ".") {
		// Not Type.Method here, but perhaps package.Func elsewhere.
		near = nearestNames(lastElem(u.opts.Spec), packageDirs(u.opts.Dir), lastElem)
	}
	// Say what to do: take a similar name, or one that there is.
	switch {
	case len(near) > 0:
		e.Remedy = "Did you mean " + orList(near) + "?"
	case strings.HasPrefix(u.opts.Spec, "./") && strings.Contains(name, "."):
		e.Remedy = "name the function by a directory that is there, as in ./dir.Func"
	case len(known) == 0:
		e.Remedy = "the package has no functions under these build tags"
	default:
		e.Remedy = "it has, for example, " + strings.Join(known[:min(5, len(known))], ", ")
	}
	return e
}

func objectKind(obj types.Object) string {
	switch obj.(type) {
	case *types.TypeName:
		return "type"
	case *types.Const:
		return "constant"
	}
	return "variable"
}

// extract writes the target and its scope as a candidate file, and checks that the file parses as a
// candidate.
func (u *Unit) extract() error {
	var b strings.Builder
	fmt.Fprintf(&b, "package %s\n\nimport (\n", u.Target.PkgName)
	// The file needs the imports of all its declarations, under the names that they have there.
	imports := map[string]string{}
	for _, s := range u.Scope.pieces {
		for name, path := range u.Package.graph.uses[s].imports {
			imports[name] = path
		}
	}
	for name, path := range imports {
		switch {
		case strings.HasPrefix(name, "."):
			name = "."
		case name == u.Package.names[path]:
			name = ""
		}
		fmt.Fprintf(&b, "\t%s %q\n", name, path)
	}
	b.WriteString(")\n")
	// The target comes first, and helpers in the order of the source.
	for _, s := range inOrder(slices.Values(u.Scope.pieces), u.Scope.target) {
		b.WriteString("\n" + strings.ReplaceAll(s.standalone(s.file.plain), "\r", "") + "\n")
	}
	src, err := u.Reader.Normalize(b.String())
	if err != nil {
		return fmt.Errorf("lifting %s out of its package: %w", u.Target.Spec(), err)
	}
	// The lifted text must be a candidate itself.
	u.Target.Source = src
	if _, problem := u.Reader.Parse(src); problem != nil {
		return fmt.Errorf("lifting %s out of its package: line %d: %s", u.Target.Spec(), problem.Line, problem.Message)
	}
	return nil
}
