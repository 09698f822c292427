//! A kernel that does nothing: what is left is the price of the call.
#![no_std]
use simdgen::*;

kernel! { noop_sse42, whole, fn(b: Bytes) -> usize { b.len } }
kernel! { noop_neon, whole, fn(b: Bytes) -> usize { b.len } }
