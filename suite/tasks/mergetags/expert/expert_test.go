package mergetags

import (
	"math/rand/v2"
	"slices"
	"testing"

	original "github.com/beagle-go/beagle/suite/tasks/mergetags"
)

func TestExpert(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	list := func() []string {
		s := make([]string, rng.IntN(7))
		for i := range s {
			s[i] = string(rune('a' + rng.IntN(6)))
			if rng.IntN(4) == 0 {
				s[i] = ""
			}
		}
		if rng.IntN(3) > 0 {
			slices.Sort(s)
		}
		if rng.IntN(2) > 0 {
			s = slices.Compact(s)
		}
		return s
	}
	for range 60_000 {
		a, b := list(), list()
		beforeA, beforeB := slices.Clone(a), slices.Clone(b)
		got, want := MergeTags(a, b), original.MergeTags(a, b)
		if !slices.Equal(got, want) || (got == nil) != (want == nil) {
			t.Fatalf("MergeTags(%q, %q) = %q, want %q", a, b, got, want)
		}
		if !slices.Equal(a, beforeA) || !slices.Equal(b, beforeB) {
			t.Fatalf("MergeTags changed its arguments")
		}
	}
	if got := MergeTags(nil, nil); got == nil {
		t.Error("nil for empty")
	}
}
