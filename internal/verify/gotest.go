package verify

import (
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/rt"
)

// counterexample returns a difference in the form that reports and the run's corpus use.
func (e *Env) counterexample(d *rt.Diff) *beagle.Counterexample {
	t := &e.Unit.Target
	c := &beagle.Counterexample{Args: d.Args, Kind: d.Kind}
	c.Want, c.Got = briefPair(d.Want, d.Got)
	if d.Check != "" {
		c.Got += " (" + d.Check + ")"
	}
	if len(d.Call) == len(t.Params) {
		c.Go = strings.Join(append(slices.Clone(d.Setup), CallText(t, d.Call)), "; ")
		// A test may fail with the original, too, or cannot name the error or what it reads from.
		if d.Check != rt.CheckItself && d.Check != rt.CheckSentinel && !slices.ContainsFunc(d.Imports, onlyHere) {
			c.Test = testText(t, d)
		}
	}
	return c
}

// onlyHere reports whether a package is in Beagle's programs alone.
func onlyHere(path string) bool { return strings.HasPrefix(path, "beagle.invalid/") }

// CallText returns a call of the target with these arguments, the receiver first.
func CallText(t *beagle.Target, args []string) string {
	name := t.Name
	if t.Recv != "" {
		recv := args[0]
		if !isSimple(recv) {
			recv = "(" + recv + ")"
		}
		name, args = recv+"."+name[strings.LastIndexByte(name, '.')+1:], args[1:]
	} else if len(t.TypeArgs) > 0 {
		name += "[" + strings.Join(t.TypeArgs, ", ") + "]"
	}
	list := strings.Join(args, ", ")
	if t.Variadic {
		list += "..."
	}
	return name + "(" + list + ")"
}

func isSimple(expr string) bool {
	return !strings.ContainsAny(expr, "&*( {")
}

// testText returns a complete Go test that passes with the original and fails with the candidate.
func testText(t *beagle.Target, d *rt.Diff) string {
	w := testWriter{t: t, d: d, imports: append([]string{"testing"}, d.Imports...)}
	w.body()
	name := strings.ToUpper(t.Name[:1]) + strings.ReplaceAll(t.Name[1:], ".", "")
	body := fmt.Sprintf("// A faster version of %s was refused here: %s.\nfunc Test%sCounterexample(t *testing.T) {\n"+
		"%s}\n",
		t.Name, differenceLine(d), name, w.text.String())
	inorder.Sort(w.imports)
	text := fmt.Sprintf("package %s\n\nimport (\n", t.PkgName)
	for _, path := range slices.Compact(w.imports) {
		if mentions(body, path) {
			text += fmt.Sprintf("\t%q\n", path)
		}
	}
	text += ")\n\n" + body
	out, err := format.Source([]byte(text))
	if err != nil {
		return text
	}
	return string(out)
}

// mentions reports whether a declaration uses the package with a path.
func mentions(decl, path string) bool {
	name := path[strings.LastIndexByte(path, '/')+1:]
	f, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+decl, parser.SkipObjectResolution)
	if err != nil {
		return strings.Contains(decl, name+".")
	}
	found := false
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			id, ok := s.X.(*ast.Ident)
			found = found || ok && id.Name == name
		}
		return !found
	})
	return found
}

// differenceLine states the difference in one line of a test's comment.
func differenceLine(d *rt.Diff) string {
	_, got := briefPair(d.Want, d.Got)
	got, _, _ = strings.Cut(got, "\n")
	if d.Check != "" {
		got += " (" + d.Check + ")"
	}
	return "it " + got
}

type testWriter struct {
	t       *beagle.Target
	d       *rt.Diff
	imports []string
	text    strings.Builder
}

func (w *testWriter) line(format string, args ...any) { fmt.Fprintf(&w.text, format+"\n", args...) }

// names returns the names of the variables that hold arguments or results.
func names(prefix string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("%s%d", prefix, i)
	}
	return list
}

// body writes the set-up, the arguments, the call and the comparison.
func (w *testWriter) body() {
	args := names("arg", len(w.t.Params))
	for _, s := range w.d.Setup {
		w.line("\t%s", s)
	}
	for i, p := range w.t.Params {
		w.line("\tvar %s %s = %s", args[i], w.paramType(i, p), w.d.Call[i])
	}
	call := CallText(w.t, args)
	switch {
	case w.d.Kind == "hang":
		w.hang(call)
	case w.d.WantPanic:
		w.line("\tdefer func() {\n\t\tif recover() == nil {\n\t\t\tt.Error(%q)\n\t\t}\n\t}()",
			"it must panic: "+w.d.Want)
		w.line("\t%s", call)
	default:
		w.results(call, args)
	}
}

func (w *testWriter) paramType(i int, p beagle.Param) string {
	if w.t.Variadic && i == len(w.t.Params)-1 && strings.HasPrefix(p.Type, "...") {
		return "[]" + p.Type[3:]
	}
	return p.Type
}

func (w *testWriter) hang(call string) {
	w.imports = append(w.imports, "time")
	w.line("\tdone := make(chan struct{})\n\tgo func() {\n\t\tdefer close(done)\n\t\t%s\n\t}()", call)
	w.line("\tselect {\n\tcase <-done:\n\tcase <-time.After(10 * time.Second):\n\t\tt.Fatal(\"it does not return\")\n" +
		"\t}")
}

// results writes the call and compares its results.
func (w *testWriter) results(call string, args []string) {
	// Each check has its own way to make the call.
	got := names("got", len(w.t.Results))
	assign := ""
	if len(got) > 0 {
		assign = strings.Join(got, ", ") + " := "
	}
	switch w.d.Check {
	case "":
		w.line("\t%s%s", assign, call)
		if len(w.d.After) > 0 {
			w.line("\t// The arguments are the caller's again, to write to.")
			w.line("%s", strings.Join(w.d.After, "\n"))
		}
	case rt.CheckKept:
		w.line("\t%s%s", assign, call)
		if len(w.d.Other) == len(w.t.Params) {
			w.line("\t%s // a later call must not change the result", CallText(w.t, w.d.Other))
		}
	case rt.CheckRoom:
		w.room(assign, call, args)
	case rt.CheckRefilled:
		w.refill(assign, args)
	case rt.CheckSealed:
		w.imports = append(w.imports, "sync")
		w.line("\tvar readers sync.WaitGroup // run this test with -race")
		w.line("\tfor range 8 {\n\t\treaders.Add(1)\n\t\tgo func() {\n\t\t\tdefer readers.Done()\n\t\t\t%s\n\t\t}()\n"+
			"\t}", call)
		w.line("\treaders.Wait()\n\t%s%s", assign, call)
	case rt.CheckEnded:
		w.imports = append(w.imports, "runtime", "time")
		w.line("\tbefore := runtime.NumGoroutine()\n\t%s%s", assign, call)
		w.line("\tfor range 100 { // those that are about to end get to it\n" +
			"\t\tif runtime.NumGoroutine() <= before {\n\t\t\tbreak\n\t\t}\n\t\ttime.Sleep(20 * time.Millisecond)\n\t}")
		w.line("\tif n := runtime.NumGoroutine() - before; n > 0 {\n" +
			"\t\tt.Errorf(\"it leaves %%d goroutines behind\", n)\n\t}")
	case rt.CheckArgs:
		w.line("\t%s%s", assign, call)
		w.overwrite(args, w.t.Params)
	case rt.CheckResult:
		w.line("\t%s%s", assign, call)
		w.overwrite(got, w.t.Results)
		if len(got) > 0 {
			w.line("\t%s = %s", strings.Join(got, ", "), call)
		}
	default:
		w.line("\tfor range 100 { // state between calls")
		w.line("\t\t%s", call)
		w.line("\t}")
		w.line("\t%s%s", assign, call)
	}
	// Compare the results, and the arguments where they differ.
	w.compare("want", got, w.t.Results, w.d.WantGo)
	if w.d.Kind == "argument" {
		w.compare("wantArg", args, w.t.Params, w.d.WantArgs)
	}
	if w.d.Kind == "alias" && w.d.Check == "" && len(w.d.After) == 0 {
		w.line("\t// The original's results share memory with the arguments, or with each other, differently.")
	}
}

// refill makes a call, fills the memory of its slices with the content of the next call, and makes
// that call.
func (w *testWriter) refill(assign string, args []string) {
	used := slices.Clone(args)
	for i, p := range w.t.Params {
		if p.Kind != "slice" || len(w.d.Other) != len(args) {
			continue
		}
		used[i] = "memory" + args[i]
		w.line("\tvar %s %s = %s", used[i], w.paramType(i, p), w.d.Other[i])
	}
	w.line("\t%s", CallText(w.t, used))
	for i := range args {
		if used[i] != args[i] {
			w.line("\t%s = append(%s[:0], %s...) // the same memory with other content", used[i], used[i], args[i])
		}
	}
	w.line("\t%s%s", assign, CallText(w.t, used))
}

// room compares the memory beyond the length of the arguments before and after the call.
func (w *testWriter) room(assign, call string, args []string) {
	w.imports = append(w.imports, "slices", "reflect")
	var after []string
	for i, p := range w.t.Params {
		if a := args[i]; p.Kind == "slice" && strings.HasPrefix(w.d.Call[i], "append(make(") {
			w.line("\troom%d := slices.Clone(%s[:cap(%s)])[len(%s):]", i, a, a, a)
			after = append(after,
				fmt.Sprintf("\tif got := %s[len(%s):cap(%s)]; !reflect.DeepEqual(got, room%d) {\n"+
					"\t\tt.Errorf(\"behind the length of %s is %%#v, want %%#v\", got, room%d)\n\t}", a, a, a, i, a, i))
		}
	}
	w.line("\t%s%s", assign, call)
	for _, text := range after {
		w.line("%s", text)
	}
}

// overwrite scribbles over the memory that variables lead to.
func (w *testWriter) overwrite(vars []string, params []beagle.Param) {
	for i, p := range params {
		if p.Kind == "slice" || p.Kind == "map" {
			w.line("\tclear(%s) // the caller may do with it what it wants", vars[i])
		}
	}
}

// errorFields compares the fields of an error that a caller sees through its type. It uses
// reflection, because the test may not import the type's package.
func (w *testWriter) errorFields(got string, want map[string]string) {
	for _, name := range inorder.Keys(want) {
		w.imports = append(w.imports, "fmt", "reflect")
		w.line("\tif v := reflect.Indirect(reflect.ValueOf(%s)); v.Kind() == reflect.Struct && "+
			"v.FieldByName(%q).IsValid() {", got, name)
		w.line("\t\tif got, want := fmt.Sprintf(\"%%#v\", v.FieldByName(%q)), %q; got != want {", name, want[name])
		w.line("\t\t\tt.Errorf(\"the error's %s is %%s, want %%s\", got, want)\n\t\t}\n\t}", name)
	}
}

// compare writes comparisons of values with the wanted ones.
func (w *testWriter) compare(prefix string, got []string, params []beagle.Param, want []string) {
	// Without the wanted values, the test only uses the results.
	if len(want) != len(got) {
		for _, g := range got {
			w.line("\t_ = %s", g)
		}
		return
	}
	for i, g := range got {
		p := params[i]
		expr := want[i]
		switch {
		// Callers compare the error with a variable, so the test does too.
		case p.Type == "error" && expr != "nil" && !strings.HasPrefix(expr, "errors.New("):
			w.imports = append(w.imports, "fmt")
			text := ""
			if prefix == "want" && i < len(w.d.WantTexts) {
				text = fmt.Sprintf(" || %s.Error() != %q", g, w.d.WantTexts[i])
			}
			w.line("\tif %s != %s%s {", g, expr, text)
			w.line("\t\tt.Errorf(\"result %%v, want the variable %s\", %s)\n\t}", expr, g)
		// Two errors are equal if their texts and exported fields are.
		case p.Type == "error" && expr != "nil":
			w.imports = append(w.imports, "fmt")
			w.line("\tif want := %s; %s == nil || %s.Error() != want.Error() {", expr, g, g)
			w.line("\t\tt.Errorf(\"result %%v, want %%v\", %s, want)\n\t}", g)
			if prefix == "want" && i < len(w.d.WantTypes) && w.d.WantTypes[i] != "" {
				w.line("\tif got, want := fmt.Sprintf(\"%%T\", %s), %q; got != want {", g, w.d.WantTypes[i])
				w.line("\t\tt.Errorf(\"the error is a %%s, want a %%s\", got, want)\n\t}")
			}
			if prefix == "want" && i < len(w.d.WantFields) {
				w.errorFields(g, w.d.WantFields[i])
			}
		// Compare the bits of floats, so that NaN and -0 count.
		case strings.HasPrefix(p.Kind, "float"):
			w.imports = append(w.imports, "math")
			w.line("\tif want := %s; math.Float64bits(float64(%s)) != math.Float64bits(float64(want)) {", expr, g)
			w.line("\t\tt.Errorf(\"got %%v, want %%v\", %s, want)\n\t}", g)
		default:
			w.imports = append(w.imports, "reflect")
			want := fmt.Sprintf("%s%d", prefix, i)
			w.line("\tvar %s %s = %s", want, w.paramType(-1, p), expr)
			w.line("\tif !reflect.DeepEqual(%s, %s) {\n\t\tt.Errorf(\"%s is %%#v, want %%#v\", %s, %s)\n\t}", g,
				want, g, g, want)
		}
	}
}
