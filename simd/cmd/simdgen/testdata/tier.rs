//! refused: unknown tier
#![no_std]
use simdgen::*;
kernel! { bad_avx9, whole, fn(b: Bytes) -> usize { b.len } }
