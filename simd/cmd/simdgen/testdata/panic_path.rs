//! refused: panic path
#![no_std]
use simdgen::*;
kernel! { bad_sse42, whole, fn(b: Bytes) -> usize { b.as_slice()[3] as usize } }
