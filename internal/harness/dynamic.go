package harness

import (
	"fmt"
	"go/types"
	"slices"
	"strings"

	linker "github.com/beagle-go/beagle/internal/symbol"
)

// maxDynamic bounds the registry: the types keep their methods in the binary.
const maxDynamic = 200

// dynamicTypes lists, as expressions for the shim, the concrete types that
// the interfaces in the arguments may hold: the package's own, and exported
// ones of the packages that it imports from outside the standard library. rt
// itself knows those of the standard library.
func (s *frame) dynamicTypes(pkg *types.Package, args []types.Type) []string {
	ifaces := interfacesIn(args)
	if len(ifaces) == 0 {
		return nil
	}
	candidates := namedTypes(pkg, true)
	for _, p := range pkg.Imports() {
		if !linker.Standard(p.Path()) {
			candidates = append(candidates, namedTypes(p, false)...)
		}
	}
	var out []string
	for _, t := range candidates {
		for _, t := range []types.Type{t, types.NewPointer(t)} {
			if len(out) < maxDynamic && fits(t, ifaces) {
				out = append(out, fmt.Sprintf("beaglereflect.TypeOf((*%s)(nil)).Elem()", s.typeString(t)))
			}
		}
	}
	return out
}

func fits(t types.Type, ifaces []*types.Interface) bool {
	return slices.ContainsFunc(ifaces, func(i *types.Interface) bool { return types.Implements(t, i) })
}

// namedTypes returns the concrete types that a package declares.
func namedTypes(p *types.Package, unexported bool) []types.Type {
	var out []types.Type
	for _, name := range p.Scope().Names() {
		obj, ok := p.Scope().Lookup(name).(*types.TypeName)
		if !ok || obj.IsAlias() || name == "_" || !unexported && !obj.Exported() || strings.HasPrefix(name, "_C") {
			continue
		}
		named, ok := obj.Type().(*types.Named)
		if !ok || named.TypeParams().Len() > 0 || types.IsInterface(named) {
			continue
		}
		out = append(out, named)
	}
	return out
}

// interfacesIn collects the interface types that values of the given types
// can reach.
func interfacesIn(ts []types.Type) []*types.Interface {
	seen := map[types.Type]bool{}
	var out []*types.Interface
	// Walk into each type once.
	var walk func(types.Type)
	walk = func(t types.Type) {
		t = types.Unalias(t)
		if seen[t] {
			return
		}
		seen[t] = true
		switch u := t.Underlying().(type) {
		case *types.Interface:
			out = append(out, u)
		case *types.Pointer:
			walk(u.Elem())
		case *types.Slice:
			walk(u.Elem())
		case *types.Array:
			walk(u.Elem())
		case *types.Map:
			walk(u.Key())
			walk(u.Elem())
		case *types.Struct:
			for f := range u.Fields() {
				walk(f.Type())
			}
		}
	}
	for _, t := range ts {
		walk(t)
	}
	return out
}
