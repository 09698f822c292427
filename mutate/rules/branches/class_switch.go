package branches

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/characters"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// classSwitch (catalogue C2) matches a switch or an if chain that tests one byte for several
// classes. It writes a table from bytes to classes, filled by the original tests, and switches on
// the class.
var classSwitch = &mutate.Mutator{
	Name: "class-switch",
	Doc: "Look up which of several tests a byte passes in one table of 256 classes, and switch on the class, instead " +
		"of trying one test after another. Exact, because the original tests fill the table, in their order, for all " +
		"256 bytes.",
	Example: mutate.Shows(`switch {
case isDigit(c):
	digits++
case c == ' ' || c == '\t':
	blanks++
}`,
		`switch byteClass[c] {
case 1: // isDigit(c)
	digits++
case 2: // c == ' ' || c == '\t'
	blanks++
}

// byteClass holds the number of the first test that each byte passes, or 0.
var byteClass = func() (t [256]uint8) {
	for i := range t {
		switch c := byte(i); {
		case isDigit(c):
			t[i] = 1
		case c == ' ' || c == '\t':
			t[i] = 2
		}
	}
	return t
}()`),
	Class:   beagle.E0,
	Gain:    1.3,
	Find:    findClassSwitch,
	Rewrite: edit.Precomputed,
}

// A classArm is a test and its body; tests is nil for the default.
type classArm struct {
	tests []ast.Expr
	body  []ast.Stmt
	from  token.Pos // after the colon or the brace
	to    token.Pos
	// breaks leave the loop around the chain, and would leave the switch
	breaks []*ast.BranchStmt
}

// findClassSwitch looks for switches and chains whose arms test one byte, in code that runs often.
func findClassSwitch(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, s := range mutate.Nodes[ast.Stmt](p, nil) {
		if !facts.TakesTime(p, s) || p.FuncOf(s) == nil {
			continue
		}
		var arms []classArm
		// Both are lists of tests with a body each.
		switch s := s.(type) {
		case *ast.SwitchStmt:
			arms = switchArms(s)
		case *ast.IfStmt:
			arms = ifArms(p, s)
		}
		if edits := classEdits(p, s, arms); edits != nil {
			sites = append(sites, edit.Site(s, "tests of "+p.Text(characters.MustTest(p, arms[0].tests[0]).Operand),
				edits...))
		}
	}
	return sites
}

// switchArms lists the cases of a switch without a tag; the default comes last.
func switchArms(s *ast.SwitchStmt) []classArm {
	if s.Tag != nil || s.Init != nil {
		return nil
	}
	var arms []classArm
	for i, c := range s.Body.List {
		clause := c.(*ast.CaseClause)
		// The default must be the last, as a table has one answer for all the rest. A fallthrough
		// would enter the next arm without its test.
		if clause.List == nil && i != len(s.Body.List)-1 ||
			facts.EndsIn(clause.Body, token.FALLTHROUGH) {
			return nil
		}
		to := s.Body.Rbrace
		if i+1 < len(s.Body.List) {
			to = s.Body.List[i+1].Pos()
		}
		arms = append(arms, classArm{tests: clause.List, body: clause.Body, from: clause.Colon + 1, to: to})
	}
	return arms
}

// ifArms lists a chain of if and else if.
func ifArms(p *mutate.Pass, s *ast.IfStmt) []classArm {
	// An else if belongs to the chain that it continues.
	if up, ok := p.Parent(s).(*ast.IfStmt); ok && up.Else == ast.Stmt(s) {
		return nil
	}
	var arms []classArm
	add := func(tests []ast.Expr, b *ast.BlockStmt) bool {
		breaks, _, ok := p.Branches(b)
		arms = append(arms, classArm{tests, b.List, b.Lbrace + 1, b.Rbrace, breaks})
		return ok
	}
	// Each condition is an arm, and the last else is the default. An init statement would declare
	// variables for the arms that follow.
	for {
		if s.Init != nil || !add([]ast.Expr{s.Cond}, s.Body) {
			return nil
		}
		switch next := s.Else.(type) {
		case *ast.IfStmt:
			s = next
			continue
		case *ast.BlockStmt:
			if !add(nil, next) {
				return nil
			}
		}
		return arms
	}
}

// classEdits rewrites at least two tests of one byte, one of which compares more than once.
func classEdits(p *mutate.Pass, s ast.Stmt, arms []classArm) []mutate.Edit {
	// All arms must test one byte, by conditions that depend on nothing else: the table is filled
	// before the first call, where no local variable exists.
	operand, tests, leaves := ast.Expr(nil), 0, 0
	for _, a := range arms {
		for _, e := range a.tests {
			t, ok := characters.TestOf(p, e)
			if !ok || operand != nil && !p.Same(operand, t.Operand) {
				return nil
			}
			operand, leaves = t.Operand, leaves+t.Leaves
			if _, err := p.Values().ByteSet(e, operand); err != nil || facts.NamesLocal(p, e) {
				return nil
			}
		}
		if a.tests != nil {
			tests++
		}
	}
	// With one comparison an arm there is nothing to gain. Classes are numbered in a byte, with 0
	// for none.
	if tests < 2 || tests > 255 || leaves <= tests {
		return nil
	}
	table, name := p.Fresh("byteClass", edit.LowerFirst(p.FuncOf(s).Name.Name)+"Class"), "c"
	if p.Pkg.Scope().Lookup(name) != nil {
		name = p.Fresh("char", "letter") // a test may name the other variable
	}
	// A break in an arm left the loop around the chain; inside a switch it would leave the switch.
	// A label restores its meaning.
	label, edits, ok := breakLabel(p, s, arms)
	if !ok {
		return nil
	}
	// The new switch has a case for each arm, numbered from 1. Each keeps its test as a comment,
	// and as a case of the function that fills the table, in the same order: the first test that
	// holds wins.
	var out, fill strings.Builder
	fmt.Fprintf(&out, "switch %s[%s] {\n", table, p.Text(operand))
	class := 0
	for _, a := range arms {
		body := strings.TrimRight(a.text(p, label), " \t\n")
		if a.tests == nil {
			fmt.Fprintf(&out, "default:%s\n", body)
			continue
		}
		class++
		var texts []string
		// In the table's function the byte has another name.
		for _, e := range a.tests {
			texts = append(texts, p.TextWith(e, func(n ast.Node) (string, bool) {
				x, ok := n.(ast.Expr)
				return name, ok && p.Same(x, operand)
			}))
		}
		test := strings.Join(texts, ", ")
		fmt.Fprintf(&out, "case %d: // %s%s\n", class, edit.OneLine(test), "\n"+strings.TrimLeft(body, " \t\n"))
		fmt.Fprintf(&fill, "case %s:\nt[i] = %d\n", test, class)
	}
	out.WriteString("}")
	return append(edits, p.Replace(s, out.String()),
		p.Declare(s, characters.FilledTable(table, "holds the number of the first test that each byte passes, or 0",
			"uint8", 256,
			"switch "+name+" := byte(i); {\n"+fill.String()+"}")))
}

// text is an arm's body, with breaks that name the loop.
func (a *classArm) text(p *mutate.Pass, label string) string {
	var out strings.Builder
	from := a.from
	for _, b := range a.breaks {
		out.WriteString(p.Between(from, b.Pos()) + "break " + label)
		from = b.End()
	}
	return out.String() + p.Between(from, a.to)
}

// breakLabel returns the label of the loop that breaks in the arms leave, which the edits may add.
// ok is false where they leave something else.
func breakLabel(p *mutate.Pass, s ast.Stmt, arms []classArm) (label string, edits []mutate.Edit, ok bool) {
	// Without a break the text can move freely.
	if !slices.ContainsFunc(arms, func(a classArm) bool { return len(a.breaks) > 0 }) {
		return "", nil, true
	}
	// The new switch would take the break for itself, so the loop needs a label.
	for _, up := range p.Path(s) {
		switch up := up.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			if l, labelled := p.Parent(up).(*ast.LabeledStmt); labelled {
				return l.Label.Name, nil, true
			}
			label = p.Fresh("turns", "loop")
			return label, []mutate.Edit{p.Insert(up.Pos(), label+":\n")}, true
		case *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt, *ast.FuncLit:
			return "", nil, false
		}
	}
	return "", nil, false
}
