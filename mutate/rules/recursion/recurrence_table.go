package recursion

import (
	"fmt"
	"go/types"
	"strings"

	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// tableValues is how many values of a recurrence the table holds: all that fit into 64 bits if each
// is half as large again as the one before.
const tableValues = 128

// lowest evaluates the base cases from 0 on.
func (r *recur) lowest(p *mutate.Pass) ([]string, error) {
	// A long table of base cases is more text than the recursion.
	if r.from > 16 {
		return nil, mutate.ErrEval
	}
	var out []string
	for i := range r.from {
		v, err := p.Values().Call(r.fn, fitIndex(i, r.n.Type()))
		if err != nil {
			return nil, err
		}
		out = append(out, valueText(v))
	}
	return out, nil
}

// table writes a table of the first values, which the program's start computes. Behind the table, a
// function of its own computes the recurrence as without a table, so that the look-up can be
// inlined.
//
//	if n < uint(len(fibs)) { return fibs[n] }
//	return beyond(n)
func (r *recur) table(p *mutate.Pass) ([]mutate.Edit, error) {
	// The base cases fill the start of the table, and the step fills the rest.
	base, err := r.lowest(p)
	if err != nil {
		return nil, err
	}
	// Beyond the table the function iterates. For the Fibonacci numbers doubling is faster.
	beyond := r.iteration(p)
	if r.fibonacci(p) {
		beyond = r.allBits(p)
	}
	body := r.fn.Body
	// The body after the look-up moves to a function of its own: with a loop in it the look-up
	// could not be inlined.
	rest := p.Fresh(edit.LowerFirst(r.fn.Name.Name)+"Beyond", edit.LowerFirst(r.fn.Name.Name)+"Rest")
	name := p.Fresh(edit.LowerFirst(r.fn.Name.Name)+"Table", edit.LowerFirst(r.fn.Name.Name)+"Values")
	n, index, values := r.n.Name(), p.Fresh("i", "k"), p.Fresh("t", "values")
	typ := types.TypeString(r.n.Type(), types.RelativeTo(p.Pkg))
	// In the table, f(n-k) is the entry k places below.
	step := r.stepWith(p, func(k int64) string { return fmt.Sprintf("%s[%s-%d]", values, index, k) }, typ+"("+index+")")
	// One unsigned comparison sends both negative and large arguments to the slow function.
	return []mutate.Edit{
		p.Span(body.List[0].Pos(), body.Rbrace,
			fmt.Sprintf("if uint64(%s) < %d {\nreturn %s[uint64(%s)]\n}\nreturn %s(%s)\n", n, tableValues,
				name, n, rest, n)),
		p.Declare(r.fn, fmt.Sprintf("// %s is %s beyond the table.\nfunc %s%s {\n%s%s%s}", rest, r.fn.Name.Name, rest,
			p.Between(r.fn.Type.Params.Pos(), r.fn.Type.End()), p.Between(body.List[0].Pos(), r.step.Pos()), beyond,
			p.Between(r.step.End(), body.Rbrace))),
		p.Declare(r.fn, fmt.Sprintf(`// %s holds the first values of %s, added up from below.
var %s = func() [%d]%s {
	%s := [%d]%s{%s}
	for %s := %d; %s < len(%s); %s++ {
		%s[%s] = %s
	}
	return %s
}()`, name, r.fn.Name.Name, name, tableValues, r.result, values, tableValues, r.result, strings.Join(base, ", "), index,
			r.from, index, values, index, values, index, step, values)),
	}, nil
}

// allBits writes doubling for numbers beyond the table. It runs over all bits of n, since 0 and 1
// stay as they are until the first set bit. Its brevity lets the compiler inline it together with
// the look-up.
func (r *recur) allBits(p *mutate.Pass) string {
	return strings.NewReplacer("<a>", p.Fresh("a"), "<b>", p.Fresh("b"), "<bit>", p.Fresh("bit"), "<n>", r.n.Name(),
		"<0>", edit.LiteralOf(r.result, "0"), "<1>", edit.LiteralOf(r.result, "1")).Replace(
		`// Fast doubling: F(2k) = F(k)·(2F(k+1) − F(k)) and F(2k+1) = F(k)² + F(k+1)².
<a>, <b> := <0>, <1> // F(k), F(k+1)
for <bit> := uint64(1) << 63; <bit> > 0; <bit> >>= 1 {
	<a>, <b> = <a>*(2*<b>-<a>), <a>*<a>+<b>*<b>
	if uint64(<n>)&<bit> != 0 {
		<a>, <b> = <b>, <a>+<b>
	}
}
return <a>`)
}
