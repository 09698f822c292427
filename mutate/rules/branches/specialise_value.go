package branches

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/types"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// specialiseValue (catalogue C8) matches a parameter that has one value in most calls of the
// corpus. It writes a copy of the function in which the parameter is that constant, and a test in
// front of the original.
var specialiseValue = &mutate.Mutator{
	Name: "specialise-value",
	Doc: "Copy the function for the value that a parameter has in most calls, as a constant: the compiler drops dead " +
		"branches, and divides and multiplies by a known number. All other values take the original. The corpus " +
		"shows the value.",
	Example: mutate.Shows(`func scale(v []int, by int) int { ... x / by ... }`,
		`func scale(v []int, by int) int {
	if by == 8 {
		return scaleBy8(v) // most calls
	}
	...
}

func scaleBy8(v []int) int {
	by := 8
	... x / by ...
}`),
	Class:   beagle.E3,
	Gain:    1.2,
	Find:    findSpecialiseValue,
	Rewrite: rewriteSpecialiseValue,
}

const hotShare = 0.5 // share of the calls

type hotValue struct {
	param *types.Var
	typ   string
	value string // a constant in Go syntax
}

// findSpecialiseValue offers a copy of the target for the value that most calls pass for a
// parameter.
func findSpecialiseValue(p *mutate.Pass) []mutate.Site {
	fn := p.Func
	// The copy needs a plain signature. A recursive one would be entered through the test again at
	// each level.
	if fn.Body == nil || len(fn.Body.List) == 0 || !syntax.PlainSignature(fn) || facts.CallsItself(p, fn) ||
		facts.UsesNameOrLabel(p, fn, "recover") {
		return nil
	}
	var sites []mutate.Site
	// The parameter must keep its value, and must not be tested first by the function itself.
	for i, v := range facts.ParametersOf(p, fn) {
		if i >= len(p.Facets.Params) || len(p.Facets.Params[i].Top) == 0 || len(p.Uses(v, fn.Body)) == 0 ||
			p.Assigned(v, fn.Body) || testedFirst(p, fn, v) {
			continue
		}
		// The most frequent value of the corpus must cover most of the calls. A share above 1 comes
		// from a broken corpus.
		top := p.Facets.Params[i].Top[0]
		if top.Share <= hotShare || top.Share > 1 {
			continue
		}
		if h, ok := hotConstant(p, v, top.Value); ok {
			sites = append(sites, mutate.Site{Node: fn.Body, Label: v.Name() + " == " + h.value, Data: h})
		}
	}
	return sites
}

// hotConstant reads an integer or boolean, perhaps in a conversion, as a constant of the
// parameter's type.
func hotConstant(p *mutate.Pass, v *types.Var, text string) (h hotValue, ok bool) {
	b, ok := v.Type().Underlying().(*types.Basic)
	if !ok || b.Info()&(types.IsInteger|types.IsBoolean) == 0 {
		return h, false
	}
	e, err := parser.ParseExpr(text)
	if err != nil {
		return h, false
	}
	// A value may be recorded with its type: look through the conversion.
	for {
		call, isCall := e.(*ast.CallExpr)
		if !isCall || len(call.Args) != 1 {
			break
		}
		e = call.Args[0]
	}
	// Only literals and names are constants for certain. true and false go with bools only.
	switch ast.Unparen(e).(type) {
	case *ast.BasicLit, *ast.Ident, *ast.UnaryExpr:
	default:
		return h, false
	}
	h = hotValue{param: v, value: types.ExprString(ast.Unparen(e))}
	if isTruth := h.value == "true" || h.value == "false"; isTruth != (b.Info()&types.IsBoolean != 0) {
		return h, false
	}
	h.typ, ok = facts.TypeText(p, v.Type())
	return h, ok
}

// testedFirst reports whether the body begins with a test of the parameter's value: the rule has
// specialised it before.
func testedFirst(p *mutate.Pass, fn *ast.FuncDecl, v *types.Var) bool {
	s, ok := fn.Body.List[0].(*ast.IfStmt)
	if !ok {
		return false
	}
	return len(p.Uses(v, s.Cond)) > 0
}

// rewriteSpecialiseValue copies the target for its most frequent value of a parameter. In the copy
// the value is a constant, which the compiler folds.
func rewriteSpecialiseValue(p *mutate.Pass, s mutate.Site, _ mutate.Param) ([]mutate.Edit, error) {
	h, fn := s.Data.(hotValue), p.Func
	// The value becomes part of the name, as far as names allow it.
	suffix := strings.NewReplacer("-", "Minus", "'", "").Replace(edit.UpperFirst(h.value))
	if strings.ContainsAny(suffix, `"\ `) {
		suffix = "Value"
	}
	name := p.Fresh(edit.LowerFirst(fn.Name.Name)+edit.UpperFirst(h.param.Name())+suffix,
		edit.LowerFirst(fn.Name.Name)+"Hot")
	// The copy has the other parameters, and the call passes them on.
	var params, args []string
	for _, f := range fn.Type.Params.List {
		var names []string
		for _, id := range f.Names {
			if p.Info.Defs[id] != h.param {
				names = append(names, id.Name)
			}
		}
		if len(names) == 0 {
			continue
		}
		params = append(params, strings.Join(names, ", ")+" "+p.Text(f.Type))
		if _, variadic := f.Type.(*ast.Ellipsis); variadic {
			names[len(names)-1] += "..."
		}
		args = append(args, names...)
	}
	// The value is declared as a variable at the start of the copy, so nothing else in the body may
	// have its name.
	if facts.DeclaresName(p, fn.Body, h.param.Name()) {
		return nil, errors.New("the body declares the parameter's name again")
	}
	// A comparison of a bool with true or false is shorter as the variable itself.
	test := h.param.Name() + " == " + h.value
	switch h.value {
	case "true":
		test = h.param.Name()
	case "false":
		test = "!" + h.param.Name()
	}
	results := p.Text(fn.Type.Results)
	return []mutate.Edit{
		p.Insert(fn.Body.List[0].Pos(),
			fmt.Sprintf("if %s { // most calls\nreturn %s(%s)\n}\n", test, name, strings.Join(args, ", "))),
		p.Declare(fn, fmt.Sprintf("// %s is %s where %s is %s.\nfunc %s(%s) %s {\nvar %s %s = %s\n%s\n}",
			name, fn.Name.Name, h.param.Name(), h.value, name, strings.Join(params, ", "), results, h.param.Name(),
			h.typ, h.value, p.BodyText(fn.Body))),
	}, nil
}
