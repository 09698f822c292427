package example

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	gotypes "go/types"
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

// A helper is a function or a variable of the kit.
type helper struct {
	file    string // the text of its file
	fset    *token.FileSet
	node    ast.Decl
	name    *ast.Ident
	doc     *ast.CommentGroup
	decl    *ast.FuncDecl     // nil for a variable
	imports map[string]string // names of packages in its file, to their paths
}

// helpers holds the functions and the variables of the kit by name.
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
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					out[d.Name.Name] = &helper{text, fset, d, d.Name, d.Doc, d, imports}
				}
			case *ast.GenDecl:
				if v := variableOf(d); v != nil && v.Name != "Sources" {
					out[v.Name] = &helper{text, fset, d, v, d.Doc, nil, imports}
				}
			}
		}
	}
	return out
})

// variableOf returns the name of the one variable that a declaration gives a value, or nil.
func variableOf(d *ast.GenDecl) *ast.Ident {
	if d.Tok != token.VAR || len(d.Specs) != 1 {
		return nil
	}
	spec := d.Specs[0].(*ast.ValueSpec)
	if len(spec.Names) != 1 {
		return nil
	}
	return spec.Names[0]
}

// kitFiles yields the names and the texts of the kit's files.
func kitFiles() iter.Seq2[string, string] {
	// The files are embedded, so an error here is a mistake in the build.
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
			if !yield(name, string(text)) {
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

// Helper returns the name of the candidate's copy of a function of the kit, and the edits that
// declare it after n's function. Code of a rule that no example can express calls it so.
func Helper(p *mutate.Pass, n ast.Node, name string) (string, []mutate.Edit, error) {
	own, edits, err := Helpers(p, n, name)
	return own[name], edits, err
}

// Helpers is [Helper] for several functions, which may call each other. It returns the names of the
// copies by those in the kit.
func Helpers(p *mutate.Pass, n ast.Node, names ...string) (map[string]string, []mutate.Edit, error) {
	w := newWriter(&Match{Pass: p, Node: n}, nil, newSurroundings(p))
	own := map[string]string{}
	for _, name := range names {
		own[name] = w.copyHelper(name, nil)
	}
	return own, append(w.imported(), w.declared()...), w.err
}

// IsCopy reports whether a function of the candidate is the copy of a function of the kit that
// [Helper] returns.
func IsCopy(p *mutate.Pass, fn *ast.FuncDecl, name string) bool {
	h := helpers()[name]
	return h != nil && fn != nil && h.isCopy(p, fn, nil)
}

// copyHelper returns the name of the candidate's copy of a helper, and adds the copy if there is
// none.
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
	if name := h.existingCopy(w.m.Pass, types); name != "" && w.lookup(name) == w.m.Pass.Pkg.Scope().Lookup(name) {
		w.helpers[key] = name
		return name
	}
	// Reserve the name and the place before the text is written: a helper may call another one, or
	// itself.
	own := w.freshName(lowerFirst(name))
	w.helpers[key] = own
	at := len(w.decls)
	w.decls = append(w.decls, addition{behind: w.m.Node})
	w.decls[at].text = w.copyText(h, own, types)
	return own
}

// existingCopy returns the name of the candidate's copy of a helper for the types, or "".
func (h *helper) existingCopy(p *mutate.Pass, types []string) string {
	// A function is compared as a whole, a variable such as a table by its value: it is the same
	// table under any name.
	for _, d := range p.File.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if h.isCopy(p, d, types) {
				return d.Name.Name
			}
		case *ast.GenDecl:
			if v := variableOf(d); v != nil && h.sameValue(p, d) {
				return v.Name
			}
		}
	}
	return ""
}

// valueText returns the text that follows the name in the declaration of a variable.
func valueText(decl string) string {
	_, value, _ := strings.Cut(decl, "=")
	return value
}

// copyText writes a helper under another name, for types, and adds its callees.
func (w *writer) copyText(h *helper, own string, types []string) string {
	var params []*ast.Ident
	if h.decl != nil {
		params = names(h.decl.Type.TypeParams)
	}
	var out strings.Builder
	var from token.Pos // after the comment
	if h.decl != nil {
		from = h.decl.Type.Func
	} else {
		from = h.node.(*ast.GenDecl).TokPos
	}
	if h.doc != nil {
		doc := h.text(h.doc.Pos(), from)
		out.WriteString(strings.Replace(doc, h.name.Name, own, 1))
	}
	// Replace type parameters, imports, called helpers and the own name. The rest is copied as it
	// is.
	ast.Inspect(h.node, func(n ast.Node) bool {
		text := ""
		switch n := n.(type) {
		case *ast.CommentGroup:
			return false
		case *ast.FieldList:
			if h.decl != nil && n == h.decl.Type.TypeParams && len(types) > 0 {
				out.WriteString(h.text(from, n.Pos()))
				from = n.End()
				return false
			}
			return true
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && h.imports[x.Name] != "" {
				name := w.importName(h.imports[x.Name])
				if h.declares(name) {
					w.fail("a variable of the helper hides " + name)
				}
				text = name + "." + n.Sel.Name
			}
		case *ast.Ident:
			switch {
			case n.Name == h.name.Name:
				text = own
			case helpers()[n.Name] != nil:
				text = w.copyHelper(n.Name, nil)
			case gotypes.Universe.Lookup(n.Name) != nil && w.m.Pass.Pkg.Scope().Lookup(n.Name) != nil:
				w.fail("the code gives " + n.Name + " another meaning")
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
	out.WriteString(h.text(from, h.node.End()))
	return out.String()
}

// declares reports whether a helper gives a parameter or variable a name.
func (h *helper) declares(name string) bool {
	// A package's name before a dot is no name of a variable.
	packages := map[*ast.Ident]bool{}
	for sel := range nodesOf[*ast.SelectorExpr](h.node) {
		if x, ok := sel.X.(*ast.Ident); ok && h.imports[x.Name] != "" {
			packages[x] = true
		}
	}
	for id := range nodesOf[*ast.Ident](h.node) {
		if id.Name == name && !packages[id] {
			return true
		}
	}
	return false
}

// isCopy reports whether a function of the candidate is a copy of a helper for the types.
func (h *helper) isCopy(p *mutate.Pass, fn *ast.FuncDecl, types []string) bool {
	if !sameBody(p, fn, h) {
		return false
	}
	if len(types) == 0 {
		return (fn.Type.TypeParams == nil) == (h.decl.Type.TypeParams == nil)
	}
	first := fn.Type.Params.List
	return len(first) > 0 && len(types) == 1 && p.Text(first[0].Type) == types[0]
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

// sameBody reports whether a function is a copy of a helper, apart from its name: it has the same
// code and parameters, and what it names are the same packages and copies of the same helpers.
func sameBody(p *mutate.Pass, fn *ast.FuncDecl, h *helper) bool {
	if h.decl == nil || fn.Body == nil || fn.Recv != nil || len(fn.Body.List) != len(h.decl.Body.List) ||
		fn.Type.Params.NumFields() != h.decl.Type.Params.NumFields() ||
		canonicalCode(p.Text(fn.Body)) != canonicalCode(h.text(h.decl.Body.Pos(), h.decl.Body.End())) {
		return false
	}
	own, theirs := names(fn.Type.Params), names(h.decl.Type.Params)
	if len(own) != len(theirs) {
		return false
	}
	for i := range own {
		if own[i].Name != theirs[i].Name {
			return false
		}
	}
	if h.decl.Type.TypeParams == nil && canonicalCode(p.Between(fn.Type.Params.Pos(), fn.Type.End())) !=
		canonicalCode(h.text(h.decl.Type.Params.Pos(), h.decl.Type.End())) {
		return false
	}
	return h.namesSame(p)
}

// namesSame reports whether the names that a helper uses mean in the candidate what they mean in
// the kit.
func (h *helper) namesSame(p *mutate.Pass) bool {
	for id := range nodesOf[*ast.Ident](h.node) {
		if path := h.imports[id.Name]; path != "" {
			if name, edits := p.Import(path); name != id.Name || len(edits) > 0 {
				return false
			}
		}
		if used := helpers()[id.Name]; used != nil && used != h && !used.declaredAs(p, lowerFirst(id.Name)) {
			return false
		}
	}
	return true
}

// declaredAs reports whether the candidate has a copy of a helper under a name.
func (h *helper) declaredAs(p *mutate.Pass, name string) bool {
	for _, d := range p.File.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.Name == name {
				return sameBody(p, d, h)
			}
		case *ast.GenDecl:
			if v := variableOf(d); v != nil && v.Name == name {
				return h.sameValue(p, d)
			}
		}
	}
	return false
}

// sameValue reports whether a variable is a copy of one of the kit.
func (h *helper) sameValue(p *mutate.Pass, d *ast.GenDecl) bool {
	return h.decl == nil && canonicalCode(valueText(p.Text(d))) == canonicalCode(valueText(h.text(h.node.Pos(),
		h.node.End())))
}

// canonicalCode writes code without blank space and comments, and with the names that copies of
// helpers have.
func canonicalCode(code string) string {
	fset := token.NewFileSet()
	var s scanner.Scanner
	s.Init(fset.AddFile("", -1, len(code)), []byte(code), nil, 0)
	var out strings.Builder
	for {
		_, tok, text := s.Scan()
		switch {
		case tok == token.EOF:
			return out.String()
		case tok == token.SEMICOLON:
			continue
		case tok == token.IDENT && helpers()[text] != nil:
			text = lowerFirst(text)
		case text == "":
			text = tok.String()
		}
		out.WriteString(text + " ")
	}
}

func lowerFirst(name string) string {
	r, n := utf8.DecodeRuneInString(name)
	return fmt.Sprintf("%c%s", unicode.ToLower(r), name[n:])
}
