package simd

import "unsafe"

// LowerASCII writes src to the start of dst with A-Z as a-z and every other
// byte as it is, and returns how many bytes that were: len(src). It panics
// when dst is shorter, and when the two overlap without starting at the same
// byte; nothing is written then.
func LowerASCII(dst, src []byte) int {
	// One byte overlaps as a whole or not at all.
	if len(src) >= lowerSmall || len(dst) < len(src) || len(src) > 1 && overlaps(dst[:len(src)], src) {
		return longLower(dst, src)
	}
	dst = dst[:len(src)]
	for i, c := range src {
		if c-'A' < 26 {
			c |= 0x20
		}
		dst[i] = c
	}
	return len(src)
}

// longLower is LowerASCII by the kernel, and what refuses.
//
//go:noinline
func longLower(dst, src []byte) int {
	if len(dst) < len(src) {
		panic("simd: LowerASCII: dst is shorter than src")
	}
	dst = dst[:len(src)]
	if overlaps(dst, src) {
		panic("simd: LowerASCII: dst and src overlap without being the same; use LowerASCIIInPlace or another dst")
	}
	lower(dst, src)
	return len(src)
}

// LowerASCIIInPlace turns A-Z in b into a-z.
func LowerASCIIInPlace(b []byte) {
	if len(b) < lowerSmall {
		for i, c := range b {
			if c-'A' < 26 {
				b[i] = c | 0x20
			}
		}
		return
	}
	lower(b, b)
}

// overlaps reports whether two slices share bytes without being the same.
func overlaps(a, b []byte) bool {
	p, q := uintptr(unsafe.Pointer(unsafe.SliceData(a))), uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	return p != q && p < q+uintptr(len(b)) && q < p+uintptr(len(a))
}

func lowerGo(dst, src []byte) {
	dst = dst[:len(src)]
	for i, c := range src {
		if c-'A' < 26 {
			c |= 0x20
		}
		dst[i] = c
	}
}
