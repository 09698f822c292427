package inject

import (
	"fmt"
	"go/ast"
	"go/format"
	"go/token"
	"strings"

	"github.com/beagle-go/beagle/internal/syntax"
)

// An edited collects the changes of one file.
type edited struct {
	text  string
	edits []syntax.Edit
	tail  strings.Builder // appended to the file
}

// apply returns the changed text. Insertions go into existing lines, so that line numbers stay.
func (e *edited) apply() string {
	return e.insertedText() + "\n//line beagle_probe.go:1\n" + e.tail.String()
}

// insertedText returns the text with the insertions alone.
func (e *edited) insertedText() string {
	return syntax.Apply(e.text, e.edits)
}

// A part is a parameter, the receiver or a result.
type part struct {
	name string // in the instrumented function; "" for a result
	told string // as declared, for people
	typ  string // Go syntax
}

// instrument adds a gate to a function. n is its number in the package.
func (e *edited) instrument(f *function, n int) error {
	args, err := e.arguments(f)
	if err != nil {
		return err
	}
	results, err := resultsOf(f.decl)
	if err != nil {
		return err
	}
	w := writer{f: f, n: n, args: args, results: results, note: f.entryOnly(), in: f.in}
	e.enter(f, w.gate())
	if f.in.declared != "" {
		generic := w
		if w.args, w.results, err = f.parts(f.in, args, results); err != nil {
			return err
		}
		generic.in.args = generic.in.used
		w.writeCaptured(&e.tail, generic)
	}
	w.declare(&e.tail)
	return nil
}

// enter puts a statement at the beginning of a function.
func (e *edited) enter(f *function, statement string) {
	at := f.pkg.Fset.PositionFor(f.decl.Body.Lbrace, false).Offset + 1
	e.edits = append(e.edits, syntax.Edit{Start: at, End: at, New: statement})
}

// arguments names the parameters that have no name, and returns all.
func (e *edited) arguments(f *function) (all []part, err error) {
	params, edits := syntax.Parameters(f.pkg.Fset, f.decl)
	for _, p := range params {
		typ, err := typeText(p.Type)
		if err != nil {
			return nil, err
		}
		all = append(all, part{p.Name, p.Declared, typ})
	}
	e.edits = append(e.edits, edits...)
	return all, nil
}

// resultsOf returns the results of a function, one part for each value.
func resultsOf(d *ast.FuncDecl) (all []part, err error) {
	if d.Type.Results == nil {
		return nil, nil
	}
	for _, field := range d.Type.Results.List {
		typ, err := typeText(field.Type)
		if err != nil {
			return nil, err
		}
		for i := range max(1, len(field.Names)) {
			p := part{typ: typ}
			if len(field.Names) > 0 && field.Names[i].Name != "_" {
				p.told = field.Names[i].Name
			}
			all = append(all, p)
		}
	}
	return all, nil
}

// typeText writes a type as the file does, without comments. A variadic parameter is a slice.
func typeText(x ast.Expr) (string, error) {
	prefix := ""
	if v, ok := x.(*ast.Ellipsis); ok {
		prefix, x = "[]", v.Elt
	}
	var b strings.Builder
	if err := format.Node(&b, token.NewFileSet(), x); err != nil {
		return "", err
	}
	return prefix + b.String(), nil
}

// A writer makes the declarations of one site.
type writer struct {
	f       *function
	n       int
	args    []part
	results []part
	note    string // why only arguments are captured, or ""
	in      instance
}

// captureName returns the name of the function that captures: after the one that the gate calls, if
// there are instantiations to choose from.
func (w *writer) captureName() string {
	if w.in.declared != "" {
		return fmt.Sprintf("beagleTaken%d", w.n)
	}
	return fmt.Sprintf("beagleCaptured%d", w.n)
}

// Names of the imports in an instrumented file.
const (
	probeName  = "beagleprobe"
	unsafeName = "beagleunsafe"
)

// gate returns the statement at the beginning of the function.
func (w *writer) gate() string {
	var names []string
	for _, a := range w.args {
		names = append(names, a.name)
	}
	call := fmt.Sprintf("beagleCaptured%d%s(%s)", w.n, w.in.used, strings.Join(names, ", "))
	switch {
	case w.note != "":
		return fmt.Sprintf(" if beagleSite%d.Gate() { %s };", w.n, call)
	case len(w.results) == 0:
		return fmt.Sprintf(" if beagleSite%d.Gate() { %s; return };", w.n, call)
	}
	return fmt.Sprintf(" if beagleSite%d.Gate() { return %s };", w.n, call)
}

// declare writes the site, its types, and the function behind the gate.
func (w *writer) declare(b *strings.Builder) {
	fmt.Fprintf(b, "var beagleSite%d %s.Site\n", w.n, probeName)
	fmt.Fprintf(b, "type beagleArgs%d struct {%s}\n", w.n, fieldsOf("A", w.args))
	var names []string
	for i, a := range w.args {
		names = append(names, quoteOr(a.told, fmt.Sprintf("arg%d", i)))
	}
	if w.note != "" {
		w.register(b, "nil", names)
		fmt.Fprintf(b, "func %s(%s) {\n\targs := beagleArgs%d{%s}\n", w.captureName(), paramsOf("a", w.args), w.n,
			listOf("a", len(w.args)))
		fmt.Fprintf(b, "\tc := %s.EnterAt(&beagleSite%d, %s.Pointer(&args))\n\tc.End()\n}\n", probeName, w.n,
			unsafeName)
		return
	}
	for i, r := range w.results {
		names = append(names, quoteOr(r.told, fmt.Sprintf("result%d", i)))
	}
	fmt.Fprintf(b, "type beagleResults%d struct {%s}\n", w.n, fieldsOf("R", w.results))
	w.register(b, fmt.Sprintf("(*beagleResults%d)(nil)", w.n), names)
	w.capture(b)
}

// register makes the site known. The code has no generics of its own: the module may have an older
// language.
func (w *writer) register(b *strings.Builder, results string, names []string) {
	fmt.Fprintf(b, "func init() {\n\t%s.RegisterTypes(&beagleSite%d, %q, %q, (*beagleArgs%d)(nil), %s, %s)\n",
		probeName, w.n, w.f.name(), w.note, w.n, results, strings.Join(names, ", "))
	fmt.Fprintf(b, "\t%s.FromEnvironment()\n}\n", probeName)
}

// capture writes the function that captures arguments, calls the original, and captures results.
// While it runs the gate is nearly always shut, so that the original's body follows.
func (w *writer) capture(b *strings.Builder) {
	results := paramsOf("r", w.results)
	set := listOf("r", len(w.results))
	if set != "" {
		results, set = " ("+results+")", set+" = "
	}
	fmt.Fprintf(b, "func %s(%s)%s {\n", w.captureName(), paramsOf("a", w.args), results)
	fmt.Fprintf(b, "\targs := beagleArgs%d{%s}\n", w.n, listOf("a", len(w.args)))
	fmt.Fprintf(b, "\tc := %s.EnterAt(&beagleSite%d, %s.Pointer(&args))\n\tdefer c.End()\n", probeName, w.n, unsafeName)
	fmt.Fprintf(b, "\t%s%s\n", set, w.original())
	fmt.Fprintf(b, "\tresults := beagleResults%d{%s}\n", w.n, listOf("r", len(w.results)))
	fmt.Fprintf(b, "\t%s.LeaveAt(&c, %s.Pointer(&args), %s.Pointer(&results))\n\treturn\n}\n", probeName, unsafeName,
		unsafeName)
}

// original calls the function itself.
func (w *writer) original() string {
	name, first := w.f.decl.Name.Name+w.in.args, 0
	if w.f.decl.Recv != nil {
		name, first = "a0."+w.f.decl.Name.Name, 1
	}
	var names []string
	for i := first; i < len(w.args); i++ {
		names = append(names, fmt.Sprintf("a%d", i))
	}
	dots := ""
	if list := w.f.decl.Type.Params.List; len(list) > 0 {
		if _, ok := list[len(list)-1].Type.(*ast.Ellipsis); ok {
			dots = "..."
		}
	}
	return name + "(" + strings.Join(names, ", ") + dots + ")"
}

func quoteOr(name, other string) string {
	if name == "" {
		name = other
	}
	return fmt.Sprintf("%q", name)
}

// fieldsOf spells parts as the fields of a struct, named by a prefix and a number.
func fieldsOf(prefix string, parts []part) string {
	var b strings.Builder
	for i, p := range parts {
		fmt.Fprintf(&b, " %s%d %s;", prefix, i, p.typ)
	}
	return b.String()
}

// paramsOf spells parts as parameters, named by a prefix and a number.
func paramsOf(prefix string, parts []part) string {
	var all []string
	for i, p := range parts {
		all = append(all, fmt.Sprintf("%s%d %s", prefix, i, p.typ))
	}
	return strings.Join(all, ", ")
}

// listOf lists n names of a prefix and a number.
func listOf(prefix string, n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("%s%d", prefix, i))
	}
	return strings.Join(all, ", ")
}
