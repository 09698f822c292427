package source

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle/internal/syntax"
)

// A Whole is the target's package with one version of the target, all bodies included.
type Whole struct {
	Fset      *token.FileSet
	Files     []*ast.File // the version first
	Types     *types.Package
	Info      *types.Info
	Target    *types.Func
	Candidate *ast.File
}

// Whole type-checks a version together with the bodies of the rest, for callers that follow
// calls. [Reader.Parse], which leaves the bodies out, is the cheaper way to check that a text is a
// version.
func (r *Reader) Whole(src string) (*Whole, *Problem) {
	fset := token.NewFileSet()
	for _, f := range r.pkg.files {
		fset.AddExistingFiles(f.tok)
	}
	file, err := parser.ParseFile(fset, candidateName, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, parseProblem(err)
	}
	// The candidate takes the place of the declarations that it replaces.
	w := &Whole{Fset: fset, Info: newInfo(nil), Candidate: file}
	w.Files = append([]*ast.File{file}, r.scope.withoutScope()...)
	var first *Problem
	conf := r.pkg.config(func(err error) {
		var te types.Error
		if first == nil && errors.As(err, &te) && !te.Soft { // soft: an import that only the scope used
			first = &Problem{"types", te.Msg, fset.Position(te.Pos).Line}
		}
	})
	w.Types, _ = conf.Check(r.target.PkgPath, fset, w.Files, w.Info)
	if first != nil {
		return nil, first
	}
	// Find the target among the declarations.
	for _, d := range file.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && syntax.DeclName(fn) == r.scope.target.key() {
			w.Target, _ = w.Info.Defs[fn.Name].(*types.Func)
		}
	}
	if w.Target == nil {
		return nil, &Problem{"scope", "the file does not declare " + r.scope.target.key(), 0}
	}
	return w, nil
}
