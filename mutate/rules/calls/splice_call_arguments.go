package calls

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// This file says what takes the place of a parameter in a splice: a variable that starts with the
// argument, or what the argument names.

// bindings gives the parameters their values, all at once. A parameter that keeps its value and
// stands for a variable of the caller needs none.
func (w *splicer) bindings() string {
	w.subst, w.fields = map[*types.Var]string{}, map[*types.Var]string{}
	hidden := localNames(w.p, w.fn)
	var left, right []string
	fresh := false
	for i, a := range w.call.Args {
		v := w.sig.Params().At(i)
		// An argument that nothing reads is evaluated only if it has effects, or is the last use
		// of a variable.
		if v.Name() == "" || len(w.p.Uses(v, w.fn.Body)) == 0 {
			if !w.p.Pure(a) || w.lastUse(a) {
				left, right = append(left, "_"), append(right, w.p.Text(a))
			}
			continue
		}
		// A parameter that only reads what the argument names is the argument itself, if no local
		// name of the callee hides it there.
		if text, ok := w.standsFor(v, a, hidden); ok {
			w.subst[v] = text
			continue
		}
		// A pointer to a variable of the caller is followed at each use instead.
		if text, ok := w.pointsTo(v, a, hidden); ok {
			w.fields[v] = text
			if w.throughPointer(a) && !w.readFirst(v) { // a nil one panics here
				left, right = append(left, "_"), append(right, w.p.Text(a))
			}
			continue
		}
		// A constant, or a value of another type, would give the variable that type.
		value := w.p.Text(a)
		if !types.Identical(w.p.Info.TypeOf(a), v.Type()) || w.p.Info.Types[a].Value != nil {
			if t, ok := facts.TypeText(w.p, v.Type()); ok {
				value = convertedTo(t, value)
			}
		}
		fresh = true
		left, right = append(left, v.Name()), append(right, value)
	}
	if len(left) == 0 {
		return ""
	}
	op := " = "
	if fresh {
		op = " := "
	}
	// All values are assigned at once, because an argument may use a name that another parameter
	// takes.
	return strings.Join(left, ", ") + op + strings.Join(right, ", ") + "\n"
}

func convertedTo(t, value string) string {
	if strings.ContainsAny(t[:1], "*<(") || strings.HasPrefix(t, "func") || strings.HasPrefix(t, "chan") {
		t = "(" + t + ")"
	}
	return t + "(" + value + ")"
}

// standsFor reports whether a parameter is a variable of the caller by another name, which nothing
// changes meanwhile.
func (w *splicer) standsFor(v *types.Var, a ast.Expr, hidden map[string]bool) (string, bool) {
	id, ok := a.(*ast.Ident)
	if !ok {
		return "", false
	}
	of := w.p.Var(id)
	held := facts.Captured.Of(w.p)
	// The variable must keep its value while the helper's statements run, and its name must mean
	// itself there.
	if of == nil || w.p.IsGlobal(of) || w.addressKnown(of) || held[of] || held[v] || w.replacedIn(v, w.fn.Body) ||
		!types.Identical(of.Type(), v.Type()) || id.Name != v.Name() && hidden[id.Name] || w.redeclared(v.Name()) {
		return "", false
	}
	switch v.Type().Underlying().(type) {
	case *types.Struct, *types.Array:
		if w.p.Assigned(v, w.fn.Body) || w.p.Assigned(of, w.p.FuncOf(w.call)) {
			return "", false // the helper has a copy
		}
	}
	return id.Name, true
}

// replacedIn reports whether a variable itself gets another value below a node, or code takes its
// address.
func (w *splicer) replacedIn(v *types.Var, in ast.Node) bool {
	return slices.ContainsFunc(w.p.Uses(v, in), func(id *ast.Ident) bool {
		// A method with a pointer receiver may replace it, too.
		switch up := w.p.Parent(id).(type) {
		case *ast.UnaryExpr:
			return up.Op == token.AND
		case *ast.AssignStmt:
			return slices.Contains(up.Lhs, ast.Expr(id))
		case *ast.IncDecStmt:
			return true
		case *ast.RangeStmt:
			return up.Key == ast.Expr(id) || up.Value == ast.Expr(id)
		case *ast.SelectorExpr:
			return w.p.PointerMethod(up)
		}
		return false
	})
}

// addressKnown reports whether the caller takes a variable's address, by hand or by a method.
func (w *splicer) addressKnown(v *types.Var) bool {
	return facts.AddressTaken(w.p, v, w.p.FuncOf(w.call))
}

// redeclared reports whether the helper declares a name more than once.
func (w *splicer) redeclared(name string) bool {
	n := 0
	for _, id := range mutate.Nodes[*ast.Ident](w.p, w.fn) {
		if id.Name == name && w.p.Info.Defs[id] != nil {
			n++
		}
	}
	return n > 1
}

// pointsTo reports whether a parameter only leads to fields of what the caller names.
func (w *splicer) pointsTo(v *types.Var, a ast.Expr, hidden map[string]bool) (string, bool) {
	u, ok := a.(*ast.UnaryExpr)
	if !ok || u.Op != token.AND || w.replacedIn(v, w.fn.Body) || facts.Captured.Of(w.p)[v] ||
		!w.keepsMeaning(u.X, hidden) || w.throughPointer(a) && w.replacedAfar(facts.RootVar(w.p, u.X)) {
		return "", false
	}
	for _, id := range w.p.Uses(v, w.fn.Body) {
		sel, ok := w.p.Parent(id).(*ast.SelectorExpr)
		if !ok || sel.X != ast.Expr(id) {
			return "", false
		}
	}
	return w.p.Text(u.X), true
}

// throughPointer reports whether the place whose address an argument takes lies behind a pointer.
func (w *splicer) throughPointer(a ast.Expr) bool {
	for _, sel := range mutate.Nodes[*ast.SelectorExpr](w.p, a) {
		if syntax.Is[*types.Pointer](w.p.Info.TypeOf(sel.X)) {
			return true
		}
	}
	return false
}

// readFirst reports whether the helper's first statement follows a parameter in any case, and the
// call does nothing before that.
func (w *splicer) readFirst(v *types.Var) bool {
	first := w.fn.Body.List[0]
	root := ast.Node(first)
	if i, ok := first.(*ast.IfStmt); ok && i.Init == nil {
		root = i.Cond
	} else if !syntax.IsPlainStmt(first) {
		return false
	}
	pure := !slices.ContainsFunc(w.call.Args, func(a ast.Expr) bool { return w.p.Effects(a).Writes })
	return pure && slices.ContainsFunc(w.p.Uses(v, root), func(id *ast.Ident) bool {
		return !facts.MayBeSkipped(w.p, id, first)
	})
}

// replacedAfar reports whether the caller takes the address of a variable itself, so that the
// helper may give it another value.
func (w *splicer) replacedAfar(v *types.Var) bool {
	return slices.ContainsFunc(w.p.Uses(v, w.p.FuncOf(w.call)), func(id *ast.Ident) bool {
		u, ok := w.p.Parent(id).(*ast.UnaryExpr)
		return ok && u.Op == token.AND
	})
}

// keepsMeaning reports whether an expression is a variable of the caller or a field of what it
// holds or points to, and no name of the helper hides it.
func (w *splicer) keepsMeaning(e ast.Expr, hidden map[string]bool) bool {
	switch e := e.(type) {
	case *ast.Ident:
		v := w.p.Var(e)
		// A global may be changed by any call in between.
		return v != nil && !w.p.IsGlobal(v) && !facts.Captured.Of(w.p)[v] && !hidden[e.Name]
	case *ast.SelectorExpr:
		s := w.p.Info.Selections[e]
		if s == nil || s.Kind() != types.FieldVal || len(s.Index()) != 1 {
			return false
		}
		_, pointer := w.p.Info.TypeOf(e.X).Underlying().(*types.Pointer)
		_, root := e.X.(*ast.Ident)
		// One step through a pointer is as far as nothing in between can change.
		return (root || !pointer) && w.keepsMeaning(e.X, hidden)
	}
	return false
}
