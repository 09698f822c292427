package verify

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

var (
	testFset     = token.NewFileSet()
	testImporter = importer.ForCompiler(testFset, "gc", nil)
)

// read type-checks a file that stands alone. The target is function f, or the first function.
func read(t testing.TB, src string) *code {
	t.Helper()
	f, err := parser.ParseFile(testFset, "x.go", src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	c := &code{src: src, file: f, typedText: typedText{fset: testFset, info: &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{},
		Uses:      map[*ast.Ident]types.Object{},
		Implicits: map[ast.Node]types.Object{}, Instances: map[*ast.Ident]types.Instance{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},
	}}}
	conf := types.Config{Importer: testImporter, GoVersion: "go1.26"}
	if c.pkg, err = conf.Check("k", testFset, []*ast.File{f}, c.info); err != nil {
		t.Fatalf("%v\n%s", err, src)
	}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && (c.fn == nil || fn.Name.Name == "f" && fn.Recv == nil) {
			c.fn = fn
		}
	}
	return c
}

// TestRulesPass checks that the policy passes what this repository's rewrites produce.
func TestRulesPass(t *testing.T) {
	files, _ := filepath.Glob("../../mutate/rules/*/testdata/*.txtar")
	if len(files) == 0 {
		t.Fatal("no golden archives of the rules")
	}
	for _, file := range files {
		ar, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		before := map[string]*code{}
		for _, f := range ar.Files {
			dir, name := filepath.Split(f.Name)
			if !strings.HasSuffix(name, ".go") {
				continue
			}
			t.Run(filepath.Base(file)+"/"+f.Name, func(t *testing.T) {
				c := read(t, string(f.Data))
				if name == "before.go" {
					before[dir] = c
					return
				}
				orig := before[dir]
				for _, v := range forbidden(orig, c, nil) {
					t.Errorf("%v\n%s", v, f.Data)
				}
			})
		}
	}
}

// TestState checks what a version may do with package variables.
func TestState(t *testing.T) {
	const head = "package k\n\nimport (\n\t\"crypto/subtle\"\n\t\"errors\"\n\t\"regexp\"\n\t\"runtime\"\n" +
		"\t\"slices\"\n\t\"sort\"\n\t\"strings\"\n\t\"syscall\"\n)\n\n" +
		"var (\n\ttable = [4][]byte{}\n\twords = []string{\"a\"}\n\tset = map[string][]int{}\n" +
		"\tbox = &struct{ n int; p *int }{}\n" +
		"\terrX = errors.New(\"x\")\n\tre = regexp.MustCompile(`a+`)\n\trep = strings.NewReplacer(\"a\", \"b\")\n" +
		"\tflags [256]bool\n)\n\n" +
		"type T struct{ s []string }\n\nvar _, _, _ = slices.Max[[]int], sort.Ints, strings.ToLower\n\n" +
		"var _, _, _ = subtle.XORBytes, runtime.Stack, syscall.Read\n\n"
	cases := map[string]string{
		// allowed
		`func f(s string) bool { return flags[s[0]] }`:                                                 "",
		`func f(s string) bool { return words[0] == s && len(set[s]) > 0 }`:                            "",
		`func f(s string) (string, error) { return rep.Replace(re.FindString(s)), errX }`:              "",
		`func f(s []string) []string { return append(s, words...) }`:                                   "argument",
		`func f(s []string) []string { return slices.Clone(words) }`:                                   "",
		`func f(b []byte) []byte { return append(b, table[1]...) }`:                                    "argument",
		`func f(b []byte) int { n := copy(b, table[0]); return n }`:                                    "argument",
		`func f(s string) int { i, _ := slices.BinarySearch(words, s); return i }`:                     "",
		`func f(s string) string { return strings.Join(words, s) }`:                                    "",
		`func f(t *T) { t.s = append(t.s, "x"); t.s[0] = "y" }`:                                        "argument",
		`func f(s string) (err error) { err = errX; return err }`:                                      "",
		`func f(n int) int { local := flags; local[n] = true; return len(local) }`:                     "",
		`func f(s string) int { for _, w := range words { if w == s { return 1 } }; return box.n }`:    "",
		`func f(s string) string { for i, w := range set { _ = w[0]; if i > s { s = i } }; return s }`: "",
		`func f(e error) bool { return errors.Is(e, errX) && errX.Error() != "" }`:                     "",
		`func f(b []byte) []byte { g := func(b []byte) []byte { b[0] = 1; return b }; return g(b) }`:   "argument",
		// forbidden
		`func f(n int) { flags[n] = true }`:                                                         "flags",
		`func f(n int) { p := &flags; p[n] = true }`:                                                "flags",
		`func f(n int) { for i := range flags[:] { flags[i] = true } }`:                             "flags",
		`func f(s string) { set[s] = nil }`:                                                         "set",
		`func f(s string) { m := set; delete(m, s) }`:                                               "set",
		`func f(s string) { v := set[s]; v[0]++ }`:                                                  "set",
		`func f(n int) { box.n = n }`:                                                               "box",
		`func f(n int) { *box.p = n }`:                                                              "box",
		`func f(n int) { b := box; p := b.p; *p = n }`:                                              "box",
		`func f(n int) { for _, b := range table { b[0] = 1 } }`:                                    "table",
		`func f(n int) { clear(table[n]) }`:                                                         "table",
		`func f(s []byte) { copy(table[0], s) }`:                                                    "table",
		`func f(s string) []string { return append(words[:0], s) }`:                                 "words",
		`func f(s string) []string { return words }`:                                                "words",
		`func f(s string) (out []string) { out = words[:1]; return }`:                               "words",
		`func f(s string) T { return T{s: words} }`:                                                 "words",
		`func f(s string) any { return words }`:                                                     "words",
		`func f(t *T) { t.s = words }`:                                                              "words",
		`func f(t []T) { t[0].s = words }`:                                                          "words",
		`func f(s string) { sort.Strings(words) }`:                                                  "words",
		`func f(s string) { slices.SortFunc(words, strings.Compare) }`:                              "words",
		`func f(s string) { subtle.XORBytes(table[0], table[0], []byte(s)) }`:                       "table",
		`func f(s string) { subtle.ConstantTimeCopy(1, table[0], []byte(s)) }`:                      "table",
		`func f(s string) { runtime.Stack(table[0], false) }`:                                       "table",
		`func f(s string) { syscall.Read(0, table[0]) }`:                                            "table",
		`func f(s string) { g := sort.Strings; g(words) }`:                                          "words",
		`func f(n int) { g(box) }; func g(b *struct{ n int; p *int }) { b.n = 1 }`:                  "box",
		`func f(n int) { g().n = n }; func g() *struct{ n int; p *int } { return box }`:             "box",
		`func f(n int) { get := func() []string { return words }; get()[0] = "x" }`:                 "words",
		`func f(n int) { slices.IndexFunc(table[:], func(b []byte) bool { b[0]=1; return true }) }`: "table",
		`func f(n int) { words, set = nil, nil }`:                                                   "words",
		`func f(n int) { var x any = box; x.(*struct{ n int; p *int }).n = n }`:                     "box",
		`func f(n int) { switch x := any(box).(type) { case *struct{ n int; p *int }: x.n = n } }`:  "box",
		`func f(n int) { re.Longest() }`:                                                            "re",
		`func f(n int) { h := re.Longest; h() }`:                                                    "re",
		`func f(n int) { func() { box.n++ }() }`:                                                    "box",
		`func f(n int) { defer func() { box.n++ }() }`:                                              "box",
		`func f(n int) { type s struct{ q []string }; v := s{words}; v.q[0] = "x" }`:                "words",
		`func f(n int) { m := map[int][]string{0: words}; m[0][0] = "x" }`:                          "words",
		`func f(n int) { for words[0] = range set { } }`:                                            "words",
	}
	orig := read(t, head+"func f() {}")
	for text, want := range cases {
		list := forbidden(orig, read(t, head+text), nil)
		switch {
		case want == "" && len(list) > 0:
			t.Errorf("%s\n\trefused: %v", text, list)
		case want != "" && len(list) == 0:
			t.Errorf("%s\n\tpassed", text)
		case want != "" && !strings.Contains(fmt.Sprint(list), want):
			t.Errorf("%s\n\trefused for another reason: %v", text, list)
		}
	}
}

// TestRelative checks that a version may do what its original does.
func TestRelative(t *testing.T) {
	orig := "package k\n\nimport \"time\"\n\nvar last time.Time\n\nfunc f() { last = time.Now() }"
	same := "package k\n\nimport \"time\"\n\nvar last time.Time\n\nfunc f() { t := time.Now(); last = t }"
	more := "package k\n\nimport \"time\"\n\nvar last time.Time\n\n" +
		"func f() { t := time.Now(); last = t.Add(time.Since(t)) }"
	if list := forbidden(read(t, orig), read(t, same), nil); len(list) != 0 {
		t.Errorf("refused: %v", list)
	}
	if list := forbidden(read(t, orig), read(t, more), nil); len(list) != 1 ||
		!strings.Contains(list[0].Construct, "time.Since") {
		t.Errorf("got %v", list)
	}
}

func TestLiterals(t *testing.T) {
	k := new(KnownValues)
	for _, n := range []uint64{0, 1, 42, 255, 65535, 65536, 65537, 1 << 31, 1<<63 - 1, 1000000, 999999, 0x80808080,
		0x0101010101010101, 267914296} {
		k.addInt(n, false, "a result")
	}
	for _, s := range []string{"", "a", "abc", "0123456789abcdef", "aaaaaaa", "env:prod"} {
		k.addString(s, "an argument")
	}
	for _, f := range []float64{0.5, 1e9, 3.14, 0.1234567891} {
		k.addFloat(f, "a result")
	}
	if len(k.values) != 3 {
		t.Errorf("telling values: %v", k.values)
	}
	orig := read(t, "package k\n\nfunc f(s string) int { return len(s) }\n\nconst sep = \", env:prod, \"")
	for text, n := range map[string]int{
		`267914296`:                      1,
		`267914295 + 1`:                  1,
		`(1 << 28) - 521160`:             1,
		`0x0101010101010101 + 42`:        0,
		`len("env:prod")`:                0, // a constant of the original contains it
		`int(0.1234567891 * float64(x))`: 1,
		`len("0123456789abcdef")`:        0,
	} {
		c := read(t, "package k\n\nvar x int\n\nfunc f(s string) int { return "+text+" }")
		if list := copied(orig, c, k); len(list) != n {
			t.Errorf("%s: %v", text, list)
		}
	}
}

// TestTypeArguments checks that generic code may ask for its type argument only if the original
// does.
func TestTypeArguments(t *testing.T) {
	const plain = "package k\n\nfunc Find[T comparable](list []T, x T) int {\n\tfor i, y := range list {\n" +
		"\t\tif x == y {\n\t\t\treturn i\n\t\t}\n\t}\n\treturn -1\n}\n"
	asks := strings.Replace(plain, "\tfor i", "\tif _, ok := any(x).(string); ok {\n\t\treturn -1\n\t}\n\tfor i", 1)
	if v := forbidden(read(t, plain), read(t, asks), nil); len(v) != 2 || v[1].Line != 4 {
		t.Errorf("%v", v)
	}
	if v := forbidden(read(t, asks), read(t, asks), nil); len(v) != 0 {
		t.Errorf("%v", v)
	}
	// Any type that mentions a type argument tells it.
	for _, value := range []string{"struct{ x T }{x}", "func() T { return x }", "local{x}", "map[string]*local{}",
		"box[T]{x}", "box[T]{x}.get"} {
		body := "\ttype local struct{ X T }\n\tvar _ local\n\tkeep(" + value + ")\n\tfor i"
		hides := strings.Replace(plain, "\tfor i", body, 1) + "\nfunc keep(v any) {}\n" +
			"\ntype box[U any] struct{ x U }\n\nfunc (b box[U]) get() U { return b.x }\n"
		if v := forbidden(read(t, plain), read(t, hides), nil); len(v) != 1 {
			t.Errorf("%s: %v", value, v)
		}
	}
	helper := "\nfunc text(v any) bool {\n\t_, ok := v.(string)\n\treturn ok\n}\n"
	handsOn := strings.Replace(plain, "\tfor i", "\tif text(list) {\n\t\treturn -1\n\t}\n\tfor i", 1) + helper
	if v := forbidden(read(t, plain), read(t, handsOn), nil); len(v) != 1 {
		t.Errorf("%v", v)
	}
}

// TestMapWrites checks that a version may not write to the caller's maps, not even values that they
// already hold. It may write to maps that it makes.
func TestMapWrites(t *testing.T) {
	const head = "package k\n\nimport \"maps\"\n\nvar _ = maps.Clone[map[string]int]\n\n" +
		"type T struct{ m map[string]int }\n\n"
	original := read(t, head+"func f(m map[string]int, t *T) int { return m[\"a\"] + t.m[\"a\"] }")
	for body, refused := range map[string]bool{
		`m["a"] = m["a"]; return 0`:                                    true,
		`m["a"]++; m["a"]--; return 0`:                                 true,
		`delete(m, ""); return 0`:                                      true,
		`t.m["a"] = t.m["a"]; return 0`:                                true,
		`n := m; n["a"] = n["a"]; return 0`:                            true,
		`n := map[string]int{}; n = m; clear(n); return 0`:             true,
		`n := map[string]int{}; p := &n; *p = m; n["a"] = 1; return 0`: true,
		`maps.Copy(m, m); return 0`:                                    true,
		`func(n map[string]int) { n["a"] = n["a"] }(m); return 0`:      true,
		`for m["a"] = range 1 { }; return 0`:                           true,
		`n := map[string]int{}; n["a"] = 1; return n["a"]`:             false,
		`n := make(map[string]int, 3); n["a"]++; return n["a"]`:        false,
		`n := maps.Clone(m); delete(n, "a"); return len(n)`:            false,
		`n := map[string]bool{}; n["a"] = true; return len(n)`:         false,
	} {
		c := read(t, head+"func f(m map[string]int, t *T) int { "+body+" }")
		got := forbidden(original, c, nil)
		if (len(got) > 0) != refused {
			t.Errorf("%s\n\trefused: %v, want %v", body, got, refused)
		}
	}
}

// TestPolicyOfHelpers checks that what a helper does excuses nothing: the original's callers see
// what the helper keeps, and a version that uses the same state or the clock itself is another.
func TestPolicyOfHelpers(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "go.mod"), "module ex.com/cheats\n\ngo 1.24\n")
	put(t, filepath.Join(dir, "p", "a.go"), `package p

import (
	"sync"
	"time"
)

var cache = map[string]string{}

var seen sync.Map

var last time.Time

func Render(s string) string { return name(s) + stamp() }

func Other(s string) string { return name(s) + stamp() }

func name(s string) string {
	if v, ok := cache[s]; ok {
		return v
	}
	cache[s] = s + "!"
	return cache[s]
}

func stamp() (out string) {
	defer func() { recover() }()
	last = time.Now()
	seen.Store(1, 2)
	return ""
}
`)
	env := environment(t, dir, "./p.Render")
	for what, body := range map[string]string{
		"a memo in a helper's map": `k := "\x00" + s
	if v, ok := cache[k]; ok {
		return v
	}
	cache[k] = name(s) + stamp()
	return cache[k]`,
		"a memo in a helper's sync.Map": `if v, ok := seen.Load(s); ok {
		return v.(string)
	}
	v := name(s) + stamp()
	seen.Store(s, v)
	return v`,
		"the clock": `if time.Now().Unix() > 4e9 {
		return ""
	}
	return name(s) + stamp()`,
		"a panic swallowed": `defer func() { recover() }()
	return name(s) + stamp()`,
	} {
		imports := ""
		if what == "the clock" {
			imports = "import \"time\"\n\n"
		}
		src := "package p\n\n" + imports + "func Render(s string) string {\n\t" + body + "\n}\n"
		f, problem := env.Unit.Reader.Parse(src)
		if problem != nil {
			t.Fatal(what, problem.Message)
		}
		orig, err := env.original()
		if err != nil {
			t.Fatal(err)
		}
		if list := forbidden(orig, env.codeOf(f), nil); len(list) == 0 {
			t.Errorf("%s passes", what)
		}
	}
}

// TestPolicyLetsCopiesCallWhatTheirOriginalsCall: a copy of a callee calls what the callee calls,
// also where that changes memory. Calls that the original never makes, library functions that keep
// values, and those that reveal kept values stay refused.
func TestPolicyLetsCopiesCallWhatTheirOriginalsCall(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "go.mod"), "module ex.com/cheats\n\ngo 1.24\n")
	put(t, filepath.Join(dir, "p", "a.go"), `package p

import "sync"

type Reader struct{ n int }

func (r *Reader) Read(s string) int { return r.field(s) + 1 }

func (r *Reader) field(s string) int {
	if r.count(s); !r.noted() {
		r.note()
	}
	return len(s) + r.width()
}

func (r *Reader) count(s string) { r.n += len(s); counted += r.n }

func (r *Reader) noted() bool { _, ok := seen.Load(r.n); return ok }

func (r *Reader) width() int { return widths[r.n&1] }

var widths = [2]int{1, 2}

func (r *Reader) note() { seen.Store(r.n, true) }

func (r *Reader) other(s string) { counted -= r.n }

var counted int

var seen sync.Map
`)
	env := environment(t, dir, "./p.Reader.Read")
	for _, c := range []struct {
		body   string
		passes bool
	}{
		{"r.count(s)\n\tr.note()\n\treturn len(s) + r.width()", true},
		{"if r.noted() {\n\t\treturn len(s)\n\t}\n\tr.note()\n\treturn len(s)", false},
		{"r.other(s)\n\tr.note()\n\treturn len(s)", false},
		{"r.count(s)\n\tseen.Store(r.n, true)\n\treturn len(s)", false},
		{"r.count(s)\n\tr.note()\n\tcounted++\n\treturn len(s)", false},
	} {
		f, problem := env.Unit.Reader.Parse("package p\n\n" +
			"func (r *Reader) Read(s string) int { return readerFieldForRead(r, s) + 1 }\n\n" +
			"func readerFieldForRead(r *Reader, s string) int {\n\t" + c.body + "\n}\n")
		if problem != nil {
			t.Fatal(c.body, problem.Message)
		}
		orig, err := env.original()
		if err != nil {
			t.Fatal(err)
		}
		if list := forbidden(orig, env.codeOf(f), nil); (len(list) == 0) != c.passes {
			t.Errorf("%s: %v", c.body, list)
		}
	}
}
