package source

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

const privateModule = `
-- p.go --
package p

import "strings"

type Reader struct {
	in  inner
	pos int
}

type inner struct{ data []byte }

// Next is the next word, in upper case.
func (r *Reader) Next() string {
	if r.in.left(r.pos) == 0 {
		return ""
	}
	return upper(r.word())
}

func (r *Reader) word() string {
	from := r.pos
	for r.pos < r.in.size() && r.in.data[r.pos] != ' ' {
		r.pos++
	}
	return string(r.in.data[from:r.pos])
}

// Others use these, too.
func (in inner) left(pos int) int { return in.size() - pos }

func (in *inner) size() int { return len(in.data) }

func upper(s string) string { return strings.ToUpper(s) }

//go:noinline
func Other(r *Reader) string { return upper(r.word() + Many(r.pair())) }

func (r *Reader) pair() (string, int) { return r.word(), 1 }

func Many(s string, n int) string { return strings.Repeat(s, n) }
`

// TestWidenNarrow: copies that stay as they are leave no trace, and a changed one keeps what leads
// to it.
func TestWidenNarrow(t *testing.T) {
	u := load(t, module(t, privateModule), "./.Reader.Next")
	wide, copies := u.Copies.Widen(u.Target.Source)
	want := []string{"innerLeftForNext", "upperForNext", "readerWordForNext", "innerSizeForNext"}
	for _, name := range want {
		if !slices.Contains(copies, name) {
			t.Errorf("no copy %s: %v", name, copies)
		}
	}
	for _, text := range []string{"innerLeftForNext(r.in, r.pos)", "upperForNext(readerWordForNext(r))",
		"func innerSizeForNext(in *inner) int", "innerSizeForNext(&r.in)", "innerSizeForNext(&in) - pos"} {
		if !strings.Contains(wide, text) {
			t.Errorf("it lacks %q:\n%s", text, wide)
		}
	}
	if again, more := u.Copies.Widen(wide); again != wide || more != nil {
		t.Errorf("widened twice, with %v", more)
	}
	if back, err := u.Copies.Narrow(wide); err != nil || back != u.Target.Source {
		t.Errorf("narrowed %v:\n%s", err, back)
	}

	changed := strings.Replace(wide, "return len(in.data)\n", "n := len(in.data)\n\treturn n\n", 1)
	if changed == wide {
		changed = strings.Replace(wide, "{ return len(in.data) }", "{ n := len(in.data); return n }", 1)
	}
	back, err := u.Copies.Narrow(changed)
	if err != nil {
		t.Fatal(err)
	}
	if _, problem := u.Reader.Parse(back); problem != nil {
		t.Fatalf("%+v\n%s", problem, back)
	}
	for _, text := range []string{"innerLeftForNext(r.in", "innerSizeForNext(&r.in)", "upper(readerWordForNext(r))"} {
		if !strings.Contains(back, text) {
			t.Errorf("it lacks %q:\n%s", text, back)
		}
	}
	if strings.Contains(back, "upperForNext") {
		t.Errorf("the copy of upper has no reason to stay:\n%s", back)
	}
	if p := mustPatch(t, u, back); !strings.Contains(p.Diff, "+func innerSizeForNext(in *inner) int") {
		t.Errorf("patch:\n%s", p.Diff)
	}
	if wide, _ := u.Copies.Widen(back); !strings.Contains(wide, "upperForNext") {
		t.Errorf("the changed version is not widened:\n%s", wide)
	}
}

// TestWidenRefuses: a copy would not mean the same, or could not be called.
func TestWidenRefuses(t *testing.T) {
	u := load(t, module(t, `
-- p.go --
package p

import "strings"

func F(s set[int], x I, w Wrap) int {
	return s.size() + x.size() + w.size() + hidden() + Many(pair()) + w.take(pair())
}

type set[T comparable] map[T]bool

func (s set[T]) size() int { return len(s) }

type I interface{ size() int }

type In struct{}

func (In) size() int { return 1 }

type Wrap struct{ In }

func (Wrap) take(s string, n int) int { return len(s) * n }

//go:noinline
func hidden() int { return 2 }

func Many(s string, n int) int { return len(strings.Repeat(s, n)) }

func pair() (string, int) { return "a", 1 }

func Other(w Wrap) int { return w.take("", hidden()) + Many("", 1) + len(pairOf()) }

func pairOf() string { s, _ := pair(); return s }
`), "./.F")
	wide, copies := u.Copies.Widen(u.Target.Source)
	if !slices.Equal(copies, []string{"manyForF", "pairForF"}) {
		t.Errorf("copies %v:\n%s", copies, wide)
	}
	const calls = "s.size() + x.size() + w.size() + hidden() + manyForF(pairForF()) + w.take(pairForF())"
	if !strings.Contains(wide, calls) {
		t.Errorf("calls:\n%s", wide)
	}
	if back, err := u.Copies.Narrow(wide); err != nil || back != u.Target.Source {
		t.Errorf("narrowed %v:\n%s", err, back)
	}
}

// TestWidenLong: a long function gets a copy if it takes much of the time: the longer it is, the
// more. All long ones together are bounded, and take no room from the others.
func TestWidenLong(t *testing.T) {
	text := "package p\n\nfunc Run(n int) int { return first(n) + second(n) + third(n) + short(n) }\n\n" +
		"func Other(n int) int { return Run(n) + first(n) + second(n) + third(n) + short(n) }\n"
	for name, lines := range map[string]int{"first": 200, "second": 300, "third": 150, "short": 100} {
		text += "\nfunc " + name + "(n int) int {\n" + strings.Repeat("\tn++\n", lines-3) + "\treturn n\n}\n"
	}
	u := load(t, module(t, "\n-- p.go --\n"+text), "./.Run")
	for _, c := range []struct {
		shares map[string]float64 // nil if nothing is known
		want   []string
	}{
		{nil, []string{"shortForRun"}},
		{map[string]float64{"first": 0.3, "second": 0.3}, []string{"shortForRun"}},
		{map[string]float64{"first": 0.4, "second": 0.4}, []string{"firstForRun", "shortForRun"}},
		{map[string]float64{"second": 0.6, "third": 0.3}, []string{"secondForRun", "shortForRun", "thirdForRun"}},
		// as a recursion's profile may have it, with more than all of the time
		{map[string]float64{"first": 1, "second": 1, "third": 1},
			[]string{"firstForRun", "secondForRun", "shortForRun"}},
	} {
		u.Copies.Share = nil
		if c.shares != nil {
			u.Copies.Share = func(key string) float64 { return c.shares[key] }
		}
		_, copies := u.Copies.Widen(u.Target.Source)
		if slices.Sort(copies); !slices.Equal(copies, c.want) {
			t.Errorf("%v: copies %q, want %q", c.shares, copies, c.want)
		}
	}
	// All three together have more lines than there is room for in a candidate.
	if _, copies := u.Copies.WidenWhole(u.Target.Source); len(copies) != 4 {
		t.Errorf("of all that a step may name, copies %q", copies)
	}
}

// TestPrivateNames: a copy never takes the name of a function of the package, nor that of another
// copy: a number tells them apart. No copy is made of a function that belongs to some systems only.
func TestPrivateNames(t *testing.T) {
	u := load(t, module(t, `
-- p.go --
package p

func Get(s string) int { return find(s) + findForGet(s) + len(pad(s)) + len(Lower(s)) + len(lower(s)) + sum(s) }

func findForGet(s string) int { return find(s) + 1 }

func find(s string) int { return len(s) }

func pad(s string) string { return s + " " }

func Lower(s string) string { return lower(s) + "!" }

func lower(s string) string { return s + "?" }

func Other(s string) int { return find(s) + len(pad(s)) + len(Lower(s)) + sum(s) + findForGet(s) }
-- sum_linux.go --
package p

func sum(s string) int { return len(s) }
-- sum_other.go --
//go:build !linux

package p

func sum(s string) int { return -len(s) }
`), "./.Get")
	wide, copies := u.Copies.Widen(u.Target.Source)
	of := map[string]string{"find2ForGet": "find", "findForGetForGet": "findForGet", "padForGet": "pad",
		"lowerForGet": "lower", "lower2ForGet": "Lower"}
	slices.Sort(copies)
	if want := slices.Sorted(maps.Keys(of)); !slices.Equal(copies, want) {
		t.Errorf("got copies %q, want %q", copies, want)
	}
	for name, want := range of {
		if got := u.Copies.CopyOf(name); got != want {
			t.Errorf("%s is a copy of %q, want %q", name, got, want)
		}
	}
	if back, err := u.Copies.Narrow(wide); err != nil || back != u.Target.Source {
		t.Errorf("narrowed %v:\n%s", err, back)
	}
	// A change in the worker keeps the function that leads to it.
	back, err := u.Copies.Narrow(strings.Replace(wide, `s + "?"`, `"?" + s`, 1))
	if err != nil || !strings.Contains(back, "len(lower2ForGet(s)) + len(lowerForGet(s))") ||
		!strings.Contains(back, `{ return lowerForGet(s) + "!" }`) {
		t.Errorf("narrowed %v:\n%s", err, back)
	}
}
