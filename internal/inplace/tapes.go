package inplace

import (
	"fmt"
	"go/types"
	"strings"
)

// shared are interfaces whose values both versions may use: their methods change nothing, and
// their identity means something.
var shared = map[string]bool{
	"context.Context": true, "reflect.Type": true, "testing.TB": true, "error": true, "go/types.Type": true,
}

// taped writes what records the calls of parameter i and answers them again: a function
// beagleTape0, and for an interface its type. ok is false for a parameter that is copied or shared.
func (d *dispatcher) taped(i int, t types.Type) (text string, ok bool) {
	if d.variadic(i) || len(d.typeParams()) > 0 || shared[types.TypeString(t, (*types.Package).Path)] {
		return "", false
	}
	name := fmt.Sprintf("beagleTape%d", i)
	switch x := t.Underlying().(type) {
	case *types.Signature:
		if !d.tapeable(x) {
			return "", false
		}
		return fmt.Sprintf("\nfunc %s(t *beaglelive.Tape, in %s, replay bool) %s {\n\treturn func%s {\n%s\t}\n}\n",
			name, d.text(t), d.text(t), d.header(x), d.record(x, `""`, "in")), true
	case *types.Interface:
		return d.tapedInterface(name, t, x)
	}
	return "", false
}

func (d *dispatcher) tapedInterface(name string, t types.Type, x *types.Interface) (string, bool) {
	if x.NumMethods() == 0 {
		return "", false
	}
	for m := range x.Methods() { // before anything is spelled: that imports packages
		if !m.Exported() && m.Pkg() != d.u.Package.Types || !d.tapeable(m.Signature()) {
			return "", false
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\ntype %sOf struct {\n\tuse func() (*beaglelive.Tape, %s, bool)\n}\n", name, d.text(t))
	fmt.Fprintf(&b, "\nfunc %s(t *beaglelive.Tape, in %s, replay bool) %s {\n"+
		"\treturn &%sOf{func() (*beaglelive.Tape, %s, bool) { return t, in, replay }}\n}\n",
		name, d.text(t), d.text(t), name, d.text(t))
	for m := range x.Methods() {
		fmt.Fprintf(&b, "\nfunc (w *%sOf) %s%s {\n\tt, in, replay := w.use()\n%s}\n", name, m.Name(),
			d.header(m.Signature()), d.record(m.Signature(), fmt.Sprintf("%q", m.Name()), "in."+m.Name()))
	}
	return b.String(), true
}

// tapeable reports whether calls with a signature can be written down: a function among the
// arguments would have to be called again.
func (d *dispatcher) tapeable(sig *types.Signature) bool {
	for _, list := range []*types.Tuple{sig.Params(), sig.Results()} {
		for v := range list.Variables() {
			switch v.Type().Underlying().(type) {
			case *types.Signature, *types.Chan:
				return false
			}
			if !d.spelled(v.Type()) {
				return false
			}
		}
	}
	return true
}

// spelled reports whether the target's package can name a type.
func (d *dispatcher) spelled(t types.Type) bool {
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		if p := t.Obj().Pkg(); p != nil && p != d.u.Package.Types && !t.Obj().Exported() {
			return false
		}
		for i := range t.TypeArgs().Len() {
			if !d.spelled(t.TypeArgs().At(i)) {
				return false
			}
		}
		return true
	case interface{ Elem() types.Type }:
		m, isMap := t.(*types.Map)
		return d.spelled(t.Elem()) && (!isMap || d.spelled(m.Key()))
	}
	return true
}

// header spells parameters p0, p1, ... and results.
func (d *dispatcher) header(sig *types.Signature) string {
	var ps, rs []string
	for i := range sig.Params().Len() {
		t := d.text(sig.Params().At(i).Type())
		if sig.Variadic() && i == sig.Params().Len()-1 {
			t = "..." + strings.TrimPrefix(t, "[]")
		}
		ps = append(ps, fmt.Sprintf("p%d %s", i, t))
	}
	for i := range sig.Results().Len() {
		rs = append(rs, d.text(sig.Results().At(i).Type()))
	}
	return "(" + strings.Join(ps, ", ") + ") (" + strings.Join(rs, ", ") + ")"
}

// record returns the body that writes a call down or answers it.
func (d *dispatcher) record(sig *types.Signature, method, callee string) string {
	var fields, values, results, args, gives []string
	for i := range sig.Params().Len() {
		fields = append(fields, fmt.Sprintf("A%d %s", i, d.text(sig.Params().At(i).Type())))
		values = append(values, fmt.Sprintf("p%d", i))
		arg := fmt.Sprintf("p%d", i)
		if sig.Variadic() && i == sig.Params().Len()-1 {
			arg += "..."
		}
		args = append(args, arg)
	}
	for i := range sig.Results().Len() {
		results = append(results, fmt.Sprintf("R%d %s", i, d.text(sig.Results().At(i).Type())))
		gives = append(gives, fmt.Sprintf("r.R%d", i))
	}
	assign := ""
	if len(gives) > 0 {
		assign = strings.Join(gives, ", ") + " = "
	}
	return fmt.Sprintf("\ta := struct{ %s }{%s}\n\tvar r struct{ %s }\n\tif replay {\n"+
		"\t\tbeaglelive.Replayed(t, %s, &a, &r)\n\t} else {\n"+
		"\t\tbeaglelive.Recorded(t, %s, &a, &r, func() { %s%s(%s) })\n\t}\n\treturn %s\n",
		strings.Join(fields, "; "), strings.Join(values, ", "), strings.Join(results, "; "), method, method, assign,
		callee, strings.Join(args, ", "), strings.Join(gives, ", "))
}
