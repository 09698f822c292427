package inplace

import (
	"fmt"
	"go/types"
	"strings"
)

// writeDriver writes what calls result i, a function, and lists what it does: a function
// beagleDrive0. ok is false for other results, and for functions whose arguments cannot be made up.
func (d *dispatcher) writeDriver(i int) (text string, ok bool) {
	t := d.sig.Results().At(i).Type()
	sig, ok := t.Underlying().(*types.Signature)
	if !ok || sig.Variadic() || len(d.typeParams()) > 0 {
		return "", false
	}
	for _, list := range []*types.Tuple{sig.Params(), sig.Results()} {
		for v := range list.Variables() {
			if !d.spelled(v.Type()) {
				return "", false
			}
		}
	}
	body := d.iterated(sig)
	if body == "" {
		body = d.repeated(sig)
	}
	if body == "" {
		return "", false
	}
	return fmt.Sprintf("\nfunc beagleDrive%d(f %s) []any {\n\tif f == nil {\n\t\treturn nil\n\t}\n\treturn %s\n}\n",
		i, d.text(t), body), true
}

// iterated runs an iterator; "" for another function.
func (d *dispatcher) iterated(sig *types.Signature) string {
	if sig.Params().Len() != 1 || sig.Results().Len() != 0 {
		return ""
	}
	yield, ok := sig.Params().At(0).Type().Underlying().(*types.Signature)
	if !ok || yield.Variadic() || yield.Results().Len() != 1 ||
		!types.Identical(yield.Results().At(0).Type(), types.Typ[types.Bool]) {
		return ""
	}
	var ps, values []string
	for k := range yield.Params().Len() {
		t := yield.Params().At(k).Type()
		if !d.spelled(t) {
			return ""
		}
		ps = append(ps, fmt.Sprintf("p%d %s", k, d.text(t)))
		values = append(values, fmt.Sprintf("p%d", k))
	}
	return fmt.Sprintf("beaglelive.Iterated(func(yield func(...any) bool) {\n"+
		"\t\tf(func(%s) bool { return yield(%s) })\n\t})", strings.Join(ps, ", "), strings.Join(values, ", "))
}

// repeated calls a function of basic arguments; "" for another one, and for one without results.
func (d *dispatcher) repeated(sig *types.Signature) string {
	var args, results []string
	for v := range sig.Params().Variables() {
		b, ok := v.Type().Underlying().(*types.Basic)
		if !ok || b.Info()&(types.IsNumeric|types.IsString|types.IsBoolean) == 0 || b.Info()&types.IsComplex != 0 {
			return ""
		}
		args = append(args, "beaglelive.Pick["+d.text(v.Type())+"](i)")
	}
	for k := range sig.Results().Len() {
		results = append(results, fmt.Sprintf("r%d", k))
	}
	if len(results) == 0 {
		return ""
	}
	list := strings.Join(results, ", ")
	return fmt.Sprintf("beaglelive.Repeated(func(i int) []any {\n\t\t%s := f(%s)\n\t\treturn []any{%s}\n\t})",
		list, strings.Join(args, ", "), list)
}

// functions lists the results that can be driven.
func (d *dispatcher) functions() (list []int) {
	for i := range d.sig.Results().Len() {
		if _, ok := d.writeDriver(i); ok {
			list = append(list, i)
		}
	}
	return list
}

// drives calls the functions among results and keeps what they do.
func (d *dispatcher) drives(to string) string {
	var b strings.Builder
	for _, i := range d.functions() {
		fmt.Fprintf(&b, "; %s.D%d = beagleDrive%d(%s.R%d)", to, i, i, to, i)
	}
	return b.String()
}

// resultsToCompare returns the results to compare. Functions count only by whether there are any.
func (d *dispatcher) resultsToCompare(results string) string {
	var b strings.Builder
	for _, i := range d.functions() {
		fmt.Fprintf(&b, "\t\t%s.N%d, %s.R%d = %s.R%d == nil, nil\n", results, i, results, i, results, i)
	}
	return b.String()
}
