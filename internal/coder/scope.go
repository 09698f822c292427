package coder

import (
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"strings"
)

// outside says which declarations of a file changed that are not the candidate's
// to change; empty when none did. inside are the names that may change.
func outside(before, after string, inside map[string]bool) (string, error) {
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
			touched = append(touched, name+" (new, and used by others or by nobody)")
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
			add(funcName(d), d)
		case *ast.GenDecl:
			if d.Tok == token.IMPORT {
				continue // imports follow the code
			}
			for _, s := range d.Specs {
				for _, name := range specNames(s) {
					add(name, s)
				}
			}
		}
	}
	return l, nil
}

func funcName(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return d.Name.Name
	}
	t := d.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name + "." + d.Name.Name
		default:
			return d.Name.Name
		}
	}
}

func specNames(s ast.Spec) (names []string) {
	switch s := s.(type) {
	case *ast.TypeSpec:
		names = append(names, s.Name.Name)
	case *ast.ValueSpec:
		for _, n := range s.Names {
			names = append(names, n.Name)
		}
	}
	return names
}

// names are the declarations of candidate files, together.
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
