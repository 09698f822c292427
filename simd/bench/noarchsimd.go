//go:build !(goexperiment.simd && amd64 && go1.26 && !go1.27)

package main

import (
	"fmt"
	"io"
)

// printArchsimd has nothing to compare with.
func printArchsimd(out io.Writer) {
	fmt.Fprintf(out,
		"\n# simd/archsimd: left out; it needs Go 1.26 on amd64 and GOEXPERIMENT=simd when bench is built\n")
}
