package edit

import (
	"go/ast"
	"go/format"
	"strings"

	"github.com/beagle-go/beagle/mutate"
)

// Helper returns the name of a function with the declared text. The candidate has it already,
// or the edits declare it after the declaration that holds n. A function of the same name with
// other text does not count.
func Helper(p *mutate.Pass, n ast.Node, declare func(name string) string,
	wishes ...string) (string, []mutate.Edit) {
	for _, name := range wishes {
		d := p.Decl(p.Pkg.Scope().Lookup(name))
		if d != nil && sameCode(p.Text(d), declare(name)) && nowhereElse(p, name) {
			return name, nil
		}
	}
	name := p.Fresh(wishes...)
	return name, []mutate.Edit{p.Declare(n, declare(name))}
}

// sameCode reports whether two functions are equal after formatting, apart from the comment in
// front.
func sameCode(a, b string) bool {
	code := func(s string) string {
		_, text, _ := strings.Cut("\n"+s, "\nfunc ")
		out, err := format.Source([]byte("package p\nfunc " + text))
		if err != nil {
			return text
		}
		return string(out)
	}
	return code(a) == code(b)
}
