package calls

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/types"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/characters"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// constantArgument (catalogue C8 for constants) matches calls that pass a constant to a helper. It
// writes a copy of the helper that knows the constant.
var constantArgument = &mutate.Mutator{
	Name: "constant-argument",
	Doc: "Give calls that pass a constant a copy of the helper with the constant in place of the parameter. The " +
		"compiler drops the branches that the constant decides, and other rewrites see a set or size that is known. " +
		"Exact: the helper never assigns the parameter.",
	Example: mutate.Shows(`func only(s, set string) bool { ... strings.ContainsRune(set, r) ... }

ok := only(s, digits)`,
		`func onlyDigits(s string) bool { ... strings.ContainsRune(digits, r) ... }

ok := onlyDigits(s)`),
	Class:   beagle.E0,
	Gain:    1.08,
	Find:    findConstantArgument,
	Rewrite: edit.Precomputed,
}

// maxCopiedLines bounds the helpers that constants get copies of.
const maxCopiedLines = 60

// findConstantArgument looks for helpers with a parameter that decides what they do, and for calls
// with a constant there.
func findConstantArgument(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, helper := range mutate.Nodes[*ast.FuncDecl](p, nil) {
		// The helper is copied, so it must be a short plain function that does not call itself.
		if helper == p.Func || helper.Recv != nil || helper.Body == nil || helper.Type.TypeParams != nil ||
			facts.LineCount(p, helper) > maxCopiedLines || facts.CallsItself(p, helper) {
			continue
		}
		sig := p.Info.Defs[helper.Name].(*types.Func).Signature()
		if sig.Variadic() {
			continue
		}
		// A parameter that decides a condition, say, is worth a copy in which it is constant.
		for i := range sig.Params().Len() {
			v := sig.Params().At(i)
			if v.Name() == "_" || v.Name() == "" || !decidesBranch(p, v, helper) {
				continue
			}
			sites = append(sites, constantSites(p, helper, i, v)...)
		}
	}
	return sites
}

// decidesBranch reports whether to know a parameter may pay: it is a plain value that stays, and
// the helper tests it or hands it to a call.
func decidesBranch(p *mutate.Pass, v *types.Var, helper *ast.FuncDecl) bool {
	// Only constants of these kinds can be written in its place.
	if b, ok := v.Type().(*types.Basic); !ok || b.Info()&types.IsConstType == 0 || p.Assigned(v, helper.Body) {
		return false
	}
	// A parameter that nothing tests makes the helper no shorter.
	return slices.ContainsFunc(p.Uses(v, helper.Body), func(id *ast.Ident) bool {
		switch up := p.Parent(id).(type) {
		case *ast.IfStmt, *ast.SwitchStmt, *ast.BinaryExpr, *ast.UnaryExpr, *ast.IndexExpr:
			return true
		case *ast.CallExpr:
			return slices.Contains(up.Args, ast.Expr(id))
		}
		return false
	})
}

// constantSites offers a copy for each constant that some hot call passes for a parameter.
func constantSites(p *mutate.Pass, helper *ast.FuncDecl, i int, v *types.Var) []mutate.Site {
	calls, order := map[string][]*ast.CallExpr{}, []string{}
	// Group the calls by the constant, in the order of the text.
	for _, call := range mutate.Nodes[*ast.CallExpr](p, nil) {
		if p.Decl(p.Callee(call)) != helper || i >= len(call.Args) || p.FuncOf(call) == nil ||
			!facts.TakesTime(p, call) {
			continue
		}
		value := p.Info.Types[call.Args[i]].Value
		if value == nil || p.Effects(call.Args[i]).Reads {
			continue
		}
		if text := value.ExactString(); !slices.Contains(order, text) {
			order = append(order, text)
		}
		text := value.ExactString()
		calls[text] = append(calls[text], call)
	}
	// The most used constants are not known, so the first ones are taken.
	var sites []mutate.Site
	for n, text := range order {
		if n == 4 {
			break // each is a copy of the helper
		}
		if edits := constantCopy(p, helper, i, v, calls[text]); edits != nil {
			label := edit.OneLine(fmt.Sprintf("%s with %s %s", helper.Name.Name, v.Name(),
				p.Text(calls[text][0].Args[i])))
			sites = append(sites, edit.Site(calls[text][0], label, edits...))
		}
	}
	return sites
}

// constantCopy writes the copy, and has the calls call it.
func constantCopy(
	p *mutate.Pass, helper *ast.FuncDecl, i int, v *types.Var, calls []*ast.CallExpr,
) []mutate.Edit {
	arg := calls[0].Args[i]
	text, ok := constantText(p, arg, v)
	if !ok || localNames(p, helper)[text] {
		return nil
	}
	// The calls drop the argument.
	name := p.Fresh(helper.Name.Name + edit.UpperFirst(namedAfter(p, arg, v)))
	var edits []mutate.Edit
	for _, call := range calls {
		if call.Ellipsis.IsValid() {
			return nil
		}
		var rest []string
		for j, a := range call.Args {
			if j != i {
				rest = append(rest, p.Text(a))
			}
		}
		edits = append(edits, p.Replace(call, name+"("+strings.Join(rest, ", ")+")"))
	}
	if nested := edit.OutermostOnly(edits); len(nested) != len(edits) {
		return nil // a call among another's arguments
	}
	// The copy drops the parameter.
	var params []string
	sig := p.Info.Defs[helper.Name].(*types.Func).Signature()
	for j := range sig.Params().Len() {
		if j == i {
			continue
		}
		t, ok := facts.TypeText(p, sig.Params().At(j).Type())
		if !ok {
			return nil
		}
		params = append(params, sig.Params().At(j).Name()+" "+t)
	}
	results := ""
	if helper.Type.Results != nil {
		results = p.Text(helper.Type.Results)
	}
	body := p.Between(helper.Body.Lbrace, helper.Body.Rbrace+1)
	at := p.Offset(helper.Body.Lbrace)
	var in []mutate.Edit
	if b := v.Type().(*types.Basic); b.Info()&types.IsInteger != 0 {
		// As a variable, since an expression of constants must not overflow.
		in = append(in, p.Insert(helper.Body.Lbrace+1, "\n"+v.Name()+" := "+text))
	} else {
		for _, id := range p.Uses(v, helper.Body) {
			use := p.Replace(id, text)
			if facts.SameEverywhere(p, arg) {
				use = constantUse(p, id, text, p.Info.Types[arg].Value)
			}
			in = append(in, use)
		}
	}
	// From the back, so that the places of earlier edits stay right.
	for _, e := range slices.Backward(in) {
		body = body[:e.Start-at] + e.New + body[e.End-at:]
	}
	decl := fmt.Sprintf("// %s is %s where %s is %s.\nfunc %s(%s) %s %s", name, helper.Name.Name, v.Name(),
		edit.OneLine(p.Text(arg)), name, strings.Join(params, ", "), results, body)
	return append(edits, p.Declare(helper, decl))
}

// constantUse puts a constant in place of a use of the parameter: a search in it becomes
// comparisons.
func constantUse(p *mutate.Pass, id *ast.Ident, text string, value constant.Value) mutate.Edit {
	// A search for one of a few constant letters is shorter as comparisons.
	call, ok := p.IsCall(p.Parent(id), "strings", "ContainsRune", "IndexRune", "IndexByte")
	if !ok || call.Args[0] != ast.Expr(id) || !syntax.IsRepeatable(call.Args[1]) || value.Kind() != constant.String ||
		len(p.Uses(p.Var(id), call.Args[1])) > 0 {
		return p.Replace(id, text)
	}
	// Where the place is asked for, comparisons do not answer.
	what, negated, ok := characters.AsksForPresence(p, call)
	tests := characters.SetText(p.Text(call.Args[1]), constant.StringVal(value))
	if !ok || tests == "" {
		return p.Replace(id, text)
	}
	if tests = "(" + tests + ")"; negated {
		tests = "!" + tests
	}
	return p.Replace(what, tests)
}

// constantText is how the helper writes a constant of the parameter's type.
func constantText(p *mutate.Pass, arg ast.Expr, v *types.Var) (string, bool) {
	b := v.Type().(*types.Basic)
	if b.Info()&(types.IsFloat|types.IsComplex) != 0 {
		return "", false // expressions of constants are exact, and those of variables are rounded
	}
	// A named constant keeps its name, if it is visible at package level and has the parameter's
	// type.
	if id, ok := ast.Unparen(arg).(*ast.Ident); ok {
		c, isConst := p.Info.Uses[id].(*types.Const)
		local := isConst && c.Pkg() != nil && c.Parent() != c.Pkg().Scope()
		if local {
			return "", false
		}
		if isConst && types.Identical(types.Default(c.Type()), v.Type()) {
			return id.Name, true
		}
	}
	// Otherwise the value is written in a conversion, since an untyped constant could get another
	// type.
	if !facts.SameEverywhere(p, arg) {
		return "", false
	}
	value := p.Info.Types[arg].Value.ExactString()
	switch {
	case b.Kind() == types.String, b.Kind() == types.Bool:
		return value, true
	default:
		return b.Name() + "(" + value + ")", true
	}
}

// namedAfter is a word for a constant in a name.
func namedAfter(p *mutate.Pass, arg ast.Expr, v *types.Var) string {
	// Names of constants read best, so true and false become the parameter's name and its opposite.
	if id, ok := ast.Unparen(arg).(*ast.Ident); ok && p.Info.Uses[id] != nil {
		switch id.Name {
		case "true":
			return v.Name()
		case "false":
			return "not" + edit.UpperFirst(v.Name())
		}
		return id.Name
	}
	// Only letters and digits of a value can be part of a name.
	word := ""
	for _, r := range p.Info.Types[arg].Value.ExactString() {
		if '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			word += string(r)
		}
	}
	if word == "" || len(word) > 12 {
		return "fixed" + edit.UpperFirst(v.Name())
	}
	return v.Name() + edit.UpperFirst(word)
}
