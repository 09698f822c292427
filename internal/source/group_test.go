package source

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
)

const groupModule = `
-- hist/hist.go --
// Package hist counts.
package hist

import (
	"fmt"
	"container/list"
)

// A History keeps values.
type History struct {
	Name   string
	values *list.List // of int
	most   int
}

// New makes a history.
func New(most int) *History { return &History{values: list.New(), most: most} }

// Add adds a value.
func (h *History) Add(v int) {
	h.values.PushFront(node{v})
	for h.values.Len() > h.most {
		h.drop()
	}
}

func (h *History) drop() { h.values.Remove(h.values.Back()) }

// Sum adds up.
func (h *History) Sum() (n int) {
	for e := h.values.Front(); e != nil; e = e.Next() {
		n += e.Value.(node).value()
	}
	return n
}

// A node is a value.
type node struct{ v int }

func (n node) value() int { return n.v }

func Show(h *History) string { return fmt.Sprint(h.Name, h.Sum()) }
-- hist/more.go --
package hist

// Twice adds a value twice.
func (h *History) Twice(v int) {
	h.Add(v)
	h.Add(v)
}
-- fns/fns.go --
package fns

// Encode encodes.
func Encode(s string) []int { return split(s, 1) }

// Decode decodes.
func Decode(n []int) string {
	out := ""
	for _, part := range split(string(rune(len(n))), 2) {
		out += string(rune(part))
	}
	return out
}

func split(s string, by int) (out []int) {
	for i := 0; i < len(s); i += by {
		out = append(out, int(s[i]))
	}
	return out
}

func Swap[T any](a, b T) (T, T) { return b, a }

type hidden struct{ n int }

func hide(n int) hidden { return hidden{n} }

func Shown(n int) int { return hide(n).n }
-- open/open.go --
package open

import (
	"fmt"
	"unsafe"
)

type Public struct{ A, B int }

type Used struct{ n int }

func (u *Used) N() int { return u.n }

func Peek(u *Used) int { return u.n }

type Preset struct{ n int }

func (p *Preset) N() int { return p.n }

var preset = &Preset{n: 1}

type Compared struct{ n int }

func (c Compared) N() int { return c.n }

func Same(a, b Compared) bool { return a == b }

type Key struct{ n int }

func (k Key) N() int { return k.n }

var keys map[Key]bool

type Printed struct{ n int }

func (p *Printed) N() int { return p.n }

func Print(p *Printed) string { return fmt.Sprintf("%+v", p) }

type Sized struct{ n int }

func (s *Sized) N() int { return s.n }

var size = unsafe.Sizeof(Sized{})

type Turned struct{ n int }

func (t Turned) N() int { return t.n }

func Turn(t Turned) struct{ n int } { return struct{ n int }(t) }

type List []int

func (l List) Len() int { return len(l) }

type Bare struct{ n int }

type Plain struct{ at [4]int }

func (p *Plain) Set(i int) { p.at[i]++ }

func (p *Plain) Get(i int) int { return p.at[i] }

type based struct {
	Name string
	*deep
}

type deep struct{ Depth, n int }

type Embeds struct {
	based
	n int
}

func (e *Embeds) N(string int) (int, *Embeds) { return e.n, nil }

type Value struct{ n any }

func (v Value) None() bool { return v.n == nil }
-- open/other_js.go --
package open

func (b *Tagged) js() int { return b.n }
-- open/tagged.go --
package open

type Tagged struct{ n int }

func (b *Tagged) N() int { return b.n }
`

func loadGroup(t testing.TB, dir, spec string) *Unit {
	t.Helper()
	u, err := Load(context.Background(), Options{Dir: dir, Spec: spec, InPlace: true, Group: true})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestGroup(t *testing.T) {
	dir := module(t, groupModule)
	u := loadGroup(t, dir, "./hist.History")
	want := []string{"History", "New", "History.Add", "History.drop", "History.Sum", "History.Twice"}
	if u.Target.Name != "History" || !slices.Equal(u.Target.Group, want) {
		t.Errorf("%s %v", u.Target.Name, u.Target.Group)
	}
	// The type that only the group uses comes along, what others use does not.
	for text, in := range map[string]bool{"type node struct": true, "func (n node) value": true, "func Show": false} {
		if strings.Contains(u.Target.Source, text) != in {
			t.Errorf("%q is in the candidate: %v", text, !in)
		}
	}
	fns := loadGroup(t, dir, "./fns.{Encode,Decode}")
	if fns.Target.Name != "{Encode,Decode}" || !strings.Contains(fns.Target.Source, "func split(") {
		t.Errorf("%s:\n%s", fns.Target.Name, fns.Target.Source)
	}
}

func TestGroupRefused(t *testing.T) {
	dir := module(t, groupModule)
	for spec, why := range map[string]string{
		"./open.Public":         "all fields of Public are exported",
		"./open.Preset":         "its fields are used outside of functions, by preset",
		"./open.Compared":       "compares values of it",
		"./open.Key":            "has it as the key of a map",
		"./open.Printed":        "hands it to fmt.Sprintf",
		"./open.Sized":          "hands it to unsafe.Sizeof",
		"./open.Turned":         "converts it",
		"./open.List":           "List is not a struct",
		"./open.Bare":           "it has no method, and no function of the package uses its fields",
		"./open.Tagged":         "other_js.go uses Tagged",
		"./open.{Peek,Nothing}": "Nothing: package example.com/m/open has no function Nothing",
		"./open.{Peek":          "the braces must hold names",
		"./open.{Peek,a b}":     "the braces must hold names",
	} {
		_, err := Load(context.Background(), Options{Dir: dir, Spec: spec, InPlace: true, Group: true})
		var usage *beagle.UsageError
		if !errors.As(err, &usage) || !strings.Contains(usage.What, why) || usage.Remedy == "" {
			t.Errorf("%s: %v, want %q", spec, err, why)
		}
	}
	for _, spec := range []string{"./hist.History", "./hist.{New,History}"} {
		if _, err := Load(context.Background(), Options{Dir: dir, Spec: spec, InPlace: true}); err == nil {
			t.Errorf("%s is taken where one function is asked for", spec)
		}
	}
	// A function that uses the fields belongs to the type, as one does that makes a value.
	if got := loadGroup(t, dir, "./open.Used").Target.Group; !slices.Equal(got, []string{"Used", "Used.N", "Peek"}) {
		t.Errorf("Used is %v", got)
	}
}

// TestGroupEntries checks which functions of a group can be recorded by themselves, and that one of
// them takes the group's versions.
func TestGroupEntries(t *testing.T) {
	dir := module(t, groupModule)
	for spec, want := range map[string]string{
		"./fns.{Encode,Decode}": "Encode Decode", "./fns.{Encode,split}": "Encode split", "./hist.History": "",
		"./hist.{Show,History.Sum}": "History.Sum Show", "./fns.{Swap,Encode}": "Encode", "./fns.{Shown,hide}": "Shown",
	} {
		if got := strings.Join(loadGroup(t, dir, spec).Scope.Recordable(), " "); got != want {
			t.Errorf("%s: %q, want %q", spec, got, want)
		}
	}
	u, err := Load(t.Context(), Options{Dir: dir, Spec: "./fns.{Encode,Decode}", Group: true, InPlace: true,
		Entry: "Decode"})
	if err != nil {
		t.Fatal(err)
	}
	if u.Target.Name != "Decode" || len(u.Target.Params) != 1 || len(u.Target.Group) > 0 || u.Unrecordable != nil {
		t.Errorf("%+v", u.Target)
	}
	version := strings.Replace(u.Target.Source, "split(s, 1)", "split(s, 3)", 1)
	f, problem := u.Reader.Parse(version)
	if problem != nil || f.Func == nil || f.Func.Name.Name != "Decode" {
		t.Fatal(problem, f)
	}
	text, err := u.Writer.Variant(f, "_1")
	if err != nil || !strings.Contains(text, "func Encode_1(s string) []int { return split_1(s, 3) }") ||
		!strings.Contains(text, "range split_1(string(") {
		t.Errorf("%v\n%s", err, text)
	}
	var usage *beagle.UsageError
	_, err = Load(t.Context(), Options{Dir: dir, Spec: "./fns.{Encode,Decode}", Group: true, InPlace: true,
		Entry: "Shown"})
	if !errors.As(err, &usage) {
		t.Errorf("a function of another group: %v", err)
	}
}

func TestGroupCandidate(t *testing.T) {
	dir := module(t, groupModule)
	hist, plain := loadGroup(t, dir, "./hist.History"), loadGroup(t, dir, "./open.Plain")
	value, embeds := loadGroup(t, dir, "./open.Value"), loadGroup(t, dir, "./open.Embeds")
	ring := strings.NewReplacer(
		"values *list.List // of int", "ring []node",
		"values: list.New(), ", "",
		"h.values.PushFront(node{v})", "h.ring = append(h.ring, node{v})",
		"h.values.Len()", "len(h.ring)",
		"h.values.Remove(h.values.Back())", "h.ring = h.ring[1:]",
		"for e := h.values.Front(); e != nil; e = e.Next() {", "for _, e := range h.ring {",
		"e.Value.(node).value()", "e.value()",
		"import \"container/list\"\n", "",
		"// Sum adds up.", "// Sum is another promise.",
	).Replace(hist.Target.Source)
	for _, c := range []struct {
		name string
		u    *Unit
		text string
		why  string
	}{
		{"layout", hist, ring, ""},
		{"original", hist, hist.Target.Source, ""},
		{"dropped helper", hist, strings.NewReplacer("func (h *History) drop() { h.ring = h.ring[1:] }", "",
			"h.drop()", "h.ring = h.ring[1:]").Replace(ring), ""},
		{"dropped method", hist, strings.Replace(ring, "(h *History) Sum", "(h *History) total", 1),
			"does not declare History.Sum"},
		{"signature", hist, strings.Replace(ring, "Twice(v int)", "Twice(v int, _ ...int)", 1),
			"the signature of History.Twice changed"},
		{"names of parameters", hist, strings.Replace(ring, "Twice(v int) {", "Twice(n int) {\n\tv := n", 1), ""},
		{"new method", hist, ring + "\nfunc (h *History) Max() int { return h.most }\n", "the exported methods of History"},
		{"exported field", hist, strings.Replace(ring, "Name   string", "Name   []byte", 1),
			"the exported fields of History"},
		{"new field", hist, strings.Replace(ring, "most   int", "most   int\n\tMore int", 1),
			"the exported fields of History"},
		{"embedded", hist, strings.Replace(ring, "most   int", "most   int\n\tnode", 1), ""},
		{"shared copy", plain, strings.Replace(plain.Target.Source, "at [4]int", "at *[4]int", 1),
			"a copy of a Plain had memory of its own"},
		{"embedded, as it was", embeds, embeds.Target.Source, ""},
		{"promoted field", embeds, strings.Replace(embeds.Target.Source, "\tbased\n", "", 1),
			`the exported fields of Embeds changed: [], was [Name string "" false; Depth int "" false]`},
		{"no longer comparable", value, strings.Replace(value.Target.Source, "n any", "n []any", 1), "values of Value"},
	} {
		_, problem := c.u.Reader.Parse(c.text)
		switch {
		case problem == nil && c.why != "":
			t.Errorf("%s: taken, want %q", c.name, c.why)
		case problem != nil && (c.why == "" || !strings.Contains(problem.Message, c.why)):
			t.Errorf("%s: %s, want %q", c.name, problem.Message, c.why)
		}
	}
	patch, err := hist.Writer.Patch(ring, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(patch.Files) != 1 || strings.Contains(patch.Files[0].After, "another promise") ||
		!strings.Contains(patch.Files[0].After, "ring []node") ||
		strings.Contains(patch.Files[0].After, "container/list") {
		t.Errorf("the patch:\n%s", patch.Diff)
	}
}

func TestGroupComplete(t *testing.T) {
	u := loadGroup(t, module(t, groupModule), "./hist.History")
	whole := u.Reader.Complete("package hist\n\nfunc (h *History) Twice(v int) { h.Add(v); h.Add(v) }\n")
	src, err := u.Reader.Normalize(whole)
	if err != nil {
		t.Fatal(err)
	}
	if _, problem := u.Reader.Parse(src); problem != nil {
		t.Errorf("%s:\n%s", problem.Message, src)
	}
}

func TestEnteredAll(t *testing.T) {
	u := loadGroup(t, module(t, `
-- g.go --
package g

import "net/url"

type T struct{ n int }

func New() *T { return &T{n: 1} }

func (t *T) Home(url string) *url.URL { return nil }

func (t *T) Two(int string) (int, func() error) { return 0, nil }

func (t *T) Named() (n, m int, _ error) { return t.n, 1, nil }

func (t *T) None() {}
`), "./.T")
	var all string
	for _, text := range u.Writer.EnteredAll(func(k int) string { return "if void { return };" }) {
		all += text
	}
	for _, want := range []string{
		"func New() (_ *T) { if void { return }; return &T{n: 1} }",
		"Home(url string) (_ *url.URL) { if void",
		"Two(int string) (_ int, _ func() error) { if void",
		"Named() (n, m int, _ error) { if void",
		"None() { if void { return };}",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in:\n%s", want, all)
		}
	}
}
