//! ASCII: a byte is bad when its top bit is set.
use crate::vec::*;
use simdgen::*;

struct Ascii;

#[cfg(target_arch = "x86_64")]
impl Scan for Ascii {
    #[inline(always)]
    unsafe fn bad16(&self, v: V16) -> u32 {
        _mm_movemask_epi8(v) as u32
    }
}
#[cfg(target_feature = "avx2")]
impl Scan32 for Ascii {
    #[inline(always)]
    unsafe fn bad32(&self, v: __m256i) -> u32 {
        _mm256_movemask_epi8(v) as u32
    }
    #[inline(always)]
    unsafe fn flag32(&self, v: __m256i) -> __m256i {
        v
    }
}
#[cfg(target_feature = "avx512bw")]
impl Scan64 for Ascii {
    #[inline(always)]
    unsafe fn bad64(&self, v: __m512i) -> u64 {
        _mm512_movepi8_mask(v)
    }
    #[inline(always)]
    unsafe fn any4(&self, a: __m512i, b: __m512i, c: __m512i, d: __m512i) -> bool {
        let ab = _mm512_ternarylogic_epi64(_mm512_or_si512(a, b), c, d, 0xfe);
        _mm512_movepi8_mask(ab) != 0
    }
}
#[cfg(target_arch = "aarch64")]
impl Scan for Ascii {
    #[inline(always)]
    unsafe fn bad16(&self, v: V16) -> u32 {
        mask16(self.flag(v))
    }
}
#[cfg(target_arch = "aarch64")]
impl ScanNeon for Ascii {
    #[inline(always)]
    unsafe fn flag(&self, v: uint8x16_t) -> uint8x16_t {
        vcgeq_u8(v, vdupq_n_u8(0x80))
    }
}

kernel! { ascii_index_sse42, first, fn(b: Bytes) -> usize {
    if b.len < 16 { first_short(&Ascii, b.ptr, b.len) } else { first_by16(&Ascii, b.ptr, b.len, 0) }
} }
kernel! { ascii_index_avx2, first, fn(b: Bytes) -> usize { first_avx2(&Ascii, b.ptr, b.len) } }
kernel! { ascii_index_avx512, first, fn(b: Bytes) -> usize { first_avx512(&Ascii, b.ptr, b.len) } }
kernel! { ascii_index_neon, first, fn(b: Bytes) -> usize { first_neon(&Ascii, b.ptr, b.len) } }
