package inject

import (
	"fmt"
	"go/ast"
	"go/types"
	"path/filepath"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
)

// refuse returns why a function cannot be instrumented, or nil.
func (f *function) refuse() error {
	no := func(why, remedy string) error {
		return &beagle.UsageError{What: fmt.Sprintf("--probe %s: %s", f.spec, why), Remedy: remedy}
	}
	const other = "Name a function that calls it, or import the probe and ask its gate by hand (docs/capture.md)."
	switch sig := f.signature(); {
	case f.decl.Body == nil:
		return no("it has no Go body: it is written in assembly or linked from elsewhere", other)
	case f.decl.Name.Name == "_" || f.decl.Recv == nil && (f.decl.Name.Name == "init" || f.decl.Name.Name == "main"):
		return no("nothing calls it with arguments", "Name a function that does the work.")
	case imports(f.file, "C"):
		return no("its file imports \"C\", and cgo writes such files anew",
			"Move the function into a file without cgo.")
	case f.pkg.Module == nil:
		return no("its package belongs to the standard library", other)
	case !f.pkg.Module.Main || inVendor(f.path):
		return no(fmt.Sprintf("its module %s is a dependency, whose files the go command does not replace",
			f.pkg.Module.Path), "Name a function of the main module, or work on a checkout of that module by go.work.")
	case len(sigVars(sig)) == 0 && sig.Results().Len() == 0:
		return no("it takes nothing and returns nothing", "Name a function with arguments.")
	}
	if p := pragma(f.decl); p != "" {
		return no("it is marked "+p+", and may not call anything", other)
	}
	return nil
}

func (f *function) signature() *types.Signature {
	return f.pkg.TypesInfo.Defs[f.decl.Name].(*types.Func).Signature()
}

// sigVars returns the receiver and the parameters.
func sigVars(sig *types.Signature) (vars []*types.Var) {
	if r := sig.Recv(); r != nil {
		vars = append(vars, r)
	}
	return slices.AppendSeq(vars, sig.Params().Variables())
}

// imports reports whether a file imports a path.
func imports(file *ast.File, path string) bool {
	return slices.ContainsFunc(file.Imports, func(s *ast.ImportSpec) bool { return s.Path.Value == `"`+path+`"` })
}

// inVendor reports whether a path lies in a vendor directory.
func inVendor(path string) bool {
	return slices.Contains(strings.Split(filepath.ToSlash(path), "/"), "vendor")
}

// pragma returns a compiler directive of a function that may not call others.
func pragma(d *ast.FuncDecl) string {
	if d.Doc == nil {
		return ""
	}
	for _, c := range d.Doc.List {
		for _, p := range []string{"//go:nosplit", "//go:systemstack", "//go:nowritebarrier", "//go:nowritebarrierrec",
			"//go:uintptrescapes"} {
			if c.Text == p {
				return p
			}
		}
	}
	return ""
}

// entryOnly returns why only the arguments of a function can be captured, or "". Its second call,
// by the function that captures results, must not be seen by the function itself.
func (f *function) entryOnly() (why string) {
	ast.Inspect(f.decl.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.CallExpr:
			if w := f.seesCaller(n); w != "" {
				why = w
			}
		}
		return why == ""
	})
	return why
}

// seesCaller returns why a call reveals the caller of the function, or "".
func (f *function) seesCaller(call *ast.CallExpr) string {
	switch fun := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		if _, ok := f.pkg.TypesInfo.Uses[fun].(*types.Builtin); ok && fun.Name == "recover" {
			return "it calls recover, which works in the deferred function itself only"
		}
	case *ast.SelectorExpr:
		obj, ok := f.pkg.TypesInfo.Uses[fun.Sel].(*types.Func)
		if ok && obj.Pkg() != nil && obj.Pkg().Path() == "runtime" && strings.HasPrefix(obj.Name(), "Caller") {
			return "it calls runtime." + obj.Name() + ", which would see another caller"
		}
	}
	return ""
}

// blind lists the parts that a capture of the function will not show, for the report.
func (f *function) blind() (notes []string) {
	sig := f.signature()
	if f.instance.concrete != nil {
		sig = f.instance.concrete
	}
	for i, v := range sigVars(sig) {
		name := v.Name()
		if name == "" || name == "_" {
			name = fmt.Sprintf("argument %d", i+1)
		}
		if what := hides(v.Type(), map[types.Type]bool{}); what != "" {
			notes = append(notes, name+": "+what)
		}
	}
	return notes
}

// hides returns what of a type's values is not recorded by default, or "".
func hides(t types.Type, seen map[types.Type]bool) string {
	// A type that holds itself is looked at once.
	if seen[t] {
		return ""
	}
	seen[t] = true
	switch u := t.Underlying().(type) {
	case *types.Pointer:
		return "memory behind pointers needs --follow"
	case *types.Map:
		return "maps are seen as lengths; their contents need --maps"
	case *types.Signature, *types.Chan:
		return "functions and channels mean nothing outside the process"
	case *types.Interface:
		return "values in interfaces are seen unless they are pointers"
	case *types.Slice:
		if what := hides(u.Elem(), seen); what != "" {
			return what
		}
		if syntax.Is[*types.Slice](u.Elem()) {
			return "lists inside lists need --follow"
		}
	case *types.Array:
		return hides(u.Elem(), seen)
	case *types.Struct:
		for f := range u.Fields() {
			if what := hides(f.Type(), seen); what != "" {
				return what
			}
		}
	}
	return ""
}
