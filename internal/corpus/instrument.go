package corpus

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/internal/source"
)

// The instrumented package: the file of the target with one statement more,
// on the line of the opening brace, so that line numbers stay; a file beside
// it that records; and rt below it. A recursive target is called by that
// statement as a copy of itself, so that only calls from outside are
// recorded. All of it exists in an overlay only.

const (
	rtDir    = "/internal/beaglert"
	siteFile = "beagle_capture.go"
	copyFile = "beagle_copy.go"
	suffix   = "__b0"
)

type instrument struct {
	u       *source.Unit
	dir     string            // where the texts are put
	imports map[string]string // path -> local name
	overlay map[string]string
}

// newInstrument writes the overlay and returns the path of its description.
func newInstrument(u *source.Unit, dir string) (string, error) {
	in := &instrument{u: u, dir: dir, overlay: map[string]string{}, imports: map[string]string{
		u.Target.PkgPath + rtDir: "beaglert",
	}}
	text, err := os.ReadFile(u.Target.File)
	if err != nil {
		return "", err
	}
	decl, edited, err := in.edit(string(text))
	if err != nil {
		return "", err
	}
	add := func(path, text string) error {
		file := filepath.Join(dir, strconv.Itoa(len(in.overlay))+".go")
		in.overlay[path] = file
		return os.WriteFile(file, []byte(text), 0o644)
	}
	if err := add(u.Target.File, edited); err != nil {
		return "", err
	}
	if err := add(filepath.Join(u.Target.PkgDir, siteFile), in.site(decl)); err != nil {
		return "", err
	}
	if u.Target.Facts.Recursive {
		if err := in.addCopy(add); err != nil {
			return "", err
		}
	}
	if err := in.addRT(add); err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	js, err := json.Marshal(map[string]any{"Replace": in.overlay})
	if err != nil {
		return "", err
	}
	return path, os.WriteFile(path, js, 0o644)
}

func (in *instrument) addCopy(add func(path, text string) error) error {
	f, problem := in.u.Parse(in.u.Target.Source)
	if problem != nil {
		return fmt.Errorf("the original as a candidate: line %d: %s", problem.Line, problem.Message)
	}
	text, err := in.u.Variant(f, suffix)
	if err != nil {
		return err
	}
	if name := in.u.BuildName(); name != in.u.Target.PkgName {
		text = strings.Replace(text, "package "+name, "package "+in.u.Target.PkgName, 1)
	}
	return add(filepath.Join(in.u.Target.PkgDir, copyFile), text)
}

func (in *instrument) addRT(add func(path, text string) error) error {
	source := harness.RTSource(rt.Recording)
	return fs.WalkDir(source, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(source, name)
		if err != nil {
			return err
		}
		return add(filepath.Join(in.u.Target.PkgDir, filepath.FromSlash(rtDir), name), harness.Modern(string(text)))
	})
}

// A decl is the target's declaration with names for all its parameters.
type decl struct {
	recv, params []string // names
	typeParams   []string
	variadic     bool
}

// An insertion replaces text[at:end] by new.
type insertion struct {
	at, end int
	new     string
}

// edit names the parameters that have no name and puts the statement in.
func (in *instrument) edit(text string) (*decl, string, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, in.u.Target.File, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, "", err
	}
	fn := in.find(fset, file)
	if fn == nil || fn.Body == nil {
		return nil, "", fmt.Errorf("%s changed: %s is no longer there", in.u.Target.File, in.u.Target.Name)
	}
	d := &decl{variadic: in.u.Target.Variadic}
	var edits []insertion
	offset := func(p token.Pos) int { return fset.PositionFor(p, false).Offset }
	name := func(list *ast.FieldList) (names []string) {
		for _, f := range fields(list) {
			if len(f.Names) == 0 {
				n := fmt.Sprintf("beagle%d", len(edits))
				edits = append(edits, insertion{offset(f.Type.Pos()), offset(f.Type.Pos()), n + " "})
				names = append(names, n)
			}
			for _, id := range f.Names {
				n := id.Name
				if n == "_" {
					n = fmt.Sprintf("beagle%d", len(edits))
					edits = append(edits, insertion{offset(id.Pos()), offset(id.End()), n})
				}
				names = append(names, n)
			}
		}
		return names
	}
	d.recv, d.params = name(fn.Recv), name(fn.Type.Params)
	if fn.Type.TypeParams != nil {
		d.typeParams = typeParamNames(fn.Type.TypeParams)
	}
	body := offset(fn.Body.Lbrace) + 1
	edits = append(edits, insertion{body, body, " " + in.statement(d, fn)})
	slices.SortFunc(edits, func(a, b insertion) int { return b.at - a.at })
	for _, e := range edits {
		text = text[:e.at] + e.new + text[e.end:]
	}
	return d, text, nil
}

func (in *instrument) find(fset *token.FileSet, file *ast.File) *ast.FuncDecl {
	short := in.u.Target.Name[strings.LastIndex(in.u.Target.Name, ".")+1:]
	for _, d := range file.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if ok && fn.Name.Name == short && (fn.Recv != nil) == (in.u.Target.Recv != "") &&
			fset.PositionFor(fn.Pos(), false).Line == in.u.Target.Line {
			return fn
		}
	}
	return nil
}

func fields(list *ast.FieldList) []*ast.Field {
	if list == nil {
		return nil
	}
	return list.List
}

func typeParamNames(list *ast.FieldList) (names []string) {
	for _, f := range list.List {
		for _, id := range f.Names {
			names = append(names, id.Name)
		}
	}
	return names
}

// statement records the arguments; of a recursive target it also calls the
// copy, and the rest of the body is not reached.
func (in *instrument) statement(d *decl, fn *ast.FuncDecl) string {
	all := strings.Join(append(slices.Clone(d.recv), d.params...), ", ")
	record := "beagleCapture(" + all + ")"
	if !in.u.Target.Facts.Recursive {
		return record + ";"
	}
	call := fn.Name.Name + suffix
	if len(d.recv) > 0 {
		call = d.recv[0] + "." + call
	} else if len(d.typeParams) > 0 {
		call += "[" + strings.Join(d.typeParams, ", ") + "]"
	}
	dots := ""
	if d.variadic {
		dots = "..."
	}
	call += "(" + strings.Join(d.params, ", ") + dots + ")"
	if fn.Type.Results != nil && len(fn.Type.Results.List) > 0 {
		return "if " + record + " { return " + call + " };"
	}
	return "if " + record + " { " + call + "; return };"
}

// site writes the file that records. A generic target hands its arguments
// over as interface values; calls of other instantiations are left alone.
func (in *instrument) site(d *decl) string {
	var fields, params, values, checks strings.Builder
	generic := len(in.u.Target.TypeArgs) > 0
	for i, t := range in.argTypes() {
		text := in.typeString(t)
		fmt.Fprintf(&fields, "\tA%d %s\n", i, text)
		if !generic {
			fmt.Fprintf(&params, "a%d %s, ", i, text)
			fmt.Fprintf(&values, "a%d, ", i)
			continue
		}
		fmt.Fprintf(&params, "a%d any, ", i)
		fmt.Fprintf(&values, "v%d, ", i)
		if types.IsInterface(t) {
			fmt.Fprintf(&checks, "\tv%d, _ := a%d.(%s)\n", i, i, text)
		} else {
			fmt.Fprintf(&checks, "\tv%d, ok := a%d.(%s)\n\tif !ok {\n\t\treturn true\n\t}\n", i, i, text)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "//go:build go1.21\n\npackage %s\n\nimport (\n", in.u.Target.PkgName)
	globals := in.globals()
	for _, path := range keysOf(in.imports) {
		fmt.Fprintf(&b, "\t%s %q\n", in.imports[path], path)
	}
	fmt.Fprintf(&b, ")\n\ntype beagleArgs struct {\n%s}\n\nvar beagleSite *beaglert.Site[beagleArgs]\n\n",
		fields.String())
	fmt.Fprintf(&b, "func init() {\n%s\tbeagleSite = beaglert.NewSite[beagleArgs]()\n}\n\n", globals)
	fmt.Fprintf(&b,
		"func beagleCapture(%s) bool {\n\tif beagleSite == nil || !beagleSite.On() {\n\t\treturn false\n\t}\n"+
			"%s\tbeagleSite.Record(&beagleArgs{%s})\n\treturn true\n}\n",
		strings.TrimSuffix(params.String(), ", "), checks.String(), strings.TrimSuffix(values.String(), ", "))
	return b.String()
}

func (in *instrument) argTypes() (list []types.Type) {
	if r := in.u.Sig.Recv(); r != nil {
		list = append(list, r.Type())
	}
	for v := range in.u.Sig.Params().Variables() {
		list = append(list, v.Type())
	}
	return list
}

func (in *instrument) typeString(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string {
		if p.Path() == in.u.Target.PkgPath {
			return ""
		}
		if in.imports[p.Path()] == "" {
			in.imports[p.Path()] = fmt.Sprintf("beagle%d%s", len(in.imports), p.Name())
		}
		return in.imports[p.Path()]
	})
}

// maxGlobals bounds the named variables.
const maxGlobals = 200

// globals names what the package's variables point to, as the harness does:
// a sentinel error keeps its identity in records.
func (in *instrument) globals() string {
	var b strings.Builder
	scope := in.u.Types.Scope()
	n := 0
	for _, name := range scope.Names() {
		v, ok := scope.Lookup(name).(*types.Var)
		if !ok || name == "_" || n >= maxGlobals || strings.HasPrefix(name, "_cgo") {
			continue
		}
		switch v.Type().Underlying().(type) {
		case *types.Pointer, *types.Interface:
			fmt.Fprintf(&b, "\tbeaglert.RegisterGlobal(%q, %s)\n", in.u.Target.PkgPath+"."+name, name)
			n++
		case *types.Struct:
			fmt.Fprintf(&b, "\tbeaglert.RegisterGlobal(%q, &%s)\n", "&"+in.u.Target.PkgPath+"."+name, name)
			n++
		}
	}
	return b.String()
}
