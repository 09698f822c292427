package beagle_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestGlossary checks that the code has what the last columns of docs/glossary.md name: packages,
// files and directories, and declarations as PACKAGE.NAME, PACKAGE.TYPE.MEMBER or TYPE.MEMBER.
func TestGlossary(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("docs", "glossary.md"))
	if err != nil {
		t.Fatal(err)
	}
	index, err := declarations(".")
	if err != nil {
		t.Fatal(err)
	}
	inCode, checked := false, 0
	for line := range strings.Lines(string(text)) {
		// A table begins with its heads and ends with a line that is no row.
		if !strings.HasPrefix(line, "|") {
			inCode = false
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		last := strings.TrimSpace(cells[len(cells)-1])
		if last == "in code" {
			inCode = true
			continue
		}
		if !inCode {
			continue
		}
		// Look the names of the row up.
		owner := ""
		for _, quoted := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(last, -1) {
			name := quoted[1]
			if strings.HasPrefix(name, ".") { // as in `Hotspot.Flat`, `.Cum`
				name = owner + name
			}
			owner, _, _ = strings.Cut(name, ".")
			if checked++; !index[name] {
				t.Errorf("%s: the code has no %s", strings.TrimSpace(cells[0]), name)
			}
		}
	}
	if checked < 100 {
		t.Errorf("only %d names were checked", checked)
	}
}

// declarations returns the names by which the glossary may call the code below a directory.
func declarations(root string) (map[string]bool, error) {
	index := map[string]bool{}
	err := filepath.WalkDir(root, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && at != root && strings.HasPrefix(d.Name(), ".") {
			return filepath.SkipDir
		}
		// A path may be cut at its front.
		for rest := filepath.ToSlash(at); ; {
			index[rest] = true
			_, short, ok := strings.Cut(rest, "/")
			if !ok {
				break
			}
			rest = short
		}
		if path.Ext(at) != ".go" || strings.HasSuffix(at, "_test.go") || strings.Contains(at, "testdata") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), at, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			declares(index, file.Name.Name, d)
		}
		return nil
	})
	return index, err
}

// declares adds the names of a declaration, and those of its fields and methods.
func declares(index map[string]bool, pkg string, d ast.Decl) {
	member := func(of, name string) {
		index[pkg+"."+of+"."+name] = true
		index[of+"."+name] = true
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			index[pkg+"."+d.Name.Name] = true
			return
		}
		of := ast.Unparen(d.Recv.List[0].Type)
		if star, ok := of.(*ast.StarExpr); ok {
			of = star.X
		}
		switch generic := of.(type) {
		case *ast.IndexExpr:
			of = generic.X
		case *ast.IndexListExpr:
			of = generic.X
		}
		if name, ok := of.(*ast.Ident); ok {
			member(name.Name, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.ValueSpec:
				for _, name := range s.Names {
					index[pkg+"."+name.Name] = true
				}
			case *ast.TypeSpec:
				index[pkg+"."+s.Name.Name] = true
				for _, f := range fieldsOf(s.Type) {
					member(s.Name.Name, f)
				}
			}
		}
	}
}

// fieldsOf returns the names of a struct's fields, or of an interface's methods.
func fieldsOf(of ast.Expr) (names []string) {
	var list *ast.FieldList
	switch of := of.(type) {
	case *ast.StructType:
		list = of.Fields
	case *ast.InterfaceType:
		list = of.Methods
	default:
		return nil
	}
	for _, f := range list.List {
		for _, name := range f.Names {
			names = append(names, name.Name)
		}
	}
	return names
}
