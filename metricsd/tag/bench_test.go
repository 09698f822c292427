package tag

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// The inputs of each kind are many and in no order, so that the processor learns no branch. Nearly
// all real tags are clean ASCII.
func inputs(kind string) []string {
	rng := rand.New(rand.NewPCG(1, 2))
	forms := map[string][]string{
		"clean": {"env:prod", "pod_name:checkout-7d9f8b6c5-x%04d", "kube_namespace:payments-%d", "image_tag:2026.11.%d", "version:v2.14.%d"},
		"dirty": {"Env:Prod %d", "path:/users/{id}?page=%d", "__leading_%d__", "message:it failed (%d)!", "9lives:%d"},
		"utf8":  {"city:São Paulo %d", "größe:%d", "名前:値%d", "Ünïcödé:É%d", "broken:\xff\xfe%d"},
	}[kind]
	all := make([]string, 4096)
	for i := range all {
		all[i] = fmt.Sprintf(forms[rng.IntN(len(forms))], rng.IntN(10000))
	}
	return all
}

func BenchmarkNormalize(b *testing.B)      { overKinds(b, Normalize) }
func BenchmarkNormalizeValue(b *testing.B) { overKinds(b, NormalizeValue) }
func BenchmarkNormalizeTagArbTagValue(b *testing.B) {
	overKinds(b, NormalizeTagArbTagValue)
}

func overKinds(b *testing.B, normalize func(string) string) {
	for _, kind := range []string{"clean", "dirty", "utf8"} {
		b.Run(kind, func(b *testing.B) {
			all, size, got := inputs(kind), 0, 0
			for _, in := range all {
				size += len(in)
			}
			b.SetBytes(int64(size / len(all)))
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				got += len(normalize(all[i%len(all)]))
				i++
			}
			if got == 0 {
				b.Fatal("nothing was left of the tags")
			}
		})
	}
}

// BenchmarkMergeTags merges a list of a metric with one of its host: sorted and
// nearly without common tags, as they nearly always are, or else shuffled.
func BenchmarkMergeTags(b *testing.B) {
	for _, n := range []int{4, 16, 64} {
		for _, shuffled := range []bool{false, true} {
			b.Run(fmt.Sprintf("tags=%d/shuffled=%v", n, shuffled), func(b *testing.B) {
				benchmarkMerge(b, n, shuffled)
			})
		}
	}
}

func benchmarkMerge(b *testing.B, n int, shuffled bool) {
	rng := rand.New(rand.NewPCG(uint64(n), 2))
	lists := make([][2][]string, 256)
	for i := range lists {
		for j := range 2 {
			list := make([]string, n)
			for k := range list {
				list[k] = fmt.Sprintf("key_%02d:value-%d", rng.IntN(4*n), rng.IntN(3))
			}
			slices.Sort(list)
			list = slices.Compact(list)
			if shuffled {
				rng.Shuffle(len(list), func(x, y int) { list[x], list[y] = list[y], list[x] })
			}
			lists[i][j] = list
		}
	}
	b.ReportAllocs()
	i, got := 0, 0
	for b.Loop() {
		pair := lists[i%len(lists)]
		got += len(MergeTags(pair[0], pair[1]))
		i++
	}
	if got == 0 {
		b.Fatal("nothing was merged")
	}
}
