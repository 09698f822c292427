package text

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
	"github.com/beagle-go/beagle/mutate/rules/internal/formats"
)

// stringMethod (part of catalogue S2) matches arguments of a format that fmt prints by their method
// String or Error. It calls the method in the argument's place.
var stringMethod = &mutate.Mutator{
	Name: "string-method",
	Doc: "Call the method String or Error of an argument yourself instead of leaving it to fmt, which boxes the " +
		"value and asks for four interfaces before it finds the method. Then the format holds strings and numbers " +
		"only, and the rule sprintf can write it out. Legal because fmt prints by that method; it prints a panic of " +
		"the method as text, where the call panics. An error with a method Format is taken to print the same text.",
	Example: mutate.Shows(`return fmt.Sprintf("%s:%d", kind, n)`,
		`return fmt.Sprintf("%s:%d", kind.String(), n)`),
	Class:   beagle.E1,
	Gain:    1.15,
	Find:    findStringMethods,
	Rewrite: edit.Precomputed,
}

// findStringMethods looks for arguments of a format that fmt would print by their own method, which
// is cheaper to call directly.
func findStringMethods(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, call := range mutate.Nodes[*ast.CallExpr](p, nil) {
		args := call.Args
		// The format comes first, or after a writer or a slice.
		_, hasFormat := p.IsCall(call, "fmt", "Sprintf", "Errorf")
		if _, prints := p.IsCall(call, "fmt", "Fprintf", "Appendf"); prints && len(args) > 1 {
			hasFormat, args = true, args[1:]
		}
		if !hasFormat || call.Ellipsis.IsValid() || !facts.TakesTime(p, call) {
			continue
		}
		var edits []mutate.Edit
		for _, q := range formats.Parse(p, args) {
			// Only bare verbs for text call the method, as the code then does itself.
			if q.Arg == nil || !q.Bare() || q.Verb != 's' && q.Verb != 'v' && q.Verb != 'q' {
				continue
			}
			// fmt recovers from a panic in a method, and calls it later than an argument is
			// evaluated. mayAskEarly decides whether that can be seen.
			if name := printedBy(p, q.Arg); name != "" && mayAskEarly(p, q.Arg, name, args[1:]) {
				edits = append(edits, p.Replace(q.Arg, receiverText(p, q.Arg)+"."+name+"()"))
			}
		}
		if len(edits) > 0 {
			sites = append(sites, edit.Site(call, "methods in "+p.Text(call.Fun)+" of "+p.Text(args[0]), edits...))
		}
	}
	return sites
}

// mayAskEarly reports whether the method of an argument may run beside the other arguments, where
// fmt runs it after them. If one of these changes something, the method must look at its value
// only.
func mayAskEarly(p *mutate.Pass, e ast.Expr, name string, args []ast.Expr) bool {
	// Without effects beside it, no code can see the order.
	does := mutate.Effects{Reads: true}
	if m := types.NewMethodSet(p.Info.TypeOf(e)).Lookup(nil, name); m != nil {
		if d := p.Decl(m.Obj()); d != nil && d.Body != nil {
			does = p.Effects(d)
		}
	}
	return !slices.ContainsFunc(args, func(a ast.Expr) bool {
		f := p.Effects(a)
		return a != e && (f.Writes && (does.Reads || does.Writes) || does.Writes && (f.Reads || !unmovedAll(p, a)))
	})
}

// unmovedAll reports whether an expression only uses what no call of a function can change.
func unmovedAll(p *mutate.Pass, e ast.Expr) bool {
	for _, id := range mutate.Nodes[*ast.Ident](p, e) {
		if v := p.Var(id); v != nil && !v.IsField() && !facts.KeepsValueOver(p, id) {
			return false
		}
	}
	return true
}

// printedBy returns the method by which fmt prints a value as text, or "". A pointer may be nil,
// for which fmt has an answer and most methods have none; so may an interface, unless a condition
// says that it is not.
func printedBy(p *mutate.Pass, e ast.Expr) string {
	t := p.Info.TypeOf(e)
	if t == nil || p.Info.Types[e].Value != nil && !facts.PackageLevel(p, e) {
		return ""
	}
	// An error is known not to be nil only under a test that says so.
	if syntax.IsError(t) {
		if knownError(p, e) {
			return "Error"
		}
		return ""
	}
	if _, pointer := t.Underlying().(*types.Pointer); pointer || types.IsInterface(t) || syntax.IsTypeParam(t) {
		return ""
	}
	set := types.NewMethodSet(t)
	// fmt prefers a Formatter, then Error, then String.
	switch {
	case syntax.IsNamed(t, "reflect", "Value"): // fmt prints what it holds
		return ""
	case formatsItself(set):
		return ""
	case givesText(set, "Error"):
		return "Error"
	case givesText(set, "String"):
		return "String"
	}
	return ""
}

// formatsItself reports whether a type is a fmt.Formatter.
func formatsItself(set *types.MethodSet) bool {
	m := set.Lookup(nil, "Format")
	if m == nil {
		return false
	}
	params := m.Type().(*types.Signature).Params()
	return params.Len() == 2 && syntax.IsNamed(params.At(0).Type(), "fmt", "State")
}

// givesText reports whether a type has a method without parameters that returns a string.
func givesText(set *types.MethodSet, name string) bool {
	m := set.Lookup(nil, name)
	if m == nil {
		return false
	}
	sig := m.Type().(*types.Signature)
	return sig.Params().Len() == 0 && sig.Results().Len() == 1 &&
		types.Identical(sig.Results().At(0).Type(), types.Typ[types.String])
}

// knownError reports whether an error is not nil where it is printed: the branch asked.
func knownError(p *mutate.Pass, e ast.Expr) bool {
	v := p.Var(e)
	if v == nil || !facts.IsLocal(p, v) || facts.Captured.Of(p)[v] {
		return false
	}
	// Inside of `if err != nil`, and not assigned since, the error is there.
	for _, up := range p.Path(e) {
		s, ok := up.(*ast.IfStmt)
		if !ok || !facts.Inside(e, s.Body) {
			continue
		}
		for _, test := range syntax.Operands(s.Cond, token.LAND) {
			b, ok := ast.Unparen(test).(*ast.BinaryExpr)
			if ok && b.Op == token.NEQ && p.Var(b.X) == v && p.Info.Types[b.Y].IsNil() && !p.Assigned(v, s.Body) {
				return true
			}
		}
	}
	return false
}

// receiverText writes an expression of which a method can be called.
func receiverText(p *mutate.Pass, e ast.Expr) string {
	switch ast.Unparen(e).(type) {
	case *ast.Ident, *ast.SelectorExpr, *ast.CallExpr, *ast.IndexExpr:
		return p.Text(ast.Unparen(e))
	}
	return "(" + p.Text(e) + ")"
}
