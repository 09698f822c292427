package inject

import (
	"fmt"
	"go/ast"
	"go/types"
	"regexp"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
)

// An instance is a generic function with type arguments. Declarations beside the function repeat
// its type parameters; those of a capture have its type arguments, since a record holds values of
// known types.
type instance struct {
	declared string // "[K comparable, V any]"; empty for a function that is not generic
	used     string // "[K, V]"
	args     string // "[string, int]", of the calls that are captured
	concrete *types.Signature
}

// passed returns the instance of a function that hands its own type parameters on.
func (in instance) passed() instance {
	in.args = in.used
	return in
}

// typeParams returns the type parameters of a function, or of the type that has the method.
func (f *function) typeParams() *types.TypeParamList {
	if list := f.signature().TypeParams(); list.Len() > 0 {
		return list
	}
	return f.signature().RecvTypeParams()
}

// generic writes the function's type parameters. It refuses those that a declaration beside the
// function cannot repeat.
func (f *function) generic() (in instance, err error) {
	list := f.typeParams()
	if list.Len() == 0 {
		return in, nil
	}
	var declared, used []string
	for p := range list.TypeParams() {
		name := p.Obj().Name()
		if name == "_" || ownName.MatchString(name) {
			return in, f.refusalError("its type parameter "+name+" cannot be repeated beside it",
				"give the type parameter another name")
		}
		limits, err := f.typeString(p.Constraint())
		if err != nil {
			return in, err
		}
		declared, used = append(declared, name+" "+limits), append(used, name)
	}
	in.declared, in.used = "["+strings.Join(declared, ", ")+"]", "["+strings.Join(used, ", ")+"]"
	return in, nil
}

// ownName matches the names that generated functions use themselves.
var ownName = regexp.MustCompile(`^([arx][0-9]+|c|args|results|take)$`)

// refuseArgs returns why a function without type parameters cannot be named with type arguments.
func (f *function) refuseArgs() error {
	if _, args := syntax.CutTypeArgs(f.spec); len(args) > 0 {
		return f.refusalError("it has no type parameters", "name it without "+f.spec[strings.Index(f.spec, "["):])
	}
	return nil
}

// refuseSecond returns why a build that captures one instantiation of a function cannot capture f,
// or nil if both are the same. They would be one site, whose records hold values of two types.
func (f *function) refuseSecond(first *function) error {
	if f.instance.args == first.instance.args {
		return nil
	}
	return f.refusalError(fmt.Sprintf("--probe %s captures the calls with %s already, and one build captures one "+
		"instantiation of a function", first.spec, first.instance.args),
		"name one of them, or make a second build for "+f.instance.args)
}

// refusalError returns the *beagle.UsageError for a function that cannot get a probe.
func (f *function) refusalError(why, remedy string) error {
	return &beagle.UsageError{What: fmt.Sprintf("--probe %s: %s", f.spec, why), Remedy: remedy}
}

// typeString writes a type as the function's file must. It refuses types of packages that the file
// does not import.
func (f *function) typeString(t types.Type) (text string, err error) {
	text = types.TypeString(t, func(p *types.Package) string {
		if p.Path() == f.pkg.PkgPath {
			return ""
		}
		for _, i := range f.file.Imports {
			if strings.Trim(i.Path.Value, `"`) == p.Path() && f.importName(i) != "_" && f.importName(i) != "." {
				return f.importName(i)
			}
		}
		err = f.refusalError(fmt.Sprintf("it needs type %s, and its file does not import %s", t, p.Path()),
			"name a function that calls it")
		return p.Name()
	})
	return text, err
}

// instantiate chooses the instantiation whose calls are captured. args are types as the package
// writes them.
func (f *function) instantiate(in *instance, args []string) error {
	// Refuse a wrong number of arguments, and parameters that a call does not reveal.
	list := f.typeParams()
	if len(args) != list.Len() {
		return f.refusalError(fmt.Sprintf("%d type arguments for %d type parameters", len(args), list.Len()),
			"name one for each: ./pkg.Func[int,string]")
	}
	if !f.mentionsAll(list) {
		return f.refusalError("its parameters and results do not show which instantiation was called",
			"name a function that calls it")
	}
	// Read the arguments in the scope of the file.
	var all []types.Type
	var texts []string
	for _, a := range args {
		tv, err := types.Eval(f.pkg.Fset, f.pkg.Types, f.decl.Pos(), a)
		if err != nil || !tv.IsType() {
			return f.refusalError("its file cannot name the type argument "+a, "name a function that calls it")
		}
		text, err := f.typeString(tv.Type)
		if err != nil {
			return err
		}
		all, texts = append(all, tv.Type), append(texts, text)
	}
	// Instantiate the function with them.
	in.args = "[" + strings.Join(texts, ", ") + "]"
	in.concrete = f.withArgs(all)
	if in.concrete == nil {
		return f.refusalError("the type arguments "+in.args+" do not satisfy its constraints",
			"name types that do: ./pkg.Func[int]")
	}
	return nil
}

// withArgs returns the signature with type arguments, or nil.
func (f *function) withArgs(args []types.Type) *types.Signature {
	fn := f.pkg.TypesInfo.Defs[f.decl.Name].(*types.Func)
	r := fn.Signature().Recv()
	if r == nil {
		if t, err := types.Instantiate(nil, fn.Signature(), args, true); err == nil {
			return t.(*types.Signature)
		}
		return nil
	}
	t, isPointer := r.Type().(*types.Pointer)
	named, _ := r.Type().(*types.Named)
	if isPointer {
		named, _ = t.Elem().(*types.Named)
	}
	if named == nil {
		return nil
	}
	made, err := types.Instantiate(nil, named.Origin(), args, true)
	if err != nil {
		return nil
	}
	obj, _, _ := types.LookupFieldOrMethod(types.NewPointer(made), true, fn.Pkg(), fn.Name())
	if m, ok := obj.(*types.Func); ok {
		return m.Signature()
	}
	return nil
}

// mentionsAll reports whether the type of the function that captures tells all type arguments of a
// call.
func (f *function) mentionsAll(list *types.TypeParamList) bool {
	told := map[string]bool{}
	lists := []*ast.FieldList{f.decl.Recv, f.decl.Type.Params}
	if f.entryOnly() == "" {
		lists = append(lists, f.decl.Type.Results)
	}
	for _, fields := range lists {
		if fields == nil {
			continue
		}
		for _, field := range fields.List {
			ast.Inspect(field.Type, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok {
					told[id.Name] = true
				}
				return true
			})
		}
	}
	return !slices.ContainsFunc(slices.Collect(list.TypeParams()), func(p *types.TypeParam) bool {
		return !told[p.Obj().Name()]
	})
}

// parts returns the receiver, the parameters and the results with the instance's types.
func (f *function) parts(in instance, args, results []part) (a, r []part, err error) {
	var list []*types.Var
	if recv := in.concrete.Recv(); recv != nil {
		list = append(list, recv)
	}
	list = slices.AppendSeq(list, in.concrete.Params().Variables())
	a, r = slices.Clone(args), slices.Clone(results)
	for i, v := range list {
		if a[i].typ, err = f.typeString(v.Type()); err != nil {
			return nil, nil, err
		}
	}
	for i, v := range slices.Collect(in.concrete.Results().Variables()) {
		if r[i].typ, err = f.typeString(v.Type()); err != nil {
			return nil, nil, err
		}
	}
	return a, r, nil
}

// writeCaptured writes the function behind the gate of a generic function. Only calls of the
// captured instantiation have the type of the function that captures; the others give their turn
// back.
func (w *writer) writeCaptured(b *strings.Builder, generic writer) {
	var params, results []string
	for _, a := range generic.args {
		params = append(params, a.typ)
	}
	for _, r := range generic.results {
		results = append(results, r.typ)
	}
	typ := fmt.Sprintf("func(%s) (%s)", strings.Join(params, ", "), strings.Join(results, ", "))
	head := paramsOf("r", generic.results)
	back := "return "
	if head == "" || w.note != "" {
		head, back = "", ""
		typ = fmt.Sprintf("func(%s)", strings.Join(params, ", "))
	} else {
		head = " (" + head + ")"
	}
	fmt.Fprintf(b, "func beagleCaptured%d%s(%s)%s {\n", w.n, w.instance.declared, paramsOf("a", generic.args), head)
	fmt.Fprintf(b, "\tif take, ok := any(beagleTaken%d).(%s); ok {\n\t\t%stake(%s)\n", w.n, typ, back,
		listOf("a", len(w.args)))
	if back == "" {
		b.WriteString("\t\treturn\n")
	}
	fmt.Fprintf(b, "\t}\n\tbeagleSite%d.Pass()\n", w.n)
	if w.note == "" {
		fmt.Fprintf(b, "\t%s%s\n", back, generic.original())
	}
	b.WriteString("}\n")
}
