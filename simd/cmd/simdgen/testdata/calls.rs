//! refused: calls
#![no_std]
use simdgen::*;
#[inline(never)]
unsafe fn other(p: *const u8, n: usize) -> usize {
    if n == 0 { 0 } else { *p as usize + core::hint::black_box(n) }
}
kernel! { bad_avx2, whole, fn(b: Bytes) -> usize { other(b.ptr, b.len) + other(b.ptr, 2 * b.len) } }
