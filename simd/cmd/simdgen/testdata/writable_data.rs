//! refused: writable data
#![no_std]
use simdgen::*;
static mut COUNT: usize = 7;
kernel! { bad_sse42, whole, fn(b: Bytes) -> usize { COUNT += b.len; COUNT } }
