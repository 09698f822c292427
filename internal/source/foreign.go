package source

import (
	"cmp"
	"context"
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/syntax"
)

// Limits of the copies of functions of other packages.
const (
	foreignLines = 160 // of one function with what it calls
	foreignMost  = 8   // functions that a unit loads: each costs a question to the go command
)

// A foreign is a function of another package of the module in the form that a candidate can hold:
// with the functions and constants that it uses, all renamed. Exported types and constants it
// names with their package.
type foreign struct {
	path, pkg, name string // of the original
	decls           []foreignDecl
	imports         map[string]string // paths, by name
}

// A foreignDecl is one declaration of a foreign. The first is the function's own.
type foreignDecl struct {
	names []string
	text  string
	fn    bool
	key   string // of the original function, with its package's path
}

func (f *foreign) entry() string { return f.decls[0].names[0] }

// foreign returns a function of another package as a foreign, or nil if it needs more of its
// package than functions, constants and exported types.
func (cp *Copies) foreign(fn *types.Func) *foreign {
	// Only functions of the same module can be edited, and only plain ones can move.
	if !cp.opts.Across || fn.Pkg() == nil || fn.Pkg().Path() == cp.pkg.Types.Path() || fn.Signature().Recv() != nil ||
		!strings.HasPrefix(fn.Pkg().Path(), cp.target.Module+"/") {
		return nil
	}
	cp.abroad.Lock()
	defer cp.abroad.Unlock()
	key := fn.Pkg().Path() + "." + fn.Name()
	f, known := cp.foreigners[key]
	// Each one costs a load, so there is a bound. That one cannot be used is remembered as nil.
	if !known && len(cp.foreigners) < foreignMost {
		f = cp.fetch(fn.Pkg().Path(), fn.Name())
		if cp.foreigners == nil {
			cp.foreigners = map[string]*foreign{}
		}
		cp.foreigners[key] = f
	}
	return f
}

// fetch loads a function of another package.
func (cp *Copies) fetch(path, name string) *foreign {
	// Load the other package as if the function were a target, with what it calls in its package as
	// private copies.
	o := Options{Dir: cp.opts.Dir, Spec: path + "." + name, Tags: cp.opts.Tags, Env: cp.opts.Env, InPlace: true,
		Requirement: cp.opts.Requirement}
	other, err := Load(context.Background(), o)
	if err != nil {
		return nil
	}
	src, _ := other.Copies.Widen(other.Target.Source)
	file, problem := other.Reader.Parse(src)
	// Long code, and code with directives, stays where it is.
	if problem != nil || strings.Count(src, "\n") > foreignLines || strings.Contains(src, "//go:") {
		return nil
	}
	if slices.ContainsFunc(other.Scope.pieces, func(p *piece) bool { return constrained(p.file.path, p.file.text) }) {
		return nil // other systems have another function
	}
	// Everything that the function brings along must mean the same here, under a new name.
	f := &foreign{path: path, pkg: other.Target.PkgName, name: name, imports: importedNames(other.Package, file.AST)}
	names, ok := cp.adopted(f, file)
	if !ok || !cp.qualify(file, names, f) || !cp.foreignConstants(other, file, names, f) ||
		!cp.foreignUses(file, names, f) {
		return nil
	}
	// Write the declarations under their new names, the function itself first.
	for _, d := range file.AST.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
			continue
		}
		decl := foreignDeclOf(file, d, names)
		if fn, ok := d.(*ast.FuncDecl); ok {
			decl.key = path + "." + cmp.Or(other.Copies.CopyOf(fn.Name.Name), fn.Name.Name)
		}
		f.decls = append(f.decls, decl)
	}
	inorder.By(f.decls, func(a, b foreignDecl) int { return b.rank(names[name]) - a.rank(names[name]) })
	return f
}

// rank puts the function itself first, and then functions.
func (d *foreignDecl) rank(entry string) int {
	switch {
	case d.names[0] == entry:
		return 2
	case d.fn:
		return 1
	}
	return 0
}

// adopted returns the new names of a foreign's declarations. It reports false if one of them cannot
// be copied: a copied type is another type, and a copied variable another variable.
func (cp *Copies) adopted(f *foreign, file *File) (names map[string]string, ok bool) {
	names = map[string]string{}
	give := func(id *ast.Ident) {
		names[id.Name] = cp.abroadName(f, strings.TrimSuffix(id.Name, "For"+Exported(f.name)), names)
	}
	// Functions and constants can be copied, but types and variables can't: they have an identity.
	for _, d := range file.AST.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv != nil || d.Body == nil {
				return nil, false
			}
			give(d.Name)
		case *ast.GenDecl:
			if d.Tok == token.IMPORT {
				continue
			}
			if d.Tok != token.CONST {
				return nil, false
			}
			for _, s := range d.Specs {
				for _, id := range s.(*ast.ValueSpec).Names {
					if id.Name == "_" {
						return nil, false
					}
					give(id)
				}
			}
		}
	}
	return names, names[f.name] != ""
}

// abroadName returns the name for the copy of a declaration of another package, beside the names of
// those before it. It depends on the package alone, not on what was copied before: a run that goes
// on in another process finds the copies of the first one by their names.
func (cp *Copies) abroadName(f *foreign, name string, names map[string]string) string {
	of := lowered(f.pkg) + cp.numberAmongNamesakes(f.path) + Exported(name)
	return cp.freeName(of, func(free string) bool {
		return cp.privates()[free] != nil || slices.Contains(slices.Collect(maps.Values(names)), free)
	})
}

// numberAmongNamesakes returns the number of a package among the imports of its name, in the order
// of their paths; "" for the first.
func (cp *Copies) numberAmongNamesakes(path string) string {
	var paths []string
	name, _ := cp.pkg.packageName(path)
	for _, imported := range cp.pkg.Types.Imports() {
		if imported.Name() == name {
			paths = append(paths, imported.Path())
		}
	}
	inorder.Sort(paths)
	if i := slices.Index(paths, path); i > 0 {
		return strconv.Itoa(i + 1)
	}
	return ""
}

// qualify enters the names that exported types and constants of the package have here. It reports
// false if the file uses a type of the package as only the package itself may. Without an import of
// the package, or where its name means something else, there are no such names.
func (cp *Copies) qualify(file *File, names map[string]string, f *foreign) bool {
	qualifier := cp.reader.importName(f.path)
	if qualifier == "" || cp.pkg.Types.Scope().Lookup(qualifier) != nil {
		return true
	}
	// The package clause defines nothing. The name of a type switch has no object either, and has
	// one in each case.
	for id := range file.Info.Defs {
		if id != file.AST.Name && file.contains(id) && id.Name == qualifier {
			return true
		}
	}
	for id, obj := range file.Info.Uses {
		if !file.contains(id) || obj.Parent() != file.Types.Scope() || !obj.Exported() {
			continue
		}
		switch _, constant := obj.(*types.Const); {
		case file.Info.Defs[id] != nil:
			return false // an embedded type, whose field has its name
		case constant && names[id.Name] == "", file.Info.Types[id].IsType():
			names[id.Name] = qualifier + "." + id.Name
			f.imports[qualifier] = f.path
		}
	}
	return !file.fillsHiddenFields()
}

// fillsHiddenFields reports whether a file makes a struct without the names of its fields, some of
// which other packages may not name.
func (f *File) fillsHiddenFields() bool {
	found := false
	ast.Inspect(f.AST, func(n ast.Node) bool {
		lit, ok := n.(*ast.CompositeLit)
		if !ok || len(lit.Elts) == 0 {
			return true
		}
		t := f.Info.TypeOf(lit)
		if p, ok := t.Underlying().(*types.Pointer); ok { // &T, left out in a list of pointers
			t = p.Elem()
		}
		if s, ok := t.Underlying().(*types.Struct); ok && !isKeyed(lit) {
			for field := range s.Fields() {
				found = found || !field.Exported() && field.Pkg() == f.Types
			}
		}
		return true
	})
	return found
}

// isKeyed reports whether a literal names what it fills.
func isKeyed(lit *ast.CompositeLit) bool {
	_, keyed := lit.Elts[0].(*ast.KeyValueExpr)
	return keyed
}

// foreignConstants declares the package's constants that the file uses, by their values. It reports
// false if a constant has a type of the package, a value without a literal, or another value on
// another system.
func (cp *Copies) foreignConstants(other *Unit, file *File, names map[string]string, f *foreign) bool {
	// Find the constants of the package that are not among the copied declarations.
	found := map[string]*types.Const{}
	for id, obj := range file.Info.Uses {
		c, ok := obj.(*types.Const)
		if ok && file.contains(id) && c.Parent() == file.Types.Scope() && names[c.Name()] == "" {
			found[c.Name()] = c
		}
	}
	for _, name := range inorder.Keys(found) {
		c := found[name]
		basic, ok := c.Type().(*types.Basic)
		// A plain constant that is the same on all systems becomes its value.
		if !ok || !other.Package.sameEverywhere(name, map[string]bool{}) {
			return false
		}
		value := c.Val().ExactString()
		switch c.Val().Kind() {
		case constant.Int:
			if n, exact := constant.Uint64Val(c.Val()); exact && n > 1<<16 {
				value = fmt.Sprintf("%#x", n)
			}
		case constant.Bool, constant.String:
		default:
			return false
		}
		// A typed constant keeps its type, and a character its form.
		as := ""
		if basic.Info()&types.IsUntyped == 0 {
			as = " " + basic.Name()
		} else if basic.Kind() == types.UntypedRune {
			as, value = "", strconv.QuoteRune(rune(untyped(c.Val())))
		}
		copied := cp.abroadName(f, name, names)
		names[name] = copied
		f.decls = append(f.decls, foreignDecl{names: []string{copied}, text: "const " + copied + as + " = " + value})
	}
	return true
}

// sameEverywhere reports whether a constant of the package has one value on all systems: its file
// belongs to all, and no part of it comes from another package or has the size of a word. asked are
// the constants on the way.
func (pkg *Package) sameEverywhere(name string, asked map[string]bool) bool {
	p := pkg.graph.owner[pkg.Types.Scope().Lookup(name)]
	if p == nil || constrained(p.file.path, p.file.text) {
		return false
	}
	// A constant may refer to others, which must be the same everywhere, too.
	asked[name] = true
	same := true
	for _, s := range p.decl.(*ast.GenDecl).Specs { // a constant may repeat what another one says
		for _, e := range s.(*ast.ValueSpec).Values {
			ast.Inspect(e, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.SelectorExpr:
					same = false
				case *ast.Ident:
					c, ok := pkg.Types.Scope().Lookup(n.Name).(*types.Const)
					sized := n.Name == "int" || n.Name == "uint" || n.Name == "uintptr"
					same = same && !sized && (!ok || asked[c.Name()] || pkg.sameEverywhere(c.Name(), asked))
				}
				return same
			})
		}
	}
	return same
}

func untyped(v constant.Value) int64 {
	n, _ := constant.Int64Val(v)
	return n
}

// contains reports whether a node is of the candidate's own file.
func (f *File) contains(n ast.Node) bool {
	return f.AST.FileStart <= n.Pos() && n.Pos() < f.AST.FileEnd
}

// foreignUses reports whether all names that a file uses mean the same in a candidate of this unit.
func (cp *Copies) foreignUses(file *File, names map[string]string, f *foreign) bool {
	for id, obj := range file.Info.Uses {
		if !file.contains(id) {
			continue
		}
		// A name must not be hidden here, and the copy must have what it stands for.
		here := cp.pkg.Types.Scope().Lookup(id.Name) != nil
		switch {
		case obj.Parent() == types.Universe:
			if here {
				return false
			}
		case obj.Parent() == file.Types.Scope():
			if names[id.Name] == "" {
				return false
			}
		case obj.Pkg() == file.Types && obj.Parent() == nil && !obj.Exported():
			return false // a field or a method that the other package alone may name
		}
		// A package needs the same name here, or none that is taken.
		if p, ok := obj.(*types.PkgName); ok {
			spec, known := cp.reader.imported(id.Name)
			if here || known && spec.path != p.Imported().Path() || !known && stdNames[id.Name] != p.Imported().Path() {
				return false
			}
			f.imports[id.Name] = p.Imported().Path()
		}
	}
	return true
}

// foreignDeclOf returns a declaration under its new names.
func foreignDeclOf(file *File, d ast.Decl, names map[string]string) foreignDecl {
	var out foreignDecl
	tok := file.Fset.File(file.AST.FileStart)
	at := func(p token.Pos) int { return tok.Offset(p) }
	// Replace each name of a copied declaration, where it means that.
	var edits []syntax.Edit
	ast.Inspect(d, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok || names[id.Name] == "" {
			return true
		}
		obj := file.Info.ObjectOf(id)
		if obj == nil || obj.Parent() != file.Types.Scope() {
			return true
		}
		if file.Info.Defs[id] != nil {
			out.names = append(out.names, names[id.Name])
		}
		edits = append(edits, syntax.Edit{Start: at(id.Pos()) - at(d.Pos()), End: at(id.End()) - at(d.Pos()),
			New: names[id.Name]})
		return true
	})
	_, out.fn = d.(*ast.FuncDecl)
	out.text = syntax.Apply(file.Src[at(d.Pos()):at(d.End())], edits)
	return out
}

// abroadCall returns the name of the copy of the other package's function that a call names, or "".
func (w *widener) abroadCall(call *ast.CallExpr, info *types.Info) (sel *ast.SelectorExpr, name string) {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	// A version that may copy only certain functions takes none from elsewhere.
	if !ok || w.most.only != nil {
		return nil, ""
	}
	pkg, ok := sel.X.(*ast.Ident)
	if !ok {
		return nil, ""
	}
	fn, isFunc := info.Uses[sel.Sel].(*types.Func)
	if _, qualified := info.Uses[pkg].(*types.PkgName); !qualified || !isFunc {
		return nil, ""
	}
	return sel, w.copyAbroad(fn.Origin())
}

// copyAbroad returns the name of the copy of a function of another package, or "" if it gets none.
func (w *widener) copyAbroad(fn *types.Func) string {
	key := fn.FullName()
	if name, ok := w.names[key]; ok {
		return name
	}
	// Note the refusal in advance: a recursive function would ask again.
	w.names[key] = ""
	f := w.copies.foreign(fn)
	if f == nil {
		return ""
	}
	// A copy from an earlier step counts as long as it has the name.
	if w.taken[f.entry()] { // an earlier step changed it
		w.names[key] = f.entry()
		return f.entry()
	}
	// An import may not clash with another one of the version, nor a name with another declaration.
	for name, path := range f.imports {
		if was, ok := w.paths[name]; ok && was != path {
			return ""
		}
	}
	for _, d := range f.decls {
		for _, name := range d.names {
			if w.taken[name] || w.locals[name] || w.copies.scope.declare[name] {
				return ""
			}
		}
	}
	// Now take it: its imports, and its declarations with a comment that says whose they are.
	for name, path := range f.imports {
		w.paths[name] = path
	}
	for i, d := range f.decls {
		w.text.WriteString("\n")
		if i == 0 {
			fmt.Fprintf(&w.text, "// %s is %s.%s as %s needs it.\n", d.names[0], f.pkg, f.name, w.copies.target.Name)
		}
		w.text.WriteString(d.text + "\n")
		if d.fn {
			w.added = append(w.added, d.names[0])
		}
	}
	w.names[key] = f.entry()
	return f.entry()
}

// findForeign lists the copies of functions of other packages, and marks those that equal their
// originals.
func (n *narrower) findForeign() {
	n.copies.abroad.Lock()
	defer n.copies.abroad.Unlock()
	// Collect the declarations of the file by name.
	decls := map[string]ast.Decl{}
	for _, d := range n.file.AST.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				decls[d.Name.Name] = d
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if s, ok := s.(*ast.ValueSpec); ok && d.Tok == token.CONST {
					decls[s.Names[0].Name] = d
				}
			}
		}
	}
	// A copy is the same if all of its declarations are, and nothing else uses them.
	for _, f := range n.copies.foreigners {
		if f == nil || decls[f.entry()] == nil {
			continue
		}
		c := &privateCopy{foreign: f, decl: decls[f.entry()], same: true}
		for _, d := range f.decls {
			there := decls[d.names[0]]
			if there == nil || spelled(n.text(there)) != spelled(d.text) {
				c.same = false
				break
			}
			c.more = append(c.more, there)
		}
		c.same = c.same && !n.usedOutside(c)
		n.found[n.file.Info.Defs[c.decl.(*ast.FuncDecl).Name]] = c
	}
}

// text returns a declaration without its comment.
func (n *narrower) text(d ast.Decl) string {
	return n.file.Src[n.tok.Offset(d.Pos()):n.tok.Offset(d.End())]
}

// usedOutside reports whether other declarations use the helpers of a foreign.
func (n *narrower) usedOutside(c *privateCopy) bool {
	inner := map[string]bool{}
	// The entry is used from outside; that is what it is for.
	for _, d := range c.foreign.decls {
		for _, name := range d.names {
			inner[name] = name != c.foreign.entry()
		}
	}
	for id, obj := range n.file.Info.Uses {
		within := func(d ast.Decl) bool { return d.Pos() <= id.Pos() && id.Pos() < d.End() }
		if inner[id.Name] && obj.Parent() == n.file.Types.Scope() && !slices.ContainsFunc(c.more, within) {
			return true
		}
	}
	return false
}

// backAbroad returns the edits that name the original of a foreign; none if the package's name
// means something else there.
func (n *narrower) backAbroad(id *ast.Ident, f *foreign) []syntax.Edit {
	// Without an import in the package's own files, the file would get a new one.
	name := n.copies.reader.importName(f.path)
	inner := n.file.Types.Scope().Innermost(id.Pos())
	if name == "" || inner == nil {
		return nil
	}
	// The name must mean the package where the copy was called. A local variable may hide it.
	if _, obj := inner.LookupParent(name, id.Pos()); obj != nil {
		if p, ok := obj.(*types.PkgName); !ok || p.Imported().Path() != f.path {
			return nil
		}
	}
	// Another import may have the name.
	if path, ok := n.imports[name]; ok && path != f.path {
		return nil
	}
	return []syntax.Edit{{Start: n.tok.Offset(id.Pos()), End: n.tok.Offset(id.End()), New: name + "." + f.name}}
}
