package benchfile

import (
	"cmp"
	"fmt"
	"go/parser"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/rt"
)

// A benchmark through a caller calls another function than the one that it is for: one that calls
// it in production. So the work between two calls, the place of data and the frame that the
// function is inlined into are production's own. Only the time below the function is compared.

// A Given is a parameter that no record holds, such as a receiver with functions and hidden
// fields. Go code makes its value once, and all calls share it, as in a service.
type Given struct {
	Param int // by index, the receiver first
	Expr  string
}

// ParseGiven reads parameters of a function with their values: "w=NewWorker(0)".
func ParseGiven(of *beagle.Target, list []string) (out []Given, err error) {
	bad := func(what, remedy string) ([]Given, error) { return nil, &beagle.UsageError{What: what, Remedy: remedy} }
	for _, text := range list {
		name, expr, found := strings.Cut(text, "=")
		if name = strings.TrimSpace(name); !found {
			return bad(fmt.Sprintf("--give %q has no value", text), "write NAME=EXPRESSION, as in w=NewWorker(0)")
		}
		i := slices.IndexFunc(of.Params, func(q beagle.Param) bool { return q.Name == name })
		if i < 0 {
			return bad(fmt.Sprintf("--give %s: %s has no parameter %s", text, of.Spec(), name),
				"name one of its parameters, or its receiver: "+names(of))
		}
		if slices.ContainsFunc(out, func(g Given) bool { return g.Param == i }) {
			return bad(fmt.Sprintf("--give %s: %s is given twice", text, name), "give it once")
		}
		if _, err := parser.ParseExpr(expr); err != nil {
			return bad(fmt.Sprintf("--give %s: it is no Go expression: %v", text, err),
				"write one of the function's package, as in w=NewWorker(0)")
		}
		out = append(out, Given{i, strings.TrimSpace(expr)})
	}
	inorder.By(out, func(a, b Given) int { return a.Param - b.Param })
	return out, nil
}

// names lists a function's parameters.
func names(of *beagle.Target) string {
	var list []string
	for _, q := range of.Params {
		list = append(list, q.Name)
	}
	return strings.Join(list, ", ")
}

// through reports whether the benchmark calls another function than the one that it is for.
func (p *Plan) through() bool { return p.For.Target.Spec() != p.Unit.Target.Spec() }

// given returns the expression of a parameter that no record holds, "" for all others.
func (p *Plan) given(param int) string {
	for _, g := range p.Given {
		if g.Param == param {
			return g.Expr
		}
	}
	return ""
}

// recorded lists the parameters that records hold.
func (p *Plan) recorded() (list []int) {
	for i := range p.Unit.Target.Params {
		if p.given(i) == "" {
			list = append(list, i)
		}
	}
	return list
}

// keep returns the elements of a list at these places.
func keep[T any](list []T, which []int) (out []T) {
	for _, i := range which {
		out = append(out, list[i])
	}
	return out
}

// without returns records in which parameters that are given have zero values, so that calls that
// differ in these alone count as the same input.
func (p *Plan) without(args *rt.Shape, records []beagle.Record) ([]beagle.Record, error) {
	if len(p.Given) == 0 {
		return records, nil
	}
	out := slices.Clone(records)
	for k := range out {
		v, err := rt.ParseValue(out[k].Args)
		if err != nil {
			return nil, err
		}
		for _, g := range p.Given {
			v.Elems[g.Param] = args.Fields[g.Param].Shape.Zero()
		}
		out[k].Args, out[k].Results = v.Append(nil), nil
	}
	return out, nil
}

// withoutGiven returns the name of a stratum without the traits of parameters that are given.
func (p *Plan) withoutGiven(name string) string {
	words := slices.DeleteFunc(strings.Split(name, "; "), func(word string) bool {
		of, _, _ := strings.Cut(word, ": ")
		return slices.ContainsFunc(p.Given, func(g Given) bool { return p.Unit.Target.Params[g.Param].Name == of })
	})
	return cmp.Or(strings.Join(words, "; "), "all inputs")
}

// writeGiven declares the function that makes the values of parameters that no record holds. The
// expressions have a scope of their own, so that a benchmark's variables hide no names of the
// package.
func (p *Plan) writeGiven(b *strings.Builder) {
	if len(p.Given) == 0 {
		return
	}
	var types, values []string
	for _, g := range p.Given {
		types = append(types, valueType(p.Unit.Target.Params[g.Param].Type))
		values = append(values, g.Expr)
	}
	comment(b, fmt.Sprintf("%sGiven makes the values that all calls share.", p.lower()))
	fmt.Fprintf(b, "func %sGiven() (%s) {\n\treturn %s\n}\n\n", p.lower(), strings.Join(types, ", "),
		strings.Join(values, ", "))
}

// givenText declares variables with the values of parameters that no record holds.
func (p *Plan) givenText() string {
	if len(p.Given) == 0 {
		return ""
	}
	var names []string
	for _, g := range p.Given {
		names = append(names, fmt.Sprintf("given%d", g.Param))
	}
	return fmt.Sprintf("\t%s := %sGiven()\n", strings.Join(names, ", "), p.lower())
}
