package example

import (
	"go/ast"
	"go/token"
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

	pair   *compiledPair
	list   []ast.Stmt // the matched statements
	tail   ast.Expr   // the matched expression
	exprs  map[string]ast.Expr
	places map[string]*types.Var
	types  map[string]types.Type
	locals map[types.Object]*types.Var
	loops  map[types.Object]role
	blocks map[string]*block
	kept   map[string]*facts.Loop // the loops whose heads After keeps
	// addressed holds the parameters of pointer types whose expression is a variable that a method
	// call takes the address of.
	addressed map[string]bool
	named     map[*types.Var]facts.Declaration // variables that are matched as their values
	edits     [][]mutate.Edit                  // of each way
	// inner renders the matches of the same step that are nested in this one; nil if there are
	// none.
	inner func(ast.Node) (string, bool)

	trail   []func()
	frozen  bool        // compares only, and binds nothing more
	spelled bool        // takes no name for its value
	head    *facts.Loop // whose sequence is compared
	// swapFirst tries swapped operands first. The first operands that match decide what parameters
	// stand for, and the other choice may be the one that fits the rest.
	swapFirst bool
}

// A role is the part of a variable in a loop's head.
type role struct {
	loop  *facts.Loop
	value bool
}

func newMatch(p *mutate.Pass, of *compiledPair) *Match {
	return &Match{Pass: p, pair: of, exprs: map[string]ast.Expr{}, places: map[string]*types.Var{},
		types: map[string]types.Type{}, locals: map[types.Object]*types.Var{}, loops: map[types.Object]role{},
		blocks: map[string]*block{}, addressed: map[string]bool{},
		kept: map[string]*facts.Loop{}, named: map[*types.Var]facts.Declaration{}}
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
	for call := range mutate.Nodes[*ast.CallExpr](m.Pass, m.Region()) {
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

// set binds a name. undo takes it back.
func set[K comparable, V any](m *Match, to map[K]V, key K, value V) {
	to[key] = value
	m.trail = append(m.trail, func() { delete(to, key) })
}

// try keeps the bindings of attempt only if it succeeds.
func (m *Match) try(attempt func() bool) bool {
	mark := len(m.trail)
	if attempt() {
		return true
	}
	m.undo(mark)
	return false
}

func (m *Match) undo(mark int) {
	for _, back := range slices.Backward(m.trail[mark:]) {
		back()
	}
	m.trail = m.trail[:mark]
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
			if slices.ContainsFunc(taken[:before], func(n ast.Node) bool { return c.covers(n, m.Node) }) || !m.legal() {
				return
			}
			if c.rule.Together {
				all = append(all, m)
			} else if m.write() {
				sites = append(sites, mutate.Site{Node: m.Node, Label: c.label(m), Data: m})
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

// params returns one choice for each way that is legal at the site. Others have no edits.
func (c *compiled) params(_ *mutate.Pass, s mutate.Site) []mutate.Param {
	m, ok := s.Data.(*Match)
	if !ok {
		return []mutate.Param{{}}
	}
	var out []mutate.Param
	for i, way := range m.pair.ways {
		if m.edits[i] != nil {
			out = append(out, mutate.Param{Label: way.choice, Value: i})
		}
	}
	return out
}

func (c *compiled) rewrite(_ *mutate.Pass, s mutate.Site, param mutate.Param) ([]mutate.Edit, error) {
	if edits, ok := s.Data.([]mutate.Edit); ok {
		return edits, nil
	}
	i, _ := param.Value.(int)
	return s.Data.(*Match).edits[i], nil
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

// search yields every match of Before. It skips helpers of the kit: their slow path often is the
// code that the rule looks for.
func (p *compiledPair) search(pass *mutate.Pass, found func(*Match)) {
	// An example without statements matches expressions anywhere.
	if len(p.before.list) == 0 {
		for _, d := range pass.File.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && !isHelper(pass, fn) {
				p.searchExprs(pass, fn, found)
			}
		}
		return
	}
	// Try the statements of Before from each statement of each list on, in both orders of operands.
	m := newMatch(pass, p)
	for list := range pass.Lists() {
		if isHelper(pass, pass.FuncOf(list[0])) {
			continue
		}
		for i := range list {
			n, ok := m.stmts(p.before.list, list[i:], false)
			if !ok {
				m.swapFirst = true
				n, ok = m.stmts(p.before.list, list[i:], false)
				m.swapFirst = false
			}
			// An expression in the next statement must follow if Before ends in one.
			if ok && n > 0 {
				m.list, m.Node = list[i:i+n], list[i]
				if p.before.expr == nil || i+n < len(list) && m.inStatement(list[i+n]) {
					found(m)
					m = newMatch(pass, p)
				}
			}
			m.undo(0)
		}
	}
}

// searchExprs looks for an expression of a function that is matched by the whole of Before.
func (p *compiledPair) searchExprs(pass *mutate.Pass, fn *ast.FuncDecl, found func(*Match)) {
	m := newMatch(pass, p)
	for e := range mutate.Nodes[ast.Expr](pass, fn) {
		// A name alone is matched by everything, and a type is no value.
		if isName(e) || !pass.Info.Types[e].IsValue() && !isCall(e) {
			continue
		}
		if m.expr(p.before.expr, e) && m.yields(e) && !pass.Changes(e) {
			m.tail, m.Node = e, e
			found(m)
			// A match keeps its Match; the next one gets a new one.
			m = newMatch(pass, p)
		}
		m.undo(0)
	}
}

func isCall(e ast.Expr) bool {
	_, ok := e.(*ast.CallExpr)
	return ok
}

// isName reports whether an expression is matched elsewhere: within its parentheses, or where the
// variable that it names gets its value.
func isName(e ast.Expr) bool {
	switch e.(type) {
	case *ast.ParenExpr, *ast.Ident:
		return true
	}
	return false
}

// yields reports whether an expression has the type that Before returns, or a call the types.
func (m *Match) yields(e ast.Expr) bool {
	// A rule replaces a value by one of the same type. Several values come from a call only.
	results, got := m.pair.before.sig.Results(), m.Pass.Info.TypeOf(e)
	if results.Len() == 1 {
		return m.fits(results.At(0).Type(), got)
	}
	several, ok := got.(*types.Tuple)
	if !ok || several.Len() != results.Len() {
		return false
	}
	for i := range results.Len() {
		if !m.fits(results.At(i).Type(), several.At(i).Type()) {
			return false
		}
	}
	return true
}

// inStatement finds the expression of Before in the statement after the matched ones. The
// statement must evaluate it once, whatever happens.
func (m *Match) inStatement(s ast.Stmt) bool {
	for e := range mutate.Nodes[ast.Expr](m.Pass, s) {
		if isName(e) {
			// Only what is evaluated exactly once can be computed before the statement.
			continue
		}
		if at, ok := facts.Hoistable(m.Pass, e); !ok || at != s || m.Pass.Changes(e) {
			continue
		}
		if m.try(func() bool { return m.expr(m.pair.before.expr, e) && m.yields(e) }) {
			m.tail = e
			return true
		}
	}
	return false
}

var negated = map[token.Token]token.Token{token.EQL: token.NEQ, token.NEQ: token.EQL, token.LSS: token.GEQ,
	token.GEQ: token.LSS, token.GTR: token.LEQ, token.LEQ: token.GTR}

var mirrored = map[token.Token]token.Token{token.EQL: token.EQL, token.NEQ: token.NEQ, token.LSS: token.GTR,
	token.GTR: token.LSS, token.LEQ: token.GEQ, token.GEQ: token.LEQ}
