package branches

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// firstValue (part of catalogue C12) matches calls of cmp.Or, and of others that have all values
// computed to take the first that is not zero. It tests one value after the other.
var firstValue = &mutate.Mutator{
	Name: "first-value",
	Doc: "Test one value after the other instead of calling cmp.Or, which gets a list of all values in memory. Most " +
		"calls need the first value only, and compute none of the others. Exact: computing a value that is needed " +
		"no more has no effects and cannot panic, and zero is compared as cmp.Or does.",
	Example: mutate.Shows(`name := cmp.Or(user.Name, host.Name, unknown)`,
		`name := user.Name
if name == "" {
	name = host.Name
}
if name == "" {
	name = unknown
}`),
	Class:   beagle.E0,
	Gain:    1.5,
	Find:    findFirstValues,
	Rewrite: rewriteFirstValues,
}

// A choice is a call of cmp.Or that a chain of tests can replace.
type choice struct {
	call  *ast.CallExpr
	stmt  ast.Stmt // the chain goes in front of it, or is it
	begin string   // declares the variable in %s with the first value
	zero  string   // the condition under which it is zero
}

// findFirstValues offers all calls of a function together, since one saves a few nanoseconds.
func findFirstValues(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, fn := range mutate.Nodes[*ast.FuncDecl](p, nil) {
		var all []choice
		for _, call := range mutate.Nodes[*ast.CallExpr](p, fn) {
			c, ok := choiceOf(p, call)
			// One within the values of another is left for a later step.
			if n := len(all); ok && (n == 0 || !facts.Inside(call, all[n-1].call)) {
				all = append(all, c)
			}
		}
		switch len(all) {
		case 0:
		case 1:
			call := all[0].call
			sites = append(sites, mutate.Site{Node: call, Label: edit.OneLine(p.Text(call)), Data: all})
		default:
			label := fmt.Sprintf("%d choices of a value", len(all))
			sites = append(sites, mutate.Site{Node: fn, Label: label, Data: all})
		}
	}
	return sites
}

// choiceOf reads a call of cmp.Or whose values may be computed one by one, in front of the
// statement that holds it.
func choiceOf(p *mutate.Pass, call *ast.CallExpr) (c choice, ok bool) {
	if _, ok := p.IsCall(call, "cmp", "Or"); !ok || len(call.Args) < 2 || call.Ellipsis.IsValid() {
		return c, false
	}
	// The chain begins with the first value, and nothing drops the last.
	first, t := call.Args[0], p.Info.TypeOf(call)
	c.call, c.begin, c.zero = call, beginning(p, first, t), zeroTest(p, call, t)
	if c.stmt, ok = facts.Hoistable(p, call); !ok || c.begin == "" || c.zero == "" || !facts.CanDeclare(p, c.stmt) {
		return c, false
	}
	switch p.Parent(call).(type) {
	case *ast.ExprStmt, *ast.GoStmt, *ast.DeferStmt:
		return c, false
	}
	// The first value is computed before all else of the statement. What it reads tells Hoistable
	// what must not come before it, so a value that may panic has to read something.
	if f := p.Effects(first); f.Writes || f.Panics && !f.Reads {
		return c, false
	}
	return c, !slices.ContainsFunc(call.Args[1:], func(e ast.Expr) bool { return !mayBeLeftOut(p, c, e) })
}

// beginning returns the declaration of a variable with a first value, with %s for the name. A type
// stands in it where the value would have another one by itself, as 1<<n has. It returns "" for
// constants, of which the first decides, and for types that cannot be written.
func beginning(p *mutate.Pass, first ast.Expr, t types.Type) string {
	if tv := p.Info.Types[first]; tv.Value != nil || tv.IsNil() {
		return ""
	}
	alone := types.Identical(p.Info.TypeOf(first), t) && (!syntax.Has(t, types.IsBoolean) || t == types.Typ[types.Bool])
	for _, b := range mutate.Nodes[*ast.BinaryExpr](p, first) {
		alone = alone && p.Info.Types[b.X].Value == nil && p.Info.Types[b.Y].Value == nil
	}
	value := edit.EscapeFormat(p.Text(first))
	if alone {
		return "%s := " + value
	}
	text, ok := facts.TypeText(p, t)
	if !ok || !facts.TypeMeans(p, first.Pos(), t) {
		return ""
	}
	return "var %s " + text + " = " + value
}

// zeroTest returns the condition under which a value is the zero of its type, with %s for the
// value, or "". A float has two zeros, of which cmp.Or returns one only.
func zeroTest(p *mutate.Pass, at ast.Node, t types.Type) string {
	if syntax.IsTypeParam(t) {
		return ""
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		switch {
		case syntax.IsText(u):
			return `%s == ""`
		case syntax.IsInteger(u):
			return "%s == 0"
		case syntax.Has(u, types.IsBoolean):
			return "!%s"
		}
	case *types.Pointer, *types.Interface, *types.Chan:
		if !facts.IsRedefined(p, at, "nil") {
			return "%s == nil"
		}
	}
	return ""
}

// mayBeLeftOut reports whether only time is lost if a later value is not computed. A field of a nil
// pointer panics, unless the code has read through the pointer by then.
func mayBeLeftOut(p *mutate.Pass, c choice, e ast.Expr) bool {
	f := p.EffectsGiven(e, func(sel *ast.SelectorExpr) bool {
		base := p.Var(sel.X)
		return facts.IsLocal(p, base) && len(p.Info.Selections[sel].Index()) == 1 &&
			(facts.Dereferences(p, base, c.call.Args[0]) || facts.DereferencedInFront(p, base, c.stmt))
	})
	return !f.Writes && !f.Panics
}

// rewriteFirstValues writes the chains.
func rewriteFirstValues(p *mutate.Pass, s mutate.Site, _ mutate.Param) ([]mutate.Edit, error) {
	var edits []mutate.Edit
	number := 0
	for _, c := range s.Data.([]choice) {
		// A variable that gets the value is the chain's own.
		if name := c.declared(p); name != "" {
			edits = append(edits, p.Replace(c.stmt, c.chain(p, name)))
			continue
		}
		// Fresh reserves no name, so each call wishes for another one.
		wish := "first"
		if number++; number > 1 {
			wish += fmt.Sprint(number)
		}
		name := p.Fresh(wish, wish+"Value")
		edits = append(edits, edit.InsertBefore(p, c.stmt, c.chain(p, name)), p.Replace(c.call, name))
	}
	return edits, nil
}

// declared returns the name of the variable that the statement declares for the value, or "". No
// closure may see the variable: the tests assign it, so that it would no longer be copied. And no
// later value may mention another variable of its name.
func (c choice) declared(p *mutate.Pass) string {
	d, ok := facts.Declares(p, c.stmt)
	if !ok || d.Type != nil || d.Value != ast.Expr(c.call) || facts.Captured.Of(p)[d.Var] {
		return ""
	}
	for _, e := range c.call.Args[1:] {
		if facts.MentionsName(p, e, d.Name.Name) {
			return ""
		}
	}
	return d.Name.Name
}

// chain writes the tests of one value after the other, with the result in a new variable.
func (c choice) chain(p *mutate.Pass, name string) string {
	var out strings.Builder
	fmt.Fprintf(&out, c.begin+"\n", name)
	test := fmt.Sprintf(c.zero, name)
	for _, e := range c.call.Args[1:] {
		fmt.Fprintf(&out, "if %s {\n%s = %s\n}\n", test, name, p.Text(e))
	}
	return strings.TrimSpace(out.String())
}
