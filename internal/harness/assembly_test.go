package harness

import (
	"runtime"
	"slices"
	"strings"
	"testing"
)

// bounds counts the calls of a function that are bounds checks failing.
func bounds(is []Instruction, name string) int {
	n := 0
	for _, i := range is {
		if i.Func == name && strings.HasPrefix(i.Text, "CALL runtime.panic") {
			n++
		}
	}
	return n
}

func TestAssemblyShowsBoundsChecks(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("names amd64 instructions")
	}
	f := load(t, "./tag.Clean", map[string]string{"tag/tag.go": `package tag

// Clean wants two bounds checks: the compiler cannot prove i to be positive.
func Clean(s string) bool {
	for i := 0; ; i++ {
		if i == len(s) {
			return true
		}
		if s[i] == '_' {
			i++
			if i == len(s) || s[i] == '_' {
				return false
			}
		}
	}
}
`})
	checked, err := f.b.Assembly(t.Context(), Variant{ID: "original", Source: f.u.Target.Source})
	if err != nil {
		t.Fatal(err)
	}
	if n := bounds(checked, "Clean"); n != 2 {
		t.Errorf("%d bounds checks in the assembly, want 2:\n%v", n, checked)
	}
	load := slices.IndexFunc(checked, func(i Instruction) bool {
		return strings.Contains(i.Text, "CMPB") && strings.HasSuffix(i.Text, "$95")
	})
	lines := strings.Split(f.u.Target.Source, "\n")
	if load < 0 || checked[load].Line == 0 || !strings.Contains(lines[checked[load].Line-1], "'_'") {
		t.Errorf("no comparison with '_' on its line:\n%v", checked)
	}
	free, err := f.b.Assembly(t.Context(), Variant{
		ID: "free",
		Source: f.edit(t, "i := 0", "i := uint(0)", "i == len(s)", "i >= uint(len(s))", "i == len(s)",
			"i >= uint(len(s))"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := bounds(free, "Clean"); n != 0 || len(free) == 0 {
		t.Errorf("%d bounds checks with an unsigned index, want 0:\n%v", n, free)
	}
	if broken, err := f.b.Assembly(t.Context(),
		Variant{ID: "broken", Source: f.edit(t, "i == len(s)", "undefined(s)")}); err != nil || broken != nil {
		t.Errorf("of a version that does not compile: %v, %v", broken, err)
	}
}

// TestAssemblyNames checks that a generic function has code only where it is instantiated, a method
// has its receiver's name.
func TestAssemblyNames(t *testing.T) {
	for spec, want := range map[string]string{"./g.Sum": "Sum[go.shape.int]", "./g.Set.Has": "(*Set).Has"} {
		f := load(t, spec, map[string]string{"g/g.go": `package g

type Set struct{ names []string }

func (s *Set) Has(name string) bool {
	for _, n := range s.names {
		if n == name {
			return true
		}
	}
	return false
}

var total = Sum([]int{1})

func Sum[T int | float64](xs []T) (t T) {
	for _, x := range xs {
		t += x
	}
	return t
}
`})
		is, err := f.b.Assembly(t.Context(), Variant{ID: "original", Source: f.u.Target.Source})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(is, func(i Instruction) bool { return i.Func == want }) {
			t.Errorf("%s: no code of %s in %v", spec, want, is)
		}
	}
}
