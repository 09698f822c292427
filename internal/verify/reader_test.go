package verify

import "testing"

// TestRoadsOfAReader checks roads that an independent reading found open.
func TestRoadsOfAReader(t *testing.T) {
	const arg = `func f(p []byte) int { n := 0; for _, c := range p { n += int(c) }; return n }`
	const two = `func f(a, b []byte) int { return len(a) + len(b) }`
	const str = `func f(s string) int { return len(s) }`
	try(t, []road{
		{"function var to helper", arg, `var w = func(p []byte) { if len(p) > 0 { p[0] = 0 } }
func run(g func([]byte), p []byte) { g(p) }
func f(p []byte) int { n := 0; for _, c := range p { n += int(c) }; run(w, p); return n }`, "argument"},
		{"function table to slices.SortFunc", arg, `var w = func(a, b *[]byte) int { (*a)[0] = 1; return 0 }
func f(p []byte) int { n := 0; for _, c := range p { n += int(c) }; if len(p) > 0 { slices.SortFunc([]*[]byte{&p, &p}, w) }; return n }`,
			"argument"},
		{"generic equality", two, `func eq[T comparable](a, b T) bool { return a == b }
func f(a, b []byte) int { if len(a) > 0 && len(b) > 0 && eq(&a[0], &b[0]) { return 7 }; return len(a) + len(b) }`,
			"pointer"},
		{"generic map", two, `type set[K comparable] map[K]bool
func f(a, b []byte) int { if len(a) > 0 && len(b) > 0 { m := set[*byte]{}; m[&a[0]] = true; if m[&b[0]] { return 7 } }; return len(a) + len(b) }`,
			"pointer"},
		{"interface equality", two, `func f(a, b []byte) int { if len(a) > 0 && len(b) > 0 && any(&a[0]) == any(&b[0]) { return 7 }; return len(a) + len(b) }`, "pointer"},
		{"map of any", two, `func f(a, b []byte) int { if len(a) > 0 && len(b) > 0 { m := map[any]bool{}; m[&a[0]] = true; if m[&b[0]] { return 7 } }; return len(a) + len(b) }`, "pointer"},
		{"address printed", two, `func f(a, b []byte) int { if fmt.Sprintf("%p", a) == fmt.Sprintf("%p", b) { return 7 }; return len(a) + len(b) }`, "%p"},
		{"address printed, verb made", two, `func f(a, b []byte) int { v := "%" + string(rune('p')); if fmt.Sprintf(v, a) == fmt.Sprintf(v, b) { return 7 }; return len(a) + len(b) }`, "p"},
		{"pointer printed with v", two, `func f(a, b []byte) int { if len(a) > 0 && len(b) > 0 && fmt.Sprint(&a[0]) == fmt.Sprint(&b[0]) { return 7 }; return len(a) + len(b) }`, "p"},
		{"beagle directive", str, "//beagle:requires len(s) < 10\nfunc f(s string) int { return len(s) }", "beagle"},
		{"sync once in pure type", str, `var r = bufio.NewWriter(nil)
func f(s string) int { r.WriteString(s); return r.Buffered() }`, "r"},
		{"hash var", str, `var hh = fnv.New32()
func f(s string) int { hh.Write([]byte(s)); if hh.Sum32() == 5 { return 1 }; return len(s) }`, "hh"},
		{"method on interface var", str, `type cnt struct { n int }
func (c *cnt) String() string { c.n++; return "" }
var g fmt.Stringer = &cnt{}
func f(s string) int { _ = fmt.Sprint(g); return len(s) }`, "g"},
		{"list var", str, `var l = list.New()
func f(s string) int { l.PushBack(s); return len(s) }`, "l"},
		{"reader var", str, `var l = strings.NewReader("abc")
func f(s string) int { if _, err := l.ReadByte(); err != nil { return 9 }; return len(s) }`, "l"},
		{"iterator state", str, `var seq = slices.Values([]int{1,2,3})
func f(s string) int { for range seq { }; return len(s) }`, "seq"},
		{"regexp longest", str, `var re = regexp.MustCompile("a|ab")
func f(s string) int { if s == "q" { re.Longest() }; return len(s) }`, "re"},
		{"generic write", str, `var n int
type box[T any] struct { p *T }
func (b box[T]) set(v T) { *b.p = v }
func f(s string) int { box[int]{&n}.set(3); return len(s) }`, "n"},
		{"generic interface", str, `type c struct { n int }
func (x *c) inc() { x.n++ }
var g = &c{}
func do[T interface{ inc() }](t T) { t.inc() }
func f(s string) int { do(g); return len(s) }`, "g"},
		{"json into var", str, `var m map[string]int
func f(s string) int { json.Unmarshal([]byte(s), &m); return len(s) }`, "m"},
		{"scanner sprint", str, `var t = template()
func template() *bytes.Buffer { return bytes.NewBufferString("x") }
func f(s string) int { fmt.Fprint(t, s); return len(s) }`, "t"},
	})
}
