package contextkey

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// A context is what a client sends with a sample.
type context struct {
	name, host string
	tags       []string
}

// samples are 8,192 contexts with 2 to 32 tags in the order in which a program
// wrote them down: not sorted. One in ten repeats a tag. Few have 40 to 120.
var samples = makeSamples(8192)

func makeSamples(n int) []context {
	rng := rand.New(rand.NewPCG(15, 16))
	keys := []string{"env", "service", "pod_name", "kube_namespace", "version", "http.status_code", "availability-zone",
		"team", "region", "image_tag", "container_name", "git.commit.sha"}
	tag := func() string {
		return fmt.Sprintf("%s:%s-%x", keys[rng.IntN(len(keys))],
			[]string{"prod", "checkout", "intake", "eu"}[rng.IntN(4)], rng.Uint64()>>(4*rng.IntN(12)))
	}
	samples := make([]context, n)
	for i := range samples {
		size := 2 + rng.IntN(31)
		if rng.IntN(100) == 0 {
			size = 40 + rng.IntN(81)
		}
		tags := make([]string, size)
		for j := range tags {
			tags[j] = tag()
		}
		if rng.IntN(10) == 0 {
			tags[rng.IntN(size)] = tags[0]
		}
		samples[i] = context{fmt.Sprintf("service.requests.%d", rng.IntN(200)),
			fmt.Sprintf("i-%08x", rng.IntN(5000)), tags}
	}
	return samples
}

func TestKey(t *testing.T) {
	a := Key("metric", "host", []string{"b", "a", "c"})
	for name, same := range map[string]uint64{
		"another order": Key("metric", "host", []string{"c", "b", "a"}),
		"a tag twice":   Key("metric", "host", []string{"a", "b", "a", "c", "b"}),
	} {
		if same != a {
			t.Errorf("%s: another key", name)
		}
	}
	for name, other := range map[string]uint64{
		"a tag less":         Key("metric", "host", []string{"a", "b"}),
		"the host elsewhere": Key("metrichost", "", []string{"a", "b", "c"}),
		"the name as a tag":  Key("metric", "host", []string{"a", "b", "c", "metric"}),
	} {
		if other == a {
			t.Errorf("%s: the same key", name)
		}
	}
}

func TestSamples(t *testing.T) {
	seen := map[uint64]bool{}
	for _, s := range samples {
		key := Key(s.name, s.host, s.tags)
		if seen[key] {
			t.Errorf("the key of %v is taken", s)
		}
		seen[key] = true
		reversed := slices.Clone(s.tags)
		slices.Reverse(reversed)
		if Key(s.name, s.host, reversed) != key {
			t.Errorf("the key of %v depends on the order", s)
		}
	}
}

func BenchmarkKey(b *testing.B) {
	for i := 0; b.Loop(); i++ {
		s := &samples[i%len(samples)]
		Key(s.name, s.host, s.tags)
	}
}
