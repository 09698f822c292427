//! refused: pointer element type
#![no_std]
use simdgen::*;
kernel! { bad_sse42, whole, fn(p: SliceMut<*mut u8>) -> usize { p.len } }
