package coder

import (
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"strings"

	"github.com/beagle-go/beagle/mutate/llm"
)

// changesOutside lists the changed declarations of a file that the candidate may not change; it is
// empty if there are none. inside are the names that may change.
func changesOutside(before, after string, inside map[string]bool) (string, error) {
	old, err := declarations(before)
	if err != nil {
		return "", err
	}
	new, err := declarations(after)
	if err != nil {
		return "", err
	}
	var touched []string
	for _, name := range old.order {
		if !inside[name] && new.text[name] != old.text[name] {
			touched = append(touched, name)
		}
	}
	for _, name := range new.order {
		if _, known := old.text[name]; !known && !inside[name] {
			touched = append(touched, name+" (new, and not used by the target alone)")
		}
	}
	return strings.Join(touched, ", "), nil
}

// A listing is the declarations of a file by name.
type listing struct {
	text  map[string]string
	order []string
}

// declarations lists functions as "F" or "T.M", and every name of the others. A
// declaration's text is printed anew, so that moving it or a comment elsewhere does not count.
func declarations(src string) (listing, error) {
	l := listing{text: map[string]string{}}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "file.go", src, parser.SkipObjectResolution)
	if err != nil {
		return l, err
	}
	add := func(name string, n ast.Node) {
		var b strings.Builder
		printer.Fprint(&b, fset, n)        // a parsed node prints
		if name == "_" || name == "init" { // there may be several
			name = b.String()
		}
		l.text[name] = b.String()
		l.order = append(l.order, name)
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			add(llm.Declared(d)[0], d)
		case *ast.GenDecl:
			if d.Tok == token.IMPORT {
				continue // imports follow the code
			}
			for _, s := range d.Specs {
				for _, name := range llm.SpecNames(s) {
					add(name, s)
				}
			}
		}
	}
	return l, nil
}

// names returns the declarations of candidate files, together.
func names(files ...string) (map[string]bool, error) {
	all := map[string]bool{}
	for _, src := range files {
		l, err := declarations(src)
		if err != nil {
			return nil, err
		}
		for _, n := range l.order {
			all[n] = true
		}
	}
	return all, nil
}
