package lift

import (
	"go/ast"
	"go/parser"
	"go/token"
	gotypes "go/types"
	"testing"

	"github.com/beagle-go/beagle/mutate"
)

// TestNameTaken replaces a loop by a call of a package whose name the file gives to something else.
func TestNameTaken(t *testing.T) {
	const call = `sum = crc32.Update(sum, crc32.IEEETable, b) + f("crc32.Update", x.crc32.Y)`
	for _, c := range []struct{ name, declared, want string }{
		{"free", "", call},
		{"function", "func crc32() {}",
			`sum = stdcrc32.Update(sum, stdcrc32.IEEETable, b) + f("crc32.Update", x.crc32.Y)`},
		{"variable with fields", "var crc32 struct{ Update func() }", ""},
	} {
		src := "package p\n\nfunc f(sum uint32, b []byte) uint32 {\n\tfor range b {\n\t\tsum++\n\t}\n" +
			"\treturn sum\n}\n\n" + c.declared + "\n"
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, "p.go", src, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		info := &gotypes.Info{Defs: map[*ast.Ident]gotypes.Object{}, Uses: map[*ast.Ident]gotypes.Object{},
			Types: map[ast.Expr]gotypes.TypeAndValue{}, Scopes: map[ast.Node]*gotypes.Scope{},
			Selections: map[*ast.SelectorExpr]*gotypes.Selection{}}
		pkg, err := (&gotypes.Config{}).Check("p", fset, []*ast.File{file}, info)
		if err != nil {
			t.Fatal(err)
		}
		fn := file.Decls[0].(*ast.FuncDecl)
		p := &mutate.Pass{Src: []byte(src), Fset: fset, File: file, Pkg: pkg, Info: info, Func: fn}
		loop := fn.Body.List[0]
		edits, err := rewrite(p, mutate.Site{Data: &place{&Match{Imports: []string{"hash/crc32"}}, loop, loop}},
			mutate.Param{Value: call})
		got := ""
		if err == nil {
			got = edits[len(edits)-1].New
		}
		if got != c.want {
			t.Errorf("%s: the code is %q, and should be %q (%v)", c.name, got, c.want, err)
		}
	}
}
