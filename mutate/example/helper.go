package example

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"iter"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/kit"
)

// kitPath is the package whose functions an After may call. The engine copies them.
const kitPath = "github.com/beagle-go/beagle/mutate/kit"

// A helper is a function of the kit.
type helper struct {
	file    string // the text of its file
	fset    *token.FileSet
	decl    *ast.FuncDecl
	imports map[string]string // names of packages in its file, to their paths
}

// helpers holds the functions of the kit by name.
var helpers = sync.OnceValue(func() map[string]*helper {
	out := map[string]*helper{}
	for name, text := range kitFiles() {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			panic(err)
		}
		imports := map[string]string{}
		for _, s := range f.Imports {
			path := strings.Trim(s.Path.Value, `"`)
			imports[path[strings.LastIndexByte(path, '/')+1:]] = path
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
				out[fn.Name.Name] = &helper{text, fset, fn, imports}
			}
		}
	}
	return out
})

// kitFiles yields the names and the texts of the kit's files.
func kitFiles() iter.Seq2[string, string] {
	return func(yield func(name, text string) bool) {
		files, err := fs.Glob(kit.Sources, "*.go")
		if err != nil {
			panic(err)
		}
		for _, name := range files {
			text, err := kit.Sources.ReadFile(name)
			if err != nil {
				panic(err)
			}
			if !strings.HasSuffix(name, "_test.go") && !yield(name, string(text)) {
				return
			}
		}
	}
}

// text returns the source between two positions of the helper's file.
func (h *helper) text(from, to token.Pos) string {
	return h.file[h.fset.Position(from).Offset:h.fset.Position(to).Offset]
}

// helper adds a function of the kit to the candidate, unless it is there, and returns its name.
// Types make a copy for them of a generic one.
func (w *writer) helper(name string, typeArgs []ast.Expr) string {
	var types []string
	for _, t := range typeArgs {
		types = append(types, w.node(t))
	}
	return w.copyHelper(name, types)
}

func (w *writer) copyHelper(name string, types []string) string {
	key := name + " " + strings.Join(types, ",")
	if got, ok := w.helpers[key]; ok {
		return got
	}
	h := helpers()[name]
	if h == nil {
		w.fail("the kit has no " + name)
		return name
	}
	// A helper of an earlier step serves again.
	for _, d := range w.m.Pass.File.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && w.isCopy(fn, h, types) {
			w.helpers[key] = fn.Name.Name
			return fn.Name.Name
		}
	}
	own := w.freshName(lowerFirst(name))
	w.helpers[key] = own
	at := len(w.decls)
	w.decls = append(w.decls, "")
	w.decls[at] = w.copyText(h, own, types)
	return own
}

// copyText writes a helper under another name, for types, and adds its callees.
func (w *writer) copyText(h *helper, own string, types []string) string {
	params := names(h.decl.Type.TypeParams)
	var out strings.Builder
	from := h.decl.Pos()
	if h.decl.Doc != nil {
		doc := h.text(h.decl.Doc.Pos(), h.decl.Pos())
		out.WriteString(strings.Replace(doc, h.decl.Name.Name, own, 1))
	}
	// Replace type parameters, imports, called helpers and the own name. The rest is copied as it
	// is.
	ast.Inspect(h.decl, func(n ast.Node) bool {
		text := ""
		switch n := n.(type) {
		case *ast.CommentGroup:
			return false
		case *ast.FieldList:
			if n == h.decl.Type.TypeParams && len(types) > 0 {
				out.WriteString(h.text(from, n.Pos()))
				from = n.End()
				return false
			}
			return true
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && h.imports[x.Name] != "" {
				text = w.importName(h.imports[x.Name]) + "." + n.Sel.Name
			}
		case *ast.Ident:
			switch {
			case n == h.decl.Name:
				text = own
			case helpers()[n.Name] != nil && n.Name != h.decl.Name.Name:
				text = w.copyHelper(n.Name, nil)
			case n.Name == h.decl.Name.Name:
				text = own
			}
			for i, t := range params {
				if i < len(types) && t.Name == n.Name {
					text = types[i]
				}
			}
		}
		if text == "" {
			return true
		}
		out.WriteString(h.text(from, n.Pos()))
		out.WriteString(text)
		from = n.End()
		return false
	})
	out.WriteString(h.text(from, h.decl.End()))
	return out.String()
}

// isCopy reports whether a function of the candidate is a copy of a helper for the types.
func (w *writer) isCopy(fn *ast.FuncDecl, h *helper, types []string) bool {
	if !sameBody(w.m.Pass, fn, h) {
		return false
	}
	if len(types) == 0 {
		return true
	}
	first := fn.Type.Params.List
	return len(first) > 0 && len(types) == 1 && w.m.Pass.Text(first[0].Type) == types[0]
}

// isHelper reports whether a function of the candidate is a copy of any helper.
func isHelper(p *mutate.Pass, fn *ast.FuncDecl) bool {
	if fn == nil || fn.Body == nil {
		return false
	}
	return p.Once(helperKey{fn}, func() any {
		for _, h := range helpers() {
			if sameBody(p, fn, h) {
				return true
			}
		}
		return false
	}).(bool)
}

type helperKey struct{ fn *ast.FuncDecl }

// sameBody compares the code of a function with a helper's, apart from the names of helpers and
// packages.
func sameBody(p *mutate.Pass, fn *ast.FuncDecl, h *helper) bool {
	if fn.Body == nil || fn.Recv != nil || len(fn.Body.List) != len(h.decl.Body.List) ||
		fn.Type.Params.NumFields() != h.decl.Type.Params.NumFields() {
		return false
	}
	return plain(p.Text(fn.Body)) == plain(h.text(h.decl.Body.Pos(), h.decl.Body.End()))
}

// plain writes code without the case of letters, which the copy of a helper changes in its names.
func plain(code string) string { return strings.ToLower(strings.Join(strings.Fields(code), " ")) }

func lowerFirst(name string) string {
	r, n := utf8.DecodeRuneInString(name)
	return fmt.Sprintf("%c%s", unicode.ToLower(r), name[n:])
}
