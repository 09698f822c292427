package mutate

import (
	"errors"
	"go/ast"
	"go/format"
	"go/types"
	"strings"
	"testing"
)

func pass(t *testing.T, src string) *Pass {
	t.Helper()
	p, err := Check(src, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func fn(p *Pass, name string) *ast.FuncDecl {
	return p.Decl(p.Pkg.Scope().Lookup(name))
}

func TestSplice(t *testing.T) {
	src := "package p\n\nimport (\n\t\"fmt\"\n\t\"strings\"\n)\n\n" +
		"func f() string { return fmt.Sprint(strings.ToLower(\"X\")) }\n"
	at := strings.Index(src, "fmt.Sprint")
	got, err := splice([]byte(src), []Edit{{at + 10, at + 11, ""}, {at, at + 10, ""}, {len(src) - 4, len(src) - 3, ""}})
	if err != nil {
		t.Fatal(err)
	}
	text, err := tidy(pass(t, src), got)
	if err != nil {
		t.Fatal(err)
	}
	want := "package p\n\nimport (\n\t\"strings\"\n)\n\nfunc f() string { return strings.ToLower(\"X\") }\n"
	if text.Src != want {
		t.Errorf("got\n%s", text.Src)
	}
	if _, err := splice([]byte(src), []Edit{{3, 9, ""}, {5, 6, ""}}); err == nil {
		t.Error("overlapping edits were accepted")
	}
}

// TestTidy: a variable with the name of a package keeps no import of it.
func TestTidy(t *testing.T) {
	src := "package p\n\nimport \"path\"\n\ntype at struct{ n int }\n\n" +
		"func f(s string) int {\n\tn := len(path.Base(s))\n\tfor _, path := range []at{{1}} {\n\t\tn += path.n\n\t}\n" +
		"\treturn n\n}\n"
	got, err := tidy(pass(t, src), []byte(strings.Replace(src, "path.Base(s)", "s", 1)))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(got.Src, "import") {
		t.Errorf("the import stays:\n%s", got.Src)
	}
	if got, err = tidy(pass(t, src), []byte(src)); err != nil || got.Src != src {
		t.Errorf("error %v, source\n%s", err, got.Src)
	}
}

func TestImport(t *testing.T) {
	for _, c := range []struct{ src, name, want string }{
		{"package p\n\nfunc f() {}\n", "bits", "import \"math/bits\""},
		{"package p\n\nimport \"fmt\"\n\nfunc f() { fmt.Println() }\n", "bits", "\t\"fmt\"\n\t\"math/bits\""},
		{"package p\n\nfunc f() { bits := 1; _ = bits }\n", "stdbits", "import stdbits \"math/bits\""},
		{"package p\n\nimport b \"math/bits\"\n\nfunc f() { b.Len(1) }\n", "b", "import b"},
	} {
		p := pass(t, c.src)
		name, edits := p.Import("math/bits")
		edits = append(edits, p.Insert(p.Func.Body.Rbrace, "\n"+name+".Len(1)\n"))
		got, err := splice(p.Src, edits)
		if err == nil {
			got, err = format.Source(got)
		}
		if err != nil || name != c.name || !strings.Contains(string(got), c.want) {
			t.Errorf("name %s, error %v, source\n%s", name, err, got)
		}
		pass(t, string(got))
	}
}

func TestFresh(t *testing.T) {
	p := pass(t, "package p\n\nvar rest int\n\nfunc f(n int) int { rest2 := n; return rest2 }\n")
	for want, wishes := range map[string][]string{
		"rest3": {"rest"},
		"tail":  {"n", "tail"},
		"len2":  {"len"},
		"func2": {"func"},
	} {
		if got := p.Fresh(wishes...); got != want {
			t.Errorf("Fresh(%q) = %s, want %s", wishes, got, want)
		}
	}
}

func TestEffects(t *testing.T) {
	p := pass(t, `package p

import (
	"encoding/binary"
	"strings"
)

var frozen = [4]int{1, 2}
var counter int

type T struct{ n int }

func local(s string) int { n := 0; for i := range len(s) { n += i }; return n }
func writes() { counter++ }
func reads() int { return counter }
func table(i uint8) int { return frozen[i&3] + frozen[1] }
func constIndex() int { return frozen[1] }
func index(s string, i int) byte { return s[i] }
func divides(a, b int) int { return a / b }
func byConst(a int) int { return a / 3 }
func pure(s string) bool { return strings.Contains(s, "x") && local(s) > 3 }
func alloc(s string) string { return strings.ToUpper(s) + "!" }
func field(t *T) int { return t.n }
func param(t *T) { t.n = 3 }
func dynamic(f func() int) int { return f() }
func recursive(n int) int { return recursive(n - 1) }
func array() [3]int { var a [3]int; a[1] = 2; return a }
func owned(n int) int { var l []int; l = append(l, n); return len(l) }
func shared(n []int) int { l := n; l = append(l, 1); return len(l) }
func made(n []int) []int { return append(append(make([]int, 0, 8), n...), 1) }
func fields(s string) []string { l := strings.Fields(s); l = l[:0]; l = append(l, s); return l }
func part(n []int) []int { return append(n[:1], 1) }
func divided(a, b int) int { c := a; c /= b; return c }
func value(t *T) func() int { return t.get }
func (t T) get() int { return 1 }
func word(b []byte) uint16 { return binary.LittleEndian.Uint16(b) }
`)
	for name, want := range map[string]Effects{
		"local": {Jumps: true}, "writes": {Writes: true, Reads: true}, "reads": {Reads: true, Jumps: true},
		"table": {Panics: true, Jumps: true}, "constIndex": {Jumps: true}, "index": {Panics: true, Jumps: true},
		"divides": {Panics: true, Jumps: true}, "byConst": {Jumps: true}, "pure": {Jumps: true}, "alloc": {Allocs: true, Jumps: true},
		"field": {Reads: true, Panics: true, Jumps: true}, "param": {Writes: true, Reads: true, Panics: true},
		"dynamic":   {Writes: true, Reads: true, Panics: true, Allocs: true, Jumps: true},
		"recursive": {Panics: true, Jumps: true}, "array": {Jumps: true},
		"owned": {Reads: true, Allocs: true, Jumps: true}, "shared": {Writes: true, Reads: true, Allocs: true, Jumps: true},
		"made": {Reads: true, Allocs: true, Jumps: true}, "fields": {Reads: true, Panics: true, Allocs: true, Jumps: true},
		"part":    {Writes: true, Reads: true, Panics: true, Allocs: true, Jumps: true},
		"divided": {Panics: true, Jumps: true}, "value": {Reads: true, Panics: true, Jumps: true},
		"word": {Reads: true, Panics: true, Jumps: true},
	} {
		if got := p.Effects(fn(p, name).Body); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

func TestFrozen(t *testing.T) {
	p := pass(t, `package p

import "slices"

var list, named = []int{1}, []int{2}
var rows, row = [][]int{{1}}, [][]int{{2}}
var set, filled = map[string]bool{"a": true}, map[string]bool{}
var array = [2]int{1, 2}

func look(s string) (n int) {
	for _, x := range list {
		n += x + list[0] + rows[x][0] + len(rows[x])
	}
	if set[s] && slices.Contains(list, n) && array == [2]int{} {
		n++
	}
	return n
}

func change() {
	l, r := named, row[0]
	l[0], r[0] = 3, 4
	fill(filled)
}

func fill(m map[string]bool) { m["b"] = true }
`)
	for name, want := range map[string]bool{"list": true, "rows": true, "set": true, "array": true, "named": false,
		"row": false, "filled": false} {
		if got := p.Frozen(p.Pkg.Scope().Lookup(name).(*types.Var)); got != want {
			t.Errorf("%s: %t, want %t", name, got, want)
		}
	}
}

func TestEval(t *testing.T) {
	p := pass(t, `package p

func crc() uint32 { return table[1] ^ table[255] }

var table = makeTable()

func makeTable() [256]uint32 {
	var t [256]uint32
	for i := range t {
		c := uint32(i)
		for j := 0; j < 8; j++ {
			if c&1 == 1 {
				c = c>>1 ^ 0xedb88320
			} else {
				c >>= 1
			}
		}
		t[i] = c
	}
	return t
}

func class(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return 1
	case c == '_', isLower(c):
		return 2
	}
	return -1
}

func isLower(c byte) bool { return c >= 'a' && c <= 'z' }
func wrap(n int8) int8    { return n + 100 }
func not(n uint8) uint8   { return ^n }
func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}
func endless() int { for { } }
func unknown(s string) string { return s + string(rune(len(s))) }
`)
	for _, c := range []struct {
		name string
		args []Value
		want Value
	}{
		{"crc", nil, uint64(0x77073096 ^ 0x2d02ef8d)}, {"class", []Value{uint64('5')}, int64(1)}, {"class", []Value{uint64('_')}, int64(2)},
		{"class", []Value{uint64('-')}, int64(-1)}, {"wrap", []Value{int64(100)}, int64(-56)}, {"not", []Value{uint64(1)}, uint64(254)},
		{"fib", []Value{int64(15)}, int64(610)},
	} {
		got, err := p.Values().Call(fn(p, c.name), c.args...)
		if err != nil || got != c.want {
			t.Errorf("%s(%v) = %v, %v, want %v", c.name, c.args, got, err, c.want)
		}
	}
	for _, name := range []string{"endless", "unknown"} {
		args := []Value{"x"}
		if name == "endless" {
			args = nil
		}
		if _, err := p.Values().Call(fn(p, name), args...); !errors.Is(err, ErrEval) {
			t.Errorf("%s: error %v, want %v", name, err, ErrEval)
		}
	}
	if v, err := p.Values().EvalGlobal(p.Pkg.Scope().Lookup("table").(*types.Var)); err != nil ||
		v.([]Value)[8] != uint64(0x0edb8832) {
		t.Errorf("table: %v", err)
	}
}

func TestLoops(t *testing.T) {
	p := pass(t, `package p

func f(s string, v []int, k int) (n int) {
	for i := 0; i < len(s); i++ { n += int(s[i]) } // plain
	for i := 1; i < len(s); i++ { n += int(s[i]) * i } // index used
	for _, x := range v { n += x } // plain
	for i := range v { n += v[i] } // plain
	for range s { n++ } // not: runes
	for i := 0; i < len(s); i++ { i++ } // not: moves
	for i := 0; i < len(v); i++ { v[i] = 3 } // not: writes
	for i := 0; i < len(v); i++ { v = v[1:] } // not: bound changes
	for i := k; i < len(v); i++ { n += v[i] } // not: start unknown
	m := len(v)
	for i := 0; i < m; i++ { n += v[i] } // not: v is assigned above
	l := len(s)
	for i := 0; i < l; i++ { n += int(s[i]) } // plain
	return n
}
`)
	var got []string
	for _, s := range Nodes[ast.Stmt](p, nil) {
		switch s.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			l, ok := p.Elements(s)
			switch {
			case !ok:
				got = append(got, "not")
			case l.Plain:
				got = append(got, "plain")
			default:
				got = append(got, "index")
			}
		}
	}
	want := "plain index plain plain not not not not not not plain"
	if strings.Join(got, " ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, " "), want)
	}
}

func TestTake(t *testing.T) {
	p := pass(t, `package p

// F is the target.
func F() int { return helper(table[1]) + 1 }

// helper goes with its last caller.
func helper(n int) int { return n + len(other) }

// table too.
var table = makeTable()

func makeTable() [2]int { return [2]int{1, 2} }

var other, kept = "x", count()

func count() int { return 3 }

var unused = 3
`)
	m := &Mutator{
		Name: "constant", Class: "E0", Gain: 2,
		Find: func(p *Pass) []Site { return []Site{{Node: p.Func.Body, Label: "body"}} },
		Rewrite: func(p *Pass, s Site, _ Param) ([]Edit, error) {
			return []Edit{p.Replace(s.Node, "{ return 3 }")}, nil
		},
	}
	got, step, err := Take(p, m, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := `package p

// F is the target.
func F() int { return 3 }

var other, kept = "x", count()

func count() int { return 3 }

var unused = 3
`
	if formatted, err := format.Source([]byte(got.Src)); err != nil || string(formatted) != want {
		t.Errorf("got\n%s, %v", got.Src, err)
	}
	if step.Mutator != "constant" || step.Site != "body" || step.Class != "E0" {
		t.Errorf("step %+v", step)
	}
	if _, _, err := Take(p, m, 1, 0); err == nil {
		t.Error("a site that is not there was rewritten")
	}
	moves := Moves(p, []*Mutator{m})
	if len(moves) != 1 || moves[0].Weight != 0.5 {
		t.Errorf("moves %+v", moves)
	}
}

// TestGlobalsAreEvaluatedAlike checks that the depth of calls of the first question does not decide
// whether a table can be evaluated.
func TestGlobalsAreEvaluatedAlike(t *testing.T) {
	p := pass(t, `package p

func deep(n int) int {
	if n == 0 {
		return table[1]
	}
	return deep(n - 1)
}

var table = func() (t [2]int) {
	t[1] = 7
	return t
}()
`)
	if v, err := p.Values().Call(fn(p, "deep"), int64(59)); err != nil || v != int64(7) {
		t.Errorf("%v, %v", v, err)
	}
	if v, err := p.Values().EvalGlobal(p.Pkg.Scope().Lookup("table").(*types.Var)); err != nil {
		t.Errorf("%v, %v", v, err)
	}
}
