package source

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle/internal/syntax"
)

// A Whole is the target's package with one version of the target in it, all
// bodies included.
type Whole struct {
	Fset      *token.FileSet
	Files     []*ast.File // the version first
	Types     *types.Package
	Info      *types.Info
	Target    *types.Func
	Candidate *ast.File
}

// Whole type-checks a version together with the bodies of the rest, for callers that follow
// calls. [Unit.Parse], which leaves the bodies out, is the cheaper way to check that a text is a
// version.
func (u *Unit) Whole(src string) (*Whole, *Problem) {
	fset := token.NewFileSet()
	for _, f := range u.files {
		fset.AddExistingFiles(f.tok)
	}
	file, err := parser.ParseFile(fset, candidateName, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, parseProblem(err)
	}
	w := &Whole{Fset: fset, Info: newInfo(), Candidate: file, Files: append([]*ast.File{file}, u.withoutScope()...)}
	var first *Problem
	conf := u.config(func(err error) {
		var te types.Error
		if first == nil && errors.As(err, &te) && !te.Soft { // soft: an import that only the scope used
			first = &Problem{"types", te.Msg, fset.Position(te.Pos).Line}
		}
	})
	w.Types, _ = conf.Check(u.Target.PkgPath, fset, w.Files, w.Info)
	if first != nil {
		return nil, first
	}
	for _, d := range file.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		name := fn.Name.Name
		if recv := syntax.Receiver(fn); recv != "" {
			name = recv + "." + name
		}
		if name == u.target.key() {
			w.Target, _ = w.Info.Defs[fn.Name].(*types.Func)
		}
	}
	if w.Target == nil {
		return nil, &Problem{"scope", "the file does not declare " + u.target.key(), 0}
	}
	return w, nil
}

// withoutScope is the package's files less the declarations that a version
// brings along.
func (u *Unit) withoutScope() []*ast.File {
	drop := map[ast.Node]bool{}
	for _, s := range u.scope {
		if s.spec != nil {
			drop[s.spec] = true
		} else {
			drop[s.decl] = true
		}
	}
	var out []*ast.File
	for _, f := range u.files {
		g := *f.ast
		g.Decls, g.Comments = nil, nil
		for _, d := range f.ast.Decls {
			if drop[d] {
				continue
			}
			if group, ok := d.(*ast.GenDecl); ok {
				kept := *group
				kept.Specs = nil
				for _, s := range group.Specs {
					if !drop[s] {
						kept.Specs = append(kept.Specs, s)
					}
				}
				if len(kept.Specs) == 0 && len(group.Specs) > 0 {
					continue
				}
				d = &kept
			}
			g.Decls = append(g.Decls, d)
		}
		out = append(out, &g)
	}
	return out
}
