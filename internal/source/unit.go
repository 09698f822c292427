package source

import (
	"context"
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/go/packages"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/exports"
	"github.com/beagle-go/beagle/internal/inorder"
)

// A Unit is a loaded target: the plain [beagle.Target] and what is needed to
// check and place versions of it. All methods are safe for concurrent use.
type Unit struct {
	Target beagle.Target
	Types  *types.Package   // the package as the user wrote it
	Sig    *types.Signature // the target's, instantiated if it is generic; with the receiver
	Args   []types.Type     // the type arguments of that instantiation

	Requires *Predicate // the condition of Target.Contract; nil for none

	// why no record of a call can hold its arguments or results; nil when one can. It is a
	// [beagle.UsageError]
	Unrecordable error
	// the function that makes the target read outside of the program's memory, or print; "" for
	// none
	Outside string

	// Idle reports whether a profile says that a function of the package takes no time of the
	// target's. [Unit.Widen] keeps room for the others. nil knows of none.
	Idle func(key string) bool

	opts    Options
	fset    *token.FileSet
	files   []*srcFile // as the compiler takes them
	info    *types.Info
	exports *exports.Importer
	also    map[string]string // names of packages that the target's does not import, and a candidate may
	direct  map[string]bool   // import paths that some file of the package imports
	names   map[string]string // import path -> package name, for every package that is linked
	graph   *graph
	target  *piece // of a group, one of its functions
	group   *group // nil for a single function
	scope   []*piece
	rest    []*ast.File // without the scope and without bodies, but for those that use a group
	bare    []*ast.File // without the scope and without bodies
	declare map[string]bool

	keeping   sync.Once
	unchanged map[string]bool     // see Unchanged
	setOnce   map[string]ast.Expr // see syntax.Watch.SetOnce
	lookers   map[string][]bool   // see syntax.Watch.Lookers

	naming sync.Once
	local  map[string]bool // see localNames

	abroad     sync.Mutex
	foreigners map[string]*foreign // by path and name; nil for one that cannot be copied

	copying sync.Once
	copied  map[string]*piece // by the names of their private copies, see privates

	mu      sync.Mutex
	qualify map[string]string // import path -> name in type strings
	parsed  map[string]parsed // by text
	room    int               // for parsed
}

func newUnit(
	ctx context.Context, o Options, p *packages.Package, name string, x *exports.Importer, also map[string]string,
) (*Unit, error) {
	u := &Unit{opts: o, fset: token.NewFileSet(), exports: x, also: also, direct: map[string]bool{},
		names: map[string]string{}, qualify: map[string]string{}}
	packages.Visit([]*packages.Package{p}, nil, func(q *packages.Package) { u.names[q.PkgPath] = q.Name })
	maps.Copy(u.names, also)
	for path := range p.Imports {
		u.direct[path] = true
	}
	u.Target = beagle.Target{Module: p.Module.Path, Dir: moduleRoot(p), PkgPath: p.PkgPath, PkgName: p.Name,
		PkgDir: p.Dir, Name: name, Go: language(p), Tags: o.Tags}
	if err := u.check(p); err != nil {
		return nil, err
	}
	if err := u.find(p, name); err != nil {
		return nil, err
	}
	if err := u.describe(ctx); err != nil {
		return nil, err
	}
	if err := u.contract(); err != nil {
		return nil, err
	}
	if err := u.io(); err != nil {
		return nil, err
	}
	if err := u.findScope(p.Dir, outsideNames(p.Dir, p.Name, u.files)); err != nil {
		return nil, err
	}
	u.Target.Facts = u.facts()
	u.buildRest()
	for _, s := range u.scope {
		for _, key := range s.keys() {
			u.Target.Scope = append(u.Target.Scope,
				beagle.Decl{Name: key, Kind: s.kind, File: s.file.path, Start: s.start, End: s.end})
		}
	}
	return u, u.extract()
}

// findScope finds out what may change with the target.
func (u *Unit) findScope(dir string, outside map[string]bool) (err error) {
	if u.group == nil {
		u.scope = u.graph.scope(u.target, outside, dir)
		return nil
	}
	if u.scope, err = u.groupScope(outside, dir); err != nil {
		return err
	}
	if err := u.hold(outside); err != nil {
		return err
	}
	u.keepUsers()
	return u.groupContract()
}

// check parses and type-checks the package as the user wrote it.
func (u *Unit) check(p *packages.Package) error {
	for _, path := range p.CompiledGoFiles {
		if !strings.HasSuffix(path, ".go") && filepath.Dir(path) == p.Dir {
			continue // assembly
		}
		f, err := readFile(u.fset, path)
		if err != nil {
			return &beagle.UsageError{
				What:   fmt.Sprintf("%s does not compile: %v", p.PkgPath, err),
				Remedy: "make `go build` work first",
			}
		}
		u.files = append(u.files, f)
	}
	var first error
	conf := u.config(func(err error) {
		if first == nil {
			first = err
		}
	})
	u.info = newInfo()
	u.Types, _ = conf.Check(p.PkgPath, u.fset, asts(u.files), u.info)
	if first != nil {
		return &beagle.UsageError{
			What:   fmt.Sprintf("%s does not compile: %v", p.PkgPath, first),
			Remedy: "make `go build` work first",
		}
	}
	u.graph = newGraph(u.files, u.Types, u.info)
	return nil
}

func (u *Unit) config(report func(error)) *types.Config {
	return &types.Config{GoVersion: "go" + u.Target.Go, Importer: u.exports, Sizes: sizes(), Error: report}
}

func newInfo() *types.Info {
	return &types.Info{
		Types:        map[ast.Expr]types.TypeAndValue{},
		Instances:    map[*ast.Ident]types.Instance{},
		Defs:         map[*ast.Ident]types.Object{},
		Uses:         map[*ast.Ident]types.Object{},
		Implicits:    map[ast.Node]types.Object{},
		Selections:   map[*ast.SelectorExpr]*types.Selection{},
		Scopes:       map[ast.Node]*types.Scope{},
		FileVersions: map[*ast.File]string{},
	}
}

func asts(files []*srcFile) []*ast.File {
	var out []*ast.File
	for _, f := range files {
		out = append(out, f.ast)
	}
	return out
}

// find looks the function up by its name.
func (u *Unit) find(p *packages.Package, name string) error {
	if len(u.opts.names) > 1 {
		return u.findGroup(p, u.opts.names)
	}
	if u.target = u.function(name); u.target == nil {
		if u.opts.Group && u.isType(name) {
			return u.findGroup(p, []string{name})
		}
		return u.unknownFunction(p, name, u.functionNames())
	}
	f := u.target.decl.(*ast.FuncDecl)
	at := u.fset.PositionFor(f.Pos(), false)
	u.Target.File, u.Target.Line = at.Filename, at.Line
	refuse := func(why, remedy string) error {
		return &beagle.UsageError{What: fmt.Sprintf("%s: %s", u.Target.Spec(), why), Remedy: remedy}
	}
	switch {
	case filepath.Dir(at.Filename) != p.Dir || u.graph.uses[u.target].cgo:
		return refuse("the function is in a file that uses cgo",
			"move it to a file without `import \"C\"`, with the C calls behind a Go function")
	case f.Body == nil:
		return refuse("the function has no Go body (assembly, or linked from elsewhere)",
			"name the Go function that calls it")
	case strings.Contains(u.target.doc(), "//go:linkname"):
		return refuse("the function is tied to another name by //go:linkname", "name the function that it stands for")
	case f.Name.Name == "init" || f.Name.Name == "_":
		return refuse("such a function cannot be called", "move its work to a function with a name")
	}
	return nil
}

func (u *Unit) unknownFunction(p *packages.Package, name string, known []string) error {
	if hasGoFiles(filepath.Join(u.opts.Dir, u.opts.Spec)) {
		return unknownPackage(u.opts.Dir, u.opts.Spec, "")
	}
	e := &beagle.UsageError{What: fmt.Sprintf("%s: package %s has no function %s", u.opts.Spec, p.PkgPath, name)}
	inorder.Sort(known)
	known = slices.DeleteFunc(slices.Compact(known), func(n string) bool { return n == "init" || n == "_" })
	last := func(n string) string { return n[strings.LastIndex(n, ".")+1:] }
	whole := func(n string) string { return n }
	near := nearest(name, known, whole)
	if len(near) == 0 {
		near = nearest(last(name), known, last)
	}
	if obj := u.Types.Scope().Lookup(name); obj != nil {
		e.What = fmt.Sprintf("%s: %s is a %s, not a function", u.opts.Spec, name, objectKind(obj))
		near = slices.DeleteFunc(slices.Clone(known), func(n string) bool { return !strings.HasPrefix(n, name+".") })
		near = near[:min(5, len(near))]
		if _, ok := obj.Type().Underlying().(*types.Struct); ok && objectKind(obj) == "type" {
			e.What += "; beagle evolve and beagle verify take it with all its methods, in place: without --evidence " +
				"corpus"
		}
	}
	if where, _, ok := strings.Cut(name, "."); ok && u.Types.Scope().Lookup(where) == nil {
		e.What = fmt.Sprintf("%s: there is no directory %s, and package %s has no type of that name", u.opts.Spec,
			where, p.PkgPath)
	}
	if len(near) == 0 && strings.Contains(name, ".") {
		// Not Type.Method here, but perhaps package.Func elsewhere.
		near = nearest(lastElem(u.opts.Spec), packageDirs(u.opts.Dir), lastElem)
	}
	switch {
	case len(near) > 0:
		e.Remedy = "Did you mean " + orList(near) + "?"
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

// buildRest prepares the package without the scope for many type checks.
func (u *Unit) buildRest() {
	u.declare = map[string]bool{}
	text := 0
	for _, f := range u.files {
		text += len(f.text)
	}
	u.room = roomFor(text)
	drop := map[ast.Node]bool{}
	for _, s := range u.scope {
		if s.spec != nil {
			drop[s.spec] = true
		} else {
			drop[s.decl] = true
		}
	}
	for _, f := range u.files {
		g := *f.ast
		g.Decls, g.Comments = nil, nil
		for _, d := range f.ast.Decls {
			if d = u.lean(d, drop); d != nil {
				g.Decls = append(g.Decls, d)
			}
		}
		u.bare = append(u.bare, &g)
	}
	u.rest = u.bare
	if u.group != nil {
		u.rest = u.withUsers(drop)
	}
	for _, p := range u.graph.all {
		if !slices.Contains(u.scope, p) && p.recv == "" {
			for _, n := range p.names {
				u.declare[n.Name] = true
			}
		}
	}
}

// lean reduces a declaration of the rest to the parts that other declarations can see, or returns
// nil.
func (u *Unit) lean(d ast.Decl, drop map[ast.Node]bool) ast.Decl {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if drop[d] || d.Recv == nil && (d.Name.Name == "init" || d.Name.Name == "_") {
			return nil
		}
		g := *d
		g.Body = nil
		return &g
	case *ast.GenDecl:
		if drop[d] {
			return nil
		}
		if d.Tok != token.VAR && len(drop) == 0 {
			return d
		}
		g := *d
		g.Specs = nil
		for _, s := range d.Specs {
			if !drop[s] {
				g.Specs = append(g.Specs, leanSpec(s, d.Tok))
			}
		}
		return &g
	}
	return d
}

// leanSpec replaces the value of a variable by its type where the syntax
// shows it: tables can be long.
func leanSpec(s ast.Spec, tok token.Token) ast.Spec {
	v, ok := s.(*ast.ValueSpec)
	if !ok || tok != token.VAR || len(v.Values) == 0 {
		return s
	}
	w := *v
	if v.Type != nil {
		w.Values = nil
		return &w
	}
	if len(v.Values) != 1 || len(v.Names) != 1 {
		return s
	}
	switch x := ast.Unparen(v.Values[0]).(type) {
	case *ast.CompositeLit:
		w.Type = x.Type
	case *ast.FuncLit:
		w.Type = x.Type
	case *ast.UnaryExpr:
		if lit, ok := x.X.(*ast.CompositeLit); ok && x.Op == token.AND {
			w.Type = &ast.StarExpr{Star: x.OpPos, X: lit.Type}
			if openArray(lit.Type) {
				w.Type = nil
			}
		}
	}
	if w.Type == nil || openArray(w.Type) {
		return s
	}
	w.Values = nil
	return &w
}

// openArray reports whether t is [...]T, whose length only the value tells.
func openArray(t ast.Expr) bool {
	a, ok := t.(*ast.ArrayType)
	if !ok {
		return false
	}
	_, ok = a.Len.(*ast.Ellipsis)
	return ok
}

// extract writes the target and its scope as a candidate file and checks that
// it stands for the original.
func (u *Unit) extract() error {
	var b strings.Builder
	fmt.Fprintf(&b, "package %s\n\nimport (\n", u.Target.PkgName)
	imports := map[string]string{}
	for _, s := range u.scope {
		for name, path := range u.graph.uses[s].imports {
			imports[name] = path
		}
	}
	for name, path := range imports {
		switch {
		case strings.HasPrefix(name, "."):
			name = "."
		case name == u.names[path]:
			name = ""
		}
		fmt.Fprintf(&b, "\t%s %q\n", name, path)
	}
	b.WriteString(")\n")
	for _, s := range inOrder(slices.Values(u.scope), u.target) {
		b.WriteString("\n" + strings.ReplaceAll(s.standalone(s.file.plain), "\r", "") + "\n")
	}
	src, err := u.Normalize(b.String())
	if err != nil {
		return fmt.Errorf("lifting %s out of its package: %w", u.Target.Spec(), err)
	}
	u.Target.Source = src
	if _, problem := u.Parse(src); problem != nil {
		return fmt.Errorf("lifting %s out of its package: line %d: %s", u.Target.Spec(), problem.Line, problem.Message)
	}
	return nil
}

// Rest are the package's files without what a candidate may replace, and
// without bodies. Nobody may change them.
func (u *Unit) Rest() []*ast.File { return u.bare }

// Syntax returns the package as the user wrote it, with its types. Callers must not change it.
func (u *Unit) Syntax() (*token.FileSet, []*ast.File, *types.Info) {
	return u.fset, asts(u.files), u.info
}

// Literals are the constants that the package's files spell, as the user wrote
// them.
func (u *Unit) Literals() []constant.Value {
	var out []constant.Value
	for _, f := range u.files {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok {
				out = append(out, constant.MakeFromLiteral(lit.Value, lit.Kind, 0))
			}
			return true
		})
	}
	return out
}

// Files are the package's Go files as the compiler takes them, absolute. They
// are the user's own; where their package clause says main, copies with
// another name are needed: see [Unit.BuildFiles].
func (u *Unit) Files() []string {
	var out []string
	for _, f := range u.files {
		out = append(out, f.path)
	}
	return out
}
