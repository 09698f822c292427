package branches

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"

	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// A runeTest is an expression that depends on a single rune only, and its text as a test of that
// rune.
type runeTest struct {
	expr    ast.Expr
	rune    *types.Var
	text    string
	dropped []ast.Stmt              // declarations that nothing else uses
	answers map[*types.Var]ast.Stmt // variables to write out, with their declarations
}

// runeTests finds the largest tests in loops that ask at least two things, also through variables
// that hold the answer to one.
func runeTests(p *mutate.Pass) []*runeTest {
	var out []*runeTest
	own := facts.Reached.Of(p)
	for _, d := range p.File.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil || !own[fn] || facts.HasGoto(p, fn) {
			continue
		}
		// Take the largest test that can be answered by a table, and do not look inside.
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			e, ok := n.(*ast.BinaryExpr)
			if !ok || !p.InLoop(e) && (fn != p.Func || !facts.TakesTime(p, e)) {
				return true
			}
			t := &runeTest{expr: e}
			if !t.read(p, fn) {
				return true
			}
			out = append(out, t)
			return false
		})
	}
	// A declaration that a test drops may hold another test, which then is gone.
	return slices.DeleteFunc(out, func(t *runeTest) bool {
		return slices.ContainsFunc(out, func(u *runeTest) bool {
			return slices.ContainsFunc(u.dropped, func(s ast.Stmt) bool { return facts.Inside(t.expr, s) })
		})
	})
}

// read finds the rune, and writes the test so that it can stand at package level.
func (t *runeTest) read(p *mutate.Pass, fn *ast.FuncDecl) bool {
	b, ok := p.Info.TypeOf(t.expr).(*types.Basic)
	if !ok || b.Kind() != types.Bool && b.Kind() != types.UntypedBool || p.Info.Types[t.expr].Value != nil {
		return false
	}
	asks := 0
	t.text, ok = t.outside(p, fn, t.expr, &asks)
	return ok && t.rune != nil && asks >= 2
}

// outside returns the text of an expression at package level. It writes out variables that hold the
// answer to a test of the rune.
func (t *runeTest) outside(p *mutate.Pass, fn *ast.FuncDecl, e ast.Expr, asks *int) (string, bool) {
	// The test is evaluated as the program starts, for all runes of the table. It may neither write
	// nor read memory, nor panic.
	f := p.Effects(e)
	if f.Writes || f.Reads || f.Panics {
		return "", false
	}
	ok := true
	// Count the comparisons and calls on the way: they decide whether a table pays.
	text := p.TextWith(e, func(n ast.Node) (string, bool) {
		if !ok {
			return "", true // the test is refused already
		}
		switch n := n.(type) {
		case *ast.FuncLit:
			ok = false
		case *ast.CallExpr:
			*asks += 2
		case *ast.BinaryExpr:
			switch n.Op {
			case token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
				*asks++
			}
		case *ast.Ident:
			// Names that are no variables must mean the same at package level. A variable is the
			// rune, or holds the answer to another test of it, which is written out.
			v, isVar := p.Info.Uses[n].(*types.Var)
			if !isVar {
				ok = ok && sameOutside(p, p.Info.Uses[n])
			} else if !t.isRune(p, v) {
				text, known := t.answer(p, fn, v, n, asks)
				ok = ok && known
				return text, known
			}
		}
		return "", false
	})
	return text, ok
}

// isRune accepts one variable of a rune's type: variables of other types mostly hold no characters.
func (t *runeTest) isRune(p *mutate.Pass, v *types.Var) bool {
	b, ok := v.Type().(*types.Basic)
	if !ok || b.Kind() != types.Int32 {
		return false
	}
	if t.rune == nil && facts.IsLocal(p, v) && !facts.Captured.Of(p)[v] && !v.IsField() &&
		p.Pkg.Scope().Lookup(b.Name()) == nil {
		t.rune = v
	}
	return t.rune == v
}

// sameOutside reports whether a name means the same at package level.
func sameOutside(p *mutate.Pass, obj types.Object) bool {
	if _, pkg := obj.(*types.PkgName); pkg {
		return true
	}
	if obj == nil || obj.Parent() == nil {
		_, function := obj.(*types.Func)
		return function && obj.(*types.Func).Signature().Recv() == nil // behind a package's name
	}
	return obj.Parent() == types.Universe || obj.Pkg() != p.Pkg || obj.Parent() == p.Pkg.Scope()
}

// answer returns the test whose answer a variable holds. The variable must be declared with the
// test on the way to its use, and the rune must not change in between.
func (t *runeTest) answer(p *mutate.Pass, fn *ast.FuncDecl, v *types.Var, use *ast.Ident, asks *int) (string, bool) {
	// The variable must keep the answer of its declaration, and both must belong to the same
	// iteration.
	d, ok := declaredAs(p, v, use)
	if !ok || d.Value == nil || p.Assigned(v, fn) || facts.Captured.Of(p)[v] ||
		loopAround(p, d.Stmt) != loopAround(p, use) {
		return "", false
	}
	if b, ok := v.Type().(*types.Basic); !ok || b.Kind() != types.Bool {
		return "", false
	}
	text, ok := t.outside(p, fn, d.Value, asks)
	if !ok || t.rune == nil {
		return "", false
	}
	// Between the declaration and the use the rune must stay the same.
	for _, id := range p.Uses(t.rune, fn) {
		if u, ok := p.Parent(id).(*ast.UnaryExpr); ok && u.Op == token.AND {
			return "", false // other code may change it by another name
		}
		if id.Pos() > d.Stmt.Pos() && id.Pos() < t.expr.End() && (p.Assigned(t.rune, id) || facts.IsAssigned(p, id)) {
			return "", false
		}
	}
	// The declaration goes if nothing else uses its answer.
	if !usedBeside(p, fn, v, t) {
		t.dropped = append(t.dropped, d.Stmt)
	}
	if t.answers == nil {
		t.answers = map[*types.Var]ast.Stmt{}
	}
	t.answers[v] = d.Stmt
	return "(" + text + ")", true
}

// usedBeside reports whether code outside all these tests uses a variable.
func usedBeside(p *mutate.Pass, fn ast.Node, v *types.Var, tests ...*runeTest) bool {
	return slices.ContainsFunc(p.Uses(v, fn), func(id *ast.Ident) bool {
		return p.Info.Uses[id] == v &&
			!slices.ContainsFunc(tests, func(t *runeTest) bool { return facts.Inside(id, t.expr) })
	})
}

// usedByTests finds the declarations that only these tests use, and the tests inside such a
// declaration. Each of these leaves its declaration to the other tests.
func usedByTests(p *mutate.Pass, tests []*runeTest) (unused []ast.Stmt, within map[*runeTest]bool) {
	within = map[*runeTest]bool{}
	for _, t := range tests {
		for v, decl := range t.answers {
			// A declaration that others use as well must stay.
			if slices.Contains(unused, decl) || usedBeside(p, p.FuncOf(t.expr), v, tests...) {
				continue
			}
			unused = append(unused, decl)
			for _, u := range tests {
				within[u] = within[u] || facts.Inside(u.expr, decl)
			}
		}
	}
	// Edits go from the front to the back.
	inorder.By(unused, func(a, b ast.Stmt) int { return int(a.Pos() - b.Pos()) })
	return unused, within
}

// declaredAs returns the declaration of a variable in a list around its use.
func declaredAs(p *mutate.Pass, v *types.Var, use ast.Node) (facts.Declaration, bool) {
	for list, i := range facts.Statements(p) {
		d, ok := facts.Declares(p, list[i])
		if ok && d.Var == v {
			last := list[len(list)-1]
			return d, list[i].End() <= use.Pos() && use.End() <= last.End()
		}
	}
	return facts.Declaration{}, false
}

// loopAround returns the innermost loop or function literal around a node, or nil.
func loopAround(p *mutate.Pass, n ast.Node) ast.Node {
	for _, up := range p.Path(n) {
		switch up.(type) {
		case *ast.ForStmt, *ast.RangeStmt, *ast.FuncLit:
			if up != n {
				return up
			}
		}
	}
	return nil
}

// runeTestSites offers all tests together and each alone.
func runeTestSites(p *mutate.Pass) []mutate.Site {
	if !edit.CanHelp(p, "unicode") {
		return nil
	}
	var all []mutate.Edit
	var sites []mutate.Site
	used := map[string]bool{}
	tests := runeTests(p)
	// Some tests lie inside of others, and some declarations are used by several tests only. alone
	// finds both.
	unused, within := usedByTests(p, tests)
	for _, t := range tests {
		edits, name := t.edits(p, used)
		if !within[t] {
			all = append(all, edits...)
		}
		for _, s := range t.dropped {
			edits = append(edits, p.Delete(s))
		}
		sites = append(sites, edit.Site(t.expr, "test of "+t.rune.Name()+" by "+name, edits...))
	}
	if len(sites) > 1 {
		for _, s := range unused {
			all = append(all, p.Delete(s))
		}
		// The site of all tests drops the declarations that none of them needs any more.
		sites = slices.Insert(sites, 0, edit.Site(p.FuncOf(tests[0].expr), "tests of runes", all...))
	}
	return sites
}

// edits replaces the test by a call of a function that holds the test, with a table in front.
func (t *runeTest) edits(p *mutate.Pass, used map[string]bool) ([]mutate.Edit, string) {
	// fresh avoids the names of this site, which p does not know yet.
	fresh := func(wish string) string {
		name := p.Fresh(wish)
		for i := 2; used[name]; i++ {
			name = p.Fresh(wish + strconv.Itoa(i))
		}
		used[name] = true
		return name
	}
	// A test that is declared gives its name to the function.
	wish := "passes"
	if as, ok := p.Parent(t.expr).(*ast.AssignStmt); ok && as.Tok == token.DEFINE && len(as.Lhs) == 1 {
		wish = edit.LowerFirst("is" + edit.UpperFirst(p.Text(as.Lhs[0])))
	}
	name := fresh(wish)
	// The function asks the table, and beyond it the test as it was.
	test, table, v := fresh(wish+"Beyond"), fresh(wish+"ASCII"), t.rune.Name()
	typ := t.rune.Type().String()
	quick := quickRune{name: name, table: table, param: v, typ: typ, result: "bool", slow: test + "(" + v + ")",
		of: "ASCII", each: "character of ASCII", size: 128}
	asked := fmt.Sprintf("func %s(%s %s) bool {\n\treturn %s\n}", test, v, typ, t.text)
	return []mutate.Edit{p.Replace(t.expr, name+"("+v+")"), p.Declare(t.expr,
		quick.function()+"\n\n"+asked+"\n\n"+quick.filled(test, test+"("+typ+"(i))"))}, name
}
