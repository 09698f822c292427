package example

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"
)

// A compiled rule has its examples resolved: each name is a parameter, a variable of the example, a
// package, or predeclared.
type compiled struct {
	rule  *Rule
	fset  *token.FileSet
	info  *types.Info
	pairs []*pair
}

type pair struct {
	*Pair
	rule   *compiled
	before *side
	ways   []*side
	when   *side
	given  *side
}

// A side is one function of a pair.
type side struct {
	rule    *compiled
	choice  string
	params  map[types.Object]*types.Var // each parameter as itself
	list    []ast.Stmt                  // what is matched or written, without a last return that is not
	expr    ast.Expr                    // the expression of a last return
	outputs []ast.Expr                  // the variables, or for After the values, of a last return
	sig     *types.Signature
	up      map[ast.Node]ast.Node
	body    *ast.BlockStmt
	assigns map[*types.Var]bool // parameters that the function assigns
	used    map[string]use
}

// compile finds the rule's literal in its source, and resolves the functions of its pairs.
func compile(r *Rule) (*compiled, error) {
	c := &compiled{rule: r, fset: token.NewFileSet()}
	f, err := parser.ParseFile(c.fset, r.Name+".go", r.Source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	literals, err := literalsOf(f, r)
	if err != nil {
		return nil, err
	}
	x := &extract{file: f, decls: keptDecls(f), named: map[string]*ast.FuncDecl{}}
	for i, lit := range literals {
		if err := x.pair(&r.Pairs[i], lit); err != nil {
			return nil, fmt.Errorf("pair %d: %w", i, err)
		}
	}
	if err := c.resolve(f, x); err != nil {
		return nil, err
	}
	next := 0
	for i := range r.Pairs {
		p := &pair{Pair: &r.Pairs[i], rule: c}
		sides := make([]*side, 2+len(p.Also))
		for _, condition := range []any{p.When, p.Given} {
			if condition != nil {
				sides = append(sides, nil)
			}
		}
		for k := range sides {
			if sides[k], err = c.side(x.funcs[next]); err != nil {
				return nil, fmt.Errorf("pair %d: %w", i, err)
			}
			next++
		}
		p.before, p.ways = sides[0], sides[1:2+len(p.Also)]
		p.ways[0].choice = p.Choice
		for k, way := range p.Also {
			p.ways[k+1].choice = way.Choice
		}
		if p.When != nil {
			p.when = sides[2+len(p.Also)]
		}
		if p.Given != nil {
			p.given = sides[len(sides)-1]
		}
		for _, s := range []*side{p.when, p.given} {
			if s != nil && len(p.places(s)) != s.sig.Params().Len() {
				return nil, fmt.Errorf("pair %d: a condition has a parameter that Before has not", i)
			}
		}
		whole := slices.ContainsFunc(p.ways, func(way *side) bool { return way.returns() > 1 })
		p.before.split(nil, whole)
		p.before.used = p.before.uses()
		for _, way := range p.ways {
			way.split(p.before, whole)
			way.used = way.uses()
			if (way.expr == nil) != (p.before.expr == nil) || len(way.outputs) != len(p.before.outputs) {
				return nil, fmt.Errorf("pair %d: Before and After do not end alike", i)
			}
		}
		c.pairs = append(c.pairs, p)
	}
	return c, nil
}

// literalsOf returns the literals of the rule's pairs.
func literalsOf(f *ast.File, r *Rule) ([]*ast.CompositeLit, error) {
	var out []*ast.CompositeLit
	found := false
	ast.Inspect(f, func(n ast.Node) bool {
		lit, ok := n.(*ast.CompositeLit)
		if !ok || found {
			return !found
		}
		name, _ := field(lit, "Name").(*ast.BasicLit)
		if name == nil || name.Value != strconv.Quote(r.Name) {
			return true
		}
		found = true
		if pairs, ok := field(lit, "Pairs").(*ast.CompositeLit); ok {
			for _, e := range pairs.Elts {
				if p, ok := e.(*ast.CompositeLit); ok {
					out = append(out, p)
				}
			}
		}
		return false
	})
	if !found || len(out) != len(r.Pairs) || len(out) == 0 {
		return nil, errors.New("Source does not hold the rule's literal with its Pairs")
	}
	return out, nil
}

func field(lit *ast.CompositeLit, name string) ast.Expr {
	for _, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			if id, ok := kv.Key.(*ast.Ident); ok && id.Name == name {
				return kv.Value
			}
		}
	}
	return nil
}

// keptDecls returns the declarations that examples may use: imports, types and constants.
func keptDecls(f *ast.File) []ast.Decl {
	var out []ast.Decl
	for _, d := range f.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok != token.VAR {
			out = append(out, g)
		}
	}
	return out
}

// An extract collects the functions of the pairs as declarations with names of their own.
type extract struct {
	file  *ast.File
	decls []ast.Decl
	funcs []*ast.FuncDecl
	named map[string]*ast.FuncDecl // declared functions, which several pairs may name
}

func (x *extract) pair(p *Pair, lit *ast.CompositeLit) error {
	values := []ast.Expr{field(lit, "Before"), field(lit, "After")}
	if also, ok := field(lit, "Also").(*ast.CompositeLit); ok {
		for _, e := range also.Elts {
			way, ok := e.(*ast.CompositeLit)
			if !ok {
				return errors.New("an element of Also is no literal")
			}
			after := field(way, "After")
			if after == nil && len(way.Elts) == 2 {
				after = way.Elts[1]
			}
			values = append(values, after)
		}
	}
	if len(values) != 2+len(p.Also) {
		return errors.New("Also is no literal")
	}
	if p.When != nil {
		values = append(values, field(lit, "When"))
	}
	if p.Given != nil {
		values = append(values, field(lit, "Given"))
	}
	for _, v := range values {
		if err := x.add(v); err != nil {
			return err
		}
	}
	return nil
}

// add takes a function literal, or the name of a declared function, perhaps instantiated.
func (x *extract) add(v ast.Expr) error {
	fn := &ast.FuncDecl{Name: ast.NewIdent("example" + strconv.Itoa(len(x.funcs)))}
	switch e := v.(type) {
	case *ast.FuncLit:
		fn.Type, fn.Body = e.Type, e.Body
	case *ast.IndexExpr:
		return x.add(e.X)
	case *ast.IndexListExpr:
		return x.add(e.X)
	case *ast.Ident:
		if old := x.named[e.Name]; old != nil {
			x.funcs = append(x.funcs, old)
			return nil
		}
		x.named[e.Name] = fn
		for _, d := range x.file.Decls {
			if old, ok := d.(*ast.FuncDecl); ok && old.Name.Name == e.Name {
				fn.Type, fn.Body = old.Type, old.Body
			}
		}
	}
	if fn.Body == nil {
		return errors.New("a function is neither a literal nor declared in this file")
	}
	x.funcs = append(x.funcs, fn)
	x.decls = append(x.decls, fn)
	return nil
}

// resolve finds what each name of the examples means. The Go compiler has checked their types: they
// are part of this program. Packages are stand-ins here, which spares reading export data.
func (c *compiled) resolve(f *ast.File, x *extract) error {
	c.info = &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{},
		Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
		Implicits: map[ast.Node]types.Object{}}
	conf := types.Config{Importer: standIns{x.decls}, Error: func(error) {}}
	own := &ast.File{Package: f.Package, Name: f.Name, Decls: x.decls, FileStart: f.FileStart, FileEnd: f.FileEnd,
		GoVersion: f.GoVersion}
	conf.Check("example", c.fset, []*ast.File{own}, c.info) // its errors are of the stand-ins
	for _, fn := range x.funcs {
		if err := c.named(fn); err != nil {
			return err
		}
	}
	return nil
}

// named reports the first name in a function that nothing declares.
func (c *compiled) named(fn *ast.FuncDecl) error {
	var missing *ast.Ident
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			ast.Inspect(n.X, func(m ast.Node) bool {
				if id, ok := m.(*ast.Ident); ok && c.obj(id) == nil && missing == nil {
					missing = id
				}
				return true
			})
			return false
		case *ast.KeyValueExpr:
			return false
		case *ast.Ident:
			if c.obj(n) == nil && n.Name != "_" && n != fn.Name && missing == nil {
				missing = n
			}
		}
		return true
	})
	if missing != nil {
		return fmt.Errorf("%s: nothing declares %s", c.fset.Position(missing.Pos()), missing.Name)
	}
	return nil
}

// obj returns what an identifier of an example means.
func (c *compiled) obj(id *ast.Ident) types.Object {
	if o := c.info.Defs[id]; o != nil {
		return o
	}
	return c.info.Uses[id]
}

// side reads a function of a pair.
func (c *compiled) side(fn *ast.FuncDecl) (*side, error) {
	obj, ok := c.info.Defs[fn.Name].(*types.Func)
	if !ok {
		return nil, errors.New("no function")
	}
	s := &side{rule: c, sig: obj.Signature(), body: fn.Body,
		params: map[types.Object]*types.Var{}, assigns: map[*types.Var]bool{}, up: map[ast.Node]ast.Node{}}
	for v := range s.sig.Params().Variables() {
		s.params[v] = v
	}
	s.findAssigned()
	var stack []ast.Node
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		if n == nil {
			stack = stack[:len(stack)-1]
			return true
		}
		if len(stack) > 0 {
			s.up[n] = stack[len(stack)-1]
		}
		stack = append(stack, n)
		return true
	})
	return s, nil
}

// findAssigned finds the parameters that the function assigns as a whole.
func (s *side) findAssigned() {
	add := func(e ast.Expr) {
		if id, ok := ast.Unparen(e).(*ast.Ident); ok {
			if v, ok := s.rule.info.Uses[id].(*types.Var); ok && s.params[v] != nil {
				s.assigns[v] = true
			}
		}
	}
	ast.Inspect(s.body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				add(l)
			}
		case *ast.IncDecStmt:
			add(n.X)
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				add(n.X)
			}
		}
		return true
	})
}

// split separates a last return from the statements. It names what lives on, or it is one expression
// in a statement behind them. The split of an After follows that of its Before. If one of the two has
// other returns, the pair is whole: the last return is matched too.
func (s *side) split(before *side, whole bool) {
	s.list = s.body.List
	if len(s.list) == 0 {
		return
	}
	front := s.list[:len(s.list)-1]
	last, ok := s.list[len(s.list)-1].(*ast.ReturnStmt)
	switch {
	case whole || !ok || s.returns() != 1 || len(last.Results) == 0:
	case before != nil && before.outputs != nil:
		s.list, s.outputs = front, last.Results
	case before != nil && before.expr == nil:
	case before == nil && len(front) > 0 && s.variables(last.Results):
		s.list, s.outputs = front, last.Results
	case len(last.Results) == 1:
		s.list, s.expr = front, ast.Unparen(last.Results[0])
	}
}

func (s *side) returns() int {
	n := 0
	ast.Inspect(s.body, func(m ast.Node) bool {
		switch m.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			n++
		}
		return true
	})
	return n
}

// variables reports whether all expressions name variables of the function.
func (s *side) variables(list []ast.Expr) bool {
	for _, e := range list {
		id, ok := e.(*ast.Ident)
		if !ok {
			return false
		}
		if _, ok := s.rule.obj(id).(*types.Var); !ok {
			return false
		}
	}
	return true
}

// text returns the source between two positions of the rule's file.
func (s *side) text(from, to token.Pos) string {
	return s.rule.rule.Source[s.rule.fset.Position(from).Offset:s.rule.fset.Position(to).Offset]
}

// shown returns the example for readers: the expression, or the statements.
func (s *side) shown() string {
	if len(s.list) == 0 && s.expr != nil {
		return s.text(s.expr.Pos(), s.expr.End())
	}
	text := s.text(s.body.Lbrace+1, s.body.Rbrace)
	if s.outputs != nil {
		text = s.text(s.list[0].Pos(), s.list[len(s.list)-1].End())
	}
	lines := strings.Split(strings.Trim(text, "\n"), "\n")
	last := lines[len(lines)-1]
	indent := last[:len(last)-len(strings.TrimLeft(last, "\t"))]
	for i, line := range lines {
		lines[i] = strings.TrimPrefix(line, indent)
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// spentPlaces returns the numbers of the spent parameters.
func (p *pair) spentPlaces() []int {
	var out []int
	i := 0
	for v := range p.before.sig.Params().Variables() {
		if slices.Contains(p.Spent, v.Name()) {
			out = append(out, i)
		}
		i++
	}
	return out
}

// places returns, for each parameter of a condition, its number among those of Before.
func (p *pair) places(of *side) []int {
	if of == nil {
		return nil
	}
	var out []int
	for v := range of.sig.Params().Variables() {
		i := 0
		for w := range p.before.sig.Params().Variables() {
			if w.Name() == v.Name() {
				out = append(out, i)
			}
			i++
		}
	}
	return out
}
