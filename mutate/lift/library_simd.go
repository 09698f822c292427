package lift

import (
	"bytes"
	"hash/crc32"
	"slices"
	"strings"
)

// SimdPath is Beagle's module of vector kernels, and the package at its root.
const SimdPath = "github.com/beagle-go/beagle/simd"

const crcPath = SimdPath + "/crc"

func init() { Modules = append(Modules, newModule(SimdPath, []string{SimdPath, crcPath}, kernels)) }

// kernels registers the functions of that module whose results follow from their arguments alone.
// Plain Go with the kernels' results stands for them here, so that this program does not depend on
// the module. Sums of float64 are not among them: their order is no loop's.
func kernels() {
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
	f2("simd.Count", func(b []byte, c byte) int { return bytes.Count(b, []byte{c}) })
	f2("simd.CountString", func(s string, c byte) int { return strings.Count(s, string([]byte{c})) })
	f1("simd.LowerASCIIInPlace", lowerASCII, inPlace("simd.LowerASCIIInPlace($1)"), onlyInPlace)
	f1("simd.SumInt64", sumOfInts)
	extremes := named("low", "high")
	p1("simd.MinMaxInt64", some[int64], slices.Min[[]int64], result(1, 2), extremes)
	p1("simd.MinMaxInt64", some[int64], slices.Max[[]int64], result(2, 2), extremes)
	p1("simd.MinMaxFloat64", some[float64], slices.Min[[]float64], result(1, 2), extremes)
	p1("simd.MinMaxFloat64", some[float64], slices.Max[[]float64], result(2, 2), extremes)
	checksums("crc.Update", crc32.MakeTable(crc32.Castagnoli))
	checksums("crc.UpdateIEEE", crc32.IEEETable)
}

// checksums registers a checksum of package crc: of a whole text, and continued from a sum.
func checksums(name string, table *crc32.Table) {
	f1(name+"(0, $1)", func(b []byte) uint32 { return crc32.Checksum(b, table) })
	f2(name, func(sum uint32, b []byte) uint32 { return crc32.Update(sum, table, b) })
	f1(name+"String(0, $1)", func(s string) uint32 { return crc32.Checksum([]byte(s), table) })
	f2(name+"String", func(sum uint32, s string) uint32 { return crc32.Update(sum, table, []byte(s)) })
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
