package lift

import (
	"errors"
	"go/ast"
	"go/scanner"
	"go/token"
	gotypes "go/types"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
)

// Name is the name of the steps that a study brings.
const Name = "lift"

// Mutator makes matches steps of a search: one site a match, wherever the piece
// of code is still there.
func Mutator(found []Match) *mutate.Mutator {
	return &mutate.Mutator{
		Name: Name,
		Doc: "Replace a piece of code by calls of the standard library, or of a module that go.mod requires or " +
			"--with-simd allows, that give the same results on all inputs tried. Such functions are tuned, and some " +
			"are instructions. Nothing is proved: the judge decides.",
		Example: mutate.Shows("n := 0\nfor x != 0 {\n\tn += int(x & 1)\n\tx >>= 1\n}", "n := bits.OnesCount64(x)"),
		Class:   beagle.E4,
		Gain:    4,
		// A match may apply at several sites, such as equal loops in two functions.
		Find: func(p *mutate.Pass) []mutate.Site {
			var out []mutate.Site
			for i := range found {
				out = append(out, sites(p, &found[i])...)
			}
			return out
		},
		// A match may have several texts: in place, or nil when empty.
		Params: func(_ *mutate.Pass, s mutate.Site) []mutate.Param {
			var out []mutate.Param
			for _, v := range s.Data.(*place).f.New {
				out = append(out, mutate.Param{Label: v.Label, Value: v.Text})
			}
			return out
		},
		Rewrite: rewrite,
	}
}

// A place is the place of a match's code in a candidate.
type place struct {
	f        *Match
	from, to ast.Node
}

// sites finds the code of a match.
func sites(p *mutate.Pass, f *Match) (out []mutate.Site) {
	for _, fn := range mutate.Nodes[*ast.FuncDecl](p, nil) {
		obj, ok := p.Info.Defs[fn.Name].(*gotypes.Func)
		if !ok || fn.Body == nil || syntax.FuncName(obj) != f.Func {
			continue
		}
		// An expression is tried first: as a statement the same text would be found again.
		if at := f.expression(p, fn); at != nil {
			out = append(out, f.site(at))
		} else if at := f.statements(p, fn); at != nil {
			out = append(out, f.site(at))
		}
	}
	return out
}

func (f *Match) site(at *place) mutate.Site {
	return mutate.Site{Node: at.from, Label: f.Kind + " of " + f.Func + " as " + f.Term, Data: at}
}

// expression finds the expression of a match by its text. The first one is taken: where a text
// comes twice, one edit at a time is enough.
func (f *Match) expression(p *mutate.Pass, fn *ast.FuncDecl) (at *place) {
	if f.Kind != "expression" {
		return nil
	}
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		e, ok := n.(ast.Expr)
		if ok && at == nil && p.Text(e) == f.Old && f.isRegion(cutExpression(p, fn, e)) {
			at = &place{f, e, e}
		}
		return at == nil
	})
	return at
}

// statements finds the list of statements with the text of the match in a function, which may have
// moved since the study.
func (f *Match) statements(p *mutate.Pass, fn *ast.FuncDecl) *place {
	if f.Kind == "expression" {
		return nil
	}
	for _, list := range p.Lists() {
		if len(list) == 0 || list[0].Pos() < fn.Pos() || list[0].Pos() > fn.End() {
			continue
		}
		// Only a statement with which the text begins can be the first.
		for i, first := range list {
			if !strings.HasPrefix(f.Old, p.Text(first)) {
				continue
			}
			for k, last := range list[i:] {
				if p.Between(first.Pos(), last.End()) == f.Old &&
					f.isRegion(cut(p, fn, list[i:i+k+1], f.Kind == "function")) {
					return &place{f, first, last}
				}
			}
		}
	}
	return nil
}

// isRegion reports whether a piece of a candidate, which has the text of the match, reads and
// leaves the same: the text may stand in several places, and code after it may have changed.
func (f *Match) isRegion(r *Region) bool {
	if r == nil {
		return false
	}
	r.Kind = f.Kind
	return r.String() == f.Region
}

var errImport = errors.New("the file gives the name of a package to something with fields or methods")

// rewrite puts the found code in the place of the old, with its imports.
func rewrite(p *mutate.Pass, s mutate.Site, v mutate.Param) ([]mutate.Edit, error) {
	at, text := s.Data.(*place), v.Value.(string)
	var edits []mutate.Edit
	for _, path := range at.f.Imports {
		name, more := p.Import(path)
		// The code spells the package's own name, which the file may give to something else.
		own := path[strings.LastIndexByte(path, '/')+1:]
		if name != own {
			if selects(p, at.from, own) {
				return nil, errImport
			}
			text = requalified(text, own, name)
		}
		edits = append(edits, more...)
	}
	return append(edits, p.Span(at.from.Pos(), at.to.End(), text)), nil
}

// selects reports whether a name before a dot may mean something else at a place than the package
// of that name: another package, or a variable with fields or methods.
func selects(p *mutate.Pass, at ast.Node, name string) bool {
	scope := p.Pkg.Scope().Innermost(at.Pos())
	if scope == nil {
		return true
	}
	_, obj := scope.LookupParent(name, at.Pos())
	v, ok := obj.(*gotypes.Var)
	if !ok {
		_, pkg := obj.(*gotypes.PkgName)
		return pkg
	}
	t := v.Type()
	if to, ok := t.Underlying().(*gotypes.Pointer); ok {
		t = to.Elem()
	}
	_, fields := t.Underlying().(*gotypes.Struct)
	return fields || gotypes.NewMethodSet(v.Type()).Len() > 0
}

// requalified writes another name where a text names a package's functions.
func requalified(text, old, name string) string {
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(text))
	s.Init(file, []byte(text), nil, 0)
	var edits []syntax.Edit
	// A name with a dot behind it and none in front is a package's, or a variable's.
	var last token.Token
	at := -1
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return syntax.Apply(text, edits)
		}
		if tok == token.PERIOD && at >= 0 {
			edits = append(edits, syntax.Edit{Start: at, End: at + len(old), New: name})
		}
		at = -1
		if tok == token.IDENT && lit == old && last != token.PERIOD {
			at = file.Offset(pos)
		}
		last = tok
	}
}
