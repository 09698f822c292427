package example

import (
	"go/ast"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// A Match is code that a Before matches. Guards ask it for the code that the parameters stand for.
type Match struct {
	Pass *mutate.Pass
	Node ast.Node // the expression, or the first statement

	pair *compiledPair
	list []ast.Stmt // the matched statements
	tail ast.Expr   // the matched expression
	bindings
	// inner renders the matches of the same step that are nested in this one; nil if there are
	// none.
	inner func(ast.Node) (string, bool)
}

// Expr returns the expression that a parameter stands for, or nil.
func (m *Match) Expr(name string) ast.Expr { return m.exprs[name] }

// Type returns the type that a type parameter stands for, or nil.
func (m *Match) Type(name string) types.Type { return m.types[name] }

// Var returns the variable that a parameter stands for, or nil.
func (m *Match) Var(name string) *types.Var {
	if v := m.places[name]; v != nil {
		return v
	}
	if e := m.exprs[name]; e != nil {
		return m.Pass.Var(e)
	}
	return nil
}

// Loop returns the first loop of the match, or nil.
func (m *Match) Loop() *facts.Loop {
	for _, s := range m.list {
		if l := facts.Loops.Of(m.Pass)[s]; l != nil {
			return l
		}
	}
	return nil
}

// Source returns the first call of a package's function in the match, or the match itself.
func (m *Match) Source() ast.Node {
	for _, call := range mutate.Nodes[*ast.CallExpr](m.Pass, m.Region()) {
		if fn, ok := m.Pass.Callee(call).(*types.Func); ok && fn.Pkg() != nil && fn.Pkg() != m.Pass.Pkg {
			return call
		}
	}
	return m.Node
}

// Local returns the variable that a variable of Before stands for, or nil.
func (m *Match) Local(name string) *types.Var {
	for obj, v := range m.locals {
		if obj.Name() == name {
			return v
		}
	}
	return m.places[name]
}

// Calls returns the name of the first function of a package that After calls, or "".
func (m *Match) Calls() (name string) {
	// The first way is the one that is shown.
	way := m.pair.ways[0]
	for sel := range nodesOf[*ast.SelectorExpr](way.body) {
		if way.rule.packageOf(sel) != nil {
			return sel.Sel.Name
		}
	}
	// Without one, the name of what else it calls.
	for call := range nodesOf[*ast.CallExpr](way.body) {
		if id, ok := call.Fun.(*ast.Ident); ok && way.codeOf(call) == nil {
			name = id.Name
		}
	}
	return name
}

// IsConstant reports whether a parameter stands for a constant, or for nothing.
func (m *Match) IsConstant(name string) bool {
	e := m.exprs[name]
	return e == nil || m.Pass.Info.Types[e].Value != nil
}

// Code returns the code that a parameter of a function type stands for, or nil.
func (m *Match) Code(name string) ast.Node {
	b := m.blocks[name]
	switch {
	case b == nil || b.expr == nil && len(b.stmts) == 0:
		return nil
	case b.expr != nil:
		return b.expr
	}
	return region(b.stmts)
}

// Region returns the matched code as one node.
func (m *Match) Region() ast.Node {
	if len(m.list) == 0 {
		return m.tail
	}
	return region(m.list)
}

// region makes a node of neighbouring statements.
func region(list []ast.Stmt) *ast.BlockStmt {
	return &ast.BlockStmt{Lbrace: list[0].Pos(), List: list, Rbrace: list[len(list)-1].End() - 1}
}

// find is the Find of the mutator.
func (c *compiled) find(p *mutate.Pass) []mutate.Site {
	// Earlier pairs have the first choice, so that one piece of code has one site.
	var sites []mutate.Site
	if !p.GoAtLeast(c.rule.Go) {
		return nil
	}
	var taken []ast.Node // what earlier pairs match
	var all []*Match     // of a rule that takes them together
	for _, pair := range c.pairs {
		before := len(taken)
		if !p.GoAtLeast(pair.Go) || !pair.importsThere(p) {
			continue
		}
		// A match that no After can be written for leaves the place to others.
		pair.search(p, func(m *Match) {
			covered := slices.ContainsFunc(taken[:before], func(n ast.Node) bool { return c.covers(n, m.Node) })
			if covered || !(legality{m}).holds() {
				return
			}
			if c.rule.Together {
				all = append(all, m)
			} else if written := m.write(); written != nil {
				sites = append(sites, mutate.Site{Node: m.Node, Label: c.label(m), Data: written})
			} else {
				return
			}
			taken = append(taken, m.Region())
		})
	}
	// Code finds what examples cannot say. A place that a pair takes is left to the pair.
	var coded []mutate.Site
	if c.rule.Code != nil {
		coded = c.rule.Code(p)
	}
	if c.rule.Together {
		return c.join(p, all, coded)
	}
	for _, s := range coded {
		if !slices.ContainsFunc(taken, func(n ast.Node) bool { return facts.Inside(s.Node, n) }) {
			s.Data = []rewritten{{edits: s.Data.([]mutate.Edit)}}
			sites = append(sites, s)
		}
	}
	inorder.By(sites, func(a, b mutate.Site) int { return int(a.Node.Pos() - b.Node.Pos()) })
	return sites
}

// covers reports whether an earlier match leaves no place for another one: of those that make one
// step, only one at the same place.
func (c *compiled) covers(earlier, n ast.Node) bool {
	return facts.Inside(n, earlier) && (!c.rule.Together || n.Pos() == earlier.Pos() && n.End() == earlier.End())
}

// A rewritten is a site in the words of one After. The Data of a site are those of all Afters that
// are legal there.
type rewritten struct {
	choice string
	edits  []mutate.Edit
}

// params returns one choice for each way that is legal at the site.
func (c *compiled) params(_ *mutate.Pass, s mutate.Site) (out []mutate.Param) {
	for i, w := range s.Data.([]rewritten) {
		out = append(out, mutate.Param{Label: w.choice, Value: i})
	}
	return out
}

func (c *compiled) rewrite(_ *mutate.Pass, s mutate.Site, param mutate.Param) ([]mutate.Edit, error) {
	i, _ := param.Value.(int) // 0 where there is no choice
	return s.Data.([]rewritten)[i].edits, nil
}

// label names a match by the rule's function, or by its text.
func (c *compiled) label(m *Match) string {
	if c.rule.Label != nil {
		return c.rule.Label(m)
	}
	text, _, more := strings.Cut(m.Pass.Text(m.Node), "\n")
	if more {
		text = strings.TrimRight(text, " {")
	}
	return text
}

// importsThere reports whether the candidate imports all packages that Before uses.
func (p *compiledPair) importsThere(pass *mutate.Pass) bool {
	for _, path := range p.imports {
		if !slices.ContainsFunc(pass.File.Imports, func(s *ast.ImportSpec) bool { return s.Path.Value == path }) {
			return false
		}
	}
	return true
}

// imports returns the paths, quoted, of the packages that a function uses, except those that
// respelled makes up for.
func (s *side) imports() (out []string) {
	for id := range nodesOf[*ast.Ident](s.body) {
		pkg, ok := s.rule.obj(id).(*types.PkgName)
		if !ok || pkg.Imported().Path() == "slices" || pkg.Imported().Path() == "io" {
			continue
		}
		if path := strconv.Quote(pkg.Imported().Path()); !slices.Contains(out, path) {
			out = append(out, path)
		}
	}
	return out
}
