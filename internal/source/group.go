package source

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/go/packages"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/syntax"
)

// A group is one target of several functions: a type with all its methods and the functions of the
// package that use its fields, or functions that the user named together. A version may change the
// unexported fields of its types.
type group struct {
	names     []string          // as the user gave them
	roots     []*piece          // the functions and types, in order of their places
	types     map[string]*piece // of these, the types, by name
	held      map[string]bool   // keys of what must be declared again as it is: others see it
	keptDecls []ast.Node        // declarations of the rest that use the scope, with their bodies

	joining sync.Once // of between
	between map[*piece]bool
}

// Group reports whether the target is several functions.
func (sc *Scope) Group() bool { return sc.group != nil }

// functions returns the functions of a group, in order of their places; nil for a single function.
func (sc *Scope) functions() (out []*piece) {
	if sc.group == nil {
		return nil
	}
	for _, p := range sc.group.roots {
		if p.kind == "func" {
			out = append(out, p)
		}
	}
	return out
}

// FunctionNames returns the names of a group's functions, in order of their places.
func (sc *Scope) FunctionNames() (out []string) {
	for _, p := range sc.functions() {
		out = append(out, p.key())
	}
	return out
}

// Entries returns the functions of a group that others call; nil for a single function.
func (sc *Scope) Entries() map[string]bool {
	if sc.group == nil {
		return nil
	}
	out := map[string]bool{}
	for _, p := range sc.pieces {
		if p.kind == "func" && sc.group.held[p.key()] {
			out[p.key()] = true
		}
	}
	return out
}

// cutGroup takes the names in braces off a specification: ./pkg.{A,B} is ./pkg.A, with A and B.
func cutGroup(spec string) (first string, names []string, err error) {
	at := strings.IndexByte(spec, '{')
	if at < 0 {
		return spec, nil, nil
	}
	bad := &beagle.UsageError{
		What:   fmt.Sprintf("%s: the braces must hold names of one package", spec),
		Remedy: "name a group as './pkg.{FuncA,FuncB}', with names of functions, types or Type.Method",
	}
	// The braces must close at the end, and follow a dot or be all there is.
	inside, ok := strings.CutSuffix(spec[at+1:], "}")
	if !ok || at > 0 && spec[at-1] != '.' {
		return "", nil, bad
	}
	// A name that is listed twice counts once.
	for _, name := range strings.Split(inside, ",") {
		name = strings.TrimSpace(name)
		if !IsFunctionName(name) {
			return "", nil, bad
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return spec[:at] + names[0], names, nil
}

// IsFunctionName reports whether a text may be the name of a function, as in F or T.M.
func IsFunctionName(text string) bool {
	recv, method, isMethod := strings.Cut(text, ".")
	return token.IsIdentifier(recv) && (!isMethod || token.IsIdentifier(method))
}

// isType reports whether a name is a type of the package.
func (pkg *Package) isType(name string) bool {
	_, ok := pkg.Types.Scope().Lookup(name).(*types.TypeName)
	return ok
}

// findGroup looks up a type, or several functions and types, as one target.
func (u *Unit) findGroup(p *packages.Package, names []string) error {
	g := &group{names: names, types: map[string]*piece{}, held: map[string]bool{}}
	u.Target.Name = names[0]
	if len(names) > 1 {
		u.Target.Name = "{" + strings.Join(names, ",") + "}"
	}
	if !u.opts.Group {
		return u.Scope.refuseGroup("several functions as one target can be judged inside the package's own tests alone",
			"use beagle evolve or beagle verify, without --evidence corpus, or name one function")
	}
	root := map[*piece]bool{}
	for _, name := range names {
		fn, t := u.Package.function(name), u.Package.typePiece(name)
		switch {
		case fn != nil:
			root[fn] = true
		case t != nil:
			root[t], g.types[name] = true, t
		default:
			return u.unknownFunction(p, name, u.Package.functionNames())
		}
	}
	for name := range g.types {
		if err := u.Scope.layout(name); err != nil {
			return err
		}
		for _, q := range u.Package.graph.all {
			if q.kind == "func" && (q.recv == name || u.Package.touches(q, name)) {
				root[q] = true
			}
		}
	}
	for _, q := range u.Package.graph.all {
		if !root[q] {
			continue
		}
		g.roots = append(g.roots, q)
		if fn, ok := q.decl.(*ast.FuncDecl); ok {
			if err := u.usableMember(p, q, fn); err != nil {
				return err
			}
			// Rules and reports begin with the longest of those that the package's users call.
			if u.Scope.target == nil || lead(q) > lead(u.Scope.target) {
				u.Scope.target = q
			}
		}
	}
	if u.Scope.target == nil {
		return u.Scope.refuseGroup("it has no method, and no function of the package uses its fields, so that no "+
			"code can change with them", "name the functions that work on it: './pkg.{T,FuncA,FuncB}'")
	}
	if u.opts.Entry != "" {
		if u.Scope.target = u.Package.function(u.opts.Entry); !root[u.Scope.target] {
			return u.Scope.refuseGroup("it has no function "+u.opts.Entry, "name one of its functions")
		}
		u.Target.Name = u.opts.Entry
	}
	at := u.Package.fset.PositionFor(u.Scope.target.decl.Pos(), false)
	u.Target.File, u.Target.Line = at.Filename, at.Line
	u.Scope.group = g
	return nil
}

// lead orders the functions of a group: exported ones first, then long ones.
func lead(p *piece) int {
	n := p.end - p.start
	if p.names[0].IsExported() {
		n += 1 << 30
	}
	return n
}

func (sc *Scope) refuseGroup(why, remedy string) error {
	return &beagle.UsageError{What: fmt.Sprintf("%s: %s", sc.of.Spec(), why), Remedy: remedy}
}

// usableMember refuses a function of a group that no version can declare again.
func (u *Unit) usableMember(p *packages.Package, q *piece, fn *ast.FuncDecl) error {
	// In each case the function cannot be declared again in a version.
	switch {
	case filepath.Dir(q.file.path) != p.Dir || u.Package.graph.uses[q].cgo:
		return u.Scope.refuseGroup(q.key()+" is in a file that uses cgo", "name functions that do not, as one group")
	case fn.Body == nil:
		return u.Scope.refuseGroup(q.key()+" has no Go body (assembly, or linked from elsewhere)",
			"name functions with bodies, as one group")
	case strings.Contains(q.doc(), "//go:linkname"):
		return u.Scope.refuseGroup(q.key()+" is tied to another name by //go:linkname", "name functions without it")
	case fn.Recv == nil && (fn.Name.Name == "init" || fn.Name.Name == "_"):
		return u.Scope.refuseGroup(q.key()+" cannot be called", "move its work to a function with a name")
	}
	return nil
}

func (pkg *Package) functionNames() (known []string) {
	for _, q := range pkg.graph.all {
		if q.kind == "func" {
			known = append(known, q.key())
		}
	}
	return known
}

// typePiece returns the declaration of a type, or nil.
func (pkg *Package) typePiece(name string) *piece {
	for _, p := range pkg.graph.all {
		if p.kind == "type" && slices.Contains(p.keys(), name) {
			return p
		}
	}
	return nil
}

// touches reports whether a piece names an unexported field of a type, or lists its fields in a
// literal.
func (pkg *Package) touches(p *piece, name string) bool {
	s, ok := pkg.Types.Scope().Lookup(name).Type().Underlying().(*types.Struct)
	if !ok {
		return false
	}
	// Exported fields may be used by anybody anyway.
	own := map[types.Object]bool{}
	for f := range s.Fields() {
		own[f] = !f.Exported()
	}
	var node ast.Node = p.decl
	if p.spec != nil {
		node = p.spec
	}
	found := false
	ast.Inspect(node, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			found = found || own[syntax.Origin(pkg.info.Uses[n])]
		// A literal without keys depends on the order of all fields.
		case *ast.CompositeLit:
			t, isNamed := types.Unalias(pkg.info.TypeOf(n)).(*types.Named)
			if isNamed && t.Origin().Obj().Name() == name && t.Obj().Pkg() == pkg.Types && len(n.Elts) > 0 {
				_, keyed := n.Elts[0].(*ast.KeyValueExpr)
				found = found || !keyed
			}
		}
		return !found
	})
	return found
}

// groupScope returns the roots of a group and the declarations that only they use, with the types
// of the package and their methods.
func (sc *Scope) groupScope(outside map[string]bool, dir string) ([]*piece, error) {
	// Methods belong to their types, wherever they are declared.
	g, in, methods := sc.pkg.graph, map[*piece]bool{}, map[string][]*piece{}
	for _, p := range g.all {
		if p.kind == "func" && p.recv != "" {
			methods[p.recv] = append(methods[p.recv], p)
		}
	}
	// Visit what the roots use, and what that uses, as far as it may move with the group.
	var visit func(p *piece)
	visit = func(p *piece) {
		next := slices.Collect(maps.Keys(g.uses[p].pieces))
		if p.kind == "type" {
			next = append(next, methods[p.names[0].Name]...)
		}
		for _, q := range next {
			if !in[q] && sc.movesWithGroup(q, outside, dir) {
				in[q] = true
				visit(q)
			}
		}
	}
	root := map[*piece]bool{}
	for _, p := range sc.group.roots {
		in[p], root[p] = true, true
	}
	for _, p := range sc.group.roots {
		visit(p)
	}
	// A version is one file, so imports must not clash.
	if a, b := g.clashing(sc.group.roots); a != nil {
		return nil, sc.refuseGroup(fmt.Sprintf("%s and %s import different packages under one name, or one package "+
			"under two names, and a version is one file", a.key(), b.key()),
			"give the packages the same names in both files")
	}
	// A type and its methods stay together.
	whole := func(p *piece) bool { // a type stays with its methods, and methods with their type
		switch {
		case p.kind == "type":
			return isSubset(setOf(methods[p.names[0].Name]), in)
		case p.recv != "":
			return in[sc.pkg.typePiece(p.recv)]
		}
		return true
	}
	// Take out what code outside of the group uses, until nothing is left of it.
	for changed := true; changed; {
		changed = false
		for p := range in {
			if !root[p] && (!isSubset(g.usedBy[p], in) || !whole(p)) {
				delete(in, p)
				changed = true
			}
		}
		if !changed {
			changed = g.dropClash(sc.group.roots, in)
		}
	}
	return inOrder(maps.Keys(in), sc.target), nil
}

func setOf(ps []*piece) map[*piece]bool {
	out := map[*piece]bool{}
	for _, p := range ps {
		out[p] = true
	}
	return out
}

// movesWithGroup reports whether a piece may belong to the scope of a group at all.
func (sc *Scope) movesWithGroup(p *piece, outside map[string]bool, dir string) bool {
	if sc.pkg.graph.uses[p].cgo {
		return false
	}
	// An alias or a type that others see must stay what it is; a method moves with its type.
	switch {
	case p.kind == "type":
		g := p.decl.(*ast.GenDecl)
		return len(p.names) == 1 && !g.Specs[0].(*ast.TypeSpec).Assign.IsValid() && !p.names[0].IsExported() &&
			!outside[p.names[0].Name] && filepath.Dir(p.file.path) == dir
	case p.recv != "":
		t := sc.pkg.typePiece(p.recv)
		return t != nil && sc.movesWithGroup(t, outside, dir) && p.decl.(*ast.FuncDecl).Body != nil
	}
	return movable(p, outside, dir)
}

// clashing finds two pieces whose imports cannot stand in one file.
func (g *graph) clashing(ps []*piece) (a, b *piece) {
	// In one file, a name stands for one import, and an import has one name.
	names, paths := map[string]string{}, map[string]string{}
	by := map[string]*piece{}
	for _, p := range ps {
		for name, path := range g.uses[p].imports {
			if got, ok := names[name]; ok && got != path {
				return by[name], p
			}
			if got, ok := paths[path]; ok && got != name {
				return by[got], p
			}
		}
		for name, path := range g.uses[p].imports {
			names[name], paths[path], by[name] = path, name, p
		}
	}
	return nil, nil
}

// hold finds the declarations of a group that other code sees: each version must declare them as
// they are. hold refuses a group whose unexported fields other code uses.
func (sc *Scope) hold(outside map[string]bool) error {
	g, in := sc.group, setOf(sc.pieces)
	// Methods that an interface of the package may call are seen from outside.
	dynamic := sc.pkg.interfaceMethods()
	// A declaration is held if it is exported, or used by the rest of the package or by files that
	// are not read.
	for _, p := range sc.pieces {
		if p.kind != "func" && p.kind != "type" {
			continue
		}
		for _, name := range p.names {
			method := p.recv != "" && dynamic[name.Name]
			if ast.IsExported(name.Name) && (p.recv == "" || g.types[p.recv] != nil || !in[sc.pkg.typePiece(p.recv)]) ||
				!isSubset(sc.pkg.graph.usedBy[p], in) || method || p.recv == "" && outside[name.Name] {
				g.held[p.key()] = true
			}
		}
	}
	for _, p := range g.roots { // at least one function stays, by which the rest is known
		if p == sc.target {
			g.held[p.key()] = true
		}
	}
	// Fields outside of functions can't be hidden behind the group's own functions.
	var users []string
	for name := range g.types {
		for _, p := range sc.pkg.graph.all {
			if !in[p] && sc.pkg.touches(p, name) && !slices.Contains(users, p.key()) {
				users = append(users, p.key())
			}
		}
	}
	if len(users) > 0 {
		inorder.Sort(users)
		return sc.refuseGroup(fmt.Sprintf("its fields are used outside of functions, by %s", orList(users)),
			fmt.Sprintf("let a function make that value, as in var %s = new%[1]s()", users[0]))
	}
	return nil
}

// interfaceMethods returns the unexported method names in the interfaces of the package.
func (pkg *Package) interfaceMethods() map[string]bool {
	out := map[string]bool{}
	for _, f := range pkg.files {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			// A method of that name may implement an interface.
			if t, ok := n.(*ast.InterfaceType); ok {
				for _, m := range t.Methods.List {
					for _, id := range m.Names {
						out[id.Name] = true
					}
				}
			}
			return true
		})
	}
	return out
}

// groupSignature writes the declarations of a group in Go: the heads of types, and the signatures
// of functions.
func (sc *Scope) groupSignature() (string, error) {
	// The heads identify types: their fields may change.
	var lines []string
	for _, p := range sc.group.roots {
		fn, ok := p.decl.(*ast.FuncDecl)
		if !ok {
			lines = append(lines, "type "+p.names[0].Name+" struct")
			continue
		}
		text, err := sc.pkg.signatureText(fn)
		if err != nil {
			return "", err
		}
		lines = append(lines, text)
	}
	return strings.Join(lines, "\n"), nil
}

// describeGroup fills in the target from the declarations of a group.
func (u *Unit) describeGroup() (err error) {
	if u.Target.Signature, err = u.Scope.groupSignature(); err != nil {
		return err
	}
	for _, p := range u.Scope.group.roots {
		u.Target.Group = append(u.Target.Group, p.key())
	}
	u.Sig = u.Package.info.Defs[u.Scope.target.names[0]].(*types.Func).Signature()
	// A record holds one call, and the state of a group lives between calls.
	u.Unrecordable = &beagle.UsageError{
		What: fmt.Sprintf("%s: several functions change together with their shared state, and a record "+
			"of one call does not hold that", u.Target.Spec()),
		Remedy: "leave --evidence corpus out, or name one function",
	}
	return nil
}

// SourceLine returns which line of the original's candidate file a line of the user's files stands
// for, and 0 for a line of other code. Lines are known within functions.
func (sc *Scope) SourceLine() func(function, file string, line int) int {
	type place struct {
		file string
		line int
	}
	// Parse the candidate file, whose functions are those of the user's files.
	lines := map[place]int{}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, candidateName, sc.of.Source, parser.SkipObjectResolution)
	if err != nil {
		return func(string, string, int) int { return 0 }
	}
	now := map[string]ast.Decl{}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			now[declKeys(fn)[0]] = fn
		}
	}
	span := func(fset *token.FileSet, d ast.Decl) (first, last int) {
		return fset.PositionFor(d.Pos(), false).Line, fset.PositionFor(d.End(), false).Line
	}
	// A function whose text has the same number of lines is mapped line by line.
	for _, p := range sc.pieces {
		d := now[p.key()]
		if p.kind != "func" || d == nil {
			continue
		}
		first, last := span(sc.pkg.fset, p.decl)
		here, end := span(fset, d)
		for i := 0; i <= last-first && last-first == end-here; i++ {
			lines[place{filepath.Base(p.file.path), first + i}] = here + i
		}
	}
	return func(function, file string, line int) int {
		if !strings.HasPrefix(function, sc.of.PkgPath+".") {
			return 0
		}
		return lines[place{filepath.Base(file), line}]
	}
}
