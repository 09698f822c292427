package flow

import (
	"testing"

	"github.com/beagle-go/beagle"
)

const plainLoop = "package p\n\n// Sum adds.\nfunc Sum(s string) int {\n\tn := 0\n\tfor _, b := range []byte(s) {\n" +
	"\t\tn += int(b)\n\t}\n\treturn n\n}\n"

// TestReading checks what makes a version harder to read than another, and what does not.
func TestReading(t *testing.T) {
	plain := readingEffort(plainLoop)
	for name, c := range map[string]struct {
		text   string
		harder bool
	}{
		"a comment": {"// Sum adds, and says at length how.\n" + plainLoop, false},
		"a helper":  {plainLoop + "func add(a, b int) int { return a + b }\n", true},
		"a table":   {plainLoop + "var weights = [4]int{1, 2, 3, 4}\n", true},
	} {
		if got := readingEffort(c.text); got > plain != c.harder {
			t.Errorf("%s: %d, the plain one has %d", name, got, plain)
		}
	}
	helper := func(name string) int { return readingEffort(plainLoop + "func " + name + "(a int) int { return a }\n") }
	if helper("add1") <= helper("increment") || helper("f") <= helper("increment") ||
		helper("load64") != helper("loadWord") {
		t.Errorf("names: add1 %d, f %d, increment %d, load64 %d, loadWord %d", helper("add1"), helper("f"),
			helper("increment"), helper("load64"), helper("loadWord"))
	}
	if a, b := readingEffort(plainLoop),
		readingEffort("package p\n\nfunc Sum(s string) int { return 0x0101010101010101 }\n"); b < 2 || a == b {
		t.Errorf("%d and %d", a, b)
	}
}

// TestPreference checks that of versions that are about as fast the one that is easiest to read
// comes first: within 5 % by default, and not where the fastest is asked for. A version that is not
// confirmed to be faster never comes first.
func TestPreference(t *testing.T) {
	long := plainLoop + "func helper(a int) int {\n\tif a > 1 {\n\t\treturn 2\n\t}\n\treturn a\n}\n"
	cs := []beagle.Candidate{{ID: "long", Source: long}, {ID: "plain", Source: plainLoop}}
	for _, c := range []struct {
		low     float64 // of the plain one; the long one has 2
		faster  bool
		fastest bool
		first   int
	}{{1.93, true, false, 1}, {1.88, true, false, 0}, {1.93, true, true, 0}, {1.995, true, true, 1},
		{1.93, false, false, 0}} {
		ms := []beagle.Measurement{{Faster: true}, {Faster: c.faster}}
		ms[0].Corrected.Low, ms[1].Corrected.Low = 2, c.low
		list := []measuredFinalist{{cs[0], &ms[0]}, {cs[1], &ms[1]}}
		orderFinalists(list, c.fastest)
		if got := list[0].candidate.ID; got != cs[c.first].ID || list[1].candidate.ID == got {
			t.Errorf("%+v: %s comes first", c, got)
		}
	}
}
