package numbers

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// bigWord (part of catalogue C12) matches arithmetic of math/big. It calls a helper that calculates
// in one machine word when the operands and the result fit, and calls math/big otherwise.
//
// The helper leaves a sum, product or quotient of zero to math/big. There the library decides
// whether the list of words is nil or empty, and reflect.DeepEqual tells the two apart. A remainder
// of zero by one word is the receiver's list without words, as SetInt64 makes it.
var bigWord = &mutate.Mutator{
	Name: "big-word",
	Doc: "Calculate with machine words where big integers fit into them, as most do, instead of lists of words. A " +
		"division of math/big is several times as slow, and a new number gets room for four more words. Exact: the " +
		"helper checks that operands and result fit, and leaves the rest to math/big.",
	Example: mutate.Shows(`q := new(big.Int).Quo(cents, hundred)`,
		`q := quoInts(cents, hundred)

// quoInts is new(big.Int).Quo(x, y), in one word where all fit.
func quoInts(x, y *big.Int) *big.Int {
	if x.IsInt64() && y.IsInt64() {
		a, b := x.Int64(), y.Int64()
		if b > 0 && a/b != 0 {
			return big.NewInt(a / b)
		}
	}
	return new(big.Int).Quo(x, y)
}`),
	Class:   beagle.E0,
	Gain:    1.3,
	Find:    findBigWords,
	Rewrite: rewriteBigWords,
}

// wordForms maps methods of big.Int to what their helpers do with the words a and b of both
// operands. <set> starts a result, and <also> starts the second one.
var wordForms = map[string]string{
	"Add": `if s := a + b; s != 0 && (s > a) == (b > 0) {
			return <set>(s)
		}`,
	"Sub": `if d := a - b; d != 0 && (d < a) == (b > 0) {
			return <set>(d)
		}`,
	"Mul": `m, n := uint64(a), uint64(b)
		if a < 0 {
			m = -m
		}
		if b < 0 {
			n = -n
		}
		if hi, lo := bits.Mul64(m, n); hi == 0 && lo-1 < 1<<63-1 {
			return <set>(a * b)
		}`,
	"Quo": `if b > 0 && a/b != 0 {
			return <set>(a / b)
		}`,
	"Rem": `if b > 0 {
			return <set>(a % b)
		}`,
	"Div": `if b > 0 {
			q := a / b
			if a%b < 0 {
				q--
			}
			if q != 0 {
				return <set>(q)
			}
		}`,
	"Mod": `if b > 0 {
			m := a % b
			if m < 0 {
				m += b
			}
			return <set>(m)
		}`,
	"QuoRem": `if b > 0 && a/b != 0 {
			return <set>(a / b), <also>(a % b)
		}`,
	"DivMod": `if a > 0 && b > 0 && a/b != 0 {
			return <set>(a / b), <also>(a % b)
		}`,
}

// A bigCall is a call of a method of big.Int that may fit into a word.
type bigCall struct {
	call  *ast.CallExpr
	op    string
	fresh bool // the receiver and the target of the second result are new numbers
}

// findBigWords offers all calls together. If there are several operations, it also offers the
// calls of each.
func findBigWords(p *mutate.Pass) []mutate.Site {
	// The helpers use int64 and math/big by name, so the candidate file must leave both names
	// alone.
	if p.Pkg.Scope().Lookup("int64") != nil {
		return nil
	}
	name, _ := p.Import("math/big")
	if !edit.CanHelp(p, name) {
		return nil
	}
	var all []bigCall
	by := map[string][]bigCall{}
	var names []string
	// Group the calls by operation, in the order of the text, so that the sites keep their order.
	for _, call := range mutate.Nodes[*ast.CallExpr](p, nil) {
		c, ok := bigCallOf(p, call)
		if !ok {
			continue
		}
		if by[c.op] == nil {
			names = append(names, c.op)
		}
		all, by[c.op] = append(all, c), append(by[c.op], c)
	}
	if len(all) == 0 {
		return nil
	}
	// All operations together come first: a value that stays a word through a chain of calls gains
	// most. The single ones let the search leave out an operation whose operands rarely fit.
	sites := []mutate.Site{{Node: all[0].call, Label: "words for " + strings.Join(names, ", "), Data: all}}
	for _, name := range names {
		if len(names) > 1 {
			sites = append(sites, mutate.Site{Node: by[name][0].call, Label: "words for " + name, Data: by[name]})
		}
	}
	return sites
}

// bigCallOf leaves sums, differences and products that go into a number with room: there a word
// gains nothing.
func bigCallOf(p *mutate.Pass, call *ast.CallExpr) (c bigCall, ok bool) {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || p.FuncOf(call) == nil || wordForms[sel.Sel.Name] == "" {
		return c, false
	}
	c = bigCall{call: call, op: sel.Sel.Name}
	// QuoRem and DivMod have the remainder as a third operand.
	operands := 2
	if c.op == "QuoRem" || c.op == "DivMod" {
		operands = 3
	}
	if _, ok := p.IsCall(call, "math/big", "Int."+c.op); !ok || len(call.Args) != operands || !isBigInt(p, sel.X) {
		return c, false
	}
	// A call in go or defer must stay a call of the method.
	switch p.Parent(call).(type) {
	case *ast.GoStmt, *ast.DeferStmt:
		return c, false
	}
	// A fresh result saves the allocation of the words, which is worth a helper even for cheap
	// operations.
	c.fresh = newBigInt(p, sel.X) && (operands == 2 || newBigInt(p, call.Args[2]))
	if !c.fresh && (c.op == "Add" || c.op == "Sub" || c.op == "Mul") {
		return c, false
	}
	return c, !asksForWord(p, call)
}

// isBigInt reports whether an expression is a number or a pointer to one: not a struct that embeds
// one, nor a method's type.
func isBigInt(p *mutate.Pass, e ast.Expr) bool {
	tv := p.Info.Types[e]
	if tv.Type == nil || !tv.IsValue() {
		return false
	}
	t := types.Unalias(tv.Type)
	if ptr, ok := t.(*types.Pointer); ok {
		t = ptr.Elem()
	}
	return syntax.IsNamed(t, "math/big", "Int")
}

// newBigInt recognises a number that holds nothing yet.
func newBigInt(p *mutate.Pass, e ast.Expr) bool {
	// Three ways make a number of value 0, which is overwritten without being read.
	e = ast.Unparen(e)
	if made, ok := p.IsBuiltin(e, "new"); ok {
		return syntax.IsNamed(types.Unalias(p.Info.TypeOf(made.Args[0])), "math/big", "Int")
	}
	if made, ok := p.IsCall(e, "math/big", "NewInt"); ok {
		return p.IsInt(made.Args[0], 0)
	}
	u, ok := e.(*ast.UnaryExpr)
	if !ok || u.Op != token.AND {
		return false
	}
	lit, ok := ast.Unparen(u.X).(*ast.CompositeLit)
	return ok && len(lit.Elts) == 0 && syntax.IsNamed(types.Unalias(p.Info.TypeOf(lit)), "math/big", "Int")
}

// asksForWord reports whether the function already asks whether the first operand fits into a
// word. This rule's helpers do.
func asksForWord(p *mutate.Pass, call *ast.CallExpr) bool {
	for _, asked := range mutate.Nodes[*ast.CallExpr](p, p.FuncOf(call)) {
		if _, ok := p.IsCall(asked, "math/big", "Int.IsInt64", "Int.IsUint64"); !ok {
			continue
		}
		if sel, ok := asked.Fun.(*ast.SelectorExpr); ok && p.Same(sel.X, call.Args[0]) {
			return true
		}
	}
	return false
}

// rewriteBigWords replaces each call by one of a helper, which computes in machine words if the
// operands fit and calls the method otherwise.
func rewriteBigWords(p *mutate.Pass, s mutate.Site, _ mutate.Param) ([]mutate.Edit, error) {
	big, imports := p.Import("math/big")
	edits := imports
	names := map[string]string{}
	for _, c := range s.Data.([]bigCall) {
		// One helper serves all calls of an operation with the same kind of result.
		wish := edit.LowerFirst(c.op) + "Into"
		if c.fresh {
			wish = edit.LowerFirst(c.op) + "Ints"
		}
		if names[wish] == "" {
			name, declared := edit.Helper(p, c.call, c.declare(big), wish, wish+"Word")
			names[wish], edits = name, append(edits, declared...)
		}
		sel := c.call.Fun.(*ast.SelectorExpr)
		first := c.call.Args[0].Pos()
		// A helper with a fresh result needs no receiver; otherwise the receiver becomes its first
		// argument, by address if it is a value.
		switch _, pointer := types.Unalias(p.Info.TypeOf(sel.X)).(*types.Pointer); {
		case c.fresh:
			edits = append(edits, p.Span(c.call.Pos(), first, names[wish]+"("))
			if len(c.call.Args) == 3 {
				edits = append(edits, p.Span(c.call.Args[1].End(), c.call.Args[2].End(), ""))
			}
		case pointer:
			edits = append(edits, p.Insert(c.call.Pos(), names[wish]+"("), p.Span(sel.X.End(), first, ", "))
		default:
			edits = append(edits, p.Insert(c.call.Pos(), names[wish]+"(&"), p.Span(sel.X.End(), first, ", "))
		}
	}
	return edit.WithImports(p, edits, "math/bits"), nil
}

// declare returns a function that writes the helper for a call.
func (c bigCall) declare(big string) func(name string) string {
	head, args, call := "z, x, y", "x, y", "z"
	result, set, also := "*big.Int", "z.SetInt64", "r.SetInt64"
	// Two results need a second number to be put into.
	double := c.op == "QuoRem" || c.op == "DivMod"
	if double {
		head, args, result = "z, x, y, r", "x, y, r", "(_, _ *big.Int)"
	}
	// A fresh number can be made when the result is known; another one is set, as its pointer is
	// kept.
	if c.fresh {
		head, call, set, also = "x, y", "new(big.Int)", "big.NewInt", "big.NewInt"
		if double {
			args = "x, y, new(big.Int)"
		}
	}
	call += ".<op>(" + args + ")"
	// Placeholders instead of formats: the text has percent signs of its own in its operators.
	text := "// <name> is " + call + `, in one word where all fit.
func <name>(` + head + ` *big.Int) ` + result + ` {
	if x.IsInt64() && y.IsInt64() {
		a, b := x.Int64(), y.Int64()
		` + wordForms[c.op] + `
	}
	return ` + call + `
}`
	text = strings.NewReplacer("<set>", set, "<also>", also, "<op>", c.op).Replace(text)
	text = edit.RenamePackage(text, "big", big)
	return func(name string) string { return strings.ReplaceAll(text, "<name>", name) }
}
