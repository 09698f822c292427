// Package derive computes the table of effects of the standard library from the source of the
// toolchain in use.
package derive

import (
	"fmt"
	"go/token"
	"go/types"
	"maps"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/ssa/ssautil"

	"github.com/beagle-go/beagle/internal/effects"
)

// foreign lists packages whose source the analysis does not follow, because they bypass the type
// system. The reviewed table covers them.
var foreign = []string{"runtime", "reflect", "sync", "os", "syscall", "unsafe", "internal/reflectlite", "internal/abi",
	"internal/poll", "internal/godebug", "internal/race", "internal/cpu", "io/fs", "context", "unique", "weak",
	"log", "testing", "encoding/json", "encoding/xml", "fmt", "regexp", "crypto/internal", "internal/fmtsort"}

func isForeign(path string) bool {
	if path == "regexp/syntax" {
		return false // unlike regexp, it keeps no pools
	}
	for _, f := range foreign {
		if path == f || strings.HasPrefix(path, f+"/") {
			return true
		}
	}
	return false
}

// Table returns the lines of the table, sorted by name. The reviewed table takes the place of
// source that the analysis cannot follow.
func Table(reviewed *effects.Table) ([]string, error) {
	conf := &packages.Config{Mode: packages.LoadAllSyntax, Env: nil}
	pkgs, err := packages.Load(conf, slices.Concat(effects.Packages, effects.PureFunctions)...)
	if err != nil {
		return nil, err
	}
	if n := packages.PrintErrors(pkgs); n > 0 {
		return nil, fmt.Errorf("%d errors in the standard library's source", n)
	}
	prog, _ := ssautil.AllPackages(pkgs, ssa.BuildSerially)
	prog.Build()
	own := func(f *ssa.Function) bool {
		obj, ok := f.Object().(*types.Func)
		if !ok {
			return f.Pkg == nil || !isForeign(f.Pkg.Pkg.Path())
		}
		return obj.Pkg() != nil && !isForeign(obj.Pkg().Path()) && reviewed.Functions[effects.Name(obj)] == nil
	}
	p := effects.NewProgram(prog, own, reviewed)
	names := map[string]*ssa.Function{}
	for _, pkg := range pkgs {
		for _, f := range exported(prog, pkg.Types) {
			if obj := f.Object().(*types.Func); own(f) {
				names[effects.Name(obj)] = f
			}
		}
	}
	// In the order of their names: where functions call each other, the result may
	// hang on the order.
	order := slices.Sorted(maps.Keys(names))
	var fns []*ssa.Function
	for _, name := range order {
		fns = append(fns, names[name])
	}
	p.Analyse(fns)
	out := []string{"version " + runtime.Version()}
	for _, name := range order {
		s := p.SummaryOf(names[name])
		if s == nil {
			continue
		}
		out = append(out, strings.TrimSpace(name+" "+effects.Coarse(s, names[name].Signature).String()))
	}
	return out, nil
}

// exported returns the functions and methods that other packages can name.
func exported(prog *ssa.Program, pkg *types.Package) []*ssa.Function {
	var out []*ssa.Function
	add := func(f *types.Func) {
		if v := prog.FuncValue(f); v != nil && token.IsExported(f.Name()) {
			out = append(out, v)
		}
	}
	// Go through the names of the package: functions, and the methods of types. An interface's
	// methods have no body.
	for _, name := range pkg.Scope().Names() {
		switch obj := pkg.Scope().Lookup(name).(type) {
		case *types.Func:
			add(obj)
		case *types.TypeName:
			if n, ok := types.Unalias(obj.Type()).(*types.Named); ok && !types.IsInterface(n) {
				for m := range n.Methods() {
					add(m)
				}
			}
		}
	}
	return out
}
