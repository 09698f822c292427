//! refused: unknown mode
#![no_std]
use simdgen::*;
kernel! { bad_sse42, sometimes, fn(b: Bytes) -> usize { b.len } }
