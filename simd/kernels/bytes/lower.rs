//! ASCII lower case. Lowering twice changes nothing, so the last vector may
//! overlap the one before, in place as well.
use crate::vec::*;
use simdgen::*;

/// The same for eight bytes in a word: bit 7 of a byte of `up` says upper case.
#[inline(always)]
fn lower_word(w: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let low7 = w & (0x7f * ONES);
    let ge_a = low7 + (0x80 - b'A' as u64) * ONES;
    let gt_z = low7 + (0x7f - b'Z' as u64) * ONES;
    let up = (ge_a ^ gt_z) & !w & (0x80 * ONES);
    w | up >> 2
}

/// Fewer than sixteen bytes; both words are read before either is written.
#[inline(always)]
unsafe fn lower_short(d: *mut u8, s: *const u8, n: usize) {
    if n >= 8 {
        let (a, b) = (lower_word(u64_at(s)), lower_word(u64_at(s.add(n - 8))));
        (d as *mut u64).write_unaligned(a);
        (d.add(n - 8) as *mut u64).write_unaligned(b);
    } else if n >= 4 {
        let w = lower_word(u32_at(s) as u64 | (u32_at(s.add(n - 4)) as u64) << 32);
        (d as *mut u32).write_unaligned(w as u32);
        (d.add(n - 4) as *mut u32).write_unaligned((w >> 32) as u32);
    } else if n > 0 {
        let w = lower_word(three(s, n) as u64);
        *d = w as u8;
        *d.add(n >> 1) = (w >> 8) as u8;
        *d.add(n - 1) = (w >> 16) as u8;
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn lower16(d: *mut u8, s: *const u8) {
    let v = load16(s);
    let up = _mm_cmpgt_epi8(_mm_set1_epi8(-128 + 26), _mm_add_epi8(v, _mm_set1_epi8((128 - b'A' as i32) as i8)));
    _mm_storeu_si128(d as *mut __m128i, _mm_or_si128(v, _mm_and_si128(up, _mm_set1_epi8(0x20))));
}
#[cfg(target_arch = "aarch64")]
#[inline(always)]
unsafe fn lower16(d: *mut u8, s: *const u8) {
    let v = load16(s);
    let up = vcltq_u8(vsubq_u8(v, vdupq_n_u8(b'A')), vdupq_n_u8(26));
    vst1q_u8(d, vorrq_u8(v, vandq_u8(up, vdupq_n_u8(0x20))));
}

#[inline(always)]
unsafe fn by16(d: *mut u8, s: *const u8, n: usize, mut i: usize) {
    while i + 16 <= n {
        lower16(d.add(i), s.add(i));
        i += 16;
    }
    if i < n {
        lower16(d.add(n - 16), s.add(n - 16));
    }
}

#[cfg(target_feature = "avx2")]
#[inline(always)]
unsafe fn lower32(d: *mut u8, s: *const u8) {
    let v = load32(s);
    let up = _mm256_cmpgt_epi8(_mm256_set1_epi8(-128 + 26), _mm256_add_epi8(v, _mm256_set1_epi8((128 - b'A' as i32) as i8)));
    _mm256_storeu_si256(d as *mut __m256i, _mm256_or_si256(v, _mm256_and_si256(up, _mm256_set1_epi8(0x20))));
}

#[cfg(target_feature = "avx2")]
#[inline(always)]
unsafe fn by32(d: *mut u8, s: *const u8, n: usize) {
    let mut i = 0;
    while i + 32 <= n {
        lower32(d.add(i), s.add(i));
        i += 32;
    }
    if i < n {
        lower32(d.add(n - 32), s.add(n - 32));
    }
}

#[cfg(target_feature = "avx512bw")]
#[inline(always)]
unsafe fn lower64(v: __m512i) -> __m512i {
    let up = _mm512_cmple_epu8_mask(_mm512_sub_epi8(v, _mm512_set1_epi8(b'A' as i8)), _mm512_set1_epi8(25));
    _mm512_mask_add_epi8(v, up, v, _mm512_set1_epi8(0x20))
}

#[cfg(target_feature = "avx512bw")]
#[inline(always)]
unsafe fn by64(d: *mut u8, s: *const u8, n: usize) {
    let mut i = 0;
    while i + 64 <= n {
        _mm512_storeu_si512(d.add(i) as *mut __m512i, lower64(load64(s.add(i))));
        i += 64;
    }
    if i < n {
        let at = n - 64;
        _mm512_storeu_si512(d.add(at) as *mut __m512i, lower64(load64(s.add(at))));
    }
}

kernel! { lower_sse42, map, fn(dst: BytesMut, src: Bytes) -> () {
    if src.len < 16 { lower_short(dst.ptr, src.ptr, src.len) } else { by16(dst.ptr, src.ptr, src.len, 0) }
} }
kernel! { lower_avx2, map, fn(dst: BytesMut, src: Bytes) -> () {
    if src.len < 16 {
        lower_short(dst.ptr, src.ptr, src.len)
    } else if src.len < 32 {
        by16(dst.ptr, src.ptr, src.len, 0)
    } else {
        by32(dst.ptr, src.ptr, src.len)
    }
} }
// Masked stores are not forwarded to the loads that follow, so short inputs
// use words here too.
kernel! { lower_avx512, map, fn(dst: BytesMut, src: Bytes) -> () {
    if src.len < 16 {
        lower_short(dst.ptr, src.ptr, src.len)
    } else if src.len < 32 {
        by16(dst.ptr, src.ptr, src.len, 0)
    } else if src.len < 64 {
        by32(dst.ptr, src.ptr, src.len)
    } else {
        by64(dst.ptr, src.ptr, src.len)
    }
} }
kernel! { lower_neon, map, fn(dst: BytesMut, src: Bytes) -> () {
    if src.len < 16 { lower_short(dst.ptr, src.ptr, src.len) } else { by16(dst.ptr, src.ptr, src.len, 0) }
} }
