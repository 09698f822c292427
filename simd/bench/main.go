// Bench measures the kernels against the best plain Go and prints ratios, all
// from one run:
//
//	go run ./bench            everything, 45 seconds
//	go run ./bench -only call one section: call, tags, crc, sizes, small, archsimd, modes
//	go run ./bench -only small -kernel EqualMask
//
// A figure is the median over 165 batches of 150 microseconds, a ratio the median
// over pairs of neighbouring batches: the contenders take turns. On a shared machine
// this is far steadier than go test -bench, which reports means.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/beagle-go/beagle/simd"
)

//go:generate go run ../cmd/simdgen gen -rust kernels.rs

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

var sections = []struct {
	name  string
	print func(io.Writer)
}{
	{"call", printCall}, {"tags", printTags}, {"crc", printCRC}, {"sizes", printSizes}, {"small", printSmall},
	{"archsimd", printArchsimd}, {"modes", printModes},
}

// run prints the chosen sections and returns the exit status.
func run(args []string, out, errw io.Writer) int {
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(errw)
	only := fs.String("only", "", "one section: call, tags, crc, sizes, small, archsimd or modes")
	kernel := fs.String("kernel", "", "one kernel of the sections sizes and small, as they print it")
	if fs.Parse(args) != nil {
		return 2
	}
	if shown = matching(*kernel); len(shown) == 0 {
		fmt.Fprintf(errw, "bench: no kernel %q; go run ./bench -only sizes prints their names\n", *kernel)
		return 2
	}
	runtime.LockOSThread()
	fmt.Fprintf(out, "%s %s/%s, tier %v\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, simd.Tier())
	found := false
	for _, s := range sections {
		if *only == "" || *only == s.name {
			found = true
			s.print(out)
		}
	}
	if !found {
		fmt.Fprintf(errw, "bench: no section %q; have call, tags, crc, sizes, small, archsimd and modes\n", *only)
		return 2
	}
	return 0
}
