//! refused: signature does not fit mode first
#![no_std]
use simdgen::*;
kernel! { bad_sse42, first, fn(b: Bytes) -> u32 { b.len as u32 } }
