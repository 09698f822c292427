package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"
	"unsafe"

	"github.com/beagle-go/beagle/simd"
)

// Why does the same kernel take twice as long in some processes? Two
// experiments tell causes apart that look alike from outside.
//
// If the constants of a kernel and its arguments on the stack disturbed each
// other through equal low address bits, some places of the stack within a page
// would be slow and the others fast, whatever the process. printModes calls
// from every place.
//
// If another thread on the same core takes half of its units, the same call at
// the same addresses is fast at one moment and slow at the next, and a Go call
// at the same moment is slower as well. printModes takes many short samples and
// splits them by what the Go call beside them took.

// clock is a chain of k multiplications, three cycles each on any processor
// since 2013: a clock that ticks with the core, not with time.
//
//go:noinline
func clock(k int) int {
	x := k | 1
	for range k {
		x *= x
	}
	return x
}

//go:noinline
func tagCalls(b []byte, k int) (s int) {
	for range k {
		s += flag01(simd.TagValid(b))
	}
	return s
}

// A sample is the cycles of one call, kernel and Go, in one short moment.
type sample struct{ kernel, golang float64 }

func takeSample(b []byte) sample {
	const k = 5000
	t0 := time.Now()
	runtime.KeepAlive(clock(k))
	t1 := time.Now()
	tagCalls(b, k)
	t2 := time.Now()
	callGo0(b, k)
	t3 := time.Now()
	cycle := float64(t1.Sub(t0)) / (3 * k)
	return sample{float64(t2.Sub(t1)) / k / cycle, float64(t3.Sub(t2)) / k / cycle}
}

// moment is the median of five samples: no interruption gets through, but a
// neighbour on the core does.
func moment(b []byte) float64 {
	var five []float64
	for range 5 {
		five = append(five, takeSample(b).kernel)
	}
	return median(five)
}

// deeper calls f from a stack that lies 64 bytes lower per level, about.
//
//go:noinline
func deeper(level int, b []byte, f func([]byte)) (room [16]byte) {
	if level == 0 {
		f(b)
		return room
	}
	room = deeper(level-1, b, f)
	room[level&15]++
	return room
}

// printModes prints how the cycles of a call depend on the stack's place in a page.
func printModes(out io.Writer) {
	b := letters(30)
	lines := map[uintptr]float64{} // the best moment of each cache line of a page
	for range 12 {
		for level := range 120 {
			deeper(level, b, func(b []byte) {
				var here byte
				line := uintptr(unsafe.Pointer(&here)) % 4096 / 64
				if t := moment(b); lines[line] == 0 || t < lines[line] {
					lines[line] = t
				}
			})
		}
	}
	var cycles []float64
	for _, t := range lines {
		cycles = append(cycles, t)
	}
	slices.Sort(cycles)
	fmt.Fprintf(out,
		"\n# TagValid of 30 bytes called from %d of the 64 cache lines of a stack page, the best moment of each: "+
			"cycles\nleast %.1f, median %.1f, most %.1f\n",
		len(cycles), cycles[0], median(cycles), cycles[len(cycles)-1])
	printMoments(out, b)
}

func printMoments(out io.Writer, b []byte) {
	var all []sample
	for range 2000 {
		all = append(all, takeSample(b))
	}
	slices.SortFunc(all, func(x, y sample) int {
		if x.golang < y.golang {
			return -1
		}
		return 1
	})
	fmt.Fprintf(out, "# The same call at the same addresses, 2,000 moments by what a Go call took beside it: cycles\n")
	for i := range 5 {
		part := all[i*len(all)/5 : (i+1)*len(all)/5]
		var k, g []float64
		for _, s := range part {
			k, g = append(k, s.kernel), append(g, s.golang)
		}
		fmt.Fprintf(out, "fifth %d: Go call %.1f   kernel %.1f\n", i+1, median(g), median(k))
	}
}
