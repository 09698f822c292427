package facts

import (
	"go/ast"
	"slices"
	"testing"

	"github.com/beagle-go/beagle/mutate"
)

// placeTypes declares types whose values may lie in one another.
const placeTypes = `
type inner struct{ n int; list [3]byte }
type outer struct{ in inner; name string; next *outer }
type alike struct{ in inner; name string; next *outer }
type other struct{ name string; n int }
`

func TestOverlaps(t *testing.T) {
	for pair, want := range map[[2]string]bool{
		// A field and a field.
		{"o.name", "q.name"}: true, {"o.name", "q.next"}: false, {"o.name", "x.name"}: false, {"a.name", "o.name"}: true,
		{"o.in.n", "q.in"}: true, {"o.in.n", "x.n"}: false,
		// What a pointer leads to.
		{"*text", "o.name"}: true, {"*text", "x.n"}: false, {"*o", "q.in.n"}: true, {"*number", "q.in"}: true,
		{"*text", "*number"}: false, {"*o", "*a"}: true, {"*o", "*text"}: true,
		// Elements.
		{"bytes[0]", "o.in.list"}: true, {"bytes[0]", "*o"}: true, {"bytes[0]", "o.name"}: false,
		{"texts[0]", "o.name"}: false, {"texts[0]", "*text"}: true, {"outers[0]", "o.name"}: true,
		{"outers[0]", "x.name"}: false, {"outers[0]", "texts[0]"}: false, {"o.in.list[1]", "bytes[0]"}: true,
		// Variables, and entries of maps.
		{"count", "*number"}: true, {"count", "o.in.n"}: false, {"count", "limit"}: false, {"count", "count"}: true,
		{"table[0]", "*text"}: false, {"table[0]", "table[1]"}: true, {"table[0]", "o.name"}: false, {"row", "bytes[0]"}: true,
	} {
		p := check(t, placeTypes+`
var count, limit int
var row [4]byte
func f(o, q *outer, a *alike, x *other, text *string, number *int, bytes []byte, texts []string, outers []outer,
	table map[int]string) { _ = `+pair[0]+`; _ = `+pair[1]+` }`)
		var places []Place
		for as := range mutate.Nodes[*ast.AssignStmt](p, nil) {
			place, ok := PlaceOf(p, as.Rhs[0])
			if !ok {
				t.Errorf("%v: no place", pair)
			}
			places = append(places, place)
		}
		if a, b := places[0].Overlaps(places[1]), places[1].Overlaps(places[0]); a != want || b != want {
			t.Errorf("%v overlap: %v, the other way round %v; want %v", pair, a, b, want)
		}
	}
}

func TestPlaceOfUnknown(t *testing.T) {
	generic := check(t, "func f[T any](v []T) { _ = v[0] }")
	unsafe := check(t, `import "unsafe"
func f(v []int) { _ = v[0]; _ = unsafe.Pointer(&v[0]) }`)
	for name, p := range map[string]*mutate.Pass{"generic": generic, "unsafe": unsafe} {
		for ix := range mutate.Nodes[*ast.IndexExpr](p, nil) {
			if _, ok := PlaceOf(p, ix); ok {
				t.Errorf("%s: types tell where an element lies", name)
			}
		}
	}
}

func TestChanges(t *testing.T) {
	for code, want := range map[string][]string{
		"n++; n = 2; a[1] = 3; s.n = 4; var x int; x = 5; _ = x": nil,
		"v[0] = 1":           {"v[0]"},
		"to.n, n = 1, 2":     {"to.n"},
		"*number = 1":        {"*number"},
		"add(v, 1)":          {"v[i]"},
		"twice(v)":           {"v[i]", "v[i]"},
		"g()":                {"g()"},
		"pure(n)":            nil,
		"b.WriteByte('x')":   {"b.WriteByte('x')"},
		"go pure(n)":         {"?"},
		"<-c":                {"?"},
		"for range c { }":    {"?"},
		"for n = range v {}": nil,
		"taken = 7":          {"taken"},
	} {
		p := check(t, `import "bytes"
type S struct{ n int }
func add(v []int, i int) { v[i]++ }
func twice(v []int) { add(v, 0); add(v, 1); for i := range v { v[i] = i } }
func pure(n int) int { n++; return n }
func f(n int, v []int, a [3]int, s S, to *S, number *int, g func(), b *bytes.Buffer, c chan int) {
	taken := 0
	number = &taken
	{ `+code+` }
}`)
		var got []string
		for c := range Changes(p, p.Func.Body.List[2]) {
			text := "?"
			switch {
			case c.Store != nil:
				text = p.Text(c.Store)
			case c.Call != nil:
				text = p.Text(c.Call)
			}
			if !Inside(c.At, p.Func.Body.List[2]) {
				t.Errorf("%s: the change %s lies elsewhere", code, text)
			}
			got = append(got, text)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s changes %q, want %q", code, got, want)
		}
	}
}

func TestSpares(t *testing.T) {
	for code, want := range map[string]bool{
		"to.n = 1": true, "to.list[0].name = s": false, "b.WriteString(s)": true, "ints[0] = 1": true,
		"ints = append(ints, 1)": true, "list = append(list, T{})": false, "copy(sizes, sizes)": false,
		"raw = strconv.AppendInt(raw, 1, 10)": true, "*text = s": false, "texts[0] = s": true, "g()": false,
		"fmt.Fprint(b, s)": false,
	} {
		p := check(t, `import ("bytes"; "fmt"; "strconv")
type T struct{ name string; sizes [4]uint16 }
type U struct{ n int; list []T }
var _ = fmt.Sprint
var _ = strconv.Itoa
func f(list []T, to *U, b *bytes.Buffer, s string, ints []int, sizes []uint16, raw []byte, text *string, texts []string, g func()) {
	`+code+`
}`)
		elem := variable(t, p, "list").Type()
		spares := true
		for c := range Changes(p, p.Func.Body) {
			spares = spares && c.Spares(p, ElementPlace(ElemOf(elem)))
		}
		if spares != want {
			t.Errorf("%s spares the elements: %v", code, spares)
		}
	}
}

func TestSameItself(t *testing.T) {
	for pair, want := range map[[2]string]bool{
		// A field behind a pointer, beside other fields of the same struct, and of others.
		{"q.name", "q.n++"}: true, {"q.name", "q.name = s"}: false, {"q.name", "r.name = s"}: false,
		{"q.name", "o.n++; o.list = nil"}: true, {"q.name", "*to = s"}: false, {"q.name", "q = r"}: false,
		{"q.name", "g()"}: false, {"q.name", "b.WriteString(s)"}: true, {"q.name", "bump(q)"}: true,
		{"q.name", "rename(q)"}: false, {"q.in.n", "q.in.m = 1"}: true, {"q.in.n", "q.in = inner{}"}: false,
		// What functions make of it.
		{"strings.ToLower(q.name)", "q.n++"}: true, {"strings.ToLower(q.name)", "q.name = s"}: false,
		{"long(q)", "q.n++"}: false, {"len(o.list)", "o.list[0] = 1"}: true, {"len(o.list)", "o.list = nil"}: false,
		{"string(o.raw)", "o.list[0] = 1"}: true, {"string(o.raw)", "o.raw[0] = 1"}: false, {"o.raw[n]", "n++"}: false,
		// Entries of maps.
		{"m[s].n", "m[s] = inner{}"}: false, {"m[s].n", "q.in.n = 1"}: false, {"m[s].n", "o.list[0] = 1"}: true,
		{"len(m)", "m[s] = inner{}"}: false, {"len(c)", "q.n++"}: false, {"k[s]", "q.n++"}: true, {"k[s]", "m[s] = inner{}"}: true,
	} {
		p := check(t, `import ("bytes"; "strings")
type inner struct{ n, m int }
type query struct{ name string; n int; in inner }
type other struct{ n int; list []int; raw []byte }
var _ = strings.ToLower
func bump(q *query) { q.n++ }
func rename(q *query) { q.name += "x" }
func long(q *query) bool { return len(q.name) > q.n }
func f(q, r *query, o *other, to *string, s string, b *bytes.Buffer, g func(), n int, m map[string]inner,
	k map[string]int, c chan int) {
	_ = `+pair[0]+`
	{ `+pair[1]+` }
}`)
		e := p.Func.Body.List[0].(*ast.AssignStmt).Rhs[0]
		if got := sameItself(p, e, p.Func.Body.List[1]); got != want {
			t.Errorf("%s stays over %s: %v", pair[0], pair[1], got)
		}
	}
}

// TestSameValueOfSlice has a slice stay whose elements change.
func TestSameValueOfSlice(t *testing.T) {
	p := check(t, `type query struct{ list []int }
func f(q *query, other []int) {
	_ = q.list
	{ other[0] = 1 }
}`)
	e := p.Func.Body.List[0].(*ast.AssignStmt).Rhs[0]
	if SameValue(p, e, p.Func.Body.List[1]) || !sameItself(p, e, p.Func.Body.List[1]) {
		t.Error("an element changes, and the slice itself stays")
	}
}
