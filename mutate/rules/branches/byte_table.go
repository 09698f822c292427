package branches

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/characters"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// byteTable (catalogue C1) matches a predicate on bytes that loops call, or a run of comparisons of
// one byte. It writes a table of 256 booleans, filled by the original test, and looks the byte up.
// The processor cannot predict comparisons on mixed bytes, but one load from the first cache is
// cheap.
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

// findByteTables leaves out tests that the code of a table cannot repeat outside of the function.
func findByteTables(p *mutate.Pass) []mutate.Site {
	return slices.DeleteFunc(findByteTests(p), func(s mutate.Site) bool {
		return slices.ContainsFunc(s.Data.(tableSite).run, func(e ast.Expr) bool { return facts.NamesLocal(p, e) })
	})
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
	name := edit.BaseName(pred)
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
		_, arg := characters.PredicateCall(p, call)
		edits = append(edits, p.Replace(call, name+"["+p.Text(arg)+"]"))
	}
	return edits
}

// tableOfRun does the same for a run of tests that stand side by side, such as the list of a case.
func tableOfRun(p *mutate.Pass, s tableSite) []mutate.Edit {
	first, last := s.run[0], s.run[len(s.run)-1]
	operand := characters.MustTest(p, first).Operand
	name := p.Fresh(edit.BaseName(p.FuncOf(first).Name.Name) + "Byte")
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
		text := p.TextWith(e, func(n ast.Node) (string, bool) {
			if x, ok := n.(ast.Expr); ok && p.Same(x, operand) {
				return local, true
			}
			return "", false
		})
		test += edit.Operand(e, text, s.op)
	}
	// The table is filled by the original tests, with another name for the byte.
	return []mutate.Edit{
		p.Span(first.Pos(), last.End(), name+"["+p.Text(operand)+"]"),
		p.Declare(first, characters.FilledTable(name,
			fmt.Sprintf("answers with one load what would take %d comparisons",
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
