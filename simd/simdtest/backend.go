package simdtest

import (
	"fmt"
	"os"
	"slices"
	"testing"
)

// TuneBackend measures, for simdgen tune, another implementation of a kernel
// at the lengths up to 128 and prints what share of the kernel's time it
// takes: the middle of all lengths and the worst one. Both are loops over k
// calls for inputs of n elements. It is skipped unless SIMDGEN_TUNE is set.
func TuneBackend(t *testing.T, name string, kernel, backend func(n int) func(k int)) {
	if os.Getenv("SIMDGEN_TUNE") == "" {
		t.Skip("set SIMDGEN_TUNE to measure")
	}
	var all []float64
	worst, at := 0.0, 0
	for n := 1; n <= 128; n++ {
		r := share(kernel(n), backend(n))
		all = append(all, r)
		if r > worst {
			worst, at = r, n
		}
	}
	slices.Sort(all)
	verdict := "parity"
	if worst > 1.1 {
		verdict = "no parity"
	}
	fmt.Printf("backend %s: %s; %.2f of the kernel's time at the median length, %.2f at worst, at %d\n", name, verdict,
		all[len(all)/2], worst, at)
}

// share is the median quotient of neighbouring batches.
func share(kernel, backend func(int)) float64 {
	var rs []float64
	for range 31 {
		k := batch(kernel)
		rs = append(rs, batch(backend)/k)
	}
	slices.Sort(rs)
	return rs[len(rs)/2]
}
