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

// TestHeld has variables that code behind the loop reads without their names.
func TestHeld(t *testing.T) {
	for body, want := range map[string]string{
		"LOOP\nreturn n":           "n int",
		"LOOP\nreturn 1":           "",
		"p := &n\nLOOP\nreturn *p": "n int",
		"f := func() int { return n }\nLOOP\nreturn f()": "n int",
		"defer func() { println(n) }()\nLOOP\nreturn 1":  "n int",
	} {
		loop := "for i := 0; i < len(s); i++ {\nif s[i] == ',' {\nn++\n}\n}"
		src := "package main\n\nfunc f(s string) int {\nn := 0\n" + strings.Replace(body, "LOOP", loop, 1) + "\n}\n"
		p, err := mutate.Check(src, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, r := range Regions(p) {
			if r.Kind == "loop" && p.Between(r.start, r.end) == loop {
				_, got, _ = strings.Cut(r.String(), " -> ")
			}
		}
		if got != want {
			t.Errorf("%s: the loop leaves %q, want %q", body, got, want)
		}
	}
}

// TestPlaces has one text in two places, of which one leaves more.
func TestPlaces(t *testing.T) {
	const loop = "for i := range len(s) {\n\t\t\tif s[i] == 'a' {\n\t\t\t\tn, last = n+1, i\n\t\t\t}\n\t\t}"
	p, err := mutate.Check("package main\n\nimport \"strings\"\n\nfunc f(s string) int {\n\tn, last := 0, 0\n"+
		"\tif strings.HasPrefix(s, \"b\") {\n\t\t"+loop+"\n\t\tn += last\n\t} else {\n\t\t"+loop+"\n\t}\n\treturn n\n}\n",
		"", nil)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, r := range Regions(p) {
		if r.Kind != "loop" || p.Between(r.start, r.end) != loop {
			continue
		}
		found++
		sites := Mutator([]Match{{Func: "f", Kind: "loop", Old: loop, Region: r.String()}}).Find(p)
		if len(sites) != 1 || sites[0].Node.Pos() != r.start {
			t.Errorf("%s: %d sites", r, len(sites))
		}
	}
	if found != 2 {
		t.Errorf("%d places, want 2", found)
	}
}

// TestOverwrites has a term that reads elements which another output has changed.
func TestOverwrites(t *testing.T) {
	r := &Region{Inputs: []Input{{Name: "b"}, {Name: "c"}}, Outputs: []Output{{Name: "b", elements: true}, {Name: "n"}}}
	for input, want := range []bool{true, false} {
		ts := []*term{{input: 0}, {c: &Component{}, args: []*term{{input: input}}}}
		if got := r.overwrites(ts); got != want {
			t.Errorf("a term of %s: %v", r.Inputs[input].Name, got)
		}
	}
}
