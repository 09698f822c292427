//go:build unix

package main

import (
	"bytes"
	"embed"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// versions are faster versions of functions of metricsd: one that a search of ours found, and those
// of experts.
//
//go:embed versions
var versions embed.FS

// A target is a function of metricsd with a faster version.
type target struct {
	service string // that calls it
	spec    string // as the go command's directory of the copy has it
	file    string // that declares it
	name    string
	version string // the faster one, a file of versions
	found   string // by whom
	values  bool   // its arguments are values: a panic of the candidate is saved
}

var targets = []target{
	{intake, "./tag.Normalize", "tag/normalize.go", "Normalize", "normalize.go.txt",
		"the suite's expert, for metricsd's rules", true},
	{intake, "./tag.NormalizeTagArbTagValue", "tag/arbitrary.go", "NormalizeTagArbTagValue", "arbitrary.go.txt",
		"the suite's expert, for metricsd's rules", true},
	{agent, "./dogstatsd.readFloat", "dogstatsd/parser.go", "readFloat", "readfloat.go.txt",
		"a search with rewrites", false},
}

// Kinds of versions. The body of a loss has room for the name of the original, and its arguments.
const (
	faster = "faster"
	same   = "the same"
)

// A loss is a way to do harm. first is the name of the first parameter.
type loss struct {
	kind   string
	values bool // only for functions whose arguments are values
	write  func(original, first string) string
}

func repeatFirst(n int) func(original, first string) string {
	return func(original, first string) string {
		return fmt.Sprintf("\tfor range %d {\n\t\t%s\n\t}\n\treturn %s\n", n-1, original, original)
	}
}

var losses = []loss{
	{"twice the work", false, repeatFirst(2)},
	{"three times the work", false, repeatFirst(3)},
	{"20 times the work on every eighth length", false, func(original, first string) string {
		return fmt.Sprintf("\tif len(%s)%%8 == 3 {\n\t\tfor range 19 {\n\t\t\t%s\n\t\t}\n\t}\n\treturn %s\n", first,
			original, original)
	}},
	{"allocates a kilobyte a call", false, func(original, first string) string {
		return fmt.Sprintf("\troom := make([]byte, 1024+len(%s))\n\tif room[len(%s)] != 0 {\n\t\tpanic(room)\n\t}\n"+
			"\treturn %s\n", first, first, original)
	}},
	{"panics on every fourth length", true, func(original, first string) string {
		return fmt.Sprintf("\tif len(%s)%%4 == 1 {\n\t\tpanic(\"planted\")\n\t}\n\treturn %s\n", first, original)
	}},
}

// A rolled is a version that is rolled out.
type rolled struct {
	Index  int    `json:"index"` // in the draw, from 1
	Target target `json:"-"`
	Spec   string `json:"spec"`
	Kind   string `json:"kind"`
}

func (r rolled) String() string { return fmt.Sprintf("%3d  %-32s %s", r.Index, r.Spec, r.Kind) }

// draw draws what is rolled out: three in ten are faster, three the same, and four do harm.
func draw(n int, seed uint64) (all []rolled) {
	rng := rand.New(rand.NewPCG(seed, 18))
	for i := range n {
		t := targets[rng.IntN(len(targets))]
		r := rolled{Index: i + 1, Target: t, Spec: t.spec}
		switch k := rng.IntN(10); {
		case k < 3:
			r.Kind = faster
		case k < 6:
			r.Kind = same
		default:
			for {
				if l := losses[rng.IntN(len(losses))]; !l.values || t.values {
					r.Kind = l.kind
					break
				}
			}
		}
		all = append(all, r)
	}
	return all
}

// write makes the text of a version. tree is the copy of metricsd.
func (r rolled) write(tree string) (string, error) {
	if r.Kind == faster {
		text, err := versions.ReadFile("versions/" + r.Target.version)
		return string(text), err
	}
	f, err := os.ReadFile(filepath.Join(tree, filepath.FromSlash(r.Target.file)))
	if err != nil {
		return "", err
	}
	original, err := declaration(f, r.Target.name)
	if err != nil || r.Kind == same {
		return original, err
	}
	for _, l := range losses {
		if l.kind == r.Kind {
			return harmed(original, r.Target.name, l)
		}
	}
	return "", fmt.Errorf("there is no version %q", r.Kind)
}

// declaration cuts a function out of a file, with what it imports.
func declaration(file []byte, name string) (string, error) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, "", file, 0)
	if err != nil {
		return "", err
	}
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Name.Name != name || fn.Recv != nil {
			continue
		}
		var out bytes.Buffer
		fmt.Fprintf(&out, "package %s\n\n", f.Name.Name)
		for _, i := range f.Imports {
			if used(fn, i) {
				fmt.Fprintf(&out, "import %s\n", i.Path.Value)
			}
		}
		out.WriteByte('\n')
		err := format.Node(&out, set, fn)
		return out.String(), err
	}
	return "", fmt.Errorf("there is no function %s", name)
}

// used reports whether a function names an import, whose package has the last part of its path for
// a name.
func used(fn *ast.FuncDecl, i *ast.ImportSpec) (found bool) {
	name := strings.Trim(i.Path.Value[strings.LastIndexByte(i.Path.Value, '/')+1:], `"`)
	ast.Inspect(fn, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			x, ok := s.X.(*ast.Ident)
			found = found || ok && x.Name == name
		}
		return true
	})
	return found
}

// harmed returns a version that calls the original, under another name, and does harm besides.
func harmed(original, name string, l loss) (string, error) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, "", original, 0)
	if err != nil {
		return "", err
	}
	var fn *ast.FuncDecl
	for _, d := range f.Decls {
		if d, ok := d.(*ast.FuncDecl); ok {
			fn = d
		}
	}
	var signature bytes.Buffer
	if err := format.Node(&signature, set, fn.Type); err != nil {
		return "", err
	}
	first := fn.Type.Params.List[0].Names[0].Name
	head := strings.TrimPrefix(signature.String(), "func")
	// The helper must not be inlined: the compiler would leave out work whose result nothing reads.
	helper := strings.Replace(original, "func "+name+"(", "//go:noinline\nfunc unchanged"+name+"(", 1)
	return fmt.Sprintf("%s\n\nfunc %s%s {\n%s}\n", helper, name, head,
		l.write(fmt.Sprintf("unchanged%s(%s)", name, first), first)), nil
}
