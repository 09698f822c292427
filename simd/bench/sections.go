package main

import (
	"fmt"
	"hash/crc32"
	"io"
	"unsafe"

	"github.com/beagle-go/beagle/simd"
	"github.com/beagle-go/beagle/simd/crc"
)

// printTags measures 4,096 different tags, which no branch predictor knows.
func printTags(out io.Writer) {
	tags := mixedTags()
	// Measure a naive loop, a table in Go, the kernel, and the kernel for many tags at once.
	t := careful.measure(
		func(k int) (s int) {
			for range k {
				for _, t := range tags {
					s += naiveTag(bytesOf(t))
				}
			}
			return s
		}, func(k int) (s int) {
			for range k {
				for _, t := range tags {
					s += plainTag(bytesOf(t))
				}
			}
			return s
		}, func(k int) (s int) {
			for range k {
				for _, t := range tags {
					s += flag01(simd.TagValidString(t))
				}
			}
			return s
		}, func(k int) (s int) {
			for range k {
				s += simd.IndexInvalidTag(tags)
			}
			return s
		})
	// Print the time of one tag.
	per := func(i int) float64 { return t.ns(i) / float64(len(tags)) }
	fmt.Fprintf(out,
		"\n# 4,096 mixed tags: nanoseconds per tag\nnaive loop %.2f   Go table %.2f   kernel %.2f (%.1fx naive, "+
			"%.2fx table)   batch %.2f (%.1fx naive, %.2fx table)\n",
		per(0), per(1), per(2), t.ratio(0, 2), t.ratio(1, 2), per(3), t.ratio(0, 3), t.ratio(1, 3))
}

func flag01(b bool) int {
	if b {
		return 1
	}
	return 0
}

func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// printCRC measures both checksums of a buffer and of its stream.
func printCRC(out io.Writer) {
	fmt.Fprintf(out,
		"\n# Checksum of a buffer and of the running stream: nanoseconds (times faster than two passes of "+
			"hash/crc32)\n%8s %12s %22s %22s %22s\n", "bytes", "two passes", "one pass + Combine",
		"one pass + Block", "crc.Pair")
	for _, n := range []int{64, 256, 1 << 10, 8 << 10, 8191, 16 << 10, 64 << 10, 1 << 20} {
		// Measure two passes, then one pass joined by Combine, by a Block, and by the kernel.
		b := letters(n)
		block := crc.NewBlock(int64(n))
		kernel, two := crcPair(n)
		t := careful.measure(two, func(k int) int {
			var run, sum uint32
			for range k {
				sum = crc32.Checksum(b, castagnoli)
				run = crc.Combine(run, sum, int64(len(b)))
			}
			return int(sum ^ run)
		}, func(k int) int {
			var run, sum uint32
			for range k {
				sum = crc32.Checksum(b, castagnoli)
				run = block.Combine(run, sum)
			}
			return int(sum ^ run)
		}, kernel)
		// Print each beside the two passes.
		fmt.Fprintf(out, "%8d %12.1f", n, t.ns(0))
		for i := 1; i < len(t); i++ {
			fmt.Fprintf(out, " %14.1f (%.2fx)", t.ns(i), t.ratio(0, i))
		}
		fmt.Fprintln(out)
	}
}

func crcPair(n int) (kernel, plain contender) {
	return matching("crc.Pair")[0].pair(n)
}

// shown are the matches of the sections sizes and small.
var shown []match

// matching are the matches of one name, all for none.
func matching(name string) (ms []match) {
	for _, m := range matches {
		if name == "" || m.name == name {
			ms = append(ms, m)
		}
	}
	return ms
}

// printSizes shows every kernel against plain Go at a few sizes.
func printSizes(out io.Writer) {
	sizes := []int{8, 16, 32, 64, 200, 1024, 16384}
	fmt.Fprintf(out, "\n# Nanoseconds of the kernel (times faster than the best plain Go), by bytes or numbers\n%-18s",
		"")
	for _, n := range sizes {
		fmt.Fprintf(out, "%17d", n)
	}
	fmt.Fprintln(out)
	for _, m := range shown {
		fmt.Fprintf(out, "%-18s", m.name)
		for _, n := range sizes {
			kernel, plain := m.pair(n)
			t := quick.measure(kernel, plain)
			fmt.Fprintf(out, "%17s", fmt.Sprintf("%.2f (%.1fx)", t.ns(0), t.ratio(1, 0)))
		}
		fmt.Fprintln(out)
	}
}

// printSmall looks for sizes from 0 to 300 where plain Go wins. A suspect is
// measured again with care before it is reported.
func printSmall(out io.Writer) {
	fmt.Fprintf(out, "\n# Sizes 0 to 300 at which a kernel is over 10 %% slower than the best plain Go\n")
	for _, m := range shown {
		var slow []string
		for n := m.min; n <= 300; n += step(n) {
			kernel, plain := m.pair(n)
			t := quick.measure(kernel, plain)
			if t.ratio(0, 1) > 1.08 {
				t = careful.measure(kernel, plain)
			}
			if t.ratio(0, 1) > 1.1 {
				slow = append(slow, fmt.Sprintf("%d: %.2fx, %.2f against %.2f", n, t.ratio(0, 1), t.ns(0), t.ns(1)))
			}
		}
		if slow == nil {
			slow = []string{"none"}
		}
		fmt.Fprintf(out, "%-18s", m.name)
		for _, s := range slow {
			fmt.Fprintf(out, " %s;", s)
		}
		fmt.Fprintln(out)
	}
}

// step visits every size up to 40 and then a tenth of them, off the beat of
// the vector widths.
func step(n int) int {
	if n < 40 {
		return 1
	}
	return 7
}
