package benchmarks

import (
	"bytes"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
)

func BenchmarkKept(b *testing.B) {
	for i := 0; i < b.N; i++ {
		sink = ones(uint64(i))
	}
}

func BenchmarkAddsUp(b *testing.B) {
	var n uint64
	for i := 0; i < b.N; i++ {
		n += ones(uint64(i))
	}
	sink = n
}

func BenchmarkLoopKeeps(b *testing.B) {
	for b.Loop() {
		ones(7)
	}
}

func BenchmarkNotInlined(b *testing.B) {
	for i := 0; i < b.N; i++ {
		fib(10)
	}
}

func BenchmarkTimes(b *testing.B) { times(b.N) }

func BenchmarkHelped(b *testing.B) { helped(b, 10) }

func helped(b *testing.B, n int) {
	b.Helper()
	for i := b.N; i > 0; i-- {
		fib(n)
	}
}

func BenchmarkParts(b *testing.B) {
	for _, n := range []int{1, 2} {
		b.Run("part", func(b *testing.B) { helped(b, n) })
	}
}

func BenchmarkMetric(b *testing.B) { b.ReportMetric(float64(fib(10)), "fib") }

func BenchmarkSkipped(b *testing.B) { b.Skip("not here") }

func BenchmarkSortCopies(b *testing.B) {
	data := []int{3, 1, 2}
	room := make([]int, len(data))
	for b.Loop() {
		copy(room, data)
		slices.Sort(room)
	}
}

func BenchmarkSortMakes(b *testing.B) {
	for b.Loop() {
		data := []int{3, 1, 2}
		slices.Sort(data)
	}
}

func BenchmarkReadAgain(b *testing.B) {
	r := strings.NewReader("some text")
	for b.Loop() {
		r.Reset("some text")
		if _, err := io.ReadAll(r); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSetupLeftOut(b *testing.B) {
	text, err := os.ReadFile("work.go")
	if err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		sink += uint64(bytes.Count(text, []byte("n")))
	}
}

func BenchmarkSetupBeforeLoop(b *testing.B) {
	text, err := os.ReadFile("work.go")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		bytes.Count(text, []byte("n"))
	}
}

func BenchmarkStopAndStart(b *testing.B) {
	for i := 0; i < b.N; i++ {
		b.StopTimer()
		data := make([]int, 100)
		b.StartTimer()
		sink += uint64(fib(len(data) / 10))
	}
}

func BenchmarkResetOnce(b *testing.B) {
	for i := 0; i < b.N; i++ {
		if i == 1 {
			b.ResetTimer()
		}
		sink += uint64(fib(10))
	}
}

func BenchmarkInsertCopy(b *testing.B) {
	from, data := []int{3, 1, 2}, make([]int, 3)
	for b.Loop() {
		copy(data, from)
		insert(data)
	}
}

func BenchmarkArranged(b *testing.B) {
	data := []int{3, 1, 2}
	for b.Loop() {
		arranged(data)
	}
}

func BenchmarkReverse(b *testing.B) {
	data := []int{3, 1, 2}
	for b.Loop() {
		reverse(data)
	}
}

func BenchmarkResults(b *testing.B) {
	results := make([]int, b.N)
	for i := range b.N {
		results[i] = fib(i & 7)
	}
}

// The compiler keeps values alive here too.
func BenchmarkLoopCounts(b *testing.B) {
	for i := 0; b.Loop(); i++ {
		ones(uint64(i))
	}
}
