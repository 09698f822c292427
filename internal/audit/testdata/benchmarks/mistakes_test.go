package benchmarks

import (
	"bytes"
	"io"
	"os"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"
)

var (
	sink     uint64
	sinkText string
)

// The population count of Dave Cheney's "How to write benchmarks in Go" (2013) and
// of golang.org/issue/14813: what is measured is an empty loop.
func BenchmarkDead(b *testing.B) {
	for i := 0; i < b.N; i++ {
		ones(uint64(i)) // want dead-result
	}
}

func BenchmarkDeadInALocal(b *testing.B) {
	var n uint64
	for i := range b.N {
		n = ones(uint64(i)) // want dead-result
	}
	_ = n
}

func BenchmarkDeadParallel(b *testing.B) {
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			_ = ones(7) // want dead-result
		}
	})
}

func BenchmarkDeadInAPart(b *testing.B) {
	for _, x := range []uint64{1, 99} {
		b.Run("part", func(b *testing.B) {
			for i := 0; i < b.N; i++ {
				ones(x) // want dead-result
			}
		})
	}
}

func BenchmarkConstant(b *testing.B) {
	for i := 0; i < b.N; i++ {
		sink = ones(0xff00ff) // want constant-call
	}
}

// Cheney's second wrong example: the problem grows with b.N.
func BenchmarkSize(b *testing.B) {
	fib(b.N % 20)
	fib(b.N) // want n-as-size
}

func BenchmarkNoLoop(b *testing.B) { // want no-loop
	b.ReportAllocs()
	sink = uint64(fib(10))
}

func BenchmarkNoLoopInAPart(b *testing.B) {
	b.Run("part", func(b *testing.B) { // want no-loop
		sink = uint64(fib(10))
	})
}

// golang.org/issue/27217 and others ask why such numbers make no sense.
func BenchmarkSorted(b *testing.B) {
	data := []int{3, 1, 2}
	for i := 0; i < b.N; i++ {
		slices.Sort(data)
	}
}

func BenchmarkSort(b *testing.B) {
	data := []int{3, 1, 2}
	for b.Loop() {
		sort.Sort(sort.IntSlice(data)) // want input-used-up
	}
}

func BenchmarkReadAll(b *testing.B) {
	r := strings.NewReader("some text")
	for b.Loop() {
		if _, err := io.ReadAll(r); err != nil { // want input-used-up
			b.Fatal(err)
		}
	}
}

func BenchmarkSetup(b *testing.B) {
	text, err := os.ReadFile("work.go") // want setup-timed
	if err != nil {
		b.Fatal(err)
	}
	for i := 0; i < b.N; i++ {
		sink += uint64(bytes.Count(text, []byte("n")))
	}
}

func BenchmarkReset(b *testing.B) {
	for i := 0; i < b.N; i++ {
		data := make([]int, 100)
		b.ResetTimer() // want timer-in-loop
		sink += uint64(fib(len(data) / 10))
	}
}

func BenchmarkStop(b *testing.B) {
	for i := 0; i < b.N; i++ {
		b.StopTimer() // want timer-in-loop
		sink += uint64(fib(10))
	}
}

func BenchmarkChangesN(b *testing.B) {
	b.N = 1000 // want n-changed
	for i := 0; i < b.N; i++ {
		sink += uint64(fib(10))
	}
}

func BenchmarkQuadratic(b *testing.B) {
	for i := 0; i < b.N; i++ {
		for j := 0; j < b.N; j++ { // want quadratic
			sink += uint64(fib(3))
		}
	}
}

func BenchmarkCondition(b *testing.B) {
	for i := 0; b.Loop() && i < 1000; i++ { // want loop-condition
		sink += uint64(fib(3))
	}
}

func BenchmarkInsert(b *testing.B) {
	data := []int{3, 1, 2}
	for b.Loop() {
		insert(data) // want input-used-up
	}
}

func BenchmarkArrange(b *testing.B) {
	data := []int{3, 1, 2}
	for b.Loop() {
		arrange(data) // want input-used-up
	}
}

func BenchmarkDrain(b *testing.B) {
	r := bytes.NewReader(make([]byte, 100))
	for b.Loop() {
		drain(r) // want input-used-up
	}
}

func BenchmarkSleepFirst(b *testing.B) {
	time.Sleep(time.Millisecond) // want setup-timed
	for i := 0; i < b.N; i++ {
		sink += uint64(fib(i & 7))
	}
}

func BenchmarkGrowing(b *testing.B) {
	for i := 0; i < b.N; i++ {
		insert(make([]int, b.N))            // want n-as-size
		sinkText = strings.Repeat("a", b.N) // want n-as-size
	}
}
