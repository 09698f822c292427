package harness

import (
	"strings"
	"testing"

	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/internal/sampletest"
)

// shapes are targets of every kind. The mark is where a candidate changes
// them.
var shapes = []struct{ name, spec, file, gomod string }{
	{"value receiver", "./p.Point.Dist", `package p
type Point struct{ X, y int }
func (p Point) Dist(_ string, q Point) int { /*+*/ return p.X*q.y + q.X*p.y }
`, ""},
	{"pointer receiver", "./p.Buf.Add", `package p
type Buf struct{ b []byte }
func (b *Buf) Add(s string) { /*+*/
	if b != nil { b.b = append(b.b, s...) } }
`, ""},
	{"generic", "./p.Max", `package p
import "cmp"
func Max[T cmp.Ordered](s ...T) (m T) { /*+*/
	for _, x := range s { if x > m { m = x } }
	return
}
var _ = Max[string]
`, ""},
	{"generic method", "./p.List.Push", `package p
type List[T any] struct{ s []T }
func (l *List[T]) Push(x T) int { /*+*/
	if l == nil { return 0 }
	l.s = append(l.s, x)
	return len(l.s)
}
var _ List[int]
`, ""},
	{"type argument in the result only", "./p.Zero", `package p
func Zero[T ~int | ~string](n int) (z T) { /*+*/ _ = n; return z }
var _ = Zero[string]
`, ""},
	{"variadic", "./p.Join", `package p
func Join(sep string, parts ...string) (s string) { /*+*/
	for i, p := range parts { if i > 0 { s += sep }; s += p }
	return s
}
`, ""},
	{"unnamed parameters", "./p.F", `package p
func F(int, string) (int, error) { /*+*/ return 1, nil }
`, ""},
	{"imported types", "./p.F", `package p
import (
	t "time"
	"net/netip"
)
func F(d t.Duration, a netip.Addr) map[t.Month]netip.Prefix { /*+*/ _ = d; return map[t.Month]netip.Prefix{1: netip.PrefixFrom(a, 8)} }
`, ""},
	{"interfaces", "./p.F", `package p
import "io"
type r struct{ n int }
func (x *r) Read(b []byte) (int, error) { return 0, io.EOF }
type E string
func (e E) Error() string { return string(e) }
var ErrBad error = E("bad")
var shared = struct{ n int }{4}
func F(x io.Reader, y any) error { /*+*/
	if _, ok := x.(*r); ok || shared.n == 3 { return ErrBad }
	return nil
}
`, ""},
	{"command", "./p.F", `package main
func main() { F(1) }
func F(n int) int { /*+*/ return n + 1 }
`, ""},
	{"old language", "./p.F", `package p
func F(n int) int { /*+*/ return n + 1 }
`, "module ex.com/old\n\ngo 1.16\n"},
	{"dots in the path", "./p.v2.F", `package p
func F(n int) int { /*+*/ return n + 1 }
`, "module gopkg.in/some.v1\n\ngo 1.24\n"},
}

// shapesDrawn is the number of shapes that a run builds: each takes two programs.
const shapesDrawn = 6

// TestShapes builds and runs them. The second batch has what the first one had
// not: a variable to initialise and another import.
func TestShapes(t *testing.T) {
	for _, shape := range sampletest.Of(t, shapes, shapesDrawn) {
		t.Run(shape.name, func(t *testing.T) {
			t.Parallel()
			dir := strings.TrimPrefix(shape.spec[:strings.LastIndex(shape.spec, "p")+1], "./")
			if strings.Contains(shape.spec, "v2") {
				dir = "p.v2"
			}
			f := load(t, shape.spec, map[string]string{dir + "/p.go": shape.file, "go.mod": shape.gomod})
			f.exhaust(t, f.build(t, Link{}), 0)
			clause := "package " + f.u.Target.PkgName + "\n"
			bin := f.build(t, Link{}, f.edit(t,
				clause, clause+"\nimport \"unicode/utf16\"\n",
				"/*+*/", "if !ready[1] { panic(\"not initialised\") };")+
				"\nvar ready = map[int]bool{1: utf16.IsSurrogate(0xd800)}\n")
			if bin.Failed[1] != "" {
				t.Fatal(bin.Failed[1])
			}
			f.exhaust(t, bin, 1)
		})
	}
}

// exhaust lets a variant run on inputs that the harness makes itself.
func (f *fixture) exhaust(t *testing.T, bin *Binary, variant int) {
	t.Helper()
	var reply rt.ExhaustReply
	exit, err := bin.Run(t.Context(), f.box, &rt.Request{
		Exhaust: &rt.Exhaust{Variant: variant, Max: 200},
	}, &reply, RunOptions{CPU: -1})
	if err != nil || exit != nil || reply.Diff != nil || reply.Cases == 0 {
		t.Fatalf("%v %v %+v", err, exit, reply)
	}
}

func TestInterfacesGetTheirTypes(t *testing.T) {
	for _, shape := range shapes {
		if shape.name != "interfaces" {
			continue
		}
		f := load(t, shape.spec, map[string]string{"p/p.go": shape.file})
		got := strings.Join(append(f.b.frame.types, f.b.frame.globals...), "\n")
		for _, want := range []string{"(*r)(nil)", "(**r)(nil)", "(*E)(nil)", `("ex.com/hx/p.ErrBad", ErrBad)`,
			`("&ex.com/hx/p.shared", &shared)`} {
			if !strings.Contains(got, want) {
				t.Errorf("%s is missing in\n%s", want, got)
			}
		}
	}
}
