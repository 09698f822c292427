package source

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"strings"

	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/syntax"
)

// Entered returns the text of the target's file with one statement more at the target's
// beginning. The statement stands on the line of the opening brace, so that lines keep their
// numbers. statement makes it from the declaration and the names of the receiver and the
// parameters; unnamed ones get a name.
func (w *Writer) Entered(statement func(fn *ast.FuncDecl, names []string) string) (string, error) {
	text, err := os.ReadFile(w.target.File)
	if err != nil {
		return "", err
	}
	// The file is read anew: the statement is for its present text.
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, w.target.File, text, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	fn := w.declaredIn(fset, file)
	if fn == nil || fn.Body == nil {
		return "", fmt.Errorf("%s changed: %s is no longer there", w.target.File, w.target.Name)
	}
	// Parameters without a name get one by edits of the same kind.
	params, edits := syntax.Parameters(fset, fn)
	var names []string
	for _, p := range params {
		names = append(names, p.Name)
	}
	body := fset.PositionFor(fn.Body.Lbrace, false).Offset + 1
	edits = append(edits, syntax.Edit{Start: body, End: body, New: " " + statement(fn, names)})
	return syntax.Apply(string(text), edits), nil
}

// EnteredAll returns the texts of the files of a group's functions, by path, with one statement
// more at the beginning of each. k counts the functions. Results get names, so that a bare return
// gives zero values: their types cannot be spelled again where a parameter hides them.
func (w *Writer) EnteredAll(statement func(k int) string) map[string]string {
	edits := map[*srcFile][]syntax.Edit{}
	for k, p := range w.scope.functions() {
		f, fn := p.file, p.decl.(*ast.FuncDecl)
		insert := func(at token.Pos, text string) {
			edits[f] = append(edits[f], syntax.Edit{Start: f.offset(at), End: f.offset(at), New: text})
		}
		// Unnamed results get the blank name. A single one needs parentheses, too.
		if list := fn.Type.Results; list != nil && len(list.List) > 0 && len(list.List[0].Names) == 0 {
			lone := !list.Opening.IsValid()
			for _, r := range list.List {
				if lone {
					insert(r.Pos(), "(_ ")
					insert(r.End(), ")")
				} else {
					insert(r.Pos(), "_ ")
				}
			}
		}
		insert(fn.Body.Lbrace+1, " "+statement(k))
	}
	out := map[string]string{}
	for f, list := range edits {
		out[f.path] = syntax.Apply(f.text, list)
	}
	return out
}

// declaredIn finds the target in its file as it is now: the same name on the same line.
func (w *Writer) declaredIn(fset *token.FileSet, file *ast.File) *ast.FuncDecl {
	short := w.target.Name[strings.LastIndex(w.target.Name, ".")+1:]
	for _, d := range file.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if ok && fn.Name.Name == short && (fn.Recv != nil) == (w.target.Recv != "") &&
			fset.PositionFor(fn.Pos(), false).Line == w.target.Line {
			return fn
		}
	}
	return nil
}

// Imports are the imports of a generated file: path -> local name.
type Imports map[string]string

// Name returns the local name of a package, and imports it. name is the package's own.
func (m Imports) Name(path, name string) string {
	if m[path] == "" {
		m[path] = fmt.Sprintf("beagle%d%s", len(m), name)
	}
	return m[path]
}

// TypeString writes a type as Go code in a file of package own, and imports what that needs.
func (m Imports) TypeString(t types.Type, own string) string {
	return types.TypeString(t, func(p *types.Package) string {
		if p.Path() == own {
			return ""
		}
		return m.Name(p.Path(), p.Name())
	})
}

// Block writes the import declaration.
func (m Imports) Block() string {
	var b strings.Builder
	b.WriteString("import (\n")
	for _, path := range inorder.Keys(m) {
		fmt.Fprintf(&b, "\t%s %q\n", m[path], path)
	}
	return b.String() + ")\n"
}

// A Global is a package variable, the memory that it points to, or a list or a map of errors.
// Records keep the identity of a sentinel error by the variable's name.
type Global struct {
	Name string // with the path of the package
	Expr string // in the package
}

// NewGlobal returns the global of a variable that expr names. It reports false for variables of
// types without identity.
func NewGlobal(pkgPath, name, expr string, t types.Type) (Global, bool) {
	switch t.Underlying().(type) {
	case *types.Pointer, *types.Interface:
		return Global{pkgPath + "." + name, expr}, true
	case *types.Struct:
		return Global{"&" + pkgPath + "." + name, "&" + expr}, true
	case *types.Array, *types.Slice, *types.Map:
		if HoldsErrors(t) {
			return Global{pkgPath + "." + name, expr}, true
		}
	}
	return Global{}, false
}

// HoldsErrors reports whether a variable of a type is an error, or a list, a map or a struct of
// errors.
func HoldsErrors(t types.Type) bool { return holdsErrors(t, 4) }

func holdsErrors(t types.Type, depth int) bool {
	failing := types.Universe.Lookup("error").Type().Underlying().(*types.Interface)
	if depth == 0 || types.Implements(t, failing) {
		return depth > 0
	}
	switch u := t.Underlying().(type) {
	case *types.Array:
		return holdsErrors(u.Elem(), depth-1)
	case *types.Slice:
		return holdsErrors(u.Elem(), depth-1)
	case *types.Map:
		return holdsErrors(u.Elem(), depth-1)
	case *types.Struct:
		for f := range u.Fields() {
			if holdsErrors(f.Type(), depth-1) {
				return true
			}
		}
	}
	return false
}

// IsAddress reports whether the global is the variable itself, not the memory behind it.
func (g Global) IsAddress() bool { return strings.HasPrefix(g.Expr, "&") }

// MaxGlobals is how many globals of a package a program should name.
const MaxGlobals = 200

// Globals lists the globals of the target's package.
func (pkg *Package) Globals() []Global {
	var out []Global
	scope := pkg.Types.Scope()
	for _, name := range scope.Names() {
		v, ok := scope.Lookup(name).(*types.Var)
		// Names of cgo are not Go's to read.
		if !ok || name == "_" || strings.HasPrefix(name, "_cgo") {
			continue
		}
		if g, ok := NewGlobal(pkg.Path, name, name, v.Type()); ok {
			out = append(out, g)
		}
	}
	return out
}
