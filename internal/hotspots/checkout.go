package hotspots

import (
	"path"
	"slices"
	"strings"
)

// A Checkout describes the user's own code.
type Checkout struct {
	Module string   // import path of the main module; "" without a checkout
	Own    []string // prefixes of packages that count as own; the module when empty
	Build  string   // build ID of the program that was built from it; "" when unknown
	Files  map[string]*SourceFile
}

// A SourceFile is a Go file of the checkout.
type SourceFile struct {
	Path      string // relative to the module's directory, with slashes
	Main      bool   // its package clause says main
	Generated bool
	Decls     []SourceFunc // in the order of the file
}

// A SourceFunc is a function declaration.
type SourceFunc struct {
	Name       string // Func or Type.Method
	Start, End int    // lines
	Body       bool
	Text       string // hash of its text
}

// Owns reports whether code of a package counts as own.
func (c *Checkout) Owns(pkg string) bool {
	own := c.Own
	if len(own) == 0 {
		own = []string{c.Module}
	}
	return slices.ContainsFunc(own, func(prefix string) bool { return prefix != "" && ofPackage(pkg, prefix) })
}

// file finds the checkout's file for a file of a profile, and the package that
// it is in. Builds may have run in any directory, and a function literal that
// was inlined into another package carries that package's name. So the
// longest common end of the paths decides, of two parts at least; a file in
// the module's directory itself must also declare the function.
func (c *Checkout) file(s symbol, name string, start int64) (*SourceFile, string) {
	if c.Files == nil || name == "" || inModuleCache(name) {
		return nil, s.pkg
	}
	if rel, ok := strings.CutPrefix(s.pkg, c.Module); ok && s.pkg != "main" && c.Module != "" {
		if f := c.Files[path.Join(strings.TrimPrefix(rel, "/"), path.Base(name))]; f != nil && f.holds(s, start) {
			return f, s.pkg
		}
	}
	if s.pkg != "main" && !c.Owns(s.pkg) {
		return nil, s.pkg
	}
	parts := strings.Split(strings.Trim(name, "/"), "/")
	for i := range parts {
		f := c.Files[strings.Join(parts[i:], "/")]
		if f == nil || i == len(parts)-1 && !f.holds(s, start) {
			continue
		}
		if s.pkg == "main" && f.Main {
			return f, s.pkg
		}
		return f, path.Join(c.Module, path.Dir(f.Path))
	}
	return nil, s.pkg
}

// holds reports whether a file may hold a function's code: it declares the
// function, or a declaration spans the line where the literal begins.
func (f *SourceFile) holds(s symbol, start int64) bool {
	return f.declaration(s.name) != nil || s.closure && (start == 0 || f.funcAt(start) != nil)
}

// funcAt returns the declaration that holds a line.
func (f *SourceFile) funcAt(line int64) *SourceFunc {
	for i := range f.Decls {
		if d := &f.Decls[i]; int64(d.Start) <= line && line <= int64(d.End) {
			return d
		}
	}
	return nil
}

// declaration returns the declaration of a name.
func (f *SourceFile) declaration(name string) *SourceFunc {
	for i := range f.Decls {
		if f.Decls[i].Name == name {
			return &f.Decls[i]
		}
	}
	return nil
}
