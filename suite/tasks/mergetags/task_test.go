package mergetags

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// tagSets is what MergeTags receives: the 10 to 40 tags of a container and the
// 0 to 15 of a metric, almost always (98 %) sorted and without duplicates; one
// pair in four shares a tag.
var tagSets = makeTagSets(8192)

func makeTagSets(n int) [][2][]string {
	rng := rand.New(rand.NewPCG(3, 4))
	pick := func(s ...string) string { return s[rng.IntN(len(s))] }
	tag := func() string {
		key := pick("env", "service", "host", "pod_name", "kube_namespace", "version", "http.status_code",
			"availability-zone", "team", "region")
		return fmt.Sprintf("%s:%s-%x", key, pick("prod", "web", "intake", "eu"), rng.Uint64()>>(4*rng.IntN(12)))
	}
	set := func(size int) []string {
		s := make([]string, size)
		for i := range s {
			s[i] = tag()
		}
		if rng.IntN(100) < 98 {
			slices.Sort(s)
			s = slices.Compact(s)
		}
		return s
	}
	sets := make([][2][]string, n)
	for i := range sets {
		a, b := set(10+rng.IntN(31)), set(rng.IntN(16))
		if rng.IntN(4) == 0 {
			b = append(b, a[rng.IntN(len(a))])
			slices.Sort(b)
			b = slices.Compact(b)
		}
		sets[i] = [2][]string{a, b}
	}
	return sets
}

func TestMergeTags(t *testing.T) {
	for _, c := range []struct{ a, b, want []string }{
		{nil, nil, []string{}},
		{[]string{"a"}, nil, []string{"a"}},
		{[]string{"a", "c"}, []string{"b", "c"}, []string{"a", "b", "c"}},
		{[]string{"c", "a", "a"}, []string{"b"}, []string{"a", "b", "c"}},
	} {
		if got := MergeTags(c.a, c.b); !slices.Equal(got, c.want) || got == nil {
			t.Errorf("MergeTags(%q, %q) = %q, want %q", c.a, c.b, got, c.want)
		}
	}
}

func TestSorted(t *testing.T) {
	for _, s := range tagSets {
		got := MergeTags(s[0], s[1])
		if !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
			t.Errorf("MergeTags(%q, %q) = %q", s[0], s[1], got)
		}
	}
}

func BenchmarkMergeTags(b *testing.B) {
	for i := 0; b.Loop(); i++ {
		s := tagSets[i%len(tagSets)]
		MergeTags(s[0], s[1])
	}
}
