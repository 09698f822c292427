package verify

import (
	"slices"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/harness"
)

// TestStartByItself checks that the original's own start is measured only where a program's start
// goes beyond the limits, and that a candidate that goes beyond them is found.
func TestStartByItself(t *testing.T) {
	c := load(t, "fib")
	const lists = "package p\n\nvar first = make([]int, 2)\n\nfunc Fib(n int) int {\n" +
		"\ta, b := first[0], 1\n\tfor range n {\n\t\ta, b = b, a+b\n\t}\n\treturn a\n}\n"
	small := beagle.NewCandidate(lists, nil, nil)
	if !c.env.worksAtStart(small) {
		t.Fatal("its package variable is not computed at the start")
	}
	guilty := func(list ...beagle.Candidate) int {
		t.Helper()
		bin, guilty, err := Build(t.Context(), c.env, list, harness.Link{})
		if err != nil {
			t.Fatal(err)
		}
		if why := bin.Failed[1]; why != "" {
			t.Fatal(why)
		}
		bin.Remove()
		return len(guilty)
	}
	if n := guilty(small); n != 0 || c.env.ownStartup != nil {
		t.Errorf("a small table: %d rejected, the original alone was started: %v", n, c.env.ownStartup != nil)
	}
	i := slices.IndexFunc(c.cases, func(e entry) bool { return e.name == "start-up-make.go" })
	if n := guilty(c.cases[i].candidate()); n != 1 {
		t.Errorf("a table of megabytes: %d rejected", n)
	}
	if c.env.ownStartup == nil {
		t.Error("the original alone was never started")
	}
}
