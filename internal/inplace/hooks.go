package inplace

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"

	"github.com/beagle-go/beagle/internal/gotool"
	"github.com/beagle-go/beagle/internal/syntax"
)

// hooks places the test files of a package with two calls more in each loop over a benchmark's
// iterations: where it begins, and where an iteration does. Lines keep their numbers. So slices
// end between iterations, and nothing is added to the code under test.
func (p *Place) hooks(o overlay, dir string, pkg *gotool.Listed) error {
	for _, list := range [][]string{pkg.TestGoFiles, pkg.XTestGoFiles} {
		for _, name := range list {
			path := filepath.Join(pkg.Dir, name)
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			hooked, err := hook(string(text), p.livePath())
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			if hooked != string(text) {
				if err := o.put(dir, path, hooked); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// hook adds the calls to a test file.
func hook(text, live string) (string, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", text, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	offset := func(p token.Pos) int { return fset.PositionFor(p, false).Offset }
	var edits []syntax.Edit
	insert := func(at token.Pos, text string) {
		edits = append(edits, syntax.Edit{Start: offset(at), End: offset(at), New: text})
	}
	var benchmarks []map[string]bool // names of *testing.B, of the functions around
	is := func(name string) bool {
		for _, names := range benchmarks {
			if names[name] {
				return true
			}
		}
		return false
	}
	var walk func(n ast.Node, labelled token.Pos)
	walk = func(n ast.Node, labelled token.Pos) {
		children := func() {
			for _, c := range childrenOf(n) {
				walk(c, token.NoPos)
			}
		}
		switch n := n.(type) {
		case *ast.FuncDecl:
			benchmarks = append(benchmarks, takesB(n.Type))
			children()
			benchmarks = benchmarks[:len(benchmarks)-1]
			return
		case *ast.FuncLit:
			benchmarks = append(benchmarks, takesB(n.Type))
			children()
			benchmarks = benchmarks[:len(benchmarks)-1]
			return
		case *ast.LabeledStmt:
			walk(n.Stmt, n.Pos())
			return
		case *ast.ForStmt:
			if overIterations(n.Cond, is) {
				insert(from(labelled, n.Pos()), "beaglelive.Loop(); ")
				insert(n.Body.Lbrace+1, " beaglelive.Tick(); ")
			}
		case *ast.RangeStmt:
			if overIterations(n.X, is) {
				insert(from(labelled, n.Pos()), "beaglelive.Loop(); ")
				insert(n.Body.Lbrace+1, " beaglelive.Tick(); ")
			}
		}
		children()
	}
	walk(f, token.NoPos)
	if len(edits) == 0 {
		return text, nil
	}
	insert(f.Name.End(), "; import beaglelive "+strconv.Quote(live))
	return syntax.Apply(text, edits), nil
}

// from is where a statement begins, with its label.
func from(label, at token.Pos) token.Pos {
	if label.IsValid() {
		return label
	}
	return at
}

// childrenOf are the nodes directly below one.
func childrenOf(n ast.Node) (out []ast.Node) {
	ast.Inspect(n, func(c ast.Node) bool {
		if c == n {
			return true
		}
		if c != nil {
			out = append(out, c)
		}
		return false
	})
	return out
}

// takesB names the parameters of a function that are benchmarks.
func takesB(t *ast.FuncType) map[string]bool {
	out := map[string]bool{}
	for _, field := range t.Params.List {
		star, ok := field.Type.(*ast.StarExpr)
		if !ok {
			continue
		}
		if sel, ok := star.X.(*ast.SelectorExpr); ok && sel.Sel.Name == "B" {
			for _, id := range field.Names {
				out[id.Name] = true
			}
		}
	}
	return out
}

// overIterations reports whether the head of a loop asks for b.N or b.Loop().
func overIterations(head ast.Expr, is func(name string) bool) bool {
	found := false
	if head == nil {
		return false
	}
	ast.Inspect(head, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && (sel.Sel.Name == "N" || sel.Sel.Name == "Loop") {
			id, ok := sel.X.(*ast.Ident)
			found = found || ok && is(id.Name)
		}
		return !found
	})
	return found
}
