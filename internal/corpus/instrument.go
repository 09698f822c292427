package corpus

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/types"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/inorder"
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
	dir     string // where the texts are put
	imports source.Imports
	overlay map[string]string
}

// newInstrument writes the overlay and returns the path of its description.
func newInstrument(u *source.Unit, dir string) (string, error) {
	in := &instrument{u: u, dir: dir, overlay: map[string]string{}, imports: source.Imports{
		u.Target.PkgPath + rtDir: "beaglert",
	}}
	edited, err := u.Writer.Entered(in.statement)
	if err != nil {
		return "", err
	}
	// Write the edited file, the site, and the runtime.
	add := func(path, text string) error {
		file := filepath.Join(dir, strconv.Itoa(len(in.overlay))+".go")
		in.overlay[path] = file
		return os.WriteFile(file, []byte(text), 0o644)
	}
	if err := add(u.Target.File, edited); err != nil {
		return "", err
	}
	if err := add(filepath.Join(u.Target.PkgDir, siteFile), in.site()); err != nil {
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
	// List them for the go command.
	path := filepath.Join(dir, "overlay.json")
	js, err := json.Marshal(map[string]any{"Replace": in.overlay})
	if err != nil {
		return "", err
	}
	return path, os.WriteFile(path, js, 0o644)
}

func (in *instrument) addCopy(add func(path, text string) error) error {
	f, problem := in.u.Reader.Parse(in.u.Target.Source)
	if problem != nil {
		return fmt.Errorf("the original as a candidate: line %d: %s", problem.Line, problem.Message)
	}
	text, err := in.u.Writer.Variant(f, suffix)
	if err != nil {
		return err
	}
	if name := in.u.Package.BuildName(); name != in.u.Target.PkgName {
		text = strings.Replace(text, "package "+name, "package "+in.u.Target.PkgName, 1)
	}
	return add(filepath.Join(in.u.Target.PkgDir, copyFile), text)
}

func (in *instrument) addRT(add func(path, text string) error) error {
	source := rt.Recording.Files()
	for _, name := range inorder.Keys(source) {
		file := filepath.Join(in.u.Target.PkgDir, filepath.FromSlash(rtDir), name)
		if err := add(file, harness.Modern(source[name])); err != nil {
			return err
		}
	}
	return nil
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
func (in *instrument) statement(fn *ast.FuncDecl, names []string) string {
	record := "beagleCapture(" + strings.Join(names, ", ") + ")"
	if !in.u.Target.Facts.Recursive {
		return record + ";"
	}
	call := fn.Name.Name + suffix
	if fn.Recv != nil {
		call, names = names[0]+"."+call, names[1:]
	} else if fn.Type.TypeParams != nil {
		call += "[" + strings.Join(typeParamNames(fn.Type.TypeParams), ", ") + "]"
	}
	dots := ""
	if in.u.Target.Variadic {
		dots = "..."
	}
	call += "(" + strings.Join(names, ", ") + dots + ")"
	if fn.Type.Results != nil && len(fn.Type.Results.List) > 0 {
		return "if " + record + " { return " + call + " };"
	}
	return "if " + record + " { " + call + "; return };"
}

// site writes the file that records. A generic target hands its arguments
// over as interface values; calls of other instantiations are left alone.
func (in *instrument) site() string {
	var fields, params, values, checks strings.Builder
	generic := len(in.u.Target.TypeArgs) > 0
	// A generic function is recorded for its chosen types: other calls pass.
	for i, t := range in.argTypes() {
		text := in.imports.TypeString(t, in.u.Target.PkgPath)
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
	// Write the struct of arguments, the site, and the function that records.
	var b strings.Builder
	fmt.Fprintf(&b, "//go:build go1.21\n\npackage %s\n\n%s", in.u.Target.PkgName, in.imports.Block())
	fmt.Fprintf(&b, "\ntype beagleArgs struct {\n%s}\n\nvar beagleSite *beaglert.Site[beagleArgs]\n\n",
		fields.String())
	fmt.Fprintf(&b, "func init() {\n%s\tbeagleSite = beaglert.NewSite[beagleArgs]()\n}\n\n", in.globals())
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

// globals names the targets of the package's variables, as the harness does: a sentinel error keeps
// its identity in records.
func (in *instrument) globals() string {
	var b strings.Builder
	all := in.u.Package.Globals()
	for _, g := range all[:min(len(all), source.MaxGlobals)] {
		fmt.Fprintf(&b, "\tbeaglert.RegisterGlobal(%q, %s)\n", g.Name, g.Expr)
	}
	return b.String()
}
