package recursion

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// recurrence (catalogue R1) matches a function that computes its value from its values at n-1 ..
// n-d. It writes a loop that keeps the last d values, a table of the first values, or, for
// Fibonacci numbers, doubling.
var recurrence = &mutate.Mutator{
	Name: "recurrence",
	Doc: "Compute a recurrence from below, keeping the last values, instead of two or more recursive calls for each: " +
		"linear instead of exponential time, and logarithmic for the Fibonacci recurrence. Exact for integers, which " +
		"wrap around in any order of addition.",
	Example: mutate.Shows(`func Fibonacci(n int) uint64 {
	if n < 2 {
		return uint64(n)
	}
	return Fibonacci(n-1) + Fibonacci(n-2)
}`,
		`func Fibonacci(n int) uint64 {
	if n < 2 {
		return uint64(n)
	}
	a, b := uint64(0), uint64(1)
	for range n - 1 {
		a, b = b, b+a
	}
	return b
}`),
	Class:   beagle.E0,
	Gain:    1000,
	Find:    findRecurrence,
	Params:  recurrenceParams,
	Rewrite: rewriteRecurrence,
}

// A recur is f(n) = step(f(n-1), .., f(n-depth), n) for n >= from.
type recur struct {
	fn     *ast.FuncDecl
	n      *types.Var
	step   *ast.ReturnStmt
	calls  map[*ast.CallExpr]int64 // how far each self-call goes back
	from   int64
	depth  int64
	base   []mutate.Value // f(from-depth) .. f(from-1)
	result string         // the type of the result, as written
	usesN  bool
}

func findRecurrence(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, d := range p.File.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		if r, err := recurOf(p, fn); err == nil {
			sites = append(sites, mutate.Site{Node: r.step, Label: "recursion of " + fn.Name.Name, Data: r})
		}
	}
	return sites
}

// recurOf takes a recursive function of one number apart, or says why the rules cannot use it.
func recurOf(p *mutate.Pass, fn *ast.FuncDecl) (*recur, error) {
	sig := p.Info.Defs[fn.Name].Type().(*types.Signature)
	if fn.Recv != nil || fn.Body == nil || sig.TypeParams() != nil || sig.Params().Len() != 1 ||
		sig.Results().Len() != 1 {
		return nil, errors.New("not a function of one number")
	}
	n, out := sig.Params().At(0), sig.Results().At(0)
	// n may not change: the step and the base cases speak of the same number.
	if !syntax.IsInteger(n.Type()) || !syntax.IsInteger(out.Type()) || syntax.IsUnnamed(n) || out.Name() != "" ||
		p.Assigned(n, fn.Body) {
		return nil, errors.New("not a function from integers to integers")
	}
	// A loop up to the largest number of a small type would never end.
	if facts.Sizes64.Sizeof(n.Type()) < 2 {
		return nil, errors.New("its numbers end where a loop would count on")
	}
	r := &recur{
		fn:     fn,
		n:      n,
		calls:  map[*ast.CallExpr]int64{},
		result: types.TypeString(out.Type(), types.RelativeTo(p.Pkg)),
	}
	// The last statement is the step, and those before it are the base cases.
	list := fn.Body.List
	var ok bool
	if r.step, ok = list[len(list)-1].(*ast.ReturnStmt); !ok || len(list) < 2 || len(r.step.Results) != 1 {
		return nil, errors.New("does not end in a return")
	}
	if err := r.readStep(p); err != nil {
		return nil, err
	}
	return r, r.readBase(p, list[:len(list)-1])
}

// readStep finds the self-calls f(n-k). The rest of the step must be pure, and only two or more
// calls make the rewrite worthwhile.
func (r *recur) readStep(p *mutate.Pass) error {
	// Find the calls of the function itself. Each must go k steps down, by a constant: an iteration
	// keeps the last few values only.
	other := map[ast.Node]bool{}
	for _, call := range mutate.Nodes[*ast.CallExpr](p, r.step) {
		if p.Decl(p.Callee(call)) != r.fn {
			continue
		}
		// The argument must be n less a constant.
		sub, ok := ast.Unparen(call.Args[0]).(*ast.BinaryExpr)
		if !ok || sub.Op != token.SUB || p.Var(sub.X) != r.n {
			return errors.New("calls itself with something else than n-k")
		}
		k, ok := p.Int(sub.Y)
		if !ok || k < 1 || k > 4 {
			return errors.New("calls itself with something else than n-k")
		}
		r.calls[call], r.depth = k, max(r.depth, k)
		// The parts of a call are checked already.
		ast.Inspect(call, func(n ast.Node) bool { other[n] = true; return true })
	}
	// One call a step is a plain loop for the compiler's purposes; with two the work grows
	// exponentially.
	if len(r.calls) < 2 {
		return errors.New("calls itself less than twice")
	}
	// All else must be arithmetic on n and constants. The iteration evaluates it in another
	// order and for values below n, so effects, panics and variables are ruled out.
	for _, e := range mutate.Nodes[ast.Expr](p, r.step) {
		if other[e] {
			continue
		}
		switch e := e.(type) {
		case *ast.Ident:
			if p.Var(e) == r.n {
				r.usesN = true
			} else if v := p.Var(e); v != nil {
				return errors.New("the step reads a variable")
			}
		case *ast.BinaryExpr:
			if e.Op == token.QUO || e.Op == token.REM || e.Op == token.SHL || e.Op == token.SHR {
				return errors.New("the step may panic")
			}
		case *ast.ParenExpr, *ast.BasicLit, *ast.UnaryExpr:
		case *ast.CallExpr:
			if !p.Info.Types[e.Fun].IsType() {
				return errors.New("the step calls another function")
			}
		default:
			return errors.New("the step is not arithmetic")
		}
	}
	return nil
}

// maxBases is how many values below the recursion the rule tries.
const maxBases = 1 << 12

// readBase evaluates the last values below the recursion. It checks that the statements before the
// step return for n < from and for no other n, of the values that the recursion reaches.
func (r *recur) readBase(p *mutate.Pass, list []ast.Stmt) error {
	// Each statement must be a base case, and they move the place where the recursion starts.
	for _, s := range list {
		if err := r.baseCase(p, s); err != nil {
			return err
		}
	}
	// The first values of the recursion must be base cases themselves.
	if r.from < r.depth {
		return errors.New("the recursion starts below the base cases")
	}
	if r.from > maxBases {
		return errors.New("too many base cases")
	}
	// Every number below must be caught by a case: between two of them the recursion would go on.
	for i := range r.from {
		if !r.covered(p, list, i) {
			return errors.New("a base case is missing")
		}
	}
	// The iteration needs the last few values, which the interpreter computes.
	for i := r.from - r.depth; i < r.from; i++ {
		v, err := p.Values().Call(r.fn, fitIndex(i, r.n.Type()))
		if err != nil {
			return err
		}
		r.base = append(r.base, v)
	}
	return nil
}

func fitIndex(i int64, t types.Type) mutate.Value {
	if t.Underlying().(*types.Basic).Info()&types.IsUnsigned != 0 {
		return uint64(i)
	}
	return i
}

// baseCase reads one test of n that returns, and notes up to which n it answers.
func (r *recur) baseCase(p *mutate.Pass, s ast.Stmt) error {
	i, ok := s.(*ast.IfStmt)
	if !ok || i.Init != nil || i.Else != nil || !mutate.Terminates(i.Body.List) {
		return errors.New("a base case is no simple if")
	}
	// Each alternative of the condition bounds n from above, or names one number.
	for _, test := range syntax.Operands(i.Cond, token.LOR) {
		c, ok := ast.Unparen(test).(*ast.BinaryExpr)
		if !ok || p.Var(c.X) != r.n {
			return errors.New("a base case tests something else than n")
		}
		k, ok := p.Int(c.Y)
		switch {
		case ok && (c.Op == token.LEQ || c.Op == token.EQL):
			r.from = max(r.from, k+1)
		case ok && c.Op == token.LSS:
			r.from = max(r.from, k)
		default:
			return errors.New("a base case tests something else than n < k")
		}
	}
	return nil
}

// covered reports whether some base case handles n == i.
func (r *recur) covered(p *mutate.Pass, list []ast.Stmt, i int64) bool {
	env := map[*types.Var]mutate.Value{r.n: fitIndex(i, r.n.Type())}
	for _, s := range list {
		if v, err := p.Values().Eval(s.(*ast.IfStmt).Cond, env); err == nil && v == true {
			return true
		}
	}
	return false
}

func recurrenceParams(p *mutate.Pass, s mutate.Site) []mutate.Param {
	out := []mutate.Param{{Label: "iterate", Value: "iterate"}}
	r := s.Data.(*recur)
	// Only for this one recurrence is doubling known.
	if r.fibonacci(p) {
		out = append(out, mutate.Param{Label: "double", Value: "double"})
	}
	// A table needs to know where it begins.
	if _, err := r.lowest(p); err == nil {
		out = append(out, mutate.Param{Label: "table", Value: "table"})
	}
	return out
}

// fibonacci reports whether the recurrence is f(n-1)+f(n-2) from 0 and 1.
func (r *recur) fibonacci(p *mutate.Pass) bool {
	sum, ok := ast.Unparen(r.step.Results[0]).(*ast.BinaryExpr)
	if !ok || sum.Op != token.ADD || len(r.calls) != 2 || r.depth != 2 || r.from != 2 {
		return false
	}
	x, okX := ast.Unparen(sum.X).(*ast.CallExpr)
	y, okY := ast.Unparen(sum.Y).(*ast.CallExpr)
	return okX && okY && r.calls[x]+r.calls[y] == 3 && valueText(r.base[0]) == "0" && valueText(r.base[1]) == "1"
}

func valueText(v mutate.Value) string { return fmt.Sprint(v) }

func rewriteRecurrence(p *mutate.Pass, s mutate.Site, param mutate.Param) ([]mutate.Edit, error) {
	r := s.Data.(*recur)
	if param.Value == "table" {
		return r.table(p)
	}
	step, edits := r.iteration(p), []mutate.Edit(nil)
	if param.Value == "double" {
		step, edits = r.doubling(p)
	}
	return append(edits, p.Replace(r.step, step)), nil
}

// iteration writes a loop that computes the values one after the other, in place of the step.
func (r *recur) iteration(p *mutate.Pass) string {
	names := r.names(p)
	// There is one variable for each value that the step reads back.
	var from, to []string
	for i, name := range names {
		from = append(from, edit.LiteralOf(r.result, valueText(r.base[i])))
		to = append(to, name)
	}
	// Each variable takes the value of the next one, and the last one the new value.
	to = append(slices.Clone(to[1:]), "")
	index := r.n.Name()
	loop := fmt.Sprintf("for range %s - %d {", index, r.from-1)
	// A step that reads n needs an index. Without, Go 1.22 can range over a number.
	if r.usesN || !p.GoAtLeast(22) {
		index = p.Fresh("i", "k")
		loop = fmt.Sprintf("for %s := %s; %s <= %s; %s++ {", index,
			edit.LiteralOf(types.TypeString(r.n.Type(), types.RelativeTo(p.Pkg)), strconv.FormatInt(r.from, 10)), index,
			r.n.Name(), index)
	}
	to[len(to)-1] = r.stepWith(p, func(k int64) string { return names[int64(len(names))-k] }, index)
	return fmt.Sprintf("// From below: each value needs only the %s before it.\n%s := %s\n%s\n%s = %s\n}\nreturn %s",
		numberWord(len(names)), strings.Join(names, ", "), strings.Join(from, ", "), loop, strings.Join(names, ", "),
		strings.Join(to, ", "), names[len(names)-1])
}

// stepWith writes the step with other names for the earlier values and for n.
func (r *recur) stepWith(p *mutate.Pass, earlier func(k int64) string, index string) string {
	// Calls are replaced by the earlier values, and the parameter by the index.
	return p.TextWith(r.step.Results[0], func(n ast.Node) (string, bool) {
		switch n := n.(type) {
		case *ast.CallExpr:
			if k, ok := r.calls[n]; ok {
				return earlier(k), true
			}
		case *ast.Ident:
			if p.Var(n) == r.n {
				return index, true
			}
		}
		return "", false
	})
}

func numberWord(n int) string {
	return []string{"none", "one", "two", "three", "four"}[n]
}

func (r *recur) names(p *mutate.Pass) []string {
	var names []string
	for c := 'a'; len(names) < int(r.depth); c++ {
		if name := string(c); p.Fresh(name) == name {
			names = append(names, name)
		}
	}
	return names
}

// doubling writes code that computes Fibonacci numbers from the bits of their index, in place of
// the step.
func (r *recur) doubling(p *mutate.Pass) (string, []mutate.Edit) {
	bits, edits := p.Import("math/bits")
	n := r.n.Name()
	a, b, c, d, i := p.Fresh("a"), p.Fresh("b"), p.Fresh("c"), p.Fresh("d"), p.Fresh("i")
	return strings.NewReplacer("<a>", a, "<b>", b, "<c>", c, "<d>", d, "<i>", i, "<n>", n, "<bits>", bits, "<0>",
		edit.LiteralOf(r.result, "0"), "<1>", edit.LiteralOf(r.result, "1")).Replace(
		`// Fast doubling: F(2k) = F(k)·(2F(k+1) − F(k)) and F(2k+1) = F(k)² + F(k+1)²,
// taking the bits of <n> from the top.
<a>, <b> := <0>, <1> // F(k), F(k+1)
for <i> := <bits>.Len64(uint64(<n>)) - 1; <i> >= 0; <i>-- {
	<c>, <d> := <a>*(2*<b>-<a>), <a>*<a>+<b>*<b>
	if <n>>><i>&1 == 0 {
		<a>, <b> = <c>, <d>
	} else {
		<a>, <b> = <d>, <c>+<d>
	}
}
return <a>`), edits
}
