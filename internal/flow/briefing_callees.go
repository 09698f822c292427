package flow

import (
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate/llm"
)

// callees returns the functions outside its scope that the target calls, with their text when they
// are of the same package.
func (b *briefer) callees() []llm.Callee {
	f, problem := b.unit.Reader.Parse(b.works.root.Source)
	if problem != nil {
		return nil
	}
	// Count the calls of each function outside of the scope.
	calls := map[string]int{}
	own := map[string]bool{}
	ast.Inspect(f.AST, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		fn, ok := f.Info.Uses[id].(*types.Func)
		if !ok || fn.Pkg() == nil || b.inScope(fn) {
			return true
		}
		name := syntax.FuncName(fn)
		if fn.Pkg() == f.Types {
			own[name] = true
		} else {
			name = fn.Pkg().Name() + "." + name
		}
		calls[name]++
		return true
	})
	// Add the texts of those in the same package.
	texts := b.declarations(own)
	out := make([]llm.Callee, 0, len(calls))
	for name := range calls {
		out = append(out, llm.Callee{Name: name, Source: texts[name]})
	}
	sort.Slice(out, func(i, j int) bool { // those with a text first, then by how often they are named
		a, b := out[i], out[j]
		if (a.Source != "") != (b.Source != "") {
			return a.Source != ""
		}
		if calls[a.Name] != calls[b.Name] {
			return calls[a.Name] > calls[b.Name]
		}
		return a.Name < b.Name
	})
	return out
}

func (b *briefer) inScope(fn *types.Func) bool {
	name := syntax.FuncName(fn)
	return fn.Pkg().Path() == b.unit.Target.PkgPath &&
		slices.ContainsFunc(b.unit.Target.Scope, func(d beagle.Decl) bool { return d.Name == name })
}

// declarations returns the texts of functions of the target's package by name.
func (b *briefer) declarations(names map[string]bool) map[string]string {
	out := map[string]string{}
	for _, path := range b.unit.Package.Files() {
		if filepath.Dir(path) != b.unit.Target.PkgDir || len(names) == 0 {
			continue
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			continue // the compiler takes it, and this reader cannot
		}
		for _, d := range f.Decls {
			fd, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if name := llm.Declared(fd)[0]; names[name] {
				out[name] = printed(fset, fd)
			}
		}
	}
	return out
}

func printed(fset *token.FileSet, n ast.Node) string {
	var b strings.Builder
	if err := printer.Fprint(&b, fset, n); err != nil {
		return ""
	}
	return b.String()
}
