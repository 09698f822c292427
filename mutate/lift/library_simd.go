package lift

import (
	"slices"
	"strings"
)

// SimdPath is Beagle's module of vector kernels, whose functions a study knows where the user's
// module has it.
const SimdPath = "github.com/beagle-go/beagle/simd"

// simdLibrary has the functions of that module. They stand here in plain Go with the kernels'
// results, so that this program does not depend on the module.
var simdLibrary []*Component

// init makes a library of its own of package simd, which few modules import. Plain code stands for
// the functions here: the values are the same.
func init() {
	kept := all
	defer func() { simdLibrary, all = all, kept }()
	all = nil
	f1("simd.ASCII", func(b []byte) bool { return firstNot(string(b), isASCII) < 0 })
	f1("simd.ASCIIString", func(s string) bool { return firstNot(s, isASCII) < 0 })
	f1("simd.IndexNonASCII", func(b []byte) int { return firstNot(string(b), isASCII) })
	f1("simd.IndexNonASCIIString", func(s string) int { return firstNot(s, isASCII) })
	f1("simd.TagValid", func(b []byte) bool { return firstNot(string(b), isTag) < 0 })
	f1("simd.TagValidString", func(s string) bool { return firstNot(s, isTag) < 0 })
	f1("simd.IndexNonTag", func(b []byte) int { return firstNot(string(b), isTag) })
	f1("simd.IndexNonTagString", func(s string) int { return firstNot(s, isTag) })
	f1("simd.IndexInvalidTag", func(tags []string) int {
		return slices.IndexFunc(tags, func(s string) bool { return firstNot(s, isTag) >= 0 })
	})
	f1("simd.SumInt64", sumOfInts)
	p1("simd.MinMaxInt64", some[int64], slices.Min[[]int64], result(1, 2))
	p1("simd.MinMaxInt64", some[int64], slices.Max[[]int64], result(2, 2))
	f1("simd.LowerASCIIInPlace", lowerASCII, inPlace("simd.LowerASCIIInPlace($1)"), onlyInPlace)
}

// firstNot returns the first place in a text whose byte fails a test, or -1.
func firstNot(s string, is func(byte) bool) int {
	for i := range len(s) {
		if !is(s[i]) {
			return i
		}
	}
	return -1
}

func isASCII(c byte) bool { return c < 0x80 }

func isTag(c byte) bool {
	return strings.IndexByte("abcdefghijklmnopqrstuvwxyz0123456789_:./-", c) >= 0
}

func sumOfInts(s []int64) (sum int64) {
	for _, v := range s {
		sum += v
	}
	return sum
}

func lowerASCII(b []byte) []byte {
	b = slices.Clone(b)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return b
}
