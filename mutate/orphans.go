package mutate

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/beagle-go/beagle/internal/syntax"
)

// tidy removes from src the leftovers of the rewrite of p: imports, and functions and variables of
// the candidate that nothing names any more, with their comments. Declarations that were unused
// before stay, and so do initialisers with effects.
func tidy(p *Pass, src []byte) (*syntax.Text, error) {
	t, err := syntax.Read(string(src))
	if err != nil {
		return nil, err
	}
	var cuts []Edit
	for d := firstOrphan(p, t.File); d != nil; d = firstOrphan(p, t.File) {
		start, end := t.Fset.Position(d.Pos()).Offset, t.Fset.Position(d.End()).Offset
		if doc := syntax.Doc(d); doc != nil {
			start = t.Fset.Position(doc.Pos()).Offset
		}
		cuts = append(cuts, deleteLines(src, start, end))
		t.File.Decls = slices.DeleteFunc(t.File.Decls, func(e ast.Decl) bool { return e == d })
	}
	cuts = append(cuts, unusedImports(t.Fset, t.File, src)...)
	if len(cuts) == 0 {
		return t, nil
	}
	if src, err = splice(src, cuts); err != nil {
		return nil, err
	}
	return syntax.Read(string(src))
}

// firstOrphan finds a declaration of one name that nothing else mentions.
func firstOrphan(p *Pass, f *ast.File) ast.Decl {
	named := mentions(f)
	for _, d := range f.Decls {
		name := soleName(d)
		if name == "" || ast.IsExported(name) || p.Func != nil && name == p.Func.Name.Name {
			continue
		}
		if only := named[name]; only.decl == d && !only.shared && orphanable(p, name) {
			return d
		}
	}
	return nil
}

// soleName returns the name that a declaration of one function, variable or constant introduces. It
// returns "" for methods, types, imports and groups.
func soleName(d ast.Decl) string {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil && d.Name.Name != "init" {
			return d.Name.Name
		}
	case *ast.GenDecl:
		if d.Tok != token.VAR && d.Tok != token.CONST || len(d.Specs) != 1 {
			return ""
		}
		if spec := d.Specs[0].(*ast.ValueSpec); len(spec.Names) == 1 {
			return spec.Names[0].Name
		}
	}
	return ""
}

// orphanable reports whether the candidate declared and used the name before the rewrite.
func orphanable(p *Pass, name string) bool {
	obj := p.Pkg.Scope().Lookup(name)
	if obj == nil || obj.Pos() < p.File.FileStart || obj.Pos() > p.File.FileEnd {
		return false
	}
	if v, ok := obj.(*types.Var); ok {
		if init := p.Initialiser(v); init != nil && p.Effects(init).Writes {
			return false
		}
	}
	return len(p.Uses(obj, p.File)) > 0
}

// A mention says where a name stands: in one declaration, or in several.
type mention struct {
	decl   ast.Decl
	shared bool
}

// mentions returns the names in a file.
func mentions(f *ast.File) map[string]mention {
	out := map[string]mention{}
	for _, d := range f.Decls {
		ast.Inspect(d, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				if m, ok := out[id.Name]; !ok {
					out[id.Name] = mention{decl: d}
				} else if m.decl != d && !m.shared {
					out[id.Name] = mention{d, true}
				}
			}
			return true
		})
	}
	return out
}
