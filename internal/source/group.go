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

	"golang.org/x/tools/go/packages"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
)

// A group is several functions that are one target, with the types whose fields may change with
// them: a type with all its methods and constructors, or functions that were named together.
type group struct {
	names []string          // as the user gave them
	roots []*piece          // the functions and types, in order of their places
	types map[string]*piece // of these, the types, by name
	held  map[string]bool   // keys of what must be declared again as it is: others see it
	kept  []ast.Node        // declarations of the rest that use the scope, with their bodies
}

// Group reports whether the target is several functions.
func (u *Unit) Group() bool { return u.group != nil }

// functions are the functions of a group, in order of their places; nil for a single function.
func (u *Unit) functions() (out []*piece) {
	if u.group == nil {
		return nil
	}
	for _, p := range u.group.roots {
		if p.kind == "func" {
			out = append(out, p)
		}
	}
	return out
}

// FunctionNames are the names of a group's functions, in order of their places.
func (u *Unit) FunctionNames() (out []string) {
	for _, p := range u.functions() {
		out = append(out, p.key())
	}
	return out
}

// Entries are the functions of a group that others call; nil for a single function.
func (u *Unit) Entries() map[string]bool {
	if u.group == nil {
		return nil
	}
	out := map[string]bool{}
	for _, p := range u.scope {
		if p.kind == "func" && u.group.held[p.key()] {
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
		What:   fmt.Sprintf("%s: what is in braces are no names of one package", spec),
		Remedy: "Name a group as './pkg.{FuncA,FuncB}', with names of functions, types or Type.Method.",
	}
	inside, ok := strings.CutSuffix(spec[at+1:], "}")
	if !ok || at > 0 && spec[at-1] != '.' {
		return "", nil, bad
	}
	for _, name := range strings.Split(inside, ",") {
		name = strings.TrimSpace(name)
		recv, method, isMethod := strings.Cut(name, ".")
		if !token.IsIdentifier(recv) || isMethod && !token.IsIdentifier(method) {
			return "", nil, bad
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return spec[:at] + names[0], names, nil
}

// isType reports whether a name is a type of the package.
func (u *Unit) isType(name string) bool {
	_, ok := u.Types.Scope().Lookup(name).(*types.TypeName)
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
		return u.refuseGroup("several functions as one target can be judged inside the package's own tests alone",
			"Use beagle evolve or beagle verify, without --corpus and --evidence corpus, or name one function.")
	}
	root := map[*piece]bool{}
	for _, name := range names {
		fn, t := u.function(name), u.typePiece(name)
		switch {
		case fn != nil:
			root[fn] = true
		case t != nil:
			root[t], g.types[name] = true, t
		default:
			return u.unknownFunction(p, name, u.functionNames())
		}
	}
	for name := range g.types {
		if err := u.layout(name); err != nil {
			return err
		}
		for _, q := range u.graph.all {
			if q.kind == "func" && (q.recv == name || u.constructs(q, name)) {
				root[q] = true
			}
		}
	}
	for _, q := range u.graph.all {
		if !root[q] {
			continue
		}
		g.roots = append(g.roots, q)
		if fn, ok := q.decl.(*ast.FuncDecl); ok {
			if err := u.usableMember(p, q, fn); err != nil {
				return err
			}
			// Rules and reports begin with the longest of those that the package's users call.
			if u.target == nil || lead(q) > lead(u.target) {
				u.target = q
			}
		}
	}
	if u.target == nil {
		return u.refuseGroup("it has no method and no constructor, so that no code can change with its fields",
			"Name the functions that work on it: './pkg.{T,FuncA,FuncB}'.")
	}
	at := u.fset.PositionFor(u.target.decl.Pos(), false)
	u.Target.File, u.Target.Line = at.Filename, at.Line
	u.group = g
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

func (u *Unit) refuseGroup(why, remedy string) error {
	return &beagle.UsageError{What: fmt.Sprintf("%s: %s", u.Target.Spec(), why), Remedy: remedy}
}

// usableMember refuses a function of a group that no version can declare again.
func (u *Unit) usableMember(p *packages.Package, q *piece, fn *ast.FuncDecl) error {
	switch {
	case filepath.Dir(q.file.path) != p.Dir || u.graph.uses[q].cgo:
		return u.refuseGroup(q.key()+" is in a file that uses cgo", "Name functions that do not, as one group.")
	case fn.Body == nil:
		return u.refuseGroup(q.key()+" has no Go body (assembly, or linked from elsewhere)",
			"Name functions with bodies, as one group.")
	case strings.Contains(q.doc(), "//go:linkname"):
		return u.refuseGroup(q.key()+" is tied to another name by //go:linkname", "Name functions without it.")
	case fn.Recv == nil && (fn.Name.Name == "init" || fn.Name.Name == "_"):
		return u.refuseGroup(q.key()+" cannot be called", "Move its work to a function with a name.")
	}
	return nil
}

func (u *Unit) functionNames() (known []string) {
	for _, q := range u.graph.all {
		if q.kind == "func" {
			known = append(known, q.key())
		}
	}
	return known
}

// typePiece is the declaration of a type, or nil.
func (u *Unit) typePiece(name string) *piece {
	for _, p := range u.graph.all {
		if p.kind == "type" && slices.Contains(p.keys(), name) {
			return p
		}
	}
	return nil
}

// constructs reports whether a function without receiver returns a type and knows its fields.
func (u *Unit) constructs(p *piece, name string) bool {
	fn, ok := u.info.Defs[p.names[0]].(*types.Func)
	if !ok || p.recv != "" || !u.touches(p, name) {
		return false
	}
	for v := range fn.Signature().Results().Variables() {
		t := v.Type()
		if ptr, ok := t.(*types.Pointer); ok {
			t = ptr.Elem()
		}
		if n, ok := types.Unalias(t).(*types.Named); ok && n.Origin().Obj() == u.Types.Scope().Lookup(name) {
			return true
		}
	}
	return false
}

// touches reports whether a piece names an unexported field of a type, or lists its fields in a
// literal.
func (u *Unit) touches(p *piece, name string) bool {
	s, ok := u.Types.Scope().Lookup(name).Type().Underlying().(*types.Struct)
	if !ok {
		return false
	}
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
			found = found || own[originOf(u.info.Uses[n])]
		case *ast.CompositeLit:
			t, isNamed := types.Unalias(u.info.TypeOf(n)).(*types.Named)
			if isNamed && t.Origin().Obj().Name() == name && t.Obj().Pkg() == u.Types && len(n.Elts) > 0 {
				_, keyed := n.Elts[0].(*ast.KeyValueExpr)
				found = found || !keyed
			}
		}
		return !found
	})
	return found
}

// groupScope are the roots of a group and what may change with them: what only they use, types of
// the package with their methods included.
func (u *Unit) groupScope(outside map[string]bool, dir string) ([]*piece, error) {
	g, in, methods := u.graph, map[*piece]bool{}, map[string][]*piece{}
	for _, p := range g.all {
		if p.kind == "func" && p.recv != "" {
			methods[p.recv] = append(methods[p.recv], p)
		}
	}
	var visit func(p *piece)
	visit = func(p *piece) {
		next := slices.Collect(maps.Keys(g.uses[p].pieces))
		if p.kind == "type" {
			next = append(next, methods[p.names[0].Name]...)
		}
		for _, q := range next {
			if !in[q] && u.movesWithGroup(q, outside, dir) {
				in[q] = true
				visit(q)
			}
		}
	}
	root := map[*piece]bool{}
	for _, p := range u.group.roots {
		in[p], root[p] = true, true
	}
	for _, p := range u.group.roots {
		visit(p)
	}
	if a, b := g.clashing(u.group.roots); a != nil {
		return nil, u.refuseGroup(fmt.Sprintf("%s and %s import different packages under one name, or one package "+
			"under two names, and a version is one file", a.key(), b.key()),
			"Give the packages the same names in both files.")
	}
	whole := func(p *piece) bool { // a type stays with its methods, and methods with their type
		switch {
		case p.kind == "type":
			return within(setOf(methods[p.names[0].Name]), in)
		case p.recv != "":
			return in[u.typePiece(p.recv)]
		}
		return true
	}
	for changed := true; changed; {
		changed = false
		for p := range in {
			if !root[p] && (!within(g.usedBy[p], in) || !whole(p)) {
				delete(in, p)
				changed = true
			}
		}
		if !changed {
			changed = g.dropClash(u.group.roots, in)
		}
	}
	return inOrder(maps.Keys(in), u.target), nil
}

func setOf(ps []*piece) map[*piece]bool {
	out := map[*piece]bool{}
	for _, p := range ps {
		out[p] = true
	}
	return out
}

// movesWithGroup reports whether a piece may belong to the scope of a group at all.
func (u *Unit) movesWithGroup(p *piece, outside map[string]bool, dir string) bool {
	if u.graph.uses[p].cgo {
		return false
	}
	switch {
	case p.kind == "type":
		g := p.decl.(*ast.GenDecl)
		return len(p.names) == 1 && !g.Specs[0].(*ast.TypeSpec).Assign.IsValid() && !p.names[0].IsExported() &&
			!outside[p.names[0].Name] && filepath.Dir(p.file.path) == dir
	case p.recv != "":
		t := u.typePiece(p.recv)
		return t != nil && u.movesWithGroup(t, outside, dir) && p.decl.(*ast.FuncDecl).Body != nil
	}
	return movable(p, outside, dir)
}

// clashing finds two pieces whose imports cannot stand in one file.
func (g *graph) clashing(ps []*piece) (a, b *piece) {
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

// hold finds out what of a group others see: it must be declared again as it is. It refuses a group
// whose fields others use.
func (u *Unit) hold(outside map[string]bool) error {
	g, in := u.group, setOf(u.scope)
	dynamic := u.interfaceMethods()
	for _, p := range u.scope {
		if p.kind != "func" && p.kind != "type" {
			continue
		}
		for _, name := range p.names {
			method := p.recv != "" && dynamic[name.Name]
			if ast.IsExported(name.Name) && (p.recv == "" || g.types[p.recv] != nil || !in[u.typePiece(p.recv)]) ||
				!within(u.graph.usedBy[p], in) || method || p.recv == "" && outside[name.Name] {
				g.held[p.key()] = true
			}
		}
	}
	for _, p := range g.roots { // at least one function stays, by which the rest is known
		if p == u.target {
			g.held[p.key()] = true
		}
	}
	var users []string
	for name := range g.types {
		for _, p := range u.graph.all {
			if !in[p] && u.touches(p, name) && !slices.Contains(users, p.key()) {
				users = append(users, p.key())
			}
		}
	}
	if len(users) > 0 {
		slices.Sort(users)
		more := slices.Concat(g.names, users)
		return u.refuseGroup(fmt.Sprintf("its fields are used outside of its methods and constructors, by %s",
			orList(users)), fmt.Sprintf("Name them with it: '%s.{%s}'.", u.Target.PkgPath, strings.Join(more, ",")))
	}
	return nil
}

// interfaceMethods are the unexported names of methods that some interface of the package asks for.
func (u *Unit) interfaceMethods() map[string]bool {
	out := map[string]bool{}
	for _, f := range u.files {
		ast.Inspect(f.ast, func(n ast.Node) bool {
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

// groupSignature says in Go what a group declares: types by their heads, functions by their
// signatures.
func (u *Unit) groupSignature() (string, error) {
	var lines []string
	for _, p := range u.group.roots {
		fn, ok := p.decl.(*ast.FuncDecl)
		if !ok {
			lines = append(lines, "type "+p.names[0].Name+" struct")
			continue
		}
		text, err := u.signatureText(fn)
		if err != nil {
			return "", err
		}
		lines = append(lines, text)
	}
	return strings.Join(lines, "\n"), nil
}

// describeGroup fills in what the declarations of a group say.
func (u *Unit) describeGroup() (err error) {
	if u.opts.Requires != "" {
		return u.refuseGroup("--requires states a condition on the inputs of one function",
			"Leave it out, or name one function.")
	}
	if u.Target.Signature, err = u.groupSignature(); err != nil {
		return err
	}
	for _, p := range u.group.roots {
		u.Target.Group = append(u.Target.Group, p.key())
	}
	u.Sig = u.info.Defs[u.target.names[0]].(*types.Func).Signature()
	u.Unrecordable = &beagle.UsageError{
		What: fmt.Sprintf("%s: several functions change together, and with them what they share: no record of one "+
			"call holds that", u.Target.Spec()),
		Remedy: "Leave --evidence corpus out, or name one function.",
	}
	return nil
}

// keepUsers notes which declarations of the rest use the scope: they are type-checked with every
// version, bodies included.
func (u *Unit) keepUsers() {
	in := setOf(u.scope)
	for _, p := range u.graph.all {
		if in[p] || p.kind == "import" {
			continue
		}
		for q := range u.graph.uses[p].pieces {
			if in[q] || u.group.types[q.recv] != nil {
				u.group.kept = append(u.group.kept, p.decl)
				break
			}
		}
	}
}

// withUsers is the rest of the package with the whole declarations of what uses a group, so that a
// version that they cannot use any more does not pass.
func (u *Unit) withUsers(drop map[ast.Node]bool) []*ast.File {
	var out []*ast.File
	for _, f := range u.files {
		g := *f.ast
		g.Decls, g.Comments = nil, nil
		for _, d := range f.ast.Decls {
			whole := slices.Contains(u.group.kept, ast.Node(d)) && !drop[d]
			if gen, ok := d.(*ast.GenDecl); ok {
				whole = whole && !slices.ContainsFunc(gen.Specs, func(s ast.Spec) bool { return drop[s] })
			}
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && (fn.Name.Name == "init" || fn.Name.Name == "_") {
				whole = false
			}
			if !whole {
				d = u.lean(d, drop)
			}
			if d != nil {
				g.Decls = append(g.Decls, d)
			}
		}
		out = append(out, &g)
	}
	return out
}

// checkRest words a type error in the rest of the package that a version of a group causes; nil
// where the error comes from what was left out.
func (u *Unit) checkRest(f *File, err types.Error) *Problem {
	if u.group == nil || err.Soft {
		return nil
	}
	for _, d := range u.group.kept {
		if d.Pos() <= err.Pos && err.Pos <= d.End() {
			at := u.fset.Position(err.Pos)
			return &Problem{"scope", fmt.Sprintf("the rest of the package no longer compiles: %s:%d: %s",
				filepath.Base(at.Filename), at.Line, err.Msg), 0}
		}
	}
	return nil
}

// missing names what of a group a file does not declare; "" for nothing.
func (u *Unit) missing(f *ast.File) string {
	there := map[string]bool{}
	for _, d := range f.Decls {
		for _, key := range declKeys(d) {
			there[key] = true
		}
	}
	for _, key := range slices.Sorted(maps.Keys(u.group.held)) {
		if !there[key] {
			return key
		}
	}
	return ""
}

// declKeys are the names that a declaration gives, methods as T.M.
func declKeys(d ast.Decl) (out []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if recv := syntax.Receiver(d); recv != "" {
			return []string{recv + "." + d.Name.Name}
		}
		return []string{d.Name.Name}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				out = append(out, s.Name.Name)
			case *ast.ValueSpec:
				for _, id := range s.Names {
					out = append(out, id.Name)
				}
			}
		}
	}
	return out
}

// memberOf reports whether a function belongs to the scope of a group.
func (u *Unit) memberOf(key string) bool {
	return u.group != nil && slices.ContainsFunc(u.scope, func(p *piece) bool {
		return p.kind == "func" && p.key() == key
	})
}

// documented reports whether a piece of a group is part of the package's API: its comment stays.
func (u *Unit) documented(p *piece) bool {
	return u.group != nil && (p.kind == "func" || p.kind == "type") && p.names[0].IsExported()
}

// checkGroup compares what others see of a group with the original: signatures, methods, exported
// fields, and what may be done with values of its types.
func (u *Unit) checkGroup(f *File) *Problem {
	for _, p := range u.scope {
		if p.kind != "func" || !u.group.held[p.key()] {
			continue
		}
		was, now := signatureKey(u.info.Defs[p.names[0]]), ""
		at := f.Func.Pos()
		for _, d := range f.AST.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && slices.Contains(declKeys(d), p.key()) {
				now, at = signatureKey(f.Info.Defs[fn.Name]), fn.Pos()
			}
		}
		if now != was {
			return f.problem("scope", at, "the signature of %s changed: %s, was %s", p.key(), now, was)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(u.group.types)) {
		obj, ok := f.Types.Scope().Lookup(name).(*types.TypeName)
		if !ok {
			continue // nobody else uses it: see missing
		}
		if err := u.sameType(u.Types.Scope().Lookup(name).(*types.TypeName), obj); err != nil {
			return f.problem("scope", obj.Pos(), "%v", err)
		}
	}
	return nil
}

// sameType compares what others see of a type with the original.
func (u *Unit) sameType(was, now *types.TypeName) error {
	name := was.Name()
	if a, b := typeHead(was), typeHead(now); a != b {
		return fmt.Errorf("the declaration of %s changed: %s, was %s", name, b, a)
	}
	s, ok := now.Type().Underlying().(*types.Struct)
	if !ok {
		return fmt.Errorf("%s is no struct any more", name)
	}
	old := was.Type().Underlying().(*types.Struct)
	if a, b := visible(old), visible(s); a != b {
		return fmt.Errorf("the exported fields of %s changed: %s, was %s", name, brackets(b), brackets(a))
	}
	for _, ptr := range []bool{false, true} {
		if a, b := methodSet(was, ptr), methodSet(now, ptr); a != b {
			return fmt.Errorf("the exported methods of %s changed: %s, was %s", name, brackets(b), brackets(a))
		}
	}
	if types.Comparable(was.Type()) && !types.Comparable(now.Type()) && u.handedOut(was) {
		return fmt.Errorf("values of %s could be compared, and no longer can", name)
	}
	if sharing(was.Type(), map[types.Type]bool{}) == "" {
		if by := sharing(now.Type(), map[types.Type]bool{}); by != "" {
			return fmt.Errorf("a copy of a %s had memory of its own, and now shares what %s leads to", name, by)
		}
	}
	return nil
}

// handedOut reports whether other packages get values of a type, and not pointers alone: they may
// compare them.
func (u *Unit) handedOut(t *types.TypeName) bool {
	if !t.Exported() {
		return false
	}
	byValue := func(sig *types.Signature) bool {
		for _, list := range []*types.Tuple{sig.Params(), sig.Results()} {
			for v := range list.Variables() {
				if holdsValue(v.Type(), t, false) {
					return true
				}
			}
		}
		return sig.Recv() != nil && holdsValue(sig.Recv().Type(), t, false)
	}
	for _, obj := range u.info.Defs {
		if obj == nil || !obj.Exported() {
			continue
		}
		switch obj := obj.(type) {
		case *types.Func:
			if byValue(obj.Signature()) {
				return true
			}
		case *types.Var:
			if (obj.IsField() || obj.Parent() == u.Types.Scope()) && holdsValue(obj.Type(), t, false) {
				return true
			}
		}
	}
	return false
}

func brackets(list string) string { return "[" + list + "]" }

// typeHead is a type's name with its parameters, and whether it is an alias.
func typeHead(t *types.TypeName) string {
	var parts []string
	if n, ok := t.Type().(*types.Named); ok {
		for p := range n.TypeParams().TypeParams() {
			parts = append(parts, p.Obj().Name()+" "+types.TypeString(p.Constraint(), (*types.Package).Path))
		}
	}
	return fmt.Sprintf("%s[%s] alias=%v", t.Name(), strings.Join(parts, ", "), t.IsAlias())
}

// visible lists the exported fields of a struct, in order, with their types and tags, and those
// that embedded fields bring along.
func visible(s *types.Struct) string { return strings.Join(visibleFields(s, nil), "; ") }

func visibleFields(s *types.Struct, around []types.Type) (out []string) {
	for i := range s.NumFields() {
		f := s.Field(i)
		if f.Exported() {
			out = append(out, fmt.Sprintf("%s %s %q %v", f.Name(), types.TypeString(f.Type(), (*types.Package).Path),
				s.Tag(i), f.Embedded()))
			continue
		}
		t := f.Type()
		if p, ok := t.Underlying().(*types.Pointer); ok {
			t = p.Elem()
		}
		if below, ok := t.Underlying().(*types.Struct); ok && f.Embedded() && !slices.Contains(around, t) {
			out = append(out, visibleFields(below, append(slices.Clip(around), t))...)
		}
	}
	return out
}

// methodSet lists the exported methods of a type, or of pointers to it, with those that embedded
// fields bring along.
func methodSet(t *types.TypeName, ptr bool) string {
	typ := t.Type()
	if ptr {
		typ = types.NewPointer(typ)
	}
	set := types.NewMethodSet(typ)
	var out []string
	for m := range set.Methods() {
		if m.Obj().Exported() {
			out = append(out, m.Obj().Name()+strings.TrimPrefix(
				types.TypeString(m.Type(), (*types.Package).Path), "func"))
		}
	}
	return strings.Join(out, "; ")
}

// sharing names the field by which a copy of a value shares memory that can change; "" for none.
func sharing(t types.Type, seen map[types.Type]bool) string {
	if seen[t] {
		return ""
	}
	seen[t] = true
	switch t := t.Underlying().(type) {
	case *types.Pointer, *types.Slice, *types.Map, *types.Chan, *types.Signature, *types.Interface:
		return "it"
	case *types.Array:
		return sharing(t.Elem(), seen)
	case *types.Struct:
		for f := range t.Fields() {
			if sharing(f.Type(), seen) != "" {
				return "its field " + f.Name()
			}
		}
	}
	return ""
}

// SourceLine says which line of the original's candidate file a line of the user's files stands
// for, and 0 for a line of other code. Lines are known within functions.
func (u *Unit) SourceLine() func(function, file string, line int) int {
	type place struct {
		file string
		line int
	}
	lines := map[place]int{}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, candidateName, u.Target.Source, parser.SkipObjectResolution)
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
	for _, p := range u.scope {
		d := now[p.key()]
		if p.kind != "func" || d == nil {
			continue
		}
		first, last := span(u.fset, p.decl)
		here, end := span(fset, d)
		for i := 0; i <= last-first && last-first == end-here; i++ {
			lines[place{filepath.Base(p.file.path), first + i}] = here + i
		}
	}
	return func(function, file string, line int) int {
		if !strings.HasPrefix(function, u.Target.PkgPath+".") {
			return 0
		}
		return lines[place{filepath.Base(file), line}]
	}
}
