package verify

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
)

// TestReceivedCode checks that a version runs no code of its caller that the original does not run.
func TestReceivedCode(t *testing.T) {
	const boxed = `func f(v any) int { return 1 }`
	const writes = `func f(w io.Writer, s string) { fmt.Fprintf(w, "%s", s) }`
	const fields = "type T struct{ up, down func() }\n"
	try(t, []road{
		{"a function in an interface", boxed, `func f(v any) int { v.(func())(); return 1 }`, "argument v"},
		{"one that may be there", boxed, `func f(v any) int { if g, ok := v.(func() int); ok { g() }; return 1 }`, "argument v"},
		{"a method", boxed, `func f(v any) int { if c, ok := v.(io.Closer); ok { c.Close() }; return 1 }`, "method Close of argument v"},
		{"a method value", boxed, `func f(v any) int { c := v.(io.Closer).Close; defer c(); return 1 }`, "method Close of argument v"},
		{"a method expression", boxed, `func f(v any) int { io.Closer.Close(v.(io.Closer)); return 1 }`, "method Close of argument v"},
		{"by the library", boxed, `func f(v any) int { io.Copy(io.Discard, v.(io.Reader)); return 1 }`, "method Read of argument v"},
		{"in a helper", boxed, `func f(v any) int { g(v); return 1 }
			func g(v any) { v.(func())() }`, "argument v"},
		{"in a list", `func f(v []any) int { return 1 }`, `func f(v []any) int { v[0].(func())(); return 1 }`, "argument v"},
		{"an iterator", `func f(v iter.Seq[int]) int { return 1 }`, `func f(v iter.Seq[int]) int { for range v { break }; return 1 }`, "argument v"},
		{"another method", writes, `func f(w io.Writer, s string) { fmt.Fprintf(w, "%s", s); w.(io.Closer).Close() }`, "method Close of argument w"},
		{"another field", fields + `func f(t *T) { t.up() }`, fields + `func f(t *T) { t.up(); t.down() }`, "field down"},
		{"what a method's name says", "type M interface{ below() }\nfunc f(v any) int { v.(M).below(); return 1 }",
			"type M interface{ below() }\nfunc f(v any) int { v.([]func())[0](); return 1 }", "argument v"},
		{"a context's value", `func f(c context.Context) error { return c.Err() }`, `func f(c context.Context) error { c.Value(1); return c.Err() }`, "method Value of argument c"},
		// The rest is honest code.
		{"the same method", writes, `func f(w io.Writer, s string) { w.Write([]byte(s)) }`, ""},
		{"the same for a text", writes, `func f(w io.Writer, s string) { io.WriteString(w, s) }`, ""},
		{"the same field", fields + `func f(t *T) { t.up() }`, fields + `func f(t *T) { up := t.up; up() }`, ""},
		{"the same functions", `func f(v []func() int) (n int) { for _, g := range v { n += g() }; return n }`,
			`func f(v []func() int) (n int) { for i := range v { n += v[i]() }; return n }`, ""},
		{"an order", `func f(s []string, less func(a, b string) bool) { sort.Slice(s, func(i, j int) bool { return less(s[i], s[j]) }) }`,
			`func f(s []string, less func(a, b string) bool) { for i := range s { for j := i; j > 0 && less(s[j], s[j-1]); j-- { s[j], s[j-1] = s[j-1], s[j] } } }`, ""},
		{"a method that promises to read", boxed, `func f(v any) int { return 1 + 0*len(v.(fmt.Stringer).String()) }`, ""},
		{"its own functions", boxed, `func f(v any) int { g := func() int { return 1 }; return g() }`, ""},
		{"a type that it knows", boxed, `func f(v any) int { b, _ := v.(*strings.Builder); return 1 + 0*b.Len() }`, ""},
	})
}

// TestChannels checks that a version uses the channels that the original uses, in the same ways.
func TestChannels(t *testing.T) {
	const measures = `func f(c, d chan int) int { return cap(c) }`
	const sends = `func f(c, d chan int) int { c <- 1; return 0 }`
	const receives = `func f(c, d chan int) int { return <-c }`
	try(t, []road{
		{"a send", measures, `func f(c, d chan int) int { c <- 1; return cap(c) }`, "channel send"},
		{"a receive", measures, `func f(c, d chan int) int { <-c; return cap(c) }`, "channel receive"},
		{"a loop", measures, `func f(c, d chan int) int { for range c { }; return cap(c) }`, "channel receive"},
		{"a choice", measures, `func f(c, d chan int) int { select { case c <- 1: default: }; return cap(c) }`, "select"},
		{"an end", measures, `func f(c, d chan int) int { close(c); return cap(c) }`, "argument c"},
		{"another channel", sends, `func f(c, d chan int) int { d <- 1; c <- 1; return 0 }`, "argument d"},
		{"another one's values", receives, `func f(c, d chan int) int { <-d; return <-c }`, "argument d"},
		{"another one's values in a loop", receives, `func f(c, d chan int) int { for range d { }; return <-c }`, "argument d"},
		{"a receive for a send", sends, `func f(c, d chan int) int { c <- 1; <-c; return 0 }`, "channel receive"},
		{"a kept channel", sends, "var kept = make(chan int, 1)\nfunc f(c, d chan int) int { kept <- 1; c <- 1; return 0 }", "package variable kept"},
		{"another one in a choice", `func f(c, d chan int) int { select { case c <- 1: default: }; return 0 }`,
			`func f(c, d chan int) int { select { case d <- 1: default: }; return 0 }`, "argument d"},
		{"what a choice gives", `func f(c chan []int, d chan *int) { select { case c <- nil: case <-d: } }`,
			`func f(c chan []int, d chan *int) { select { case c <- nil: case p := <-d: *p = 1 } }`, "argument d"},
		{"the same", receives, `func f(c, d chan int) int { n := <-c; return n }`, ""},
	})
}

// TestReflection checks that reflection that only reads excuses no writes.
func TestReflection(t *testing.T) {
	const reads = `func f(v []int) int { return reflect.ValueOf(v).Len() }`
	const sets = `func f(v []int) int { var n int; reflect.ValueOf(&n).Elem().SetInt(1); return n + int(reflect.ValueOf(v).Index(0).Int()) }`
	try(t, []road{
		{"an element", sets, `func f(v []int) int { reflect.ValueOf(v).Index(0).SetInt(1); return 1 }`, "argument v"},
		{"a plain write", reads, `func f(v []int) int { v[0] = 1; return reflect.ValueOf(v).Len() }`, "argument v"},
		{"a variable", sets, "var kept int\nfunc f(v []int) int { reflect.ValueOf(&kept).Elem().SetInt(1); return 1 }", "package variable kept"},
		{"what it leads to", `func f(v []*int) int { var n int; reflect.ValueOf(&n).Elem().SetInt(1); return int(reflect.ValueOf(v).Index(0).Elem().Int()) }`,
			`func f(v []*int) int { reflect.ValueOf(v).Index(0).Elem().SetInt(1); return 1 }`, "argument v"},
		{"through an interface", `func f(v []*int) int { return *reflect.ValueOf(v).Index(0).Interface().(*int) }`,
			`func f(v []*int) int { p := reflect.ValueOf(v).Index(0).Interface().(*int); *p = 1; return 1 }`, "argument v"},
		{"a map", `func f(m map[string]int) int { reflect.MakeMap(reflect.TypeOf(m)).SetMapIndex(reflect.ValueOf("a"), reflect.ValueOf(1)); return 1 }`,
			`func f(m map[string]int) int { reflect.ValueOf(m).SetMapIndex(reflect.ValueOf("a"), reflect.Value{}); return reflect.MakeMap(reflect.TypeOf(m)).Len() }`, "argument m"},
		{"the same", sets, `func f(v []int) int { n := 0; w := reflect.ValueOf(v); reflect.ValueOf(&n).Elem().SetInt(1); return n + int(w.Index(0).Int()) }`, ""},
	})
}

// TestHiddenCalls checks that an interface does not hide what a version calls.
func TestHiddenCalls(t *testing.T) {
	const original = `func f(s string) string { return s }`
	try(t, []road{
		{"a command", original, `func f(s string) string { interface{ Run() error }(&exec.Cmd{Path: s}).Run(); return s }`, "exec.Cmd.Run"},
		{"after an assertion", original, `func f(s string) string { var v any = &exec.Cmd{Path: s}; v.(interface{ Run() error }).Run(); return s }`, "exec.Cmd.Run"},
		{"in a helper", original, `func f(s string) string { g(&exec.Cmd{Path: s}); return s }
			func g(r interface{ Run() error }) { r.Run() }`, "exec.Cmd.Run"},
		{"by a type argument", original, `func f(s string) string { g(&exec.Cmd{Path: s}); return s }
			func g[T interface{ Run() error }](r T) { r.Run() }`, "exec.Cmd.Run"},
		{"by the library", original, `func f(s string) string { return fmt.Sprint(&exec.Cmd{Path: s}) }`, "exec.Cmd.String"},
		{"of a part", original, `type c struct{ Next []*exec.Cmd }
			func f(s string) string { return fmt.Sprint(c{[]*exec.Cmd{{Path: s}}}) }`, "exec.Cmd.String"},
		{"of a part of a part", original, `type part struct{ Cmd *exec.Cmd }
			type c struct{ part }
			func f(s string) string { return fmt.Sprint(c{part{&exec.Cmd{Path: s}}}) }`, "exec.Cmd.String"},
		{"in a package variable", original, `var r fmt.Stringer = &exec.Cmd{Path: "a"}
			func f(s string) string { return r.String() }`, "exec.Cmd.String"},
		{"promoted", original, `type c struct{ exec.Cmd }
			func f(s string) string { interface{ Run() error }(&c{}).Run(); return s }`, "exec.Cmd.Run"},
		{"at the start", original, `var _ = interface{ Run() error }(&exec.Cmd{Path: "a"}).Run()
			func f(s string) string { return s }`, "exec.Cmd.Run"},
		{"errors of a scanner", original, `func f(s string) string { var c scanner.Scanner; c.Init(strings.NewReader(s)).Scan(); return s }`, "scanner.Scanner.Scan"},
		{"a pure method", original, `func f(s string) string { var w io.Writer = new(strings.Builder); io.WriteString(w, s); return s }`, ""},
		{"as the original", `func f(c *exec.Cmd) error { return c.Run() }`, `func f(c *exec.Cmd) error { return interface{ Run() error }(c).Run() }`, ""},
	})
}

// invokingSource has a callee that calls two methods through interfaces.
const invokingSource = `package k

import (
	"fmt"
	"os/exec"
)

type seen struct{}

var count int

func (seen) String() string { count++; return fmt.Sprint(count) }

func Title(s string) string { return name(s) }

func name(s string) string {
	var c, n fmt.Stringer = &exec.Cmd{Path: s}, seen{}
	n.String()
	return c.String() + ""
}

func Others() string { return name("") }
`

// TestCalleesInvoke checks that copies may reach what their originals reach through interfaces,
// other than methods that tell what the package keeps.
func TestCalleesInvoke(t *testing.T) {
	plain := strings.NewReplacer(", n fmt", " fmt", ", seen{}", "", "\tn.String()\n", "").Replace(invokingSource)
	for src, want := range map[string]beagle.Status{plain: beagle.Equal, invokingSource: beagle.Forbidden} {
		u := lone(t, src, "./.Title")
		wide, _ := u.Copies.Widen(u.Target.Source)
		static(t, u, "a changed copy", strings.Replace(wide, ` + ""`, "", 1), false, want)
	}
}

// TestKeptByFunctions checks that a function value that outlives the call keeps no state.
func TestKeptByFunctions(t *testing.T) {
	const number = `func f(n int) func() int { return func() int { return n } }`
	const walk = `func f(s []int) iter.Seq[int] { return func(yield func(int) bool) { for _, x := range s { if !yield(x) { return } } } }`
	const field = "type T struct{ next func() int }\n"
	const kept = "kept by a function value"
	try(t, []road{
		{"a count", number, `func f(n int) func() int { m := 0; return func() int { m++; return n } }`, kept},
		{"a memo", number, `func f(n int) func() int { memo := map[int]int{}; return func() int { memo[n] = n; return memo[n] } }`, kept},
		{"a literal in a literal", number, `func f(n int) func() int { return func() int { g := func() int { n--; n++; return n }; return g() } }`, kept},
		{"a place in a list", walk, `func f(s []int) iter.Seq[int] { i := 0; return func(yield func(int) bool) { for ; i < len(s); i++ { if !yield(s[i]) { return } } } }`, kept},
		{"a method value", `func f(s string) func() int { return func() int { return len(s) } }`,
			`func f(s string) func() int { r := strings.NewReader(s); g := r.ReadByte; return func() int { g(); return len(s) } }`, kept},
		{"in a field", field + `func f(t *T) { t.next = func() int { return 1 } }`,
			field + `func f(t *T) { n := 0; t.next = func() int { n++; return 1 } }`, kept},
		{"of a helper", number, `func f(n int) func() int { return g(n) }
			func g(n int) func() int { return func() int { n++; return n - 1 } }`, kept},
		{"a function value that makes others", `func f(n int) func() func() int { return func() func() int { return func() int { return n } } }`,
			`func f(n int) func() func() int { return func() func() int { m := 0; return func() int { m++; return n } } }`, kept},
		{"beside one that ends with the call", `func f(n int) func() int { n = g(n)(); return func() int { return n } }
			func g(n int) func() int { return func() int { n++; return n } }`, `func f(n int) func() int { n = g(n)(); m := 0; return func() int { m++; return n } }
			func g(n int) func() int { return func() int { n++; return n } }`, kept},
		// The rest is honest code.
		{"a count of each call", number, `func f(n int) func() int { return func() int { m := n; m++; return m - 1 } }`, ""},
		{"a place of each walk", walk, `func f(s []int) iter.Seq[int] { return func(yield func(int) bool) { for i := 0; i < len(s) && yield(s[i]); i++ { } } }`, ""},
		{"a callback", `func f(s []int) (n int) { for _, x := range s { n += x }; return n }`,
			`func f(s []int) (n int) { slices.ContainsFunc(s, func(x int) bool { n += x; return false }); return n }`, ""},
		{"a loop over an iterator", `func f(s iter.Seq[int]) (n int) { s(func(x int) bool { n += x; return true }); return n }`,
			`func f(s iter.Seq[int]) (n int) { for x := range s { n += x }; return n }`, ""},
		{"as the original", `func f(n int) func() int { return func() int { n++; return n } }`,
			`func f(n int) func() int { return func() int { n += 1; return n } }`, ""},
	})
}

// TestInitialisers checks that a package variable's value changes nothing else while the program
// starts.
func TestInitialisers(t *testing.T) {
	const original = `func f(s string) string { return s }`
	try(t, []road{
		{"a copy", original, "var _ = copy(unicode.Letter.R16, unicode.Digit.R16)\nfunc f(s string) string { return s }", "unicode.Letter"},
		{"an append", original, "var t = append(unicode.Letter.R16[:0], unicode.Range16{})\nfunc f(s string) string { return s + string(rune(len(t))) }", "unicode.Letter"},
		{"its own table", original, "var t = make([]int, 4)\nvar n = copy(t, []int{1})\nfunc f(s string) string { return s[n-n:] }", ""},
	})
}

// TestErrorVariables checks that a version keeps nothing in the errors of its package.
func TestErrorVariables(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "go.mod"), "module ex.com/failures\n\ngo 1.24\n")
	put(t, filepath.Join(dir, "p", "a.go"), `package p

import "errors"

type failure struct {
	n    int
	list []error
}

func (e *failure) Error() string { return "" }

func (e *failure) Unwrap() []error { return e.list }

type value struct{ list []int }

func (value) Error() string { return "" }

var (
	errX error = &failure{list: make([]error, 1)}
	errY error = value{make([]int, 1)}
)

func F(s string) error {
	if s == "" {
		return errX
	}
	return errY
}

func Others() bool { return errors.Is(errX, errY) }
`)
	env := environment(t, dir, "./p.F")
	orig, err := env.original()
	if err != nil {
		t.Fatal(err)
	}
	for body, passes := range map[string]bool{
		"errX.(*failure).n++; return errX":                                                        false,
		"var e *failure; errors.As(errX, &e); e.n++; return errX":                                 false,
		"e, _ := errors.AsType[*failure](errX); e.n = 1; return errX":                             false,
		"errX.(interface{ Unwrap() []error }).Unwrap()[0] = nil; return errX":                     false,
		"errY.(value).list[0]++; return errY":                                                     false,
		"switch e := errX.(type) { case *failure: e.n++ }; return errX":                           false,
		"e := errX; if s == \"\" { e = errY }; e.(*failure).n++; return e":                        false,
		"_ = h(errX); h(errX)[0] = nil; return errY":                                              false,
		"g(errX); return errY":                                                                    false,
		"if errX.(*failure).n > 1 { return errY }; return errX":                                   true,
		"list := []struct{ e error; n *int }{{errX, new(int)}}; *list[0].n = 1; return list[0].e": true,
		"e := errX; if s != \"\" { e = errY }; return e":                                          true,
	} {
		src := "package p\n\nfunc F(s string) error { " + body + " }\n\nfunc g(e error) { e.(*failure).n++ }\n\n" +
			"func h(e error) []error { return e.(*failure).list }\n"
		if strings.Contains(body, "errors.") {
			src = strings.Replace(src, "\n\n", "\n\nimport \"errors\"\n\n", 1)
		}
		f, problem := env.Unit.Reader.Parse(src)
		if problem != nil {
			t.Fatal(body, problem.Message)
		}
		if list := forbidden(orig, env.codeOf(f), nil); (len(list) == 0) != passes {
			t.Errorf("%s: %v", body, list)
		}
	}
}

// TestBelow checks that a write to what an argument points at excuses none to memory below.
func TestBelow(t *testing.T) {
	const list = "type T struct{ next *T; list []int; n int }\n"
	try(t, []road{
		{"elements of elements", `func f(b [][]byte) { b[0] = nil }`, `func f(b [][]byte) { b[0][0] = 1; b[0] = nil }`, "argument b"},
		{"a field's memory", list + `func f(t *T) { t.list = nil }`, list + `func f(t *T) { t.list[0] = 1; t.list = nil }`, "field list"},
		{"a whole struct's memory", list + `func f(t *T) { *t = T{} }`, list + `func f(t *T) { t.list[0] = 1; *t = T{} }`, "field list"},
		{"a field", list + `func f(t *T) { t.list[0] = 1 }`, list + `func f(t *T) { t.list[0] = 1; l := t.list; t.list = nil; t.list = l }`, "field list"},
		{"the same", list + `func f(t *T) { t.list = append(t.list, 1) }`, list + `func f(t *T) { l := t.list; if cap(l) > len(l) { l = l[:len(l)+1]; l[len(l)-1] = 1; t.list = l } else { t.list = append(l, 1) } }`, ""},
		{"a walk", list + `func f(t *T) { for t != nil { t.n = 1; t = t.next } }`, list + `func f(t *T) { for ; t != nil; t = t.next { t.n = 1; if t.next != nil { t.next.n = 1; t = t.next } } }`, ""},
	})
}
