package lift

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/beagle-go/beagle/mutate"
)

// rewritten takes the step of every match, in all its versions.
func rewritten(t *testing.T, p *mutate.Pass, found []Match) (out []string) {
	t.Helper()
	m := Mutator(found)
	for _, c := range mutate.Choices(p, m) {
		text, _, err := mutate.Take(p, m, c.Site, c.Param)
		if err != nil {
			t.Errorf("%s: %v", c.SiteName, err)
			continue
		}
		if _, err := mutate.Check(text.Src, "", nil); err != nil {
			t.Errorf("%s %s does not compile: %v", c.SiteName, c.Setting, err)
		}
		out = append(out, text.Src)
	}
	return out
}

const endless = `package main

func pad(s string, n int) int {
	for len(s) < n {
		s += "x"
	}
	count := 0
	for i := 0; i < len(s); i++ {
		if s[i] == ',' {
			count++
		}
	}
	return count
}

type box struct {
	name  string
	parts []string
}

func (b *box) has(part string) bool {
	for _, p := range b.parts {
		if p == part {
			return true
		}
	}
	return false
}

func used(list []int, x int) (string, int) {
	at, seen := -1, 0
	for i := range list {
		if list[i] == x {
			at = i
			break
		}
	}
	for range list {
		seen++
	}
	if at < 0 {
		return "none", seen
	}
	return "some", at
}

func fill(dst []byte) int {
	for i := 0; i < len(dst)/2; i++ {
		dst[i], dst[len(dst)-1-i] = dst[len(dst)-1-i], dst[i]
	}
	return len(dst)
}
`

// TestEndless has loops without end, fields as inputs, and elements as outputs.
func TestEndless(t *testing.T) {
	p, rep := study(t, endless, Options{Seed: 3, Inputs: 600, Terms: 20_000, Total: 400_000})
	var got []string
	for _, f := range rep.Matches {
		got = append(got, f.Func+": "+f.Term)
	}
	slices.Sort(got)
	want := []string{"box.has: slices.Contains(b.parts, part)", "used: slices.Index(list, x) | 0",
		`pad: strings.Count(s, ",")`}
	for _, w := range want {
		if !slices.Contains(got, w) {
			t.Errorf("%q is not among %q", w, got)
		}
	}
	texts := strings.Join(rewritten(t, p, rep.Matches), "\n---\n")
	if !strings.Contains(texts, "slices.Reverse(dst)") {
		t.Errorf("nothing reverses in place:\n%s", texts)
	}
}

// TestSeed holds a study to its seed.
func TestSeed(t *testing.T) {
	_, a := study(t, endless, Options{Seed: 5, Inputs: 200, Terms: 5_000})
	_, b := study(t, endless, Options{Seed: 5, Inputs: 200, Terms: 5_000})
	if x, y := fmt.Sprint(a), fmt.Sprint(b); x != y {
		t.Errorf("two studies of one seed differ:\n%s\n%s", x, y)
	}
}

// TestLookAhead finds the same whether questions are looked at one after the other or together,
// also where the terms are used up before the last one.
func TestLookAhead(t *testing.T) {
	processors := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(processors)
	for _, total := range []int{20_000, 1 << 40} {
		o := Options{Seed: 4, Inputs: 200, Terms: 8_000, Total: total}
		runtime.GOMAXPROCS(1)
		_, alone := study(t, endless, o)
		runtime.GOMAXPROCS(4)
		_, ahead := study(t, endless, o)
		if x, y := fmt.Sprint(alone), fmt.Sprint(ahead); x != y {
			t.Errorf("with %d terms, looking ahead changes the study:\n%s\n%s", total, x, y)
		}
		t.Logf("%d terms of %d, %d matches", alone.Terms, total, len(alone.Matches))
	}
}

// TestSorted asks about a loop that does what the library does on sorted inputs
// alone.
func TestSorted(t *testing.T) {
	const src = `package main

func place(s []int, x int) int {
	for i, v := range s {
		if v >= x {
			return i
		}
	}
	return len(s)
}
`
	for _, sorted := range [][]string{nil, {"s"}} {
		_, rep := study(t, src, Options{Seed: 1, Sorted: sorted, Terms: 30_000})
		got := slices.ContainsFunc(rep.Matches, func(f Match) bool {
			return f.Sorted && strings.Contains(f.Term, "slices.BinarySearch(s, x)")
		})
		if got != (sorted != nil) {
			t.Errorf("with %q in order: %+v", sorted, rep.Matches)
		}
	}
}

// TestDrawBesideNoText draws bytes and runes for code that spells the empty text.
func TestDrawBesideNoText(t *testing.T) {
	inputs := []*Type{types["byte"], types["rune"]}
	for seed := range uint64(20) {
		if cols := draw(seed, constants{strings: []string{""}}, inputs, 24); len(cols) != len(inputs) {
			t.Fatalf("%d columns", len(cols))
		}
	}
}
