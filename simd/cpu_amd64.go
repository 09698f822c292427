//go:build !purego

package simd

func cpuid(leaf, sub uint32) (a, b, c, d uint32)
func xgetbv() uint32

// Feature bits, by register of CPUID.
const (
	ecx1SSE42 = 1<<20 | 1<<23 | 1<<1  // SSE4.2, POPCNT, PCLMULQDQ
	ecx1AVX   = 1<<27 | 1<<28 | 1<<12 // OSXSAVE, AVX, FMA
	ebx7AVX2  = 1<<5 | 1<<3 | 1<<8    // AVX2, BMI1, BMI2
	ecx81ABM  = 1 << 5                // LZCNT
	ebx7F     = 1<<16 | 1<<17 | 1<<28 | 1<<30 | 1<<31
	ecx7VBMI  = 1<<1 | 1<<6 | 1<<8 | 1<<10 // VBMI, VBMI2, GFNI, VPCLMULQDQ

	ecx7VCLMUL = 1 << 10 // VPCLMULQDQ

	xcrAVX    = 1<<1 | 1<<2
	xcrAVX512 = xcrAVX | 1<<5 | 1<<6 | 1<<7
)

// detect asks the processor what it has and the operating system what it saves.
func detect() Level {
	top, _, _, _ := cpuid(0, 0)
	_, _, c1, _ := cpuid(1, 0)
	if top < 7 || !has(c1, ecx1SSE42) {
		return PureGo
	}
	_, b7, c7, _ := cpuid(7, 0)
	extended, _, _, _ := cpuid(0x80000000, 0)
	if extended < 0x80000001 || !has(c1, ecx1AVX) || !has(b7, ebx7AVX2) {
		return SSE42
	}
	_, _, c81, _ := cpuid(0x80000001, 0)
	saved := xgetbv()
	switch {
	case !has(c81, ecx81ABM) || !has(saved, xcrAVX):
		return SSE42
	case has(b7, ebx7F) && has(c7, ecx7VBMI) && has(saved, xcrAVX512):
		return AVX512
	case has(c7, ecx7VCLMUL):
		return VCLMUL
	}
	return AVX2
}

func has(reg, bits uint32) bool { return reg&bits == bits }
