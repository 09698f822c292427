package contextkey

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/beagle-go/beagle/metricsd/murmur3"
)

func key(name, host string, tags ...string) uint64 {
	k, _ := NewGenerator(7).Key(name, host, slices.Clone(tags))
	return k
}

func TestOrderAndDuplicatesDoNotCount(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 2, 7, 8, 9, 29, 31, 32, 33, 255, 256, 511, 512, 513, 1024, 3000} {
		tags := realistic(n)
		want := key("n", "h", tags...)
		for range 3 {
			mixed := slices.Concat(tags, tags[:n/2], tags[:n/3])
			rng.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
			got, unique := NewGenerator(7).Key("n", "h", mixed)
			if got != want {
				t.Fatalf("%d tags: order or duplicates changed the key", n)
			}
			if slices.Sort(unique); !slices.Equal(unique, slices.Sorted(slices.Values(tags))) {
				t.Fatalf("%d tags: duplicates are in the result, or tags are missing", n)
			}
		}
	}
}

// TestContextsThatMustDiffer checks pairs of contexts, each of which some real generator confused.
func TestContextsThatMustDiffer(t *testing.T) {
	pairs := []struct {
		name string
		a, b uint64
	}{
		{"duplicates cancel", key("m", "h", "a", "a"), key("m", "h")},
		{"three of a tag", key("m", "h", "a", "a", "a", "b", "b"), key("m", "h", "a")},
		{"name equals tag", key("a", "h", "a"), key("b", "h", "b")},
		{"name and tag swapped", key("a", "h", "b"), key("b", "h", "a")},
		{"host equals tag", key("m", "a", "a"), key("m", "b", "b")},
		{"name and host joined", key("metric", "hostname"), key("metrichost", "name")},
		{"name and host swapped", key("a", "b"), key("b", "a")},
		{"tags joined", key("m", "h", "ab", "c"), key("m", "h", "a", "bc")},
		{"empty host", key("m", ""), key("", "m")},
		{"empty tag", key("m", "h", ""), key("m", "h")},
		{"one tag of 513 differs", key("m", "h", realistic(513)...), key("m", "h", append(realistic(512), "x")...)},
		{"one tag of 33 differs", key("m", "h", realistic(33)...), key("m", "h", append(realistic(32), "x")...)},
		{"one tag more than 512", key("m", "h", realistic(513)...), key("m", "h", realistic(512)...)},
	}
	for _, p := range pairs {
		if p.a == p.b {
			t.Errorf("%s: the keys are equal", p.name)
		}
	}
}

// TestTagsCountNotHashes checks that a hash of zero does not lose a tag, and that two tags with one
// hash stay two. Murmur3 cannot make such hashes at will.
func TestTagsCountNotHashes(t *testing.T) {
	for _, more := range []int{0, few, 600} {
		tags := append([]string{"a", "a", "b", "b", "c", "a", "d"}, realistic(more)...)
		hashes := append([]uint64{0, 0, 0, 0, 1 << 40, 0, 1 << 63}, make([]uint64, more)...)
		want := slices.Sorted(slices.Values(append([]string{"a", "b", "c", "d"}, realistic(more)...)))
		_, unique := NewGenerator(0).KeyHashed("m", "h", tags, hashes)
		if slices.Sort(unique); !slices.Equal(unique, want) {
			t.Errorf("%d tags more: got %q, want %q", more, unique, want)
		}
	}
}

// TestStampsBeginAnew checks that a table forgets its content when its stamps are used up.
func TestStampsBeginAnew(t *testing.T) {
	g := NewGenerator(7)
	want, _ := g.Key("m", "h", realistic(100))
	g.stamp = stamps - 3
	for call := range 6 {
		if got, unique := g.Key("m", "h", realistic(100)); got != want || len(unique) != 100 {
			t.Errorf("call %d, stamp %d: %d of 100 tags", call, g.stamp, len(unique))
		}
	}
	if g.stamp > 6 {
		t.Errorf("the stamp is %d; it did not begin anew", g.stamp)
	}
}

func TestGeneratorForgets(t *testing.T) {
	g := NewGenerator(7)
	big, _ := g.Key("m", "h", realistic(600))
	small, _ := g.Key("m", "h", []string{"a"})
	if small != key("m", "h", "a") {
		t.Error("a key depends on the one before")
	}
	if again, _ := g.Key("m", "h", realistic(600)); again != big {
		t.Error("a key changes")
	}
}

func TestSeedCounts(t *testing.T) {
	a, _ := NewGenerator(1).Key("m", "h", []string{"t"})
	b, _ := NewGenerator(2).Key("m", "h", []string{"t"})
	if a == b {
		t.Error("the seed does not matter")
	}
}

func TestManyContextsDoNotCollide(t *testing.T) {
	g, seen := NewGenerator(7), make(map[uint64]string)
	for i := range 200_000 {
		tags := []string{fmt.Sprint("pod:", i%1000), fmt.Sprint("path:", i/1000), "env:prod"}
		what := fmt.Sprint(tags)
		k, _ := g.Key("m", "h", tags)
		if was, ok := seen[k]; ok {
			t.Fatalf("%s and %s share a key", was, what)
		}
		seen[k] = what
	}
}

// FuzzKey compares the key with its definition: sort, drop duplicates, add up.
func FuzzKey(f *testing.F) {
	f.Add("m", "h", "a,b,a,,c")
	f.Fuzz(func(t *testing.T, name, host, list string) {
		var tags []string
		for i := range len(list) {
			tags = append(tags, list[i:min(len(list), i+1+i%3)])
		}
		sum := uint64(7)
		want := slices.Compact(slices.Sorted(slices.Values(tags)))
		for _, tag := range want {
			sum += murmur3.Sum64(tag, 7)
		}
		got, unique := NewGenerator(7).Key(name, host, tags)
		if got != murmur3.Sum64(host, murmur3.Sum64(name, sum)) {
			t.Error("the key is not what its definition says")
		}
		if slices.Sort(unique); !slices.Equal(unique, want) {
			t.Errorf("tags %q, want %q", unique, want)
		}
	})
}

// realistic makes n tags of usual lengths, mean 26 bytes.
func realistic(n int) []string {
	keys := []string{"pod_name:checkout-7d9f8b6c5-", "kube_namespace:payments-", "zone:eu1-", "image_tag:v2.14."}
	tags := make([]string, n)
	for i := range tags {
		tags[i] = fmt.Sprintf("%s%04d", keys[i%len(keys)], i)
	}
	return tags
}

// BenchmarkKey times what a sample pays. Tags are hashed within the loop, shuffled and with
// duplicates. Each time there is a fresh copy, because Key compacts tags; the figure includes the
// copy, which BenchmarkCopy times alone.
func BenchmarkKey(b *testing.B) { overSizes(b, NewGenerator(7)) }

func BenchmarkCopy(b *testing.B) { overSizes(b, nil) }

func overSizes(b *testing.B, g *Generator) {
	for _, n := range []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 513, 1024, 2048} {
		b.Run(fmt.Sprintf("tags=%d", n), func(b *testing.B) { benchmark(b, g, shuffled(n)) })
	}
}

// shuffled makes 64 lists of one size, an eighth of each duplicates, so that the processor does not
// learn the branches.
func shuffled(n int) [][]string {
	rng := rand.New(rand.NewPCG(uint64(n), 2))
	lists := make([][]string, 64)
	for i := range lists {
		list := realistic(n - n/8)
		list = append(list, list[:n/8]...)
		rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		lists[i] = list
	}
	return lists
}

func benchmark(b *testing.B, g *Generator, lists [][]string) {
	buffer := make([]string, len(lists[0]))
	var sum uint64
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		copy(buffer, lists[i%len(lists)])
		i++
		if g != nil {
			key, _ := g.Key("request.duration", "web-1", buffer)
			sum += key
		}
	}
	if g != nil && sum == 0 {
		b.Log("the keys sum up to zero")
	}
}
