//go:build goexperiment.simd && amd64 && go1.26 && !go1.27

package main

import (
	"fmt"
	"io"
	"math/bits"
	"simd/archsimd"
	"unsafe"

	"github.com/beagle-go/beagle/simd"
)

// The tag class in Go's own SIMD package, in the forms that had a chance: see
// docs/archsimd.md for why none of them is a backend of this module.

// A tagForm checks tags with simd/archsimd. one stands for TagValidString, many for
// IndexInvalidTag.
type tagForm struct {
	name  string
	needs func() bool
	one   func(string) bool
	many  func([]string) int
}

var tagForms = []tagForm{
	{"AVX2, slices", archsimd.X86.AVX2, avx2Slices, eachTag(avx2Slices)},
	{"AVX2, pointers", archsimd.X86.AVX2, avx2Pointers, eachTag(avx2Pointers)},
	{"AVX2, pointers, constants kept", archsimd.X86.AVX2, nil, avx2Many},
	{"VBMI, slices", archsimd.X86.AVX512VBMI, vbmiSlices, eachTag(vbmiSlices)},
	{"VBMI, pointers and a masked load", archsimd.X86.AVX512VBMI, vbmiPointers, eachTag(vbmiPointers)},
	{"VBMI, pointers, constants kept", archsimd.X86.AVX512VBMI, nil, vbmiMany},
}

func eachTag(valid func(string) bool) func([]string) int {
	return func(tags []string) int {
		for i, t := range tags {
			if !valid(t) {
				return i
			}
		}
		return -1
	}
}

// The tables of two shuffles: row l holds bit h for each byte 16h+l of the
// class; and the flags of VBMI: 0x80 for what is not in the class.
var (
	tagRows, tagBits [32]uint8
	tagFlags         [128]uint8
)

func init() {
	for c := range 128 {
		if tagTable[c] == 0 {
			tagFlags[c] = 0x80
			continue
		}
		tagRows[c&15] |= 1 << (c >> 4)
		tagRows[16+c&15] |= 1 << (c >> 4)
	}
	for i := range tagBits {
		tagBits[i] = 1 << (i & 7)
	}
}

// bad32 has a bit for each byte that is no member.
func bad32(v, rows, members, nibble archsimd.Uint8x32) uint32 {
	high := v.AsUint16x16().ShiftAllRight(4).AsUint8x32().And(nibble)
	row := rows.PermuteOrZeroGrouped(v.AsInt8x32())
	bit := members.PermuteOrZeroGrouped(high.AsInt8x32())
	return row.And(bit).Equal(archsimd.Uint8x32{}).ToBits()
}

func bad16(v, rows, members, nibble archsimd.Uint8x16) uint16 {
	high := v.AsUint16x8().ShiftAllRight(4).AsUint8x16().And(nibble)
	row := rows.PermuteOrZero(v.AsInt8x16())
	bit := members.PermuteOrZero(high.AsInt8x16())
	return row.And(bit).Equal(archsimd.Uint8x16{}).ToBits()
}

func shortTag(t string) bool {
	for i := range len(t) {
		if tagTable[t[i]] == 0 {
			return false
		}
	}
	return true
}

//go:noinline
func avx2Slices(t string) bool {
	b := bytesOf(t)
	if len(b) < 16 {
		return shortTag(t)
	}
	rows, members, nibble := archsimd.LoadUint8x32Slice(tagRows[:]), archsimd.LoadUint8x32Slice(tagBits[:]),
		archsimd.BroadcastUint8x32(15)
	// Check 16 to 31 bytes by two registers that overlap.
	if len(b) < 32 {
		r, m, n := rows.GetLo(), members.GetLo(), nibble.GetLo()
		if bad16(archsimd.LoadUint8x16Slice(b), r, m, n)|
			bad16(archsimd.LoadUint8x16Slice(b[len(b)-16:]), r, m, n) != 0 {
			archsimd.ClearAVXUpperBits()
			return false
		}
		archsimd.ClearAVXUpperBits()
		return true
	}
	// Check 32 bytes at a time, and the end by a register that overlaps.
	for i := 0; i <= len(b)-32; i += 32 {
		if bad32(archsimd.LoadUint8x32Slice(b[i:]), rows, members, nibble) != 0 {
			archsimd.ClearAVXUpperBits()
			return false
		}
	}
	if bad32(archsimd.LoadUint8x32Slice(b[len(b)-32:]), rows, members, nibble) != 0 {
		archsimd.ClearAVXUpperBits()
		return false
	}
	archsimd.ClearAVXUpperBits()
	return true
}

func at16(p *byte, i int) archsimd.Uint8x16 {
	return archsimd.LoadUint8x16((*[16]uint8)(unsafe.Add(unsafe.Pointer(p), i)))
}

func at32(p *byte, i int) archsimd.Uint8x32 {
	return archsimd.LoadUint8x32((*[32]uint8)(unsafe.Add(unsafe.Pointer(p), i)))
}

//go:noinline
func avx2Pointers(t string) bool {
	p, n := unsafe.StringData(t), len(t)
	if n < 16 {
		return shortTag(t)
	}
	rows, members, nibble := archsimd.LoadUint8x32(&tagRows), archsimd.LoadUint8x32(&tagBits),
		archsimd.BroadcastUint8x32(15)
	if n < 32 {
		r, m, k := rows.GetLo(), members.GetLo(), nibble.GetLo()
		if bad16(at16(p, 0), r, m, k)|bad16(at16(p, n-16), r, m, k) != 0 {
			archsimd.ClearAVXUpperBits()
			return false
		}
		archsimd.ClearAVXUpperBits()
		return true
	}
	for i := 0; i <= n-32; i += 32 {
		if bad32(at32(p, i), rows, members, nibble) != 0 {
			archsimd.ClearAVXUpperBits()
			return false
		}
	}
	if bad32(at32(p, n-32), rows, members, nibble) != 0 {
		archsimd.ClearAVXUpperBits()
		return false
	}
	archsimd.ClearAVXUpperBits()
	return true
}

// avx2Many loads the constants once for all tags.
//
//go:noinline
func avx2Many(tags []string) int {
	rows, members, nibble := archsimd.LoadUint8x32(&tagRows), archsimd.LoadUint8x32(&tagBits),
		archsimd.BroadcastUint8x32(15)
	for i, t := range tags {
		p, n := unsafe.StringData(t), len(t)
		bad := uint32(0)
		switch {
		case n < 16:
			if !shortTag(t) {
				bad = 1
			}
		case n < 32:
			r, m, k := rows.GetLo(), members.GetLo(), nibble.GetLo()
			bad = uint32(bad16(at16(p, 0), r, m, k) | bad16(at16(p, n-16), r, m, k))
		default:
			bad = bad32(at32(p, n-32), rows, members, nibble)
			for j := 0; j <= n-32; j += 32 {
				bad |= bad32(at32(p, j), rows, members, nibble)
			}
		}
		if bad != 0 {
			archsimd.ClearAVXUpperBits()
			return i
		}
	}
	archsimd.ClearAVXUpperBits()
	return -1
}

// bad64 has a bit for each byte that is no member. One lookup in 128 entries
// decides about ASCII bytes. A byte from 0x80 on sets its bit by its own top bit.
func bad64(v, lo, hi archsimd.Uint8x64) uint64 {
	return lo.ConcatPermute(hi, v).Or(v).AsInt8x64().Less(archsimd.Int8x64{}).ToBits()
}

//go:noinline
func vbmiSlices(t string) bool {
	b := bytesOf(t)
	lo, hi := archsimd.LoadUint8x64Slice(tagFlags[:64]), archsimd.LoadUint8x64Slice(tagFlags[64:])
	for len(b) >= 64 {
		if bad64(archsimd.LoadUint8x64Slice(b), lo, hi) != 0 {
			archsimd.ClearAVXUpperBits()
			return false
		}
		b = b[64:]
	}
	if len(b) > 0 && bits.TrailingZeros64(bad64(archsimd.LoadUint8x64SlicePart(b), lo, hi)) < len(b) {
		archsimd.ClearAVXUpperBits()
		return false
	}
	archsimd.ClearAVXUpperBits()
	return true
}

func at64(p *byte, i int) archsimd.Uint8x64 {
	return archsimd.LoadUint8x64((*[64]uint8)(unsafe.Add(unsafe.Pointer(p), i)))
}

// last is the bad bytes among the n of 1 to 63 at p: one masked load.
func last(p *byte, i, n int, lo, hi archsimd.Uint8x64) uint64 {
	keep := uint64(1)<<(n&63) - 1
	v := archsimd.LoadMaskedUint8x64((*[64]uint8)(unsafe.Add(unsafe.Pointer(p), i)), archsimd.Mask8x64FromBits(keep))
	return bad64(v, lo, hi) & keep
}

//go:noinline
func vbmiPointers(t string) bool {
	p, n := unsafe.StringData(t), len(t)
	lo, hi := archsimd.LoadUint8x64((*[64]uint8)(tagFlags[:64])), archsimd.LoadUint8x64((*[64]uint8)(tagFlags[64:]))
	i := 0
	for ; i <= n-64; i += 64 {
		if bad64(at64(p, i), lo, hi) != 0 {
			archsimd.ClearAVXUpperBits()
			return false
		}
	}
	if i < n && last(p, i, n-i, lo, hi) != 0 {
		archsimd.ClearAVXUpperBits()
		return false
	}
	archsimd.ClearAVXUpperBits()
	return true
}

// vbmiMany loads the constants once for all tags.
//
//go:noinline
func vbmiMany(tags []string) int {
	lo, hi := archsimd.LoadUint8x64((*[64]uint8)(tagFlags[:64])), archsimd.LoadUint8x64((*[64]uint8)(tagFlags[64:]))
	for k, t := range tags {
		p, n := unsafe.StringData(t), len(t)
		bad, i := uint64(0), 0
		for ; i <= n-64; i += 64 {
			bad |= bad64(at64(p, i), lo, hi)
		}
		if i < n {
			bad |= last(p, i, n-i, lo, hi)
		}
		if bad != 0 {
			archsimd.ClearAVXUpperBits()
			return k
		}
	}
	archsimd.ClearAVXUpperBits()
	return -1
}

// printArchsimd compares the forms with the kernels on the same mixed tags. A
// form has parity when it takes at most as long.
func printArchsimd(out io.Writer) {
	tags := mixedTags()
	fmt.Fprintf(out, "\n# The tag class in simd/archsimd: times as long as the kernel on 4,096 mixed tags [95 %%]\n")
	for _, f := range tagForms {
		if !f.needs() {
			fmt.Fprintf(out, "%-34s not measured: this processor lacks it\n", f.name)
			continue
		}
		cs := []contender{manyTags(simd.IndexInvalidTag, tags), manyTags(f.many, tags)}
		single := "-"
		if f.one != nil {
			t := careful.measure(kernelEach(tags), eachOf(f.one, tags))
			single = fmt.Sprintf("%.2fx %s", t.ratio(1, 0), t.interval(1, 0))
		}
		t := careful.measure(cs...)
		fmt.Fprintf(out, "%-34s call by call %-20s batch %.2fx %s%s\n", f.name, single, t.ratio(1, 0),
			t.interval(1, 0), byLength(f))
	}
}

// byLength compares calls at fixed lengths, which the branch predictor learns.
func byLength(f tagForm) (s string) {
	if f.one == nil {
		return ""
	}
	for _, n := range []int{4, 8, 15, 16, 31, 32, 64, 100} {
		tags := []string{string(letters(n))}
		t := quick.measure(kernelEach(tags), eachOf(f.one, tags))
		s += fmt.Sprintf("  %d: %.2fx", n, t.ratio(1, 0))
	}
	return "  by length" + s
}

func manyTags(f func([]string) int, tags []string) contender {
	return func(k int) (s int) {
		for range k {
			s += f(tags)
		}
		return s
	}
}

// kernelEach is a call per tag, as in a program.
func kernelEach(tags []string) contender {
	return func(k int) (s int) {
		for range k {
			for _, t := range tags {
				s += flag01(simd.TagValidString(t))
			}
		}
		return s
	}
}

// eachOf is a call per tag as well: through a variable, which costs no more
// than a direct one.
func eachOf(f func(string) bool, tags []string) contender {
	return func(k int) (s int) {
		for range k {
			for _, t := range tags {
				s += flag01(f(t))
			}
		}
		return s
	}
}
