package simdtest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"
)

// Tune measures, for simdgen tune, from which size up to 64 each kernel beats
// its Go version called through the same wrapper, and prints the sizes. It is
// skipped unless SIMDGEN_TUNE is set.
func Tune(t *testing.T, set func(uint8) uint8, kernels []Kernel) {
	if os.Getenv("SIMDGEN_TUNE") == "" {
		t.Skip("set SIMDGEN_TUNE to measure")
	}
	top := set(0)
	defer set(top)
	for _, k := range kernels {
		least := 0
		for n := 64; n >= 0 && least == 0; n-- {
			if slower(set, top, k, n) {
				least = n + 1
			}
		}
		fmt.Printf("tune %s %d\n", k.Name, least)
	}
}

// slower reports whether the kernel loses by more than a twentieth, twice.
func slower(set func(uint8) uint8, top uint8, k Kernel, n int) bool {
	in := &Input{kernel: k.Name, n: n, kind: 2, data: bytes.Repeat([]byte("a"), n), rng: rand.New(rand.NewPCG(1, 1))}
	loop := k.Time(in)
	for range 2 {
		var with, without []float64
		for range 15 {
			set(top)
			with = append(with, batch(loop))
			set(0)
			without = append(without, batch(loop))
		}
		slices.Sort(with)
		slices.Sort(without)
		if with[len(with)/2] <= 1.05*without[len(without)/2] {
			return false
		}
	}
	return true
}

// batch is short: most of them meet no interruption.
func batch(loop func(int)) float64 {
	const runs = 4000
	start := time.Now()
	loop(runs)
	return float64(time.Since(start)) / runs
}
