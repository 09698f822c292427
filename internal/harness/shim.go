package harness

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/source"
)

// goBuildLine lifts the shim's language version where the module's own is
// older than generics.
const goBuildLine = "//go:build go1.21\n\n"

func suffix(i int) string { return "__b" + strconv.Itoa(i) }

// A frame is the part of the shim that all batches share.
type frame struct {
	pkg     string // package clause
	rtPath  string
	imports source.Imports
	header  string   // beagleArgs and beagleResults
	named   []string // packages of the types in the header, the target's own included
	params  []string // types, receiver first
	results []string // types
	names   []string // of the parameters, for people
	types   []string // reflect.Type expressions
	globals []string // statements that register variables of the rest
	call    string   // "Normalize%s(a.A0, a.A1...)": %s is the suffix
}

// newFrame reads the target's signature. original is the parsed original,
// whose file resolves the type arguments.
func newFrame(u *source.Unit, original *source.File, rtPath string) (*frame, error) {
	t := &u.Target
	s := &frame{
		pkg:     u.Package.BuildName(),
		rtPath:  rtPath,
		imports: source.Imports{rtPath: "beaglert", "reflect": "beaglereflect"},
	}
	// Collect the types of receiver, parameters and results.
	var ts []types.Type
	name, first := original.Func.Name.Name+"%s", 0
	if recv := u.Sig.Recv(); recv != nil {
		ts = append(ts, recv.Type())
		name, first = "a.A0."+name, 1
	} else if len(t.TypeArgs) > 0 {
		args, err := s.typeArgs(t, original)
		if err != nil {
			return nil, err
		}
		name += "[" + strings.Join(args, ", ") + "]"
	}
	for v := range u.Sig.Params().Variables() {
		ts = append(ts, v.Type())
	}
	for v := range u.Sig.Results().Variables() {
		s.results = append(s.results, s.typeString(v.Type()))
	}
	for _, t := range ts {
		s.params = append(s.params, s.typeString(t))
	}
	// Write the call and the structs for arguments and results.
	s.call = name + "(" + callArgs(first, len(ts), u.Sig.Variadic()) + ")"
	s.header = structOf("beagleArgs", "A", s.params) + structOf("beagleResults", "R", s.results)
	inorder.Sort(s.named)
	s.named = slices.Compact(s.named)
	s.names = paramNames(t, len(ts))
	s.types = s.dynamicTypes(u.Package.Types, ts)
	s.globals = globalsOf(u.Package)
	return s, nil
}

// typeArgs writes the measured type arguments as the shim must.
func (s *frame) typeArgs(t *beagle.Target, f *source.File) ([]string, error) {
	var out []string
	for _, a := range t.TypeArgs {
		tv, err := types.Eval(f.Fset, f.Types, f.Func.Pos(), a)
		if err != nil {
			return nil, fmt.Errorf("type argument %s of %s: %w", a, t.Name, err)
		}
		out = append(out, s.typeString(tv.Type))
	}
	return out, nil
}

// callArgs writes the arguments of a call from the fields of beagleArgs.
func callArgs(first, n int, variadic bool) string {
	var args []string
	for i := first; i < n; i++ {
		args = append(args, "a.A"+strconv.Itoa(i))
	}
	list := strings.Join(args, ", ")
	if variadic {
		list += "..."
	}
	return list
}

// structOf writes a struct with numbered fields.
func structOf(name, letter string, fields []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "type %s struct {\n", name)
	for i, t := range fields {
		fmt.Fprintf(&b, "\t%s%d %s\n", letter, i, t)
	}
	return b.String() + "}\n\n"
}

func paramNames(t *beagle.Target, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = "arg" + strconv.Itoa(i)
		if i < len(t.Params) && t.Params[i].Name != "" && t.Params[i].Name != "_" {
			names[i] = t.Params[i].Name
		}
	}
	return names
}

// typeString writes a type as the shim must, and notes the imports.
func (s *frame) typeString(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string {
		if p.Path() == "unsafe" {
			s.imports["unsafe"] = "unsafe"
			return "unsafe"
		}
		if s.header == "" {
			s.named = append(s.named, p.Path())
		}
		if p.Name() == s.pkg && s.isSelf(p) {
			return ""
		}
		return s.imports.Name(p.Path(), p.Name())
	})
}

// isSelf tells the target's package by the path that rt was put under.
func (s *frame) isSelf(p *types.Package) bool { return p.Path()+rtDir == s.rtPath }

// version writes the functions that call one version. The one-call function is never inlined and
// returns the results: a small target may be inlined into it as into any caller, but no result is
// folded away. Eval calls it too, so that checks and timing run the same code.
func (s *frame) version(i int) string {
	sfx, ret, to := suffix(i), "", ""
	if n := len(s.results); n > 0 {
		fields := make([]string, n)
		for k := range fields {
			fields[k] = "r.R" + strconv.Itoa(k)
		}
		ret, to = "return ", strings.Join(fields, ", ")+" = "
	}
	return fmt.Sprintf("//go:noinline\nfunc beagleOne%s(a *beagleArgs) (%s) { %s%s }\n", sfx,
		strings.Join(s.results, ", "), ret, fmt.Sprintf(s.call, sfx)) +
		fmt.Sprintf("func beagleEval%s(a *beagleArgs, r *beagleResults) { %sbeagleOne%s(a) }\n", sfx, to, sfx) +
		fmt.Sprintf("func beagleTime%s(a []beagleArgs) { for i := range a { beagleOne%s(&a[i]) } }\n\n", sfx, sfx)
}

// versionLines counts the lines that version writes.
const versionLines = 5

// A shim is the generated file of one batch.
type shim struct {
	text  []byte
	first int   // line of the first version
	order []int // versions in order, versionLines each
}

// owner returns the version that a line of the shim belongs to, or -1.
func (s *shim) owner(line int) int {
	if k := (line - s.first) / versionLines; line >= s.first && k < len(s.order) {
		return s.order[k]
	}
	return -1
}

// shim writes the file for the versions that are in the batch; ids has all of
// them, so that an index means the same to both sides.
func (s *frame) shim(ids []string, in []int, globals []string) *shim {
	var b bytes.Buffer
	b.WriteString(goBuildLine + "package " + s.pkg + "\n\n" + s.imports.Block() + "\n" + s.header)
	out := &shim{order: in, first: bytes.Count(b.Bytes(), []byte("\n")) + 1}
	for _, i := range in {
		b.WriteString(s.version(i))
	}
	s.register(&b, ids, in, globals)
	out.text = b.Bytes()
	return out
}

// register writes BeagleHarness, whose results are the parameters of rt.New.
// The init function makes sure that the package has something to initialise:
// the main package is compiled once and must know to do it for every batch.
func (s *frame) register(b *bytes.Buffer, ids []string, in []int, globals []string) {
	// A version that failed has nil in place of its functions.
	var evals, times strings.Builder
	for i := range ids {
		if slices.Contains(in, i) {
			evals.WriteString("beagleEval" + suffix(i) + ", ")
			times.WriteString("beagleTime" + suffix(i) + ", ")
		} else {
			evals.WriteString("nil, ")
			times.WriteString("nil, ")
		}
	}
	// Write the init function.
	b.WriteString("func init() {\n")
	for _, g := range append(slices.Clone(s.globals), globals...) {
		b.WriteString("\t" + g + "\n")
	}
	b.WriteString("\tbeaglert.Linked = true\n}\n\n//go:noinline\n")
	// Write BeagleHarness.
	b.WriteString("func BeagleHarness() (ids, params []string, eval []func(*beagleArgs, *beagleResults), time " +
		"[]func([]beagleArgs), types []beaglereflect.Type) {\n")
	fmt.Fprintf(b, "\tids = %#v\n\tparams = %#v\n", ids, s.names)
	fmt.Fprintf(b, "\teval = []func(*beagleArgs, *beagleResults){%s}\n\ttime = []func([]beagleArgs){%s}\n",
		evals.String(), times.String())
	b.WriteString("\ttypes = []beaglereflect.Type{\n")
	for _, t := range s.types {
		fmt.Fprintf(b, "\t\t%s,\n", t)
	}
	b.WriteString("\t}\n\treturn\n}\n")
}

// globalsOf registers the targets of package-level variables: only its identity tells a sentinel
// error from a copy.
func globalsOf(pkg *source.Package) []string {
	var out []string
	all := pkg.Globals()
	for _, g := range all[:min(len(all), source.MaxGlobals)] {
		out = append(out, register(g))
	}
	return out
}

func register(g source.Global) string {
	return fmt.Sprintf("beaglert.RegisterGlobal(%q, %s)", g.Name, g.Expr)
}

// scopeVars names the package variables that a candidate file declares.
func scopeVars(f *source.File) []*types.Var {
	var out []*types.Var
	for _, spec := range varSpecs(f.AST) {
		for _, n := range spec.Names {
			if v, ok := f.Info.Defs[n].(*types.Var); ok && n.Name != "_" {
				out = append(out, v)
			}
		}
	}
	return out
}

func varSpecs(f *ast.File) []*ast.ValueSpec {
	var out []*ast.ValueSpec
	for _, d := range f.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR {
			for _, spec := range g.Specs {
				out = append(out, spec.(*ast.ValueSpec))
			}
		}
	}
	return out
}
