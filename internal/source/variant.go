package source

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
)

// A Writer writes candidates for other places: beside the original, into the user's files, or with
// calls that count a run's decisions.
type Writer struct {
	target     *beagle.Target
	pkg        *Package
	scope      *Scope
	reader     *Reader
	conditions *Conditions
	required   *Requirement // changes go.mod and go.sum; nil for none
}

// Variant adds the suffix to the name of each declaration of the candidate, so that one package can
// hold many versions beside the original. Lines keep their numbers. A package main gets the name
// that [Package.BuildName] returns, because a harness has to import it.
func (w *Writer) Variant(f *File, suffix string) (string, error) {
	edits, err := w.renames(f, suffix)
	if err != nil {
		return "", err
	}
	return syntax.Apply(f.Src, edits), nil
}

// HiddenVariant is [Writer.Variant] for a package that people maintain: all its declarations are
// unexported.
func (w *Writer) HiddenVariant(f *File, suffix string) (string, error) {
	edits, err := w.renames(f, suffix)
	if err != nil {
		return "", err
	}
	offset := f.Fset.File(f.AST.FileStart).Offset
	for _, id := range renamed(f) {
		hidden := syntax.UnexportedName(id.Name)
		// Only the beginning of a name changes, so only that is replaced.
		same := commonEnd(id.Name, hidden)
		edits = append(edits, syntax.Edit{
			Start: offset(id.Pos()), End: offset(id.End()) - same, New: hidden[:len(hidden)-same],
		})
	}
	return syntax.Apply(f.Src, edits), nil
}

// commonEnd returns the length of the longest common suffix of two names.
func commonEnd(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// renamed lists the identifiers that name the candidate's declarations.
func renamed(f *File) (all []*ast.Ident) {
	declared := declarations(f)
	ast.Inspect(f.AST, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok &&
			(declared[syntax.Origin(objectOf(f.Info, id))] || declared[syntax.Origin(f.Info.Uses[id])]) {
			all = append(all, id)
		}
		return true
	})
	return all
}

// renames returns the edits of Variant. They change no text between the identifiers of a function,
// so that Traced can insert its calls there.
func (w *Writer) renames(f *File, suffix string) ([]syntax.Edit, error) {
	offset := f.Fset.File(f.AST.FileStart).Offset
	var edits []syntax.Edit
	// A name that ends in the suffix could not be told from a renamed one.
	var clash error
	ast.Inspect(f.AST, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		if strings.HasSuffix(id.Name, suffix) && clash == nil {
			clash = fmt.Errorf("%s: line %d: the name %s ends in %s, which is kept for variants", w.target.Name,
				f.line(id.Pos()), id.Name, suffix)
		}
		return true
	})
	if clash != nil {
		return nil, clash
	}
	// Append the suffix to each name that is declared at package level.
	for _, id := range renamed(f) {
		edits = append(edits, syntax.Edit{Start: offset(id.End()), End: offset(id.End()), New: suffix})
	}
	if name := w.pkg.BuildName(); name != f.AST.Name.Name {
		edits = append(edits, syntax.Edit{Start: offset(f.AST.Name.Pos()), End: offset(f.AST.Name.End()), New: name})
	}
	return edits, nil
}

// objectOf returns the object that an identifier declares or else uses.
func objectOf(info *types.Info, id *ast.Ident) types.Object {
	if obj := info.Defs[id]; obj != nil {
		return obj
	}
	return info.Uses[id]
}

// declarations returns the package-level objects of the candidate, and the fields that embed one of
// them. A method needs a new name only if its type belongs to the package and not to the candidate.
func declarations(f *File) map[types.Object]bool {
	out := map[types.Object]bool{}
	for _, d := range f.AST.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d == f.Func || d.Recv == nil || !f.declares(syntax.Receiver(d)) {
				out[f.Info.Defs[d.Name]] = true
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					out[f.Info.Defs[s.Name]] = true
				case *ast.ValueSpec:
					for _, n := range s.Names {
						out[f.Info.Defs[n]] = true
					}
				}
			}
		}
	}
	delete(out, nil)
	// An embedded field is declared and used by one identifier.
	for id, def := range f.Info.Defs {
		if v, ok := def.(*types.Var); ok && v.Embedded() && out[f.Info.Uses[id]] {
			out[v] = true
		}
	}
	return out
}

// declares reports whether the file has a type of this name.
func (f *File) declares(name string) bool {
	obj, ok := f.Types.Scope().Lookup(name).(*types.TypeName)
	return ok && f.AST.FileStart <= obj.Pos() && obj.Pos() <= f.AST.FileEnd
}

// BuildName returns the package name of the copies that a harness compiles.
func (pkg *Package) BuildName() string {
	if pkg.Name == "main" {
		return "main_"
	}
	return pkg.Name
}

// BuildFiles returns the texts that replace [Package.Files] in a build that imports the target's
// package, by path. For a package main these are its files with another package clause. For any
// other package the map is empty.
func (pkg *Package) BuildFiles() map[string]string {
	out := map[string]string{}
	if pkg.BuildName() == pkg.Name {
		return out
	}
	for _, f := range pkg.files {
		clause := f.ast.Name
		out[f.path] = syntax.Apply(f.text,
			[]syntax.Edit{{Start: f.offset(clause.Pos()), End: f.offset(clause.End()), New: pkg.BuildName()}})
	}
	return out
}

// TypeString writes a type as Go code inside the target's package. It renames a package whose name
// is taken.
func (pkg *Package) TypeString(t types.Type) string {
	return types.TypeString(t, pkg.qualifier)
}

// qualifier returns the name by which generated code calls another package. Two packages of one
// name get different ones, and each keeps its own.
func (pkg *Package) qualifier(p *types.Package) string {
	if p.Path() == pkg.Path {
		return ""
	}
	pkg.mu.Lock()
	defer pkg.mu.Unlock()
	// A package keeps its first name for all generated code.
	if name, ok := pkg.qualify[p.Path()]; ok {
		return name
	}
	taken := func(name string) bool {
		if pkg.Types.Scope().Lookup(name) != nil || token.IsKeyword(name) {
			return true
		}
		for _, n := range pkg.qualify {
			if n == name {
				return true
			}
		}
		return false
	}
	// The package's own name is the best; a number makes it another one.
	name := p.Name()
	for i := 2; taken(name); i++ {
		name = fmt.Sprintf("%s%d", p.Name(), i)
	}
	pkg.qualify[p.Path()] = name
	return name
}

// variables returns the receiver and the parameters of a signature.
func variables(sig *types.Signature) []*types.Var {
	var out []*types.Var
	if r := sig.Recv(); r != nil {
		out = append(out, r)
	}
	return slices.AppendSeq(out, sig.Params().Variables())
}
