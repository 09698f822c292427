package harness

import (
	"strings"
	"testing"
)

const hashFile = `package hash

import "strconv"

var weights = [4]int{3, 1, 4, 1}

var names = map[int]string{1: "one", 2: "two"}

type pair struct{ a, b int }

// Score has a bit of everything that code refers to.
func Score(s []int, k int) (string, error) {
	best := pair{}
	for i, x := range s {
		switch x & 15 {
		case 0, 1:
			best.a += weigh(x)
		case 2:
			best.b ^= i
		case 3, 4, 5:
			best.a--
		case 6:
			best.b += 77
		case 7, 8:
			best.a *= best.b
		case 9:
			best.a = -best.a
		}
	}
	f := func(d int) int { return best.a/d + k }
	if k == 0 {
		return "zero", strconv.ErrRange
	}
	return names[best.b] + "score:" + strconv.Itoa(f(k)), nil
}

func weigh(x int) int { return weights[x&3] * x }
`

func TestCodeHashIgnoresWhatTheMachineDoesNotSee(t *testing.T) {
	f := load(t, "./hash.Score", map[string]string{"hash/hash.go": hashFile})
	src := f.u.Target.Source
	same := map[string]string{
		"nothing":          src,
		"a comment":        strings.Replace(src, "best := pair{}", "// a comment\n\n\tbest := pair{}", 1),
		"a local name":     strings.NewReplacer("best", "top", "i, x", "index, value", "x & 15", "value & 15", "^= i", "^= index", "weigh(x)", "weigh(value)").Replace(src),
		"a helper's name":  strings.ReplaceAll(src, "weigh(", "heaviness("),
		"a table's name":   strings.ReplaceAll(src, "weights", "heavinesses"),
		"formatting":       strings.Replace(src, "best.b += 77", "\n\n\t\t\tbest.b +=\n\t\t\t\t77", 1),
		"an unused helper": src + "\nfunc unused(x int) int { return x + 5 }\n",
	}
	different := map[string]string{
		"a constant":         strings.Replace(src, "77", "78", 1),
		"a string":           strings.Replace(src, "score:", "Score:", 1),
		"a string's letter":  strings.Replace(src, `"zero"`, `"zerO"`, 1),
		"a table":            strings.Replace(src, "3, 1, 4, 1", "3, 1, 4, 2", 1),
		"a map":              strings.Replace(src, `"two"`, `"tow"`, 1),
		"an operator":        strings.Replace(src, "best.a--", "best.a++", 1),
		"the closure":        strings.Replace(src, "/d + k", "/d - k", 1),
		"a variable":         strings.Replace(src, "strconv.ErrRange", "strconv.ErrSyntax", 1),
		"the order of cases": strings.Replace(src, "case 6:", "case 10:", 1),
		"the helper":         strings.Replace(src, "* x }", "* -x }", 1),
	}
	var names, sources []string
	want := map[string]bool{}
	for name, text := range same {
		names, sources, want[name] = append(names, name), append(sources, text), true
	}
	for name, text := range different {
		if text == src {
			t.Fatalf("%s: no change", name)
		}
		names, sources = append(names, name), append(sources, text)
	}
	bin := f.build(t, Link{FuncAlign: 64}, sources...)
	if len(bin.Failed) > 0 {
		t.Fatalf("failed: %v", bin.Failed)
	}
	seen := map[string]string{}
	for i, name := range names {
		hash := bin.Static[i+1].CodeHash
		if hash == "" {
			t.Fatalf("%s: no hash", name)
		}
		if want[name] != (hash == bin.Static[0].CodeHash) {
			t.Errorf("changing %s: same hash %t, want %t", name, !want[name], want[name])
		}
		if other := seen[hash]; other != "" && !want[name] {
			t.Errorf("%s and %s have the same hash", name, other)
		}
		seen[hash] = name
	}
	alone := f.build(t, Link{Layout: 7}, strings.Replace(src, "77", "78", 1))
	for i, name := range names {
		if name == "a constant" && alone.Static[1].CodeHash != bin.Static[i+1].CodeHash {
			t.Error("the same candidate has another hash in another batch")
		}
	}
	if alone.Static[0].CodeHash != bin.Static[0].CodeHash {
		t.Error("the original has another hash in another batch")
	}
}

func TestOwned(t *testing.T) {
	for name, want := range map[string]bool{
		"p.F__b1": true, "p.F__b1.func2": true, "p.F__b12": false, "p.F__b12.G__b1": true, "p.(*T).M__b1": true, "p.F": false, "p.F__b1[go.shape.int]": true,
	} {
		if got := owned(name, "__b1"); got != want {
			t.Errorf("owned(%q) = %t", name, got)
		}
	}
}

func TestReadObjectRefusesWhatItDoesNotKnow(t *testing.T) {
	for _, text := range []string{"", "!<arch>\n", "\n!\n" + objMagic, "\n!\n" + objMagic + strings.Repeat("\xff", 200),
		"\n!\n\x00go999ld" + strings.Repeat("\x00", 200)} {
		if o, err := readObject([]byte(text)); err == nil && o.defs() > 0 {
			t.Errorf("readObject(%.20q) = %v", text, o)
		}
	}
}
