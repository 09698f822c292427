package example

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
)

// A compiled rule has its examples resolved: each name is a parameter, a variable of the example,
// a package, or predeclared.
type compiled struct {
	rule  *Rule
	fset  *token.FileSet
	info  *types.Info
	pairs []*compiledPair
}

// A compiledPair is a [Pair] with its sides found in the source and their types.
type compiledPair struct {
	*Pair
	rule   *compiled
	before *side
	ways   []*side
	when   *side
	given  *side

	imports []string // paths, quoted, of packages that a candidate must import; see respelled
}

// compile finds the rule's literal in its source, and resolves the functions of its pairs.
func compile(r *Rule) (*compiled, error) {
	// Read the source, and find the literal that r was made from.
	c := &compiled{rule: r, fset: token.NewFileSet()}
	f, err := parser.ParseFile(c.fset, r.Name+".go", r.Source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	literals, err := literalsOf(f, r)
	if err != nil {
		return nil, err
	}
	if r.Together && r.Label == nil {
		return nil, errors.New("a step of all places has no label")
	}
	// Collect the functions of the pairs into one file, and have the type checker resolve it.
	x := &extract{file: f, decls: keptDecls(f), named: map[string]*ast.FuncDecl{}}
	for i, lit := range literals {
		if err := x.pair(&r.Pairs[i], lit); err != nil {
			return nil, fmt.Errorf("pair %d: %w", i, err)
		}
	}
	if err := c.resolve(f, x); err != nil {
		return nil, err
	}
	// Take the checked functions back, pair by pair.
	rest := x.funcs
	for i := range r.Pairs {
		p := &compiledPair{Pair: &r.Pairs[i], rule: c}
		if rest, err = p.read(rest); err != nil {
			return nil, fmt.Errorf("pair %d: %w", i, err)
		}
		if r.Together && len(p.ways) > 1 {
			return nil, fmt.Errorf("pair %d: one step of all places leaves no choice between ways", i)
		}
		c.pairs = append(c.pairs, p)
	}
	return c, nil
}

// read takes the functions of a pair from the front of a list, in the order of extract.pair. It
// returns the others.
func (p *compiledPair) read(list []*ast.FuncDecl) (rest []*ast.FuncDecl, err error) {
	// next takes one function. After an error it takes no more.
	next := func(choice string) (s *side) {
		if err == nil {
			s, err = p.rule.side(list[0])
			list = list[1:]
		}
		if err == nil {
			s.choice = choice
		}
		return s
	}
	p.before = next("")
	p.ways = append(p.ways, next(p.Choice))
	for _, way := range p.Also {
		p.ways = append(p.ways, next(way.Choice))
	}
	if p.When != nil {
		p.when = next("")
	}
	if p.Given != nil {
		p.given = next("")
	}
	if err != nil {
		return nil, err
	}
	// A condition speaks of what Before has matched, so its parameters must be among those of
	// Before.
	for _, s := range []*side{p.when, p.given} {
		if s != nil && len(p.places(s)) != s.sig.Params().Len() {
			return nil, errors.New("a condition has a parameter that Before has not")
		}
	}
	return list, p.split()
}

// split separates the matched and the written code from the ends of the functions.
func (p *compiledPair) split() error {
	// One side with several returns makes all sides whole: only then can each of them be matched.
	whole := slices.ContainsFunc(p.ways, func(way *side) bool { return way.returns() > 1 })
	p.imports = p.before.imports()
	p.before.split(nil, whole)
	p.before.used = p.before.uses()
	for _, way := range p.ways {
		way.split(p.before, whole)
		way.used = way.uses()
		// Both must leave the same number of values in the same way, or the one cannot stand for
		// the other.
		if (way.expr == nil) != (p.before.expr == nil) || len(way.outputs) != len(p.before.outputs) {
			return errors.New("the functions Before and After do not end alike")
		}
	}
	return nil
}

// resolve finds what each name of the examples means. The Go compiler has checked their types:
// they are part of this program. Packages are stand-ins here, which spares reading export data.
func (c *compiled) resolve(f *ast.File, x *extract) error {
	c.info = &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{},
		Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
		Implicits: map[ast.Node]types.Object{}}
	conf := types.Config{Importer: standIns{x.decls}, Error: func(error) {}}
	own := &ast.File{Package: f.Package, Name: f.Name, Decls: x.decls, FileStart: f.FileStart, FileEnd: f.FileEnd,
		GoVersion: f.GoVersion}
	conf.Check("example", c.fset, []*ast.File{own}, c.info) // its errors are of the stand-ins
	for _, fn := range x.funcs {
		if err := c.checkNames(fn); err != nil {
			return err
		}
	}
	return nil
}

// checkNames reports the first name in a function that nothing declares.
func (c *compiled) checkNames(fn *ast.FuncDecl) error {
	// Names of fields, methods and keys need no declaration of their own.
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

// spentPlaces returns the numbers of the spent parameters.
func (p *compiledPair) spentPlaces() []int {
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
func (p *compiledPair) places(of *side) []int {
	if of == nil {
		return nil
	}
	var out []int
	// By name: a condition takes those parameters that it needs, in any order.
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
