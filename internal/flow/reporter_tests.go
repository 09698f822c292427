package flow

import (
	"context"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"go/version"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/internal/verify"
)

const (
	testCalls  = 40       // calls in a regression test
	testBytes  = 400      // of one call's arguments
	benchCalls = 512      // calls in a benchmark
	madeCalls  = 64       // calls in a benchmark of generated inputs; more would bury the reader
	benchBytes = 48 << 10 // of source text in a benchmark
)

// tests makes the regression test and the benchmark that go with a patch; none
// when the target's values cannot be written as Go literals.
func (rp *reporter) tests(ctx context.Context) ([]beagle.PatchFile, error) {
	t := &rp.unit.Target
	if rp.ready.InPlace != nil || !writable(rp.unit.Sig) {
		return nil, nil
	}
	// Write down calls for the test, and fewer for the benchmark.
	tested, err := spelled(ctx, rp.lab, tellingCalls(rp.inputs.corpus()))
	if err != nil {
		return nil, err
	}
	limit := benchCalls
	if rp.inputs.corpus().GeneratedOnly {
		limit = madeCalls
	}
	timed, err := spelled(ctx, rp.lab, pickShort(rp.inputs.corpus().Train, limit))
	if err != nil {
		return nil, err
	}
	// Collect the imports, write the file, and type-check it with the package.
	imports := append(append([]string{"testing"}, tested.Imports...), timed.Imports...)
	for _, r := range t.Results {
		if r.Type != "error" && !comparable(r.Kind) {
			imports = append(imports, "reflect", "fmt") // formatting drops unused ones
		}
	}
	inorder.Sort(imports)
	file, ok := testFile(t, tested.Calls, timed.Calls, slices.Compact(imports), rp.inputs.corpus().GeneratedOnly)
	if !ok {
		return nil, nil
	}
	if err := rp.unit.Package.CheckTest(file.Path, file.After); err != nil {
		rp.watch.Warn(
			fmt.Sprintf("no regression test comes with the patch: the one that was written does not build (%v)", err))
		return nil, nil
	}
	return []beagle.PatchFile{file}, nil
}

// tellingCalls picks the calls of a regression test: counterexamples of the run
// first, then the shortest and a spread of the rest.
func tellingCalls(c *beagle.Corpus) []beagle.Record {
	var out []beagle.Record
	for _, r := range slices.Concat(c.Train, c.Generated) {
		if r.Source == counterexample && len(out) < testCalls/2 {
			out = append(out, r)
		}
	}
	bySize := slices.Clone(slices.Concat(c.Train, c.Holdout))
	inorder.By(bySize, func(a, b beagle.Record) int { return len(a.Args) - len(b.Args) })
	bySize = slices.DeleteFunc(bySize, func(r beagle.Record) bool { return len(r.Args) > testBytes })
	n := min(len(bySize), testCalls-len(out))
	for i := range n {
		out = append(out, bySize[i*len(bySize)/n])
	}
	return out
}

// pickShort picks up to n records that are not too large to be read in a source
// file.
func pickShort(records []beagle.Record, n int) []beagle.Record {
	var out []beagle.Record
	for _, r := range records {
		if len(r.Args) <= testBytes && len(out) < n {
			out = append(out, r)
		}
	}
	return out
}

// writable reports whether all values of a signature are whole when they are
// written as Go literals: no pointers, no interfaces but error results, no
// fields that only another package can set.
func writable(sig *types.Signature) bool {
	if r := sig.Recv(); r != nil && !isSpellable(r.Type(), r.Pkg(), nil) {
		return false
	}
	for v := range sig.Params().Variables() {
		if !isSpellable(v.Type(), v.Pkg(), nil) {
			return false
		}
	}
	for v := range sig.Results().Variables() {
		if v.Type().String() != "error" && !isSpellable(v.Type(), v.Pkg(), nil) {
			return false
		}
	}
	return sig.Results().Len() > 0
}

// isSpellable reports whether Go's syntax can write every value of a type in package home.
func isSpellable(t types.Type, home *types.Package, seen []types.Type) bool {
	if slices.Contains(seen, t) {
		return false
	}
	seen = append(seen, t)
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return u.Info()&types.IsConstType != 0
	case *types.Slice:
		return isSpellable(u.Elem(), home, seen)
	case *types.Array:
		return isSpellable(u.Elem(), home, seen)
	case *types.Map:
		return isSpellable(u.Key(), home, seen) && isSpellable(u.Elem(), home, seen)
	case *types.Struct:
		for f := range u.Fields() {
			if !f.Exported() && f.Pkg() != home || !isSpellable(f.Type(), home, seen) {
				return false
			}
		}
		return true
	}
	return false
}

// testFile writes the regression test and the benchmark that are committed
// beside an improvement. It returns false when the calls cannot be written as
// Go literals, or when the package has tests of these names already.
func testFile(
	t *beagle.Target, tested, timed []rt.SpelledCall, imports []string, generated bool,
) (beagle.PatchFile, bool) {
	name := source.Exported(t.Name)
	if len(tested) == 0 || isTaken(t.PkgDir, name) {
		return beagle.PatchFile{}, false
	}
	// Write both, then the imports that they use.
	var b strings.Builder
	writeTest(&b, t, name, dropEqualCalls(tested), generated)
	writeBenchmark(&b, t, name, timed, generated)
	body := b.String()
	b.Reset()
	fmt.Fprintf(&b, "package %s\n\n", t.PkgName)
	writeImports(&b, mentioned(body, imports))
	b.WriteString(body)
	text, err := format.Source([]byte(b.String()))
	if err != nil {
		return beagle.PatchFile{}, false
	}
	// Name the file, unless there is one.
	dir, err := filepath.Rel(t.Dir, t.PkgDir)
	if err != nil {
		return beagle.PatchFile{}, false
	}
	file := filepath.ToSlash(filepath.Join(dir, source.Snake(name)+"_unchanged_test.go"))
	if _, err := os.Stat(filepath.Join(t.Dir, file)); err == nil {
		return beagle.PatchFile{}, false
	}
	return beagle.PatchFile{Path: file, After: string(text)}, true
}

// dropEqualCalls leaves out calls that read like an earlier one. Records can differ in properties
// that a literal does not show, such as the capacity of a slice.
func dropEqualCalls(calls []rt.SpelledCall) []rt.SpelledCall {
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(calls), func(c rt.SpelledCall) bool {
		text := strings.Join(c.Args, "\x00")
		if seen[text] {
			return true
		}
		seen[text] = true
		return false
	})
}

// mentioned leaves out the imports that the text does not use: an error is
// spelled as its text, and long benchmarks are cut.
func mentioned(body string, imports []string) []string {
	f, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+body, parser.SkipObjectResolution)
	if err != nil {
		return imports // format says what is wrong
	}
	used := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := s.X.(*ast.Ident); ok {
				used[id.Name] = true
			}
		}
		return true
	})
	return slices.DeleteFunc(slices.Clone(imports), func(p string) bool {
		name := packageName(p)
		return token.IsIdentifier(name) && !used[name] // the package of yaml.v3 has another name
	})
}

var major = regexp.MustCompile(`/v[0-9]+$`)

// packageName returns the name that a package most likely has.
func packageName(importPath string) string {
	return path.Base(major.ReplaceAllString(importPath, ""))
}

func writeImports(b *strings.Builder, paths []string) {
	if len(paths) == 1 {
		fmt.Fprintf(b, "import %q\n\n", paths[0])
		return
	}
	b.WriteString("import (\n")
	for _, path := range paths {
		fmt.Fprintf(b, "\t%q\n", path)
	}
	b.WriteString(")\n\n")
}

// isTaken reports whether the package's tests use one of the names.
func isTaken(dir, name string) bool {
	files, _ := filepath.Glob(filepath.Join(dir, "*_test.go"))
	used := regexp.MustCompile(`func (Test|Benchmark)` + regexp.QuoteMeta(name) + `(Unchanged|Recorded|Generated)\(`)
	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil && used.Match(text) {
			return true
		}
	}
	return false
}

// writeTest writes a table of calls with the original's results, and a loop that compares.
func writeTest(b *strings.Builder, t *beagle.Target, name string, calls []rt.SpelledCall, generated bool) {
	which := "these calls, most of them recorded,"
	if generated {
		which = "these generated calls"
	}
	fmt.Fprintf(b, "// %s was made faster; %s must give what they gave before.\n", t.Name, which)
	if !t.Contract.IsZero() {
		writeContract(b, t.Contract)
	}
	fmt.Fprintf(b, "func Test%sUnchanged(t *testing.T) {\n\tfor i, c := range []struct {\n", name)
	fields(b, "arg", t.Params)
	fields(b, "want", t.Results)
	b.WriteString("\t}{\n")
	// One row for each call.
	for _, c := range calls {
		fmt.Fprintf(b, "\t\t{%s},\n", values(c.Args, c.Results))
	}
	b.WriteString("\t} {\n\t\t")
	got := make([]string, len(t.Results))
	for i := range got {
		got[i] = fmt.Sprintf("got%d", i)
	}
	fmt.Fprintf(b, "%s := %s\n", strings.Join(got, ", "), callText(t))
	// Compare each result as the contract allows.
	for i, r := range t.Results {
		equal, verbs := fmt.Sprintf("got%d != c.want%d", i, i), "%#v, want %#v"
		switch {
		case r.Type == "error":
			equal, verbs = fmt.Sprintf(
				"(got%d == nil) != (c.want%d == \"\") || got%d != nil && got%d.Error() != c.want%d", i, i, i, i, i),
				"%v, want %q"
			if slices.Contains(t.Contract.Ignore, rt.IgnoreErrorText) {
				equal = fmt.Sprintf("(got%d == nil) != (c.want%d == \"\")", i, i)
			}
		case !comparable(r.Kind) && slices.Contains(t.Contract.Ignore, rt.IgnoreNilEmpty):
			equal = fmt.Sprintf("fmt.Sprint(got%d) != fmt.Sprint(c.want%d)", i, i) // which writes nil and empty alike
		case !comparable(r.Kind):
			equal = fmt.Sprintf("!reflect.DeepEqual(got%d, c.want%d)", i, i)
		}
		fmt.Fprintf(b, "\t\tif %s {\n\t\t\tt.Errorf(\"call %%d: result %d is %s\", i, got%d, c.want%d)\n\t\t}\n", equal,
			i, verbs, i, i)
	}
	b.WriteString("\t}\n}\n\n")
}

// writeContract says in the test's comment what the improvement promises, and so
// which calls the test may make.
func writeContract(b *strings.Builder, c beagle.Contract) {
	if c.Requires != "" {
		fmt.Fprintf(b, "// This is promised for inputs with\n//\n//\t%s\n", c.Requires)
	}
	if len(c.Ignore) > 0 {
		if c.Requires != "" {
			b.WriteString("//\n")
		}
		fmt.Fprintf(b, "// Differences that do not count: %s.\n", strings.Join(c.Ignore, ", "))
	}
}

// writeBenchmark writes a Go benchmark of the calls, as many as fit benchBytes.
func writeBenchmark(b *strings.Builder, t *beagle.Target, name string, calls []rt.SpelledCall, generated bool) {
	source := "Recorded"
	if generated {
		source = "Generated"
	}
	fmt.Fprintf(b, "// %s inputs, a few hundred at most: enough to see a regression. Branch predictors learn so few,\n",
		source)
	b.WriteString("// so the gain in production, where inputs never end, is the one in the pull request.\n")
	fmt.Fprintf(b, "func Benchmark%s%s(b *testing.B) {\n\tcalls := []struct {\n", name, source)
	fields(b, "arg", t.Params)
	b.WriteString("\t}{\n")
	size := 0
	for _, c := range calls {
		line := values(c.Args)
		if size += len(line); size > benchBytes {
			break
		}
		fmt.Fprintf(b, "\t\t{%s},\n", line)
	}
	loop := "b.Loop()"
	if version.Compare("go"+t.Go, "go1.24") < 0 { // the module still builds with versions that lack it
		loop = "i < b.N"
	}
	fmt.Fprintf(b, "\t}\n\tfor i := 0; %s; i++ {\n\t\tc := &calls[i%%len(calls)]\n\t\t%s\n\t}\n}\n", loop, callText(t))
}

// values joins expressions that stand in a composite literal, where the types
// of nil and of numbers are known.
func values(lists ...[]string) string {
	var out []string
	for _, list := range lists {
		for _, e := range list {
			if m := converted.FindStringSubmatch(e); m != nil {
				e = m[1]
			}
			out = append(out, e)
		}
	}
	return strings.Join(out, ", ")
}

// converted is a conversion that the field's type makes superfluous.
var converted = regexp.MustCompile(`^(?:\([^()]*\)|[a-z0-9]+)\((nil|-?[0-9]+)\)$`)

func fields(b *strings.Builder, prefix string, params []beagle.Param) {
	for i, p := range params {
		typ := strings.Replace(p.Type, "...", "[]", 1)
		if prefix == "want" && typ == "error" {
			typ = "string" // its text
		}
		fmt.Fprintf(b, "\t\t%s%d %s\n", prefix, i, typ)
	}
}

// callText calls the target with the fields of c.
func callText(t *beagle.Target) string {
	args := make([]string, len(t.Params))
	for i := range args {
		args[i] = fmt.Sprintf("c.arg%d", i)
	}
	return verify.CallText(t, args)
}

func comparable(kind string) bool {
	switch kind {
	case "slice", "map", "struct", "array", "interface", "pointer", "float32", "float64", "complex64", "complex128":
		return false
	}
	return true
}
