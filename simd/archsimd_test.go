//go:build goexperiment.simd && amd64 && go1.26 && !go1.27 && !purego

package simd

import (
	"simd/archsimd"
	"strings"
	"testing"
	"unsafe"

	"github.com/beagle-go/beagle/simd/simdtest"
)

// TagValid in Go's own SIMD package. It would be a backend if simdgen tune, run
// with GOEXPERIMENT=simd, found it as fast as the kernel; docs/archsimd.md has
// what it found. So it lives among the tests, which measure and check it.

// tagBackend is the form for this processor, nil when there is none.
func tagBackend() func(p *byte, n int) bool {
	switch {
	case tier == AVX512:
		return tagValidVBMI
	case tier == AVX2 || tier == VCLMUL:
		return tagValidAVX2
	}
	return nil
}

func TestTuneBackends(t *testing.T) {
	valid := tagBackend()
	if valid == nil {
		t.Skip("no form for tier ", tier)
	}
	loop := func(f func(s string) bool) func(n int) func(int) {
		return func(n int) func(int) {
			s, bad := strings.Repeat("x", n), 0
			return func(k int) {
				for range k {
					if !f(s) {
						bad++
					}
				}
			}
		}
	}
	simdtest.TuneBackend(t, "tagIndex in simd/archsimd",
		loop(func(s string) bool { return tagIndexString(s) == len(s) }),
		loop(func(s string) bool { return valid(unsafe.StringData(s), len(s)) }))
}

func TestBackendIsTheTable(t *testing.T) {
	valid := tagBackend()
	if valid == nil {
		t.Skip("no form for tier ", tier)
	}
	room := []byte(strings.Repeat("env:prod-7", 30))
	for n := range 151 {
		b := room[n%64:][:n:n]
		for i := 0; i < n; i += 1 + n/50 {
			old := b[i]
			for c := 0; c < 256; c += 1 + n/8 {
				b[i] = byte(c)
				if valid(unsafe.SliceData(b), n) != (tagIndexGo(b) == n) {
					t.Fatalf("length %d, %q", n, b)
				}
			}
			b[i] = old
		}
	}
}

// tagRows and tagBits are the class as rows of bits: row l holds bit h for the byte 16h+l. The
// second half repeats the first.
var tagRows, tagBits = func() (rows, bits [32]uint8) {
	for c, in := range tagTable[:128] {
		rows[c&15] |= in << (c >> 4)
		rows[16+c&15] |= in << (c >> 4)
	}
	for i := range bits {
		bits[i] = 1 << (i & 7)
	}
	return rows, bits
}()

//go:noinline
func tagValidAVX2(p *byte, n int) bool {
	rows, members := archsimd.LoadUint8x32(&tagRows), archsimd.LoadUint8x32(&tagBits)
	var bad uint32
	if n < 32 {
		bad = shortBad(p, n, rows.GetLo(), members.GetLo())
	} else {
		for i := 0; i <= n-32 && bad == 0; i += 32 {
			bad = bad32(p, i, rows, members)
		}
		if bad == 0 {
			bad = bad32(p, n-32, rows, members)
		}
	}
	// Two branches: the compiler moves work across ClearAVXUpperBits unless the
	// value is used before it.
	if bad != 0 {
		archsimd.ClearAVXUpperBits()
		return false
	}
	archsimd.ClearAVXUpperBits()
	return true
}

// shortBad is not 0 when one of fewer than 32 bytes is no member. Two
// overlapping words cover each length class, so nothing outside is read.
func shortBad(p *byte, n int, rows, members archsimd.Uint8x16) uint32 {
	switch {
	case n >= 16:
		return uint32(bad16(load16(p, 0), rows, members) | bad16(load16(p, n-16), rows, members))
	case n >= 8:
		var v archsimd.Uint64x2
		return uint32(bad16(v.SetElem(0, word(p, 0)).SetElem(1, word(p, n-8)).AsUint8x16(), rows, members))
	case n >= 4:
		w := uint64(half(p, 0)) | uint64(half(p, n-4))<<32
		var v archsimd.Uint64x2
		return uint32(bad16(v.SetElem(0, w).AsUint8x16(), rows, members)) & 0xff
	case n == 0:
		return 0
	}
	// Bytes 0, n/2 and n-1 are all there are.
	return uint32(tagTable[at(p, 0)]&tagTable[at(p, n>>1)]&tagTable[at(p, n-1)]) ^ 1
}

func at(p *byte, i int) byte     { return *(*byte)(unsafe.Add(unsafe.Pointer(p), i)) }
func half(p *byte, i int) uint32 { return *(*uint32)(unsafe.Add(unsafe.Pointer(p), i)) }
func word(p *byte, i int) uint64 { return *(*uint64)(unsafe.Add(unsafe.Pointer(p), i)) }

func load16(p *byte, i int) archsimd.Uint8x16 {
	return archsimd.LoadUint8x16((*[16]uint8)(unsafe.Add(unsafe.Pointer(p), i)))
}

// bad16 has a bit for each byte that is no member. A byte from 0x80 on makes
// the first shuffle give zero.
func bad16(v, rows, members archsimd.Uint8x16) uint16 {
	high := v.AsUint16x8().ShiftAllRight(4).AsUint8x16().And(archsimd.BroadcastUint8x16(15))
	row, bit := rows.PermuteOrZero(v.AsInt8x16()), members.PermuteOrZero(high.AsInt8x16())
	return row.And(bit).Equal(archsimd.Uint8x16{}).ToBits()
}

func bad32(p *byte, i int, rows, members archsimd.Uint8x32) uint32 {
	v := archsimd.LoadUint8x32((*[32]uint8)(unsafe.Add(unsafe.Pointer(p), i)))
	high := v.AsUint16x16().ShiftAllRight(4).AsUint8x32().And(archsimd.BroadcastUint8x32(15))
	row, bit := rows.PermuteOrZeroGrouped(v.AsInt8x32()), members.PermuteOrZeroGrouped(high.AsInt8x32())
	return row.And(bit).Equal(archsimd.Uint8x32{}).ToBits()
}

// tagFlags has 0x80 for what no tag may hold. VBMI looks 128 entries up at
// once, and a byte from 0x80 on brings its own top bit.
var tagFlags = func() (f [128]uint8) {
	for c, in := range tagTable[:128] {
		f[c] = (in ^ 1) << 7
	}
	return f
}()

//go:noinline
func tagValidVBMI(p *byte, n int) bool {
	lo, hi := archsimd.LoadUint8x64((*[64]uint8)(tagFlags[:64])), archsimd.LoadUint8x64((*[64]uint8)(tagFlags[64:]))
	i, bad := 0, uint64(0)
	for ; i <= n-64; i += 64 {
		bad |= bad64(archsimd.LoadUint8x64((*[64]uint8)(unsafe.Add(unsafe.Pointer(p), i))), lo, hi)
	}
	if i < n {
		keep := uint64(1)<<(n-i) - 1
		bad |= keep &
			bad64(archsimd.LoadMaskedUint8x64((*[64]uint8)(unsafe.Add(unsafe.Pointer(p), i)),
				archsimd.Mask8x64FromBits(keep)), lo, hi)
	}
	if bad != 0 {
		archsimd.ClearAVXUpperBits()
		return false
	}
	archsimd.ClearAVXUpperBits()
	return true
}

func bad64(v, lo, hi archsimd.Uint8x64) uint64 {
	return lo.ConcatPermute(hi, v).Or(v).AsInt8x64().Less(archsimd.Int8x64{}).ToBits()
}
