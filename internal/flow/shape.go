package flow

import (
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/source"
)

// shape identifies a candidate by what its text says: comments and the names of
// its local variables left out. It changes the file's names.
func shape(f *source.File) string {
	names := map[types.Object]string{}
	ast.Inspect(f.AST, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		obj := f.Info.Defs[id]
		if obj == nil {
			obj = f.Info.Uses[id]
		}
		if !local(obj) || id.Name == "_" {
			return true
		}
		if names[obj] == "" {
			names[obj] = "v" + strconv.Itoa(len(names))
		}
		id.Name = names[obj]
		return true
	})
	strip(f.AST)
	var b strings.Builder
	if err := format.Node(&b, f.Fset, f.AST); err != nil {
		return ""
	}
	return beagle.HashOf("shape", strings.Join(strings.Fields(b.String()), " "))
}

// local reports whether an object is declared inside a function.
func local(obj types.Object) bool {
	switch v := obj.(type) {
	case *types.Var:
		if v.IsField() {
			return false
		}
	case *types.Const, *types.Label:
	default:
		return false
	}
	return obj.Pkg() != nil && obj.Parent() != obj.Pkg().Scope()
}

// strip removes all comments.
func strip(f *ast.File) {
	f.Comments, f.Doc = nil, nil
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			n.Doc = nil
		case *ast.GenDecl:
			n.Doc = nil
		case *ast.ValueSpec:
			n.Doc, n.Comment = nil, nil
		case *ast.TypeSpec:
			n.Doc, n.Comment = nil, nil
		case *ast.ImportSpec:
			n.Doc, n.Comment = nil, nil
		case *ast.Field:
			n.Doc, n.Comment = nil, nil
		}
		return true
	})
}

// maxNesting is how deep the syntax of a candidate may nest. People stay far
// below; what is deeper is meant to exhaust those who read it.
const maxNesting = 300

// depth is how deep the syntax of a text nests; 0 when it does not parse, which
// others find out too. It is asked before anything that recurses over types.
func depth(text string) int {
	f, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
	if err != nil {
		return 0
	}
	at, deepest := 0, 0
	ast.Inspect(f, func(n ast.Node) bool {
		if n == nil {
			at--
			return true
		}
		at++
		deepest = max(deepest, at)
		return true
	})
	return deepest
}
