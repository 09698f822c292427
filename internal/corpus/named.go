package corpus

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"

	"github.com/beagle-go/beagle/internal/gotool"
)

// namePattern makes a pattern of the tests or benchmarks of a package that mention the
// target by its name. It is empty when none does.
func namePattern(p *gotool.Listed, target string, prefixes ...string) string {
	name := target[strings.LastIndex(target, ".")+1:]
	var found []string
	for _, file := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, file), nil, parser.SkipObjectResolution)
		if err != nil {
			continue // the build reports the fault
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			is := func(prefix string) bool { return strings.HasPrefix(fn.Name.Name, prefix) }
			if ok && fn.Recv == nil && fn.Body != nil && slices.ContainsFunc(prefixes, is) && mentions(fn.Body, name) {
				found = append(found, fn.Name.Name)
			}
		}
	}
	if len(found) == 0 {
		return ""
	}
	return "^(" + strings.Join(found, "|") + ")$"
}

// mentions reports whether a name occurs.
func mentions(n ast.Node, name string) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && id.Name == name
		return !found
	})
	return found
}
