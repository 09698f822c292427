package calls

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// outline (catalogue D3) matches a function that begins with guards and continues with more than a
// call. It moves the part after the guards into a function of its own. A call costs more than the
// fast path of many functions, but the compiler inlines a function of a few statements and one
// call.
var outline = &mutate.Mutator{
	Name: "outline-slow-path",
	Doc: "Move the code after the guards at the head of a function into a function of its own, so that the compiler " +
		"can inline the head. Exact: the moved part uses nothing but the parameters.",
	Example: mutate.Shows(`func Clean(s string) string {
	if isClean(s) {
		return s
	}
	... many lines ...
}`,
		`func Clean(s string) string {
	if isClean(s) {
		return s
	}
	return cleanSlow(s)
}

func cleanSlow(s string) string {
	... many lines ...
}`),
	Class:   beagle.E0,
	Gain:    1.1,
	Find:    findOutline,
	Rewrite: rewriteOutline,
}

type outlineSite struct {
	fn   *ast.FuncDecl
	rest []ast.Stmt
}

// findOutline wants at least one guard without loops, and after the guards more than a call.
func findOutline(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, d := range p.File.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil || !syntax.PlainSignature(fn) || facts.UsesNameOrLabel(p, fn, "recover") {
			continue
		}
		// Guards are short tests that return. Up to two of them, with the call of the rest, can be
		// inlined.
		heads := 0
		for heads < len(fn.Body.List) && isGuard(p, fn.Body.List[heads]) {
			heads++
		}
		// The rest must be long enough to keep the function from being inlined.
		rest := fn.Body.List[heads:]
		if heads == 0 || heads > 2 || len(rest) < 2 ||
			facts.LineCount(p, fn.Body)-facts.LineCount(p, guards(fn, heads)) < 6 {
			continue
		}
		sites = append(sites, mutate.Site{
			Node:  rest[0],
			Label: "slow path of " + fn.Name.Name,
			Data:  outlineSite{fn, rest},
		})
	}
	return sites
}

// keepsAddress reports whether code may keep the address of one of a function's variables, or use
// it in a function literal that runs later: a copy of the variable would not change with it.
func keepsAddress(p *mutate.Pass, code ast.Node) bool {
	for _, id := range mutate.Nodes[*ast.Ident](p, code) {
		v := p.Var(id)
		if facts.IsLocal(p, v) && !facts.DeclaredIn(v, code) && (facts.AddressTaking(p, id) != nil ||
			facts.Captured.Of(p)[v] && facts.InLiteral(p, id, code) && p.Assigned(v, p.FuncOf(code))) {
			return true
		}
	}
	return false
}

// guards returns the first statements of a function as a block, which ends where the rest begins.
func guards(fn *ast.FuncDecl, n int) *ast.BlockStmt {
	return &ast.BlockStmt{Lbrace: fn.Body.Lbrace, List: fn.Body.List[:n], Rbrace: fn.Body.List[n].Pos() - 1}
}

func isGuard(p *mutate.Pass, s ast.Stmt) bool {
	i, ok := s.(*ast.IfStmt)
	if !ok || i.Else != nil || facts.HasLoop(p, i) || facts.LineCount(p, i) > 4 || keepsAddress(p, i) {
		return false
	}
	_, ret := i.Body.List[len(i.Body.List)-1].(*ast.ReturnStmt)
	return ret
}

// rewriteOutline moves what follows the guards to a function of its own. The guards alone are
// short enough to be inlined.
func rewriteOutline(p *mutate.Pass, s mutate.Site, _ mutate.Param) ([]mutate.Edit, error) {
	site := s.Data.(outlineSite)
	name := p.Fresh(edit.LowerFirst(site.fn.Name.Name)+"Slow", edit.LowerFirst(site.fn.Name.Name)+"Rest")
	// The new function has the same parameters and results, and is called with the parameters as
	// they are.
	var args []string
	for _, f := range site.fn.Type.Params.List {
		for _, id := range f.Names {
			args = append(args, id.Name)
		}
		if _, variadic := f.Type.(*ast.Ellipsis); variadic {
			args[len(args)-1] += "..."
		}
	}
	// The comment above the rest moves along.
	from, to := commentBefore(p, site), site.fn.Body.Rbrace
	body := strings.TrimSpace(p.Between(from, to))
	decl := fmt.Sprintf("// %s is the part of %s that is too long to be inlined.\nfunc %s%s {\n%s\n}",
		name, site.fn.Name.Name, name, p.Between(site.fn.Type.Params.Pos(), site.fn.Type.End()), body)
	return []mutate.Edit{
		p.Span(from, to, fmt.Sprintf("return %s(%s)\n", name, strings.Join(args, ", "))),
		p.Declare(site.fn, decl),
	}, nil
}

// commentBefore returns the start of the rest, including a comment directly above it.
func commentBefore(p *mutate.Pass, s outlineSite) token.Pos {
	pos := s.rest[0].Pos()
	for _, g := range p.File.Comments {
		if g.End() < pos && p.Fset.Position(g.End()).Line == p.Fset.Position(pos).Line-1 && g.Pos() > s.fn.Body.Lbrace {
			return g.Pos()
		}
	}
	return pos
}
