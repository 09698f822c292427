#![no_std]
use core::arch::x86_64::*;
use simdgen::*;

kernel! { commas_avx512, sum, fn(b: Bytes) -> usize {
    let (mut n, mut i) = (0, 0);
    while i < b.len {
        let keep = _bzhi_u64(!0, (b.len - i).min(64) as u32);
        let v = _mm512_maskz_loadu_epi8(keep, b.ptr.add(i) as *const i8);
        n += _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8(b',' as i8)).count_ones() as usize;
        i += 64;
    }
    n
} }

// LLVM vectorises plain loops as well.
kernel! { commas_avx2, sum, fn(b: Bytes) -> usize { b.as_slice().iter().filter(|&&c| c == b',').count() } }
