package inplace

import (
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/internal/syntax"
)

func TestHook(t *testing.T) {
	const loop, tick = "beaglelive.Loop(", " beaglelive.Tick(); "
	for name, c := range map[string]struct{ body, want string }{
		"b.N":   {"for i := 0; i < b.N; i++ { f() }", loop + "b, b.N); for i := 0; i < b.N; i++ {" + tick + " f() }"},
		"range": {"for range b.N { f() }", loop + "b, b.N); for range b.N {" + tick + " f() }"},
		"Loop":  {"for b.Loop() { f() }", loop + "b, 0); for b.Loop() {" + tick + " f() }"},
		"down":  {"for n := b.N; n > 0; n-- { f() }", loop + "b, b.N); for n := b.N; n > 0; n-- {" + tick + " f() }"},
		"label": {"L: for b.Loop() { continue L }", loop + "b, 0); L: for b.Loop() {" + tick + " continue L }"},
		"held":  {"n := b.N; for range n { f() }", "n := b.N; " + loop + "b, b.N); for range n {" + tick + " f() }"},
		"inputs": {"in := make([]int, b.N); for range in { f() }",
			"in := make([]int, b.N); " + loop + "b, b.N); for range in {" + tick + " f() }"},
		"closure": {"func() { for b.Loop() { f() } }()",
			"func() { " + loop + "b, 0); for b.Loop() {" + tick + " f() } }()"},
		"sub-benchmark": {`b.Run("x", func(c *testing.B) { for range c.N { f() } })`,
			`b.Run("x", func(c *testing.B) { ` + loop + "c, c.N); for range c.N {" + tick + " f() } })"},
		"inner loop": {"for range b.N { for range 3 { f() } }",
			loop + "b, b.N); for range b.N {" + tick + " for range 3 { f() } }"},
		"stopped timer": {"for range b.N { b.StopTimer(); f(); b.StartTimer() }",
			loop + "b, b.N); for range b.N {" + tick + " b.StopTimer(); f(); b.StartTimer() }"},
		"preparation": {"for range b.N { f() }; b.ResetTimer(); for range b.N { f() }",
			"for range b.N { f() }; b.ResetTimer(); " + loop + "b, b.N); for range b.N {" + tick + " f() }"},
		"branches": {"if f() { for range b.N { f() } } else { for b.Loop() { f() } }",
			"if f() { " + loop + "b, b.N); for range b.N {" + tick + " f() } } else { " +
				loop + "b, 0); for b.Loop() {" + tick + " f() } }"},
		"parallel": {"b.RunParallel(func(pb *testing.PB) { for pb.Next() { f() } })",
			"b.RunParallel(func(pb *testing.PB) { " + loop + "b, b.N); for pb.Next() {" + tick + " f() } })"},
		"prepared": {"for range b.N { f() }; b.ResetTimer(); " +
			"b.RunParallel(func(pb *testing.PB) { for pb.Next() { f() } })",
			"for range b.N { f() }; b.ResetTimer(); b.RunParallel(func(pb *testing.PB) { " +
				loop + "b, b.N); for pb.Next() {" + tick + " f() } })"},
		"batches": {"for i := 0; i < b.N; { for j := 0; j < 9 && i < b.N; j++ { i++ } }",
			loop + "b, b.N); for i := 0; i < b.N; {" + tick + " for j := 0; j < 9 && i < b.N; j++ { i++ } }"},
		"benchmark in a loop": {"for range b.N { b.Run(x, func(b *testing.B) { for range b.N { f() } }) }",
			loop + "b, b.N); for range b.N {" + tick + " b.Run(x, func(b *testing.B) { " +
				loop + "b, b.N); for range b.N {" + tick + " f() } }) }"},
		"another's B": {"func(b *other.B) { for range b.N { f() } }(x)", ""},
		"another's":   {"other.RunParallel(func(pb *testing.PB) { for pb.Next() { f() } })", ""},
		"another's N": {"for range list.N { f() }", ""},
		"no loop":     {"f()", ""},
	} {
		head := "package p_test // of p\n\nimport \"testing\"\n\nfunc BenchmarkX(b *testing.B) {\n\t"
		text := head + c.body + "\n}\n"
		got, err := hook(text, "example.com/m/live", true)
		if err != nil {
			t.Fatal(err)
		}
		want := text
		if c.want != "" {
			head = strings.Replace(head, "p_test", `p_test; import beaglelive "example.com/m/live"`, 1)
			want = head + c.want + "\n}\n"
		}
		if got != want {
			t.Errorf("%s:\n%s\nwant:\n%s", name, got, want)
		}
		if _, err := parser.ParseFile(token.NewFileSet(), "", got, 0); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if strings.Count(got, "\n") != strings.Count(text, "\n") {
			t.Errorf("%s: lines moved:\n%s", name, got)
		}
	}
	if _, err := hook("package p\nfunc {", "live", true); err == nil {
		t.Error("a file that does not parse is taken")
	}
}

// TestHookEnds: where calls take turns, the hooks report the end of a loop, and no iteration.
func TestHookEnds(t *testing.T) {
	const head, tail = "package p\n\nimport \"testing\"\n\nfunc BenchmarkX(b *testing.B) {\n\t", "\n}\n"
	for body, want := range map[string]string{
		"for range b.N { f() }\n\tg()": "beaglelive.Loop(b, b.N); " +
			"for range b.N { f() }; beaglelive.Over()\n\tg()",
		"L: for b.Loop() { for range 3 { continue L } }": "beaglelive.Loop(b, 0); " +
			"L: for b.Loop() { for range 3 { continue L } }; beaglelive.Over()",
		"if x { for b.Loop() { f() } }": "if x { beaglelive.Loop(b, 0); for b.Loop() { f() }; beaglelive.Over() }",
		"for range list { f() }":        "for range list { f() }",
		"func() int { for n := b.N; ; n-- { return n } }()": "func() int { beaglelive.Loop(b, b.N); " +
			"for n := b.N; ; n-- { return n } }()",
	} {
		got, err := hook(head+body+tail, "example.com/m/live", false)
		lines := strings.Count(head+body+tail, "\n")
		if err != nil || !strings.HasSuffix(got, want+tail) || strings.Count(got, "\n") != lines {
			t.Errorf("error %v:\n%s\nwant:\n%s", err, got, want)
		}
		if _, err := parser.ParseFile(token.NewFileSet(), "", got, 0); err != nil {
			t.Error(err)
		}
	}
}

// TestDispatcherImports: the dispatcher imports nothing for an interface that it does not tape: one
// of its methods has a channel, or tapes cannot be built.
func TestDispatcherImports(t *testing.T) {
	files := map[string]string{"wide.go": `package place

import (
	"net/url"
	"time"
)

type Narrow interface {
	At() time.Time
	Of(u *url.URL) error
}

type Wide interface {
	Narrow
	Zero() chan int
}

func Use(w Wide, d time.Duration) bool { return w.At().IsZero() && d > 0 }

func Look(n Narrow, d time.Duration) bool { return n.At().IsZero() && d > 0 }
`}
	dir := module(t, files)
	for _, c := range []struct {
		spec    string
		tape    bool
		imports int
	}{{"./.Use", true, 2}, {"./.Use", false, 2}, {"./.Look", false, 2}, {"./.Look", true, 3}} {
		_, p := newPlace(t, source.Options{Dir: dir, Spec: c.spec, InPlace: true})
		shell := *p.shell
		shell.tape = c.tape
		f, err := parser.ParseFile(token.NewFileSet(), "", shell.file([]int{0}), 0)
		if err != nil {
			t.Fatal(err)
		}
		used := syntax.Qualifiers(f)
		for _, s := range f.Imports {
			if s.Name == nil || !used[s.Name.Name] {
				t.Errorf("%s, with tapes %v: %s is not used", c.spec, c.tape, s.Path.Value)
			}
		}
		if len(f.Imports) != c.imports {
			t.Errorf("%s, with tapes %v: %d imports", c.spec, c.tape, len(f.Imports))
		}
	}
}
