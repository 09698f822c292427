package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"unsafe"

	"github.com/beagle-go/beagle/simd/bench/internal/cgocall"
)

// A call of five to seven cycles depends on where its loop lies in memory by
// one or two, the Go call as much as the kernel's. So each is measured at four
// places: the same loop after more and more code.

var pad int

//go:noinline
func callGo0(b []byte, k int) (s int) {
	for range k {
		s += plainNoop(unsafe.SliceData(b), len(b))
	}
	return s
}

//go:noinline
func callGo1(b []byte, k int) (s int) {
	pad += k
	for range k {
		s += plainNoop(unsafe.SliceData(b), len(b))
	}
	return s
}

//go:noinline
func callGo2(b []byte, k int) (s int) {
	pad += k
	pad += k
	for range k {
		s += plainNoop(unsafe.SliceData(b), len(b))
	}
	return s
}

//go:noinline
func callGo3(b []byte, k int) (s int) {
	pad += k
	pad += k
	pad += k
	for range k {
		s += plainNoop(unsafe.SliceData(b), len(b))
	}
	return s
}

//go:noinline
func callKernel0(b []byte, k int) (s int) {
	for range k {
		s += noop(b)
	}
	return s
}

//go:noinline
func callKernel1(b []byte, k int) (s int) {
	pad += k
	for range k {
		s += noop(b)
	}
	return s
}

//go:noinline
func callKernel2(b []byte, k int) (s int) {
	pad += k
	pad += k
	for range k {
		s += noop(b)
	}
	return s
}

//go:noinline
func callKernel3(b []byte, k int) (s int) {
	pad += k
	pad += k
	pad += k
	for range k {
		s += noop(b)
	}
	return s
}

var (
	goCalls     = []func([]byte, int) int{callGo0, callGo1, callGo2, callGo3}
	kernelCalls = []func([]byte, int) int{callKernel0, callKernel1, callKernel2, callKernel3}
)

// printCall measures a call of (pointer, length) that returns the length.
func printCall(out io.Writer) {
	// Measure calls in Go and of kernels at several places each, one Go call twice, and cgo.
	b := letters(100)
	var cs []contender
	for _, f := range append(slices.Concat(goCalls, kernelCalls), callGo0) {
		cs = append(cs, func(k int) int { return f(b, k) })
	}
	cs = append(cs, func(k int) (s int) {
		for range k {
			s += cgocall.Noop(unsafe.SliceData(b), len(b))
		}
		return s
	})
	t := careful.measure(cs...)
	runtime.KeepAlive(pad)
	// Compare every kernel call with every Go call: the place of a loop alone moves its time.
	again, cgo := len(cs)-2, len(cs)-1
	var golang, kernel, ratios []float64
	for i := range goCalls {
		golang, kernel = append(golang, t.ns(i)), append(kernel, t.ns(len(goCalls)+i))
		for j := range kernelCalls {
			ratios = append(ratios, t.ratio(len(goCalls)+j, i))
		}
	}
	fmt.Fprintf(out,
		"\n# A call: nanoseconds, loop included, at four places each\n"+
			"Go noinline %.2f to %.2f   kernel with dispatch %.2f to %.2f: median %.2fx Go, %.2f to %.2f by place (a "+
			"Go call against itself %.2f %s)\n",
		slices.Min(golang), slices.Max(golang), slices.Min(kernel), slices.Max(kernel), median(ratios),
		slices.Min(ratios), slices.Max(ratios), t.ratio(again, 0), t.interval(again, 0))
	if cgocall.Available {
		fmt.Fprintf(out, "cgo %.2f: %.1fx a kernel call\n", t.ns(cgo), t.ratio(cgo, len(goCalls)))
	}
}
