package tags

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// traffic is what the backend receives: 16,384 tags, 97 % of them ASCII and
// nearly all of those clean already, 3 % UTF-8, one of them broken.
var traffic = makeTraffic(16384)

func makeTraffic(n int) []string {
	rng := rand.New(rand.NewPCG(1, 2))
	pick := func(s ...string) string { return s[rng.IntN(len(s))] }
	word := func() string { return fmt.Sprintf("%x", rng.Uint64()>>(4*rng.IntN(12))) }
	tags := make([]string, 0, n)
	for i := range n {
		switch {
		case i == n/2:
			tags = append(tags, "city:m\xfcnchen")
		case rng.IntN(100) < 3:
			tags = append(tags,
				pick("city:", "region:", "team:")+pick("münchen", "東京", "são-paulo", "Łódź", "naïve café")+"-"+word())
		case rng.IntN(100) < 4:
			tags = append(tags, pick("Env:", "Service Name:", "_version:", "http.url:")+
				pick("Prod ", "V1,", "a b  c", "x__y_")+word())
		default:
			key := pick("env", "service", "host", "pod_name", "kube_namespace", "version", "http.status_code",
				"availability-zone")
			value := pick("prod", "staging", "intake-"+word(), "i-"+word()+word(), "web_"+word()+"."+word(),
				"eu/west/"+word(), "/api/v2/"+word()+"/"+word())
			tags = append(tags, key+":"+value)
		}
	}
	return tags
}

// tagSets is what MergeTags receives: the 10 to 40 tags of a container and the
// 0 to 15 of a metric, almost always sorted and without duplicates, sometimes
// sharing a tag.
var tagSets = makeTagSets(8192)

func makeTagSets(n int) [][2][]string {
	rng := rand.New(rand.NewPCG(3, 4))
	set := func(size int) []string {
		s := make([]string, size)
		for i := range s {
			s[i] = traffic[rng.IntN(len(traffic))]
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

func TestIsNormalizedASCIITag(t *testing.T) {
	for tag, want := range map[string]bool{
		"": false, "a": true, "env:prod": true, "Env:prod": false, "1a": false, "a_b": true, "a__b": false,
		"a_": false, "_a": false, "a b": false, "é": false,
		strings.Repeat("a", 200): true, strings.Repeat("a", 201): false,
	} {
		if got := isNormalizedASCIITag(tag); got != want {
			t.Errorf("isNormalizedASCIITag(%q) = %t, want %t", tag, got, want)
		}
	}
	for _, tag := range traffic {
		if isNormalizedASCIITag(tag) && NormalizeTagArbTagValue(tag) != tag {
			t.Errorf("%q is called normalized and is not", tag)
		}
	}
}

func TestNormalizeTagArbTagValue(t *testing.T) {
	for tag, want := range map[string]string{
		"": "", "env:prod": "env:prod", "Env:Prod": "env:prod", "a  b": "a_b", "__a__": "a", "a_b": "a_b",
		"city:MÜNCHEN": "city:münchen", "m\xfcn": "m_n", "!!!": "",
		strings.Repeat("é", 300): strings.Repeat("é", 200),
	} {
		if got := NormalizeTagArbTagValue(tag); got != want {
			t.Errorf("NormalizeTagArbTagValue(%q) = %q, want %q", tag, got, want)
		}
	}
	for _, tag := range traffic {
		once := NormalizeTagArbTagValue(tag)
		if twice := NormalizeTagArbTagValue(once); twice != once {
			t.Errorf("not idempotent: %q, then %q", once, twice)
		}
	}
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
	for _, s := range tagSets {
		got := MergeTags(s[0], s[1])
		if !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
			t.Errorf("MergeTags(%q, %q) = %q", s[0], s[1], got)
		}
	}
}

func TestFibonacci(t *testing.T) {
	for n, want := range []uint64{0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55} {
		if got := Fibonacci(n); got != want {
			t.Errorf("Fibonacci(%d) = %d, want %d", n, got, want)
		}
	}
	for n := 2; n < 28; n++ {
		if Fibonacci(n) != Fibonacci(n-1)+Fibonacci(n-2) {
			t.Errorf("Fibonacci(%d) is not the sum of the two before it", n)
		}
	}
}

func BenchmarkNormalizeTagArbTagValue(b *testing.B) {
	for i := 0; b.Loop(); i++ {
		NormalizeTagArbTagValue(traffic[i%len(traffic)])
	}
}

func BenchmarkMergeTags(b *testing.B) {
	for i := 0; b.Loop(); i++ {
		s := tagSets[i%len(tagSets)]
		MergeTags(s[0], s[1])
	}
}
