package lift

import (
	"path"
	"slices"
)

// A Module is a module outside of the standard library whose pure functions a study may offer. It
// requires no other module, so that a go.mod which gets it changes in nothing else.
type Module struct {
	Path     string   // of the module
	Packages []string // import paths of the packages that have components

	components []*Component
}

// Modules are the modules that a study knows. It offers the functions of a package only where
// [Options.Packages] names it. A further module is a further list of components.
var Modules []*Module

// ModulePackages returns the import paths of all packages that a study may offer.
func ModulePackages() (paths []string) {
	for _, m := range Modules {
		paths = append(paths, m.Packages...)
	}
	return paths
}

// newModule makes a module of the components that register registers. They call the packages by
// the last elements of their paths.
func newModule(module string, packages []string, register func()) *Module {
	for _, p := range packages {
		paths[path.Base(p)] = p
	}
	// Registering a function puts it into all, which holds none of a module's functions.
	kept := all
	defer func() { all = kept }()
	all = nil
	register()
	for _, c := range all {
		c.module = true
	}
	return &Module{Path: module, Packages: packages, components: all}
}

// offered returns the components of packages.
func offered(packages []string) (out []*Component) {
	for _, m := range Modules {
		for _, c := range m.components {
			if !slices.ContainsFunc(c.Imports, func(p string) bool { return !slices.Contains(packages, p) }) {
				out = append(out, c)
			}
		}
	}
	return out
}
