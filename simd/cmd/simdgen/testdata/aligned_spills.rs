//! refused: aligned spills
#![no_std]
use core::arch::x86_64::*;
use simdgen::*;
#[inline(always)]
unsafe fn at(p: *const u8, i: usize) -> __m128i {
    _mm_loadu_si128(p.add(16 * i) as *const __m128i)
}
kernel! { bad_sse42, whole, fn(b: Bytes) -> usize {
    let mut v0 = at(b.ptr, 0);
    let mut v1 = at(b.ptr, 1);
    let mut v2 = at(b.ptr, 2);
    let mut v3 = at(b.ptr, 3);
    let mut v4 = at(b.ptr, 4);
    let mut v5 = at(b.ptr, 5);
    let mut v6 = at(b.ptr, 6);
    let mut v7 = at(b.ptr, 7);
    let mut v8 = at(b.ptr, 8);
    let mut v9 = at(b.ptr, 9);
    let mut v10 = at(b.ptr, 10);
    let mut v11 = at(b.ptr, 11);
    let mut v12 = at(b.ptr, 12);
    let mut v13 = at(b.ptr, 13);
    let mut v14 = at(b.ptr, 14);
    let mut v15 = at(b.ptr, 15);
    let mut v16 = at(b.ptr, 16);
    let mut v17 = at(b.ptr, 17);
    let mut v18 = at(b.ptr, 18);
    let mut v19 = at(b.ptr, 19);
    let mut v20 = at(b.ptr, 20);
    let mut v21 = at(b.ptr, 21);
    let mut v22 = at(b.ptr, 22);
    let mut v23 = at(b.ptr, 23);
    for _ in 0..b.len {
        v0 = _mm_add_epi8(_mm_xor_si128(v5, v0), v1);
        v1 = _mm_add_epi8(_mm_xor_si128(v12, v1), v6);
        v2 = _mm_add_epi8(_mm_xor_si128(v19, v2), v11);
        v3 = _mm_add_epi8(_mm_xor_si128(v2, v3), v16);
        v4 = _mm_add_epi8(_mm_xor_si128(v9, v4), v21);
        v5 = _mm_add_epi8(_mm_xor_si128(v16, v5), v2);
        v6 = _mm_add_epi8(_mm_xor_si128(v23, v6), v7);
        v7 = _mm_add_epi8(_mm_xor_si128(v6, v7), v12);
        v8 = _mm_add_epi8(_mm_xor_si128(v13, v8), v17);
        v9 = _mm_add_epi8(_mm_xor_si128(v20, v9), v22);
        v10 = _mm_add_epi8(_mm_xor_si128(v3, v10), v3);
        v11 = _mm_add_epi8(_mm_xor_si128(v10, v11), v8);
        v12 = _mm_add_epi8(_mm_xor_si128(v17, v12), v13);
        v13 = _mm_add_epi8(_mm_xor_si128(v0, v13), v18);
        v14 = _mm_add_epi8(_mm_xor_si128(v7, v14), v23);
        v15 = _mm_add_epi8(_mm_xor_si128(v14, v15), v4);
        v16 = _mm_add_epi8(_mm_xor_si128(v21, v16), v9);
        v17 = _mm_add_epi8(_mm_xor_si128(v4, v17), v14);
        v18 = _mm_add_epi8(_mm_xor_si128(v11, v18), v19);
        v19 = _mm_add_epi8(_mm_xor_si128(v18, v19), v0);
        v20 = _mm_add_epi8(_mm_xor_si128(v1, v20), v5);
        v21 = _mm_add_epi8(_mm_xor_si128(v8, v21), v10);
        v22 = _mm_add_epi8(_mm_xor_si128(v15, v22), v15);
        v23 = _mm_add_epi8(_mm_xor_si128(v22, v23), v20);
    }
    _mm_movemask_epi8(v0) as usize + _mm_movemask_epi8(v1) as usize + _mm_movemask_epi8(v2) as usize + _mm_movemask_epi8(v3) as usize + _mm_movemask_epi8(v4) as usize + _mm_movemask_epi8(v5) as usize + _mm_movemask_epi8(v6) as usize + _mm_movemask_epi8(v7) as usize + _mm_movemask_epi8(v8) as usize + _mm_movemask_epi8(v9) as usize + _mm_movemask_epi8(v10) as usize + _mm_movemask_epi8(v11) as usize + _mm_movemask_epi8(v12) as usize + _mm_movemask_epi8(v13) as usize + _mm_movemask_epi8(v14) as usize + _mm_movemask_epi8(v15) as usize + _mm_movemask_epi8(v16) as usize + _mm_movemask_epi8(v17) as usize + _mm_movemask_epi8(v18) as usize + _mm_movemask_epi8(v19) as usize + _mm_movemask_epi8(v20) as usize + _mm_movemask_epi8(v21) as usize + _mm_movemask_epi8(v22) as usize + _mm_movemask_epi8(v23) as usize
} }
