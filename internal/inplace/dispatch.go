package inplace

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/internal/syntax"
)

// A dispatcher writes what stands in the target's place: code that calls the version that package
// live names.
type dispatcher struct {
	u       *source.Unit
	fset    *token.FileSet
	decl    *ast.FuncDecl
	sig     *types.Signature // as declared: with type parameters
	params  []*types.Var     // the receiver first
	imports source.Imports
	tape    bool // callbacks and interfaces may be recorded
}

// newDispatcher finds the target's declaration and its parameters, the receiver first.
func newDispatcher(u *source.Unit) (*dispatcher, error) {
	fset, files, info := u.Package.Syntax()
	d := &dispatcher{u: u, fset: fset}
	recv, name, isMethod := strings.Cut(u.Target.Name, ".")
	if !isMethod {
		recv, name = "", recv
	}
	for _, f := range files {
		for _, x := range f.Decls {
			if fn, ok := x.(*ast.FuncDecl); ok && fn.Name.Name == name && syntax.Receiver(fn) == recv {
				d.decl = fn
			}
		}
	}
	if d.decl == nil {
		return nil, fmt.Errorf("%s is not among the package's files", u.Target.Name)
	}
	d.sig = info.Defs[d.decl.Name].(*types.Func).Signature()
	if r := d.sig.Recv(); r != nil {
		d.params = append(d.params, r)
	}
	d.params = slices.AppendSeq(d.params, d.sig.Params().Variables())
	return d, nil
}

// typeParams returns those of the function, or of its receiver.
func (d *dispatcher) typeParams() []*types.TypeParam {
	list := d.sig.TypeParams()
	if d.sig.Recv() != nil {
		list = d.sig.RecvTypeParams()
	}
	var out []*types.TypeParam
	for i := range list.Len() {
		out = append(out, list.At(i))
	}
	return out
}

// text spells a type in the dispatcher's file.
func (d *dispatcher) text(t types.Type) string { return d.imports.TypeString(t, d.u.Target.PkgPath) }

// file writes the file of the dispatcher over some versions.
func (d *dispatcher) file(versions []int) string {
	d.imports = source.Imports{livePath(d.u): "beaglelive"}
	body := d.dispatch(versions) + d.call(versions) + d.slowFunction() + d.compare() + d.globals()
	return fmt.Sprintf("//go:build go1.21\n\npackage %s\n\n%s", d.u.Target.PkgName, d.imports.Block()) + body
}

// types spells the type parameters: as declared, and as arguments.
func (d *dispatcher) types() (declared, args string) {
	var decls, names []string
	for _, p := range d.typeParams() {
		decls = append(decls, p.Obj().Name()+" "+d.text(p.Constraint()))
		names = append(names, p.Obj().Name())
	}
	if len(names) == 0 {
		return "", ""
	}
	return "[" + strings.Join(decls, ", ") + "]", "[" + strings.Join(names, ", ") + "]"
}

// variadic reports whether parameter i is the last of a variadic function.
func (d *dispatcher) variadic(i int) bool { return d.sig.Variadic() && i == len(d.params)-1 }

// declared spells the parameters and results of a function of the dispatcher.
func (d *dispatcher) declared() (params, results string) {
	var ps, rs []string
	for i, v := range d.params {
		t := d.text(v.Type())
		if d.variadic(i) {
			t = "..." + strings.TrimPrefix(t, "[]")
		}
		ps = append(ps, fmt.Sprintf("a%d %s", i, t))
	}
	for i := range d.sig.Results().Len() {
		rs = append(rs, fmt.Sprintf("r%d %s", i, d.text(d.sig.Results().At(i).Type())))
	}
	if len(rs) > 0 {
		results = " (" + strings.Join(rs, ", ") + ")"
	}
	return strings.Join(ps, ", "), results
}

// args returns the arguments a0, a1, ... of a call; of spells argument i.
func (d *dispatcher) args(of func(i int) string) []string {
	var out []string
	for i := range d.params {
		text := of(i)
		if d.variadic(i) {
			text += "..."
		}
		out = append(out, text)
	}
	return out
}

func plainArg(i int) string { return "a" + strconv.Itoa(i) }

// versionCall calls a version.
func (d *dispatcher) versionCall(v int, of func(i int) string) string {
	args := d.args(of)
	name := d.decl.Name.Name + suffix(v)
	if d.sig.Recv() != nil {
		return args[0] + "." + name + "(" + strings.Join(args[1:], ", ") + ")"
	}
	_, targs := d.types()
	return name + targs + "(" + strings.Join(args, ", ") + ")"
}

// returnCall returns a call as the end of a function.
func (d *dispatcher) returnCall(call string) string {
	if d.sig.Results().Len() == 0 {
		return call + "; return"
	}
	return "return " + call
}

func (d *dispatcher) cases(versions []int) string {
	var b strings.Builder
	for _, v := range versions {
		fmt.Fprintf(&b, "\tcase %d:\n\t\t%s\n", v, d.returnCall(d.versionCall(v, plainArg)))
	}
	return b.String()
}

func (d *dispatcher) dispatch(versions []int) string {
	declared, targs := d.types()
	params, results := d.declared()
	return fmt.Sprintf("\nfunc beagleDispatch%s(%s)%s {\n\tw := beaglelive.Turn()\n\tswitch w {\n%s\t}\n\t%s\n}\n",
		declared, params, results, d.cases(versions),
		d.returnCall("beagleSlow"+targs+"("+strings.Join(append([]string{"w"}, d.args(plainArg)...), ", ")+")"))
}

func (d *dispatcher) call(versions []int) string {
	declared, _ := d.types()
	params, results := d.declared()
	return fmt.Sprintf("\nfunc beagleCall%s(%s)%s {\n\tswitch v {\n%s\tcase beaglelive.Hollow:\n\t\treturn\n\t}\n"+
		"\tpanic(\"beagle: no such version\")\n}\n",
		declared, joinNonEmpty("v int", params), results, d.cases(versions))
}

func joinNonEmpty(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
}

// callVersion calls the version that an expression names.
func (d *dispatcher) callVersion(v string, of func(i int) string) string {
	_, targs := d.types()
	return "beagleCall" + targs + "(" + strings.Join(append([]string{v}, d.args(of)...), ", ") + ")"
}

func (d *dispatcher) slowFunction() string {
	declared, targs := d.types()
	params, results := d.declared()
	comparing := "beagleCompare" + targs + "(" + strings.Join(d.args(plainArg), ", ") + ")"
	return fmt.Sprintf("\nfunc beagleSlow%s(%s)%s {\n\tswitch {\n"+
		"\tcase beaglelive.Counting(w):\n\t\tdefer beaglelive.Counted()()\n\t\t%s\n"+
		"\tcase beaglelive.Comparing(w):\n\t\t%s\n\tcase w == beaglelive.Hollow:\n\t\treturn\n\t}\n"+
		"\tv := beaglelive.Begin()\n\tdefer beaglelive.End()\n\t%s\n}\n",
		declared, joinNonEmpty("w int", params), results, d.returnCall(d.callVersion("0", plainArg)),
		d.returnCall(comparing),
		d.returnCall(d.callVersion("v", plainArg)))
}

// compare writes beagleCompare, which runs the original and the other version within one call, with
// all that it needs. testdata/dispatchers shows the result.
func (d *dispatcher) compare() string {
	types := d.structs() + d.drivers()
	taped, tapes := d.tapes()
	body := d.entry() + d.argumentsOf(taped) + d.runs(taped) + d.returned()
	return types + tapes + body + either
}

// structs writes structs for the arguments and results.
func (d *dispatcher) structs() string {
	declared, _ := d.types()
	var b strings.Builder
	fmt.Fprintf(&b, "\ntype beagleArgs%s struct {\n", declared)
	for i, v := range d.params {
		fmt.Fprintf(&b, "\tA%d %s\n", i, d.text(v.Type()))
	}
	fmt.Fprintf(&b, "}\n\ntype beagleResults%s struct {\n", declared)
	for i := range d.sig.Results().Len() {
		fmt.Fprintf(&b, "\tR%d %s\n", i, d.text(d.sig.Results().At(i).Type()))
	}
	for _, i := range d.functions() {
		fmt.Fprintf(&b, "\tN%d bool\n\tD%d []any\n", i, i)
	}
	b.WriteString("}\n")
	return b.String()
}

// drivers writes the functions that call the functions among the results.
func (d *dispatcher) drivers() string {
	var b strings.Builder
	for _, i := range d.functions() {
		text, _ := d.writeDriver(i)
		b.WriteString(text)
	}
	return b.String()
}

// tapes writes the tapes. A tape records the first version's calls of a function or interface that
// must run once, and answers the second version's calls. taped has the parameters with a tape.
func (d *dispatcher) tapes() (taped map[int]bool, text string) {
	taped = map[int]bool{}
	if !d.tape {
		return taped, ""
	}
	var b strings.Builder
	for i, v := range d.params {
		if text, ok := d.taped(i, v.Type()); ok {
			b.WriteString(text)
			taped[i] = true
		}
	}
	return taped, b.String()
}

// entry begins beagleCompare: without a comparison under way, it calls just the version in place.
func (d *dispatcher) entry() string {
	declared, _ := d.types()
	params, results := d.declared()
	return fmt.Sprintf(
		"\nfunc beagleCompare%s(%s)%s {\n\tc, v, done := beaglelive.Enter()\n\tif c == nil {\n\t\tdefer done()\n"+
			"\t\t%s\n\t}\n"+
			"\tdefer c.Leave()\n", declared, params, results, d.returnCall(d.callVersion("v", plainArg)))
}

// argumentsOf gathers the arguments, and starts a tape for each of those that are taped.
func (d *dispatcher) argumentsOf(taped map[int]bool) string {
	_, targs := d.types()
	var b strings.Builder
	fmt.Fprintf(&b, "\targs := beagleArgs%s{%s}\n", targs, strings.Join(d.names(plainArg), ", "))
	for i, v := range d.params {
		if taped[i] {
			fmt.Fprintf(&b, "\tvar tape%[1]d *beaglelive.Tape\n\ta%[1]da := a%[1]d\n"+
				"\tif beaglelive.Taping() && a%[1]d != nil {\n\t\targs.A%[1]d = nil\n\t\ttape%[1]d = c.Tape(%[2]q)\n"+
				"\t\ta%[1]d, a%[1]da = beagleTape%[1]d(tape%[1]d, a%[1]d, false), "+
				"beagleTape%[1]d(tape%[1]d, a%[1]d, true)\n\t}\n", i, nameOf(v, i))
		}
	}
	return b.String()
}

// runs runs the original on the real arguments and then the other version on copies or tapes, and
// judges them. Faults come last.
func (d *dispatcher) runs(taped map[int]bool) string {
	_, targs := d.types()
	var b strings.Builder
	b.WriteString("\tother := beaglelive.Copy(&args)\n")
	// Keep one more copy for the calls with faults.
	functions := len(d.functions()) > 0
	failing := d.tape && (len(taped) > 0 || d.contexts() || functions)
	if failing && functions {
		b.WriteString("\tc.Functions()\n")
	}
	if failing {
		b.WriteString("\tspare := beaglelive.Spare(c, &args" + d.contextArgs() + ")\n")
	}
	// Run both versions.
	fmt.Fprintf(&b, "\tvar got, otherGot beagleResults%s\n", targs)
	fmt.Fprintf(&b, "\tc.First(func() { %s%s })\n", d.assignResults("got"), d.callVersion("0", plainArg))
	b.WriteString("\tif !c.Broken() {\n")
	fmt.Fprintf(&b, "\t\tc.Other(func() { %s%s })\n", d.assignResults("otherGot"),
		d.callVersion("beaglelive.Version()", func(i int) string {
			if taped[i] {
				return fmt.Sprintf("beagleEither(args.A%d == nil, a%da, other.A%d)", i, i, i)
			}
			return fmt.Sprintf("other.A%d", i)
		}))
	// Judge what both left.
	fmt.Fprintf(&b, "\t\tif !c.Broken() {\n\t\t\ttold := got\n%s%s"+
		"\t\t\tbeaglelive.Judge(c, &args, &told, other, &otherGot)\n\t\t}\n\t}\n",
		d.resultsToCompare("told"), d.resultsToCompare("otherGot"))
	if failing {
		b.WriteString(d.faults(taped))
	}
	return b.String()
}

// returned ends beagleCompare with the original's results.
func (d *dispatcher) returned() string {
	var rs []string
	for i := range d.sig.Results().Len() {
		rs = append(rs, fmt.Sprintf("got.R%d", i))
	}
	return fmt.Sprintf("\treturn %s\n}\n", strings.Join(rs, ", "))
}

const either = `
func beagleEither[T any](first bool, a, b T) T {
	if first {
		return a
	}
	return b
}
`

// faults makes the call again for each fault, on copies alone.
func (d *dispatcher) faults(taped map[int]bool) string {
	_, targs := d.types()
	of := func(args string) func(i int) string {
		return func(i int) string {
			arg := fmt.Sprintf("%s.A%d", args, i)
			switch {
			case taped[i]:
				return fmt.Sprintf("beagleEither(tape%d != nil, beagleTape%d(tape%d.Made(), nil, true), %s)",
					i, i, i, arg)
			case isContext(d.params[i]):
				return "f.Context(" + arg + ")"
			}
			return arg
		}
	}
	return fmt.Sprintf("\tfor f := c.Fault(); f != nil; f = c.Fault() {\n"+
		"\t\targs, other := beaglelive.Copy(spare), beaglelive.Copy(spare)\n\t\tvar got, otherGot beagleResults%s\n"+
		"\t\tif f.First(func() { %s%s%s }); f.Broken() {\n\t\t\tcontinue\n\t\t}\n"+
		"\t\tif f.Other(func() { %s%s%s }); !f.Broken() {\n%s%s"+
		"\t\t\tbeaglelive.Judge(f, args, &got, other, &otherGot)\n\t\t}\n\t}\n",
		targs, d.assignResults("got"), d.callVersion("0", of("args")), d.drives("got"),
		d.assignResults("otherGot"), d.callVersion("beaglelive.Version()", of("other")), d.drives("otherGot"),
		d.resultsToCompare("got"), d.resultsToCompare("otherGot"))
}

// contexts reports whether a parameter is a context.
func (d *dispatcher) contexts() bool { return slices.ContainsFunc(d.params, isContext) }

// contextArgs lists the contexts after other arguments.
func (d *dispatcher) contextArgs() string {
	var b strings.Builder
	for i, v := range d.params {
		if isContext(v) {
			b.WriteString(", " + plainArg(i))
		}
	}
	return b.String()
}

func isContext(v *types.Var) bool {
	return types.TypeString(v.Type(), (*types.Package).Path) == "context.Context"
}

// names returns the parameters as values, without the dots of a variadic one.
func (d *dispatcher) names(of func(i int) string) []string {
	var out []string
	for i := range d.params {
		out = append(out, of(i))
	}
	return out
}

// assignResults assigns the results of a call to a variable's fields.
func (d *dispatcher) assignResults(to string) string {
	var list []string
	for i := range d.sig.Results().Len() {
		list = append(list, fmt.Sprintf("%s.R%d", to, i))
	}
	if len(list) == 0 {
		return ""
	}
	return strings.Join(list, ", ") + " = "
}

func nameOf(v *types.Var, i int) string {
	if v.Name() == "" || v.Name() == "_" {
		return "parameter " + strconv.Itoa(i)
	}
	return v.Name()
}

// globals names the targets of the package's variables: its address identifies a sentinel error.
func (d *dispatcher) globals() string {
	all := slices.DeleteFunc(d.u.Package.Globals(), source.Global.IsAddress)
	var b strings.Builder
	path := d.u.Target.PkgPath
	if d.u.Target.PkgName == "main" {
		path = "main"
	}
	fmt.Fprintf(&b, "\tbeaglelive.Own(%q)\n", path)
	for _, g := range all[:min(len(all), source.MaxGlobals)] {
		fmt.Fprintf(&b, "\tbeaglelive.Global(%q, %s)\n", g.Name, g.Expr)
	}
	return "\nfunc init() {\n" + b.String() + "}\n"
}
