package benchmarks

import (
	"bufio"
	"os"
	"sort"
	"testing"
)

// Each benchmark makes a mistake that was seen in public, by other means. The comment names where.

// golang.org/issue/11228 (2015): the masks of both compared functions meet constant arguments only.
func BenchmarkPublicConstant(b *testing.B) {
	for i := 0; i < b.N; i++ {
		sink = mixed(1, 2, 3, 4) // want constant-call
	}
}

func mixed(a, b, c, d uint64) uint64 {
	return a&0x0f0f0f0f>>2 + b&0xf0f0f0f0>>3 + c&0x0f0f>>4 + d&0xf0f0>>5
}

// kubernetes/kubernetes, test/integration/scheduler_perf/scheduler_bench_test.go at 8c1ffb59e39b,
// line 361 (issue 84306): fewer iterations than a case needs are raised.
func BenchmarkPublicRaisedN(b *testing.B) {
	const least = 50
	if b.N < least {
		b.N = least // want n-changed
	}
	for i := 0; i < b.N; i++ {
		sink += uint64(fib(i & 7))
	}
}

// etcd-io/raft, rawnode_test.go at 01111803057f (issue 313): a constant for debugging.
func BenchmarkPublicDebugN(b *testing.B) {
	const debug = false
	if debug {
		b.N = 1 // want n-changed
	}
	for i := 0; i < b.N; i++ {
		sink += uint64(fib(i & 7))
	}
}

// YaoApp/kun, benchmarks/bmaps/map_test.go at 689d82e6572d: a map is made and set once.
func BenchmarkPublicOnce(t *testing.B) { // want no-loop
	m := map[string]uint64{}
	m["a"] = ones(7)
	sink = m["a"]
}

// open-telemetry/opentelemetry-go, log.BenchmarkValueEqual before pull request 5717, and
// cloudflare/pat-go before 24: the parts have no loop.
func BenchmarkPublicParts(b *testing.B) {
	for _, n := range []int{3, 5} {
		b.Run("part", func(b *testing.B) { // want no-loop
			for i := range n {
				sink += uint64(fib(i))
			}
		})
	}
}

// golang.org/issue/76201 (2025), NVIDIA/aistore before pull request 222: the input has b.N elements.
func BenchmarkPublicInput(b *testing.B) {
	for range b.N {
		list := make([]int, b.N) // want n-as-size
		insert(list)
	}
}

// DataDog/datadog-agent, pkg/util/sort_uniq_test.go before pull request 4719 (2020): tags of several
// numbers that are sorted in place.
func BenchmarkPublicTags(b *testing.B) {
	for n := 1; n <= 8; n *= 2 {
		b.Run("tags", func(b *testing.B) {
			list := make([]int, n)
			for i := range list {
				list[i] = n - i
			}
			b.ResetTimer()
			for range b.N {
				arrange(list) // want input-used-up
			}
		})
	}
}

// alcor67/repo-Go-level-1-home-work, project-sort-numbers/test/sort_bench_inc_test.go at
// 09d6290ea106: a list of numbers in the source.
func BenchmarkPublicNumbers(b *testing.B) {
	list := []int64{-48, 62, 64, 70, -27, 44}
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		sort.Slice(list, func(i, j int) bool { return list[i] < list[j] }) // want input-used-up
	}
}

// golang.org/issue/72971 (2025): the timer is stopped in each iteration.
func BenchmarkPublicStopped(b *testing.B) {
	for i := 0; b.Loop(); i++ {
		sink += uint64(fib(i & 7))
		b.StopTimer() // want timer-in-loop
	}
}

// dmanchon/aoc2021-golang, day7-2-optimized/main_test.go: a file is opened and read first.
func BenchmarkPublicFile(b *testing.B) {
	f, err := os.Open("work.go") // want setup-timed
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	for in := bufio.NewScanner(f); in.Scan(); {
		n += len(in.Bytes())
	}
	for i := 0; i < b.N; i++ {
		sink += uint64(fib(n & 7))
	}
}

// stackrox/stackrox, pkg/concurrency.BenchmarkValueStreamRead after pull request 17491 (2025): an
// error ends the loop.
func BenchmarkPublicCondition(b *testing.B) {
	var err error
	for b.Loop() && err == nil { // want loop-condition
		_, err = os.Getwd()
	}
	if err != nil {
		b.Fatal(err)
	}
}
