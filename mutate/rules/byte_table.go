package rules

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
)

// byteTable (catalogue C1) matches a predicate on bytes that loops call, or a run of comparisons of
// one byte. It writes a table of 256 booleans, filled by the original test, and looks the byte up.
// Nobody can predict the branches of comparisons on mixed bytes, but one load from the first cache
// is cheap.
var byteTable = &mutate.Mutator{
	Name: "byte-table",
	Doc: "Look a property of a byte up in a table of 256 booleans instead of comparing it with one constant after " +
		"another. On mixed bytes the comparisons are mispredicted branches, the load is not. Exact, because the " +
		"table is filled by evaluating the original test on all 256 bytes.",
	Example: mutate.Shows(`if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' {`,
		`if wordByte[c] {

var wordByte = func() (t [256]bool) {
	for i := range t {
		c := byte(i)
		t[i] = c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_'
	}
	return t
}()`),
	Class:   beagle.E0,
	Gain:    1.3,
	Find:    findByteTables,
	Rewrite: rewriteByteTest,
}

// A tableSite holds either all calls of a predicate or one run of tests.
type tableSite struct {
	pred  *ast.FuncDecl
	calls []*ast.CallExpr
	run   []ast.Expr // neighbours in a chain of op, over one byte
	op    token.Token
}

// findByteTables leaves out tests that the code of a table cannot repeat outside of the function.
func findByteTables(p *mutate.Pass) []mutate.Site {
	return slices.DeleteFunc(findByteTests(p), func(s mutate.Site) bool {
		return slices.ContainsFunc(s.Data.(tableSite).run, func(e ast.Expr) bool { return namesLocal(p, e) })
	})
}

// findByteTests lists predicates on bytes that loops call, and chains of tests of a byte elsewhere.
func findByteTests(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, d := range p.File.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		// A predicate gets a table for all its calls in loops. Chains of tests elsewhere get one
		// each.
		if isPredicate(p, fn) && countComparisons(p, fn) >= 2 {
			if calls := callsInLoops(p, fn); len(calls) > 0 {
				sites = append(sites, mutate.Site{
					Node:  calls[0],
					Label: "calls of " + fn.Name.Name,
					Data:  tableSite{pred: fn, calls: calls},
				})
			}
			continue
		}
		sites = append(sites, inlineTests(p, fn)...)
	}
	return sites
}

// callsInLoops lists the calls of a predicate on bytes, if at least one is in a loop. It leaves out
// calls inside predicates and initialisers.
func callsInLoops(p *mutate.Pass, pred *ast.FuncDecl) []*ast.CallExpr {
	var calls []*ast.CallExpr
	inHot := false
	for call := range mutate.Nodes[*ast.CallExpr](p, nil) {
		fn, arg := predicateCall(p, call)
		around := p.FuncOf(call)
		// Inside of a predicate the call will be replaced with it.
		if fn != pred || arg == nil || around == nil || isPredicate(p, around) {
			continue
		}
		calls = append(calls, call)
		inHot = inHot || takesTime(p, call)
	}
	if !inHot {
		return nil
	}
	return calls
}

// inlineTests finds runs of at least two tests of one byte in loops.
func inlineTests(p *mutate.Pass, fn *ast.FuncDecl) []mutate.Site {
	var sites []mutate.Site
	covered := fn.Body.Lbrace // the end of the runs that are sites already
	add := func(run []ast.Expr, op token.Token) {
		// A table costs a load, so it needs at least two comparisons to replace, in code that runs
		// often. A run inside of another one is a site already.
		if run[0].Pos() < covered || countLeaves(p, run) < 2 || !p.InLoop(run[0]) &&
			(fn != p.Func || !takesTime(p, run[0])) {
			return
		}
		covered = run[len(run)-1].End()
		sites = append(sites, mutate.Site{
			Node:  run[0],
			Label: "test of " + p.Text(run[0]),
			Data:  tableSite{run: run, op: op},
		})
	}
	// The tests of a byte stand side by side in a case list, or in a chain of && or ||.
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SwitchStmt:
			if n.Tag == nil {
				for _, c := range n.Body.List {
					splitRuns(p, c.(*ast.CaseClause).List, token.COMMA, add)
				}
			}
		// A chain within a chain of the same operator belongs to the outer one.
		case *ast.BinaryExpr:
			if n.Op != token.LAND && n.Op != token.LOR || inChainOf(p, n) {
				return true
			}
			splitRuns(p, operands(n, n.Op), n.Op, add)
			// A chain that is one test as a whole has no smaller runs of interest.
			_, whole := testOf(p, n)
			return !whole
		}
		return true
	})
	return sites
}

// inChainOf reports whether a chain is part of a longer one, or of a case list, which the rule
// looks at as a whole.
func inChainOf(p *mutate.Pass, e *ast.BinaryExpr) bool {
	// The longer one has the same tests and more.
	switch up := p.Parent(e).(type) {
	case *ast.BinaryExpr:
		if up.Op == e.Op {
			return true
		}
		_, whole := testOf(p, up)
		return whole
	case *ast.CaseClause:
		_, whole := testOf(p, e)
		return whole
	}
	return false
}

// splitRuns cuts a list into maximal runs of tests of the same byte.
func splitRuns(p *mutate.Pass, list []ast.Expr, op token.Token, yield func([]ast.Expr, token.Token)) {
	start := -1
	var last ast.Expr
	for i, e := range list {
		t, ok := testOf(p, e)
		// A run ends at another byte, and at what is no test of a byte.
		if start >= 0 && (!ok || !p.Same(last, t.operand)) {
			yield(list[start:i], op)
			start = -1
		}
		if ok && start < 0 {
			start = i
		}
		last = t.operand
	}
	if start >= 0 {
		yield(list[start:], op)
	}
}

func rewriteByteTest(p *mutate.Pass, s mutate.Site, _ mutate.Param) ([]mutate.Edit, error) {
	site := s.Data.(tableSite)
	if site.pred != nil {
		return tableOfPredicate(p, site), nil
	}
	return tableOfRun(p, site), nil
}

// tableOfPredicate declares a table with the predicate's answer for each byte, and has the calls
// read it. The predicate stays, since it fills the table.
func tableOfPredicate(p *mutate.Pass, s tableSite) []mutate.Edit {
	pred := s.pred.Name.Name
	name := baseName(pred)
	if name == pred {
		name += "Table"
	}
	name = p.Fresh(name, name+"Table")
	param := p.Text(s.pred.Type.Params.List[0].Type)
	edits := []mutate.Edit{p.Declare(s.pred, fmt.Sprintf(`
// %s[c] is %s(c), without its branches.
var %s = func() (t [256]bool) {
	for c := range t {
		t[c] = %s(%s(c))
	}
	return t
}()`, name, pred, name, pred, param))}
	for _, call := range s.calls {
		_, arg := predicateCall(p, call)
		edits = append(edits, p.Replace(call, name+"["+p.Text(arg)+"]"))
	}
	return edits
}

// tableOfRun does the same for a run of tests that stand side by side, such as the list of a case.
func tableOfRun(p *mutate.Pass, s tableSite) []mutate.Edit {
	first, last := s.run[0], s.run[len(s.run)-1]
	operand := mustTest(p, first).operand
	name := p.Fresh(baseName(p.FuncOf(first).Name.Name) + "Byte")
	local := loopByte(p, s.run, operand)
	test := ""
	// The tests are joined as they were, each in parentheses where its place needs them.
	for i, e := range s.run {
		if i > 0 {
			test += " " + joinOperator(s.op) + " "
		}
		if len(s.run) == 1 {
			e = ast.Unparen(e)
		}
		test += asOperandOf(p, e, s.op, func(n ast.Node) (string, bool) {
			if x, ok := n.(ast.Expr); ok && p.Same(x, operand) {
				return local, true
			}
			return "", false
		})
	}
	// The table is filled by the original tests, with another name for the byte.
	return []mutate.Edit{
		p.Span(first.Pos(), last.End(), name+"["+p.Text(operand)+"]"),
		p.Declare(first, filledTable(name, fmt.Sprintf("answers with one load what would take %d comparisons",
			countLeaves(p, s.run)), "bool", 256, local+" := byte(i)\nt[i] = "+test)),
	}
}

// loopByte names the byte in the loop that fills a table: as the tests name it, unless that is the
// name of the table there, or else by a name that the tests do not use.
func loopByte(p *mutate.Pass, run []ast.Expr, operand ast.Expr) string {
	// Tests with the name t in them would read the table instead of the byte.
	if v := p.Var(operand); v != nil && v.Name() != "t" {
		return v.Name()
	}
	// All names in the tests are taken.
	used := map[string]bool{}
	for _, e := range run {
		ast.Inspect(e, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				used[id.Name] = true
			}
			return true
		})
	}
	name := "c"
	for used[name] {
		name += "c"
	}
	return name
}

func joinOperator(op token.Token) string {
	if op == token.COMMA {
		return "||"
	}
	return op.String()
}

// asOperandOf returns the text of e as an operand of op.
func asOperandOf(p *mutate.Pass, e ast.Expr, op token.Token, sub func(ast.Node) (string, bool)) string {
	text := p.TextWith(e, sub)
	if b, ok := e.(*ast.BinaryExpr); ok && op == token.LAND && b.Op == token.LOR {
		return "(" + text + ")"
	}
	return text
}

func countLeaves(p *mutate.Pass, run []ast.Expr) int {
	n := 0
	for _, e := range run {
		n += mustTest(p, e).leaves
	}
	return n
}
